"""The time of the kernels over tables depends on no entry: valgrind follows undefined bytes."""

from __future__ import annotations

import pytest

from tests import valgrind

pytestmark = [pytest.mark.soak, valgrind.needed]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example that works on tables with integers of its own."""
    return valgrind.built("constant_time_tables", tmp_path_factory.mktemp("target"))


def test_no_branch_and_no_address_depends_on_entries(program: str) -> None:
    assert valgrind.marked(program) == (0, "")


def test_a_branch_on_an_entry_is_seen(program: str) -> None:
    code, complaints = valgrind.marked(program, "leak")
    assert code == valgrind.LEAKED
    assert "depends on uninitialised value" in complaints
