"""Rows: they hide what they are given, published proofs hold, and tables take constant time."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from commitments import VectorPedersen
from commitments.group import Group
from tests import valgrind
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.zkp import rows_vectors as vectors
from tests.zkp.proof_vectors import published
from tests.zkp.rows.worlds import Vectors
from wire.errors import ComputationFault, UsageError
from zkp.rows.product_tests import draw_pads
from zkp.rows.rows import _packed, hide_pads, hide_rows
from zkp.rows.shape import PAD_BITS, TESTS, RowShape
from zkp.transcript import NonceSource

SHAPE = RowShape(40)


def vector(*entries: int) -> Any:
    found = np.zeros(SHAPE.dimension, np.int64)
    found[-len(entries) :] = entries
    return found


@pytest.mark.parametrize("bits", [1, 12, 58])
def test_entries_have_so_many_bits(group: Group, bits: int) -> None:
    most = (1 << bits) - 1
    hidden = hide_rows(group, SHAPE, vector(most, -most - 1), bits, rng=seeded("rows"))
    assert hidden.values[: SHAPE.dimension].tolist()[-2:] == [most, -most - 1]
    for wrong in (most + 1, -most - 2, (1 << 63) - 1, -(1 << 63)):
        with pytest.raises(UsageError, match="does not fit"):
            hide_rows(group, SHAPE, vector(wrong, 0), bits, rng=seeded("rows"))


def test_pads_are_the_bytes_that_were_drawn(group: Group) -> None:
    data = seeded("pads")(TESTS * PAD_BITS // 8)
    size = PAD_BITS // 8
    expected = [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    assert draw_pads(group, seeded("pads")).reveal().ints() == expected
    assert max(expected) >> (PAD_BITS - 1)


def test_a_row_without_its_blinding_is_not_handed_out(group: Group) -> None:
    """As a fault would leave it; also one whose entries are others."""
    values, rng = vector(1, 2, 3), seeded("rows")
    hide_rows(group, SHAPE, values, 12, rng=rng)
    real = VectorPedersen.commit_rows

    def bare(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows, blindings - blindings, **how)

    def exchanged(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows[::-1], blindings, **how)

    for fault in (bare, exchanged):
        with (
            mock.patch.object(VectorPedersen, "commit_rows", fault),
            pytest.raises(ComputationFault, match="commit again"),
        ):
            hide_rows(group, SHAPE, values, 12, rng=rng)


def test_blindings_are_drawn_a_second_time(group: Group) -> None:
    """A fault that left the first ones as zeros, or others, is seen before anything is sent."""
    values, pads = vector(1, 2, 3), draw_pads(group, seeded("pads"))
    real = NonceSource.draw
    for fault in (
        lambda drawn: drawn - drawn,
        lambda drawn: drawn + drawn,
        lambda drawn: drawn[::-1],
    ):
        for hide, given in ((hide_rows, (values, 12)), (hide_pads, (pads,))):
            done: list[NonceSource] = []

            def faulty(source: Any, done: Any = done, fault: Any = fault) -> Any:
                drawn = real(source)
                done.append(source)
                return fault(drawn) if len(done) == 1 else drawn

            made: Any = hide
            made(group, SHAPE, *given, rng=seeded("rows"))
            with (
                mock.patch.object(NonceSource, "draw", faulty),
                pytest.raises(ComputationFault, match="commit again"),
            ):
                made(group, SHAPE, *given, rng=seeded("rows"))
            assert len(done) == 2


def test_a_generator_that_gives_zeros_still_hides_and_compares(group: Group) -> None:
    """Blindings are of the vector, and weights of the comparison of the points."""
    made = [hide_rows(group, SHAPE, vector(*v), 12, rng=bytes) for v in ((1, 2), (2, 1), (1, 2))]
    drawn = [each.blindings.reveal().ints() for each in made]
    assert drawn[0] == drawn[2]
    assert len({*drawn[0], *drawn[1]}) == 2 * SHAPE.rows
    real = VectorPedersen.commit_rows

    def bare(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows, blindings - blindings, **how)

    with (
        mock.patch.object(VectorPedersen, "commit_rows", bare),
        pytest.raises(ComputationFault, match="commit again"),
    ):
        hide_rows(group, SHAPE, vector(1, 2), 12, rng=bytes)


@pytest.mark.parametrize("bits", [1, 7, 12, 15, 30, 31, 58, 62])
def test_packed_entries_are_told_apart(bits: int) -> None:
    """Each integer gives its entries back, the least and the largest among them."""
    ends = np.array([-(1 << bits), (1 << bits) - 1, -1, 0, 1], np.int64)
    values = np.random.default_rng(bits).choice(ends, 128)
    packed = _packed(values, bits)
    count, size = len(values) // len(packed), 1 << (bits + 1)
    assert count * (bits + 1) <= 63 < 2 * count * (bits + 1)
    found = []
    for left in packed.tolist():
        whole = left
        for _ in range(count):
            found.append((whole + size // 2) % size - size // 2)
            whole = (whole - found[-1]) // size
        assert whole == 0
    assert found == values.tolist()


def test_pads_without_their_blinding_are_not_handed_out(group: Group) -> None:
    pads, rng = draw_pads(group, seeded("pads")), seeded("rows")
    hide_pads(group, SHAPE, pads, rng=rng)
    with (
        mock.patch("zkp.rows.rows.HiddenPads.combined", return_value=_other(group)),
        pytest.raises(ComputationFault, match="commit again"),
    ):
        hide_pads(group, SHAPE, pads, rng=rng)


def _other(group: Group) -> Any:
    zeros = group.secret_scalars([0] * SHAPE.width)
    return zeros, zeros[0]


@pytest.fixture(params=installed_groups(), ids=lambda group_published: group_published.backend)
def group_published(request: pytest.FixtureRequest) -> Group:
    found: Group = request.param
    return found


def test_every_record_is_judged_as_it_says(group_published: Group) -> None:
    records = published("rows")["proofs"]
    for record in records:
        if group_published.backend == "reference" and record["base"]:
            continue
        said = vectors.answer(group_published, vectors.whole(records, record))
        assert said == {key: record[key] for key in said}, record["name"]
        assert (said["error"] is None) == (record["base"] is None), record["name"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lengths", "weighted", "masks"])
def test_both_backends_make_the_same_proof(group_published: Group, kind: str) -> None:
    records = {each["name"]: each for each in published("rows")["proofs"]}
    drawn = (Vectors.weighted if kind == "weighted" else Vectors.random)(33)
    made = getattr(vectors, kind)(group_published, drawn)
    assert made.proof.hex() == records[kind]["proof"]
    record = vectors.mask_record if kind == "masks" else vectors.length_record
    written = record(made.statement, made.proof)
    assert written == {key: records[kind][key] for key in written}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example that works on tables with integers of its own."""
    return valgrind.built("constant_time_tables", tmp_path_factory.mktemp("target"))


@pytest.mark.soak
@valgrind.needed
def test_no_branch_and_no_address_depends_on_entries(program: str) -> None:
    assert valgrind.marked(program) == (0, "")


@pytest.mark.soak
@valgrind.needed
def test_a_branch_on_an_entry_is_seen(program: str) -> None:
    code, complaints = valgrind.marked(program, "leak")
    assert code == valgrind.LEAKED
    assert "depends on uninitialised value" in complaints
