"""The packages that gopa needs and those that extras bring, and how to get a missing one.

`pyproject.toml` has the same lists with the versions, and a test compares them. The package of an
extra is imported where it is used and nowhere else: everything else works without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wire.errors import BackendError

NEEDED: Final = {
    "click": "click",
    "cryptography": "cryptography",
    "gmpy2": "gmpy2",
    "httptools": "httptools",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "numpy": "numpy",
    "pynacl": "nacl",
    "rich": "rich",
    "scipy": "scipy",
    "starlette": "starlette",
    "urllib3": "urllib3",
    "uvicorn": "uvicorn",
}
"""The module of each distribution that every installation has."""


@dataclass(frozen=True, slots=True)
class Extra:
    """What an extra is called, which package it brings, and what that is for."""

    name: str
    package: str
    module: str
    purpose: str
    gives: str

    @property
    def command(self) -> str:
        """What to type for it. No index is named: a package of our name there is not ours."""
        return (
            f"pip install '.[{self.name}]' in a checkout of gopa, "
            f"or pip install 'FILE.whl[{self.name}]' with its wheel"
        )


EXTRAS: Final = {
    each.name: each
    for each in (
        Extra(
            "declearn",
            "declearn",
            "declearn",
            "running inside declearn",
            "sums what clients of declearn train",
        ),
        Extra("drand", "py_ecc", "py_ecc", "checking drand rounds", "checks public coins of drand"),
        Extra(
            "flower", "flwr", "flwr", "running inside Flower", "sums what clients of Flower train"
        ),
        Extra(
            "learning",
            "scikit-learn",
            "sklearn",
            "learning with scikit-learn",
            "brings data sets, and estimators that learn from the data of many parties",
        ),
        Extra("plot", "matplotlib", "matplotlib", "drawing", "draws: gopa plan --plot FILE"),
        Extra("ray", "ray", "ray", "running on Ray", "spreads checks over a Ray cluster"),
        Extra(
            "torch", "torch", "torch", "training modules of PyTorch", "trains modules of PyTorch"
        ),
    )
}


def missing(name: str) -> BackendError:
    """The error of whoever needs this extra where it is not installed."""
    extra = EXTRAS[name]
    return BackendError(f"{extra.purpose} needs {extra.package}: {extra.command}")


def not_installed(error: ModuleNotFoundError) -> str | None:
    """What to do about a module that is missing; None if it is of no package that gopa needs."""
    top = (error.name or "").partition(".")[0]
    for package, module in NEEDED.items():
        if module == top:
            return f"{package} is not installed: install gopa anew with its dependencies"
    return None
