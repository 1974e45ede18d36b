from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

import gopa
from gopa.environment import PACKAGES

NAMESPACES = {"sigma"}
MODULES = sorted(
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    if not module.name.endswith(("__main__", "_native"))
)


def test_every_public_name_survives_the_import_of_every_module() -> None:
    """A submodule that shares a function's name would replace it when imported."""
    before = {name: getattr(gopa, name) for name in gopa.__all__}
    for module in MODULES:
        importlib.import_module(module)
    for name, value in before.items():
        assert getattr(gopa, name) is value
        assert (type(value) is ModuleType) == (name in NAMESPACES)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_what_exists_once_and_in_order(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), name))
    for name in names:
        assert hasattr(module, name)


def test_names_that_are_not_imported_yet_are_listed_too() -> None:
    assert set(gopa.__all__) <= set(dir(gopa))
