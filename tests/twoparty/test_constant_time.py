"""The time of the native kernels depends on no label: valgrind follows every undefined byte."""

from __future__ import annotations

import pytest

from tests import valgrind

pytestmark = [pytest.mark.soak, valgrind.needed]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example that garbles and evaluates with labels of its own."""
    return valgrind.built("constant_time", tmp_path_factory.mktemp("target"))


def test_no_branch_and_no_address_depends_on_labels(program: str) -> None:
    assert valgrind.marked(program) == (0, "")


def test_a_branch_on_a_select_bit_is_seen(program: str) -> None:
    code, complaints = valgrind.marked(program, "leak")
    assert code == valgrind.LEAKED
    assert "depends on uninitialised value" in complaints
