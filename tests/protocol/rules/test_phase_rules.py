"""What all phases have in common: their readers, and claims that are checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from gopa.contract.framing import Message
from gopa.contract.phases import CLOSED, KIND_IN, Phase
from gopa.protocol.rules.final_phases import (
    CuriousResultRules,
)
from gopa.protocol.rules.mailbox import CheckedOnce, PartyVerdict, invalid
from gopa.protocol.rules.round_state import PhaseRules
from gopa.protocol.rules.rounds import RULES_OF
from wire.errors import UsageError

Read = dict[bytes, tuple[Message, str]]


def message(author: bytes, index: int) -> Message:
    kind = KIND_IN[Phase.UNMASK]
    return Message(author, Phase.UNMASK, kind, 1, 0, index, index, b"leaf" + author, b"")


def read(*claims: tuple[bytes, str]) -> Read:
    return {author: (message(author, at), claim) for at, (author, claim) in enumerate(claims)}


def test_every_phase_that_closes_has_its_rules() -> None:
    assert {rules.phase: rules for rules in PhaseRules.__subclasses__()} == RULES_OF
    assert RULES_OF.keys() == {None, *CLOSED}


def test_nobody_s_messages_are_read_where_nobody_posts() -> None:
    rules = CuriousResultRules(cast("Any", None), cast("Any", None))
    assert rules.step == 0
    with pytest.raises(UsageError):
        rules.sorter(lambda found: found, "04-Z1")


def test_a_claim_is_checked_once_and_stays_wrong_with_every_cut() -> None:
    asked: list[list[str]] = []

    def wrong(new: Sequence[tuple[Message, str]]) -> frozenset[int]:
        asked.append([claim for _, claim in new])
        return frozenset(number for number, (_, claim) in enumerate(new) if claim == "lie")

    checked = CheckedOnce("04-U1", "a lie", wrong)
    first = {b"c": (message(b"c", 7), "lie"), **read((b"b", "truth"), (b"a", "truth"))}
    for _ in range(2):
        found, verdicts = dict(first), dict[bytes, PartyVerdict]()
        checked.require(found, verdicts)
        assert set(found) == {b"a", b"b"}
        assert verdicts == {b"c": invalid("04-U1", 7, "a lie")}
    later = {**first, b"d": (message(b"d", 9), "truth"), b"0": (message(b"0", 10), "lie")}
    verdicts = {}
    checked.require(later, verdicts)
    assert set(later) == {b"a", b"b", b"d"}
    assert list(verdicts) == [b"0", b"c"]
    # In the order of keys, which is that of the log's lists; nothing is asked again.
    assert asked == [["truth", "truth", "lie"], [], ["lie", "truth"]]
