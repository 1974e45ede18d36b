"""The floor stands on the standard library, `cryptography` and `gmpy2` alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import wire

ROOT = Path(wire.__file__).parent
ALLOWED = sys.stdlib_module_names | {"cryptography", "gmpy2", "wire"}


def imported(source: str) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports(path: Path) -> None:
    assert imported("import numpy.linalg\nfrom zkp.sigma import x") == {"numpy", "zkp"}
    assert imported(path.read_text()) <= ALLOWED
