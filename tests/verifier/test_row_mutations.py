"""Changed sessions of rows, field by field: both verifiers find the same in them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

import pytest

from gopa.contract.phases import Kind
from tests.verifier.answers import ACCEPTED, first, second
from tests.verifier.row_mutations import (
    NAMES,
    any_closes,
    changed,
    messages_of,
    session_of_rows,
)

TRIES: Final = pytest.mark.parametrize(
    "tries", [6, pytest.param(250, marks=pytest.mark.soak)], ids=["few", "many"]
)


@pytest.mark.slow
@pytest.mark.thirds
@TRIES
@pytest.mark.parametrize("name", NAMES)
def test_both_find_the_same_whatever_field_is_changed(name: str, tries: int) -> None:
    given = session_of_rows(name)
    original = first(given.archive, given.anchors)
    assert original.verdict in ACCEPTED
    assert second(given.archive, given.anchors) == original
    source, seen = random.Random(f"{name} {tries}"), Counter[str]()
    places = list(messages_of(given))
    assert {Kind.COMMIT, Kind.PROVE} <= {kind for kind, _ in places}
    for number in range(tries):
        place = source.choice(places) if tries < len(places) else places[number % len(places)]
        archive, deed = changed(given, place, source)
        found = second(archive, given.anchors)
        assert found == first(archive, given.anchors), (number, deed)
        assert found.verdict not in ACCEPTED or found.meaning == original.meaning, deed
        with any_closes():
            further = second(archive, given.anchors)
            assert further == first(archive, given.anchors), (number, deed)
        seen[found.verdict] += 1
        seen.update(rule for *_, rule in further.faults)
    assert seen["INVALID"]
