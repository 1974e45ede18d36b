"""These tests run where declearn is installed; elsewhere nothing here is collected."""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = ["test_*.py"] if find_spec("declearn") is None else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bear that declearn warns of what declearn does, and errors for everything else."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:declearn"))
