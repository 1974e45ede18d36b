"""Verifiable secure aggregation: everything a user needs, in one place.

Which names there are, and where they come from, `__init__.pyi` says. They are imported when they
are first used, because some of their modules are slow; whole modules are among them. Proofs are
in `zkp`, commitments in `commitments`.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any

import gopa.siblings  # noqa: F401  first of all: it refuses foreign packages of our names

# isort: split
from gopa.version import VERSION


def _module_of_each_name() -> dict[str, str]:
    table = ast.parse(get_data(__name__, "__init__.pyi") or b"")
    return {
        each.name: node.module
        for node in table.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }


_MODULES = _module_of_each_name()
_WHOLE = {name for name, module in _MODULES.items() if module == __name__}
"""Modules whose names users call with the module in front: `gopa.noise.rounded_gaussian`."""

_OTHER_NAMES = {"mean": "average", "avg": "average", "var": "variance", "verify": "audit"}
"""What others call these."""

__version__ = VERSION
__all__ = sorted(_MODULES.keys() - _WHOLE)  # noqa: PLE0605 - read from the table


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        hint = f": did you mean gopa.{_OTHER_NAMES[name]}?" if name in _OTHER_NAMES else ""
        raise AttributeError(f"module 'gopa' has no attribute {name!r}{hint}", name=name)
    if name in _WHOLE:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
