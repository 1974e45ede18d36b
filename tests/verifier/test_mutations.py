"""Changed archives: both verifiers agree, and none is accepted with another meaning."""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

import pytest

from tests.verifier.answers import ACCEPTED, first, second
from tests.verifier.mutations import MUTATIONS, NAMES, material

ROUNDS: Final = pytest.mark.parametrize(
    "tries", [6, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"]
)


@ROUNDS
@pytest.mark.parametrize("name", NAMES)
def test_both_agree_and_nothing_changed_is_accepted(name: str, tries: int) -> None:
    given = material(name)
    original = first(given.archive, given.anchors)
    assert original.verdict in ACCEPTED
    assert second(given.archive, given.anchors) == original
    source, verdicts = random.Random(f"{name} {tries}"), Counter[str]()
    for number in range(tries):
        mutation = MUTATIONS[(number + NAMES.index(name)) % len(MUTATIONS)]
        changed = mutation(given, source)
        found = second(changed, given.anchors)
        assert found == first(changed, given.anchors), (mutation.__name__, number)
        assert found.verdict not in ACCEPTED or found.meaning == original.meaning
        verdicts[found.verdict] += 1
    assert verdicts["INVALID"]


def test_an_archive_packed_again_is_the_same() -> None:
    for name in NAMES:
        given = material(name)
        assert given.packed(list(given.entries)) == given.archive
