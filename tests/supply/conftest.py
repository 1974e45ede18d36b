"""A copy of the tree, sound until a test spoils it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.supply import trees


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trees.copy(tmp_path / "tree")
