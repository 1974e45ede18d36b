"""Every attack by a board on a session over HTTP, with everything in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from gopa.adversary import attacks, named
from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import ServedAttack
from gopa.auditing.checks import check_of

CONVICTED: Final = Catch("05-C4", "board", How.CONVICTED)

CAUGHT: Final[Mapping[str, Catch]] = {
    "fork": CONVICTED,
    "fork-after-final-close": CONVICTED,
    "withheld-entry": CONVICTED,
    "stale-view": Catch("12-W8", "board", How.NOTICED),
    "lying-lookup": Catch("12-W3", "board", How.NOTICED),
    "dropped-post": Catch("04-P2", "party 0", How.REMOVED),
    "truncated-after-restart": CONVICTED,
    "rewritten-history": CONVICTED,
    "malformed-answers": Catch("05-C2", "board", How.NOTICED),
    "wrong-receipt": Catch("05-T2", "board", How.NOTICED),
    "split-organiser": Catch("04-C5", "organiser", How.REFUSED),
}

WITHOUT_RESULT: Final = frozenset({"fork", "fork-after-final-close", "truncated-after-restart"})
"""Too many stop. In others the round comes to its result on the face that the rest sees."""

OF_PARTICIPANTS: Final = frozenset({"04-C5", "05-T2", "12-W3", "12-W8"})
"""Rules that no check of an audit cites."""

NAMES: Final = tuple(name for name, each in attacks().items() if each.family == "served")


def test_every_attack_is_here() -> None:
    assert set(NAMES) == set(CAUGHT)


@pytest.mark.parametrize("name", NAMES)
def test_attack_fails_and_is_caught_by_what_it_says(name: str) -> None:
    """The honest session over the same front came to a right result, or `run` raises."""
    attack = named(name)
    assert isinstance(attack, ServedAttack)
    row = attack.run()
    assert (row.succeeded, row.harm, row.missed) == (False, (), ())
    assert row.held
    assert CAUGHT[name] in row.caught
    assert attack.expects == (CAUGHT[name].rule,)
    assert row.result == ("none" if name in WITHOUT_RESULT else "right")
    guilty = {"board", "organiser"} if attack.with_organiser else {"board"}
    assert set(row.blamed) <= guilty
    assert ("board" in row.blamed) is (CAUGHT[name] == CONVICTED)


@pytest.mark.parametrize("name", NAMES)
def test_story_and_rules_are_complete(name: str) -> None:
    attack = named(name)
    story = attack.story
    assert all(text.endswith(".") for text in (story.tries, story.caught, story.costs))
    assert all(rule in OF_PARTICIPANTS or check_of(rule) for rule in attack.expects)
