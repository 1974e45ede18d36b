"""Proofs of cheating provers, which hold but for one equation: the second verifier refuses them.

The proofs are those of `tests/zkp/rows/test_cheating.py`: each keeps all equations but the one that
catches it, so that a verifier without that one accepts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.verifier.test_row_proofs import holds
from tests.zkp.rows import test_cheating as cheating
from tests.zkp.rows.worlds import Vectors, masks, transcript
from tests.zkp.rows_vectors import CONTEXT, length_record, mask_record
from zkp.rows.lengths import LengthStatement

LONG: Final = [({5: 10}, {}), ({}, {5: 10}), ({}, {5: 5}), ({cheating.IN_PADDING: 10}, {})]
LIGHT: Final = [{cheating.LAST: 4}, {cheating.LAST: -1}, {cheating.LAST: 0}, {5: 3}]
LENGTHS: Final[dict[str, list[Callable[[], object]]]] = {
    "honest": [
        cheating.test_the_honest_twin_is_accepted,
        cheating.test_the_honest_twin_with_a_weight_is_accepted,
    ],
    "large": [
        lambda kind=kind: cheating.test_large_entries_are_refused(kind)  # type: ignore[misc]
        for kind in cheating.LARGE
    ],
    "long": [
        lambda x=x, a=a: cheating.test_vectors_that_are_too_long_are_refused(x, a)  # type: ignore[misc]
        for x, a in LONG
    ],
    "beyond the weight": [
        lambda x=x: cheating.test_lengths_beyond_their_weight_are_refused(x)  # type: ignore[misc]
        for x in LIGHT
    ],
    "another weight": [
        cheating.test_the_weight_is_the_last_coordinate,
        *(lambda n=n: cheating.test_the_square_of_a_weight_is_its_own(n) for n in (0, 1, 2, 16)),
    ],
    "other tests": [
        lambda: cheating.test_tests_that_are_others_are_refused(fits=False, failed=cheating.SIGMA),
        lambda: cheating.test_tests_that_are_others_are_refused(fits=True, failed=cheating.OPENING),
    ],
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what was wrong with the proofs that both judged."""
    failures, counted = cheating.failures, Counter[str]()

    def both(statement: Any, proof: bytes) -> set[str]:
        failed = failures(statement, proof)
        record = length_record if isinstance(statement, LengthStatement) else mask_record
        assert holds(record(statement, proof)) == (not failed), failed
        counted.update(failed or {"nothing"})
        return failed

    monkeypatch.setattr(cheating, "failures", both)
    return counted


@pytest.mark.slow
@pytest.mark.parametrize("kind", LENGTHS)
def test_what_is_said_of_lengths(kind: str, seen: Counter[str]) -> None:
    assert transcript.__defaults__ == (CONTEXT,)
    for cheat in LENGTHS[kind]:
        cheat()
    assert seen
    if kind == "honest":
        assert seen.keys() == {"nothing"}
    else:
        assert seen.keys() >= {"02-N4", "14-E4"}


@pytest.mark.slow
def test_what_is_said_of_masks(seen: Counter[str]) -> None:
    honest = masks(cheating.GROUP, Vectors.random(cheating.DIMENSION))
    cheating.test_the_twin_of_a_cheat_with_masks_is_accepted(honest)
    assert seen.keys() == {"nothing"}
    cheating.test_words_that_are_something_else_are_refused(honest)
    cheating.test_a_carry_that_is_wrong_is_refused(honest)
    assert seen.keys() == {"nothing", "02-N4", "14-E4"}


@pytest.mark.slow
def test_a_party_without_edges_proves_its_own_mask() -> None:
    found = masks(cheating.GROUP, Vectors.random(cheating.DIMENSION), signs=())
    assert holds(mask_record(found.statement, found.proof))
    words = found.statement.words.copy()
    words[0] ^= np.uint64(1)
    record = mask_record(found.statement, found.proof)
    assert not holds(record | {"words": words.tolist()})
