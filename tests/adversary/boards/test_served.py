"""Every attack by a board on a session over HTTP, with everything in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final

import pytest

from gopa.adversary import attacks, named
from gopa.adversary.boards import ServedSession, harm, played, require_honest_session, serve_session
from gopa.adversary.boards.outcome import ForkOutcome, ServedOutcome
from gopa.adversary.boards.scenario import masks_open
from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import ServedAttack
from gopa.adversary.setup import SMALL, WITNESSED
from gopa.auditing.checks import check_of
from gopa.contract.phases import Phase
from wire.ed25519 import PublicKey

CONVICTED: Final = Catch("05-C4", "board", How.CONVICTED)

CAUGHT: Final[Mapping[str, Sequence[Catch]]] = {
    "fork": [CONVICTED],
    "fork-after-final-close": [CONVICTED],
    "fork-of-proofs": [CONVICTED],
    "hidden-proof": [Catch("12-W3", "board", How.NOTICED)],
    "withheld-entry": [CONVICTED],
    "stale-view": [Catch("12-W8", "board", How.NOTICED)],
    "lying-lookup": [Catch("12-W3", "board", How.NOTICED)],
    "dropped-post": [Catch("04-P2", "party 0", How.REMOVED)],
    "truncated-after-restart": [CONVICTED],
    "rewritten-history": [CONVICTED],
    "malformed-answers": [Catch("05-C2", "board", How.NOTICED)],
    "wrong-receipt": [Catch("05-T2", "board", How.NOTICED)],
    "split-organiser": [Catch("04-C5", "organiser", How.REFUSED)],
    "three-branches": [Catch("04-U4", "party 0", How.UNMASKED), CONVICTED],
    "value-behind-the-close": [
        Catch("04-P2", "party 0", How.REMOVED),
        Catch("04-C2", "party 0", How.IGNORED),
    ],
    "manifest-squat": [Catch("05-D5", "stranger", How.TURNED_AWAY)],
    "idle-crowd": [Catch("05-H2", "stranger", How.TURNED_AWAY)],
    "fork-without-witness": [Catch("05-P2", "board", How.NOTICED), CONVICTED],
    "restored-backup": [Catch("05-W8", "board", How.NOTICED)],
}

WITHOUT_RESULT: Final = frozenset(
    {
        *("fork", "fork-after-final-close", "fork-of-proofs"),
        *("fork-without-witness", "truncated-after-restart"),
    }
)
"""Too many stop. In others the round comes to its result on the fork that the rest sees."""

OF_PARTICIPANTS: Final = frozenset({"04-C5", "05-D5", "05-H2", "05-T2", "05-W8", "12-W3", "12-W8"})
"""Rules that no check of an audit cites."""

NAMES: Final = tuple(name for name, each in attacks().items() if each.family == "served")


def test_every_attack_is_here() -> None:
    assert set(NAMES) == set(CAUGHT)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES)
def test_attack_fails_and_is_caught_by_what_it_says(name: str) -> None:
    """The honest session over the same front came to a right result, or `run` raises."""
    attack = named(name)
    assert isinstance(attack, ServedAttack)
    row = attack.run()
    assert (row.succeeded, row.harm, row.missed) == (False, (), ())
    assert row.held
    assert set(CAUGHT[name]) <= set(row.caught)
    assert attack.expects == tuple(each.rule for each in CAUGHT[name])
    assert row.result == ("none" if name in WITHOUT_RESULT else "right")
    guilty = {"board", "organiser"} if attack.with_organiser else {"board"}
    assert set(row.blamed) <= guilty
    assert ("board" in row.blamed) is (CONVICTED in CAUGHT[name])


@pytest.mark.parametrize("name", NAMES)
def test_story_and_rules_are_complete(name: str) -> None:
    attack = named(name)
    story = attack.story
    assert all(text.endswith(".") for text in (story.tries, story.caught, story.costs))
    assert all(rule in OF_PARTICIPANTS or check_of(rule) for rule in attack.expects)


async def late_value(session: ServedSession, *, shown: bool) -> None:
    """The value of party 0 comes when its edges are open; it is `shown` by the log or by nobody."""
    process = session.start_organiser()
    victim, *others = session.gather()
    value = session.of(0, Phase.PUBLISH)
    victim.transport.loses(value)
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await session.overdue(process, Phase.PUBLISH)
    await session.until(lambda: session.taken(Phase.ROLLBACK) == len(others))
    await session.goes_on(session.handed(value) if shown else ())
    await session.done()


@cache
def played_late(*, shown: bool) -> ServedOutcome:
    """What came of it; one session serves all that look at it."""
    return played(SMALL, partial(late_value, shown=shown))


@pytest.mark.slow
@pytest.mark.parametrize("shown", [pytest.param(False, marks=pytest.mark.soak), True])
def test_a_log_goes_on_with_what_its_board_would_not_take(shown: bool) -> None:
    """No fork: nobody notices anything but what was late, and all open edges of one who is out."""
    outcome = played_late(shown=shown)
    assert (outcome.result, outcome.stuck, outcome.blamed, harm(outcome)) == ("right", "", (), ())
    assert (("04-C2", outcome.keys[0]) in outcome.forks[-1].passed_over) is shown
    assert [end.included for end in outcome.ends] == [False, True, True, True]
    rolled_back = {each.author.data for each in outcome.said if each.phase == Phase.ROLLBACK}
    unmasked = {each.author.data for each in outcome.said if each.phase == Phase.UNMASK}
    assert rolled_back == unmasked == set(outcome.keys[1:])


@pytest.mark.slow
def test_honest_sessions_have_witnesses_where_the_ground_says_so() -> None:
    require_honest_session(WITNESSED)
    with serve_session(WITNESSED) as session:
        assert len(session.ticket.trust.witnesses) == WITNESSED.witnesses
        assert session.ticket.trust.needs_witnesses
    with serve_session(SMALL) as session:
        assert not session.ticket.trust.needs_witnesses


@pytest.mark.slow
def test_edges_and_self_mask_of_one_party_are_harm_in_one_round_only() -> None:
    """Positions are those on the roll of the round, which need not be numbers of parties."""
    outcome = played_late(shown=True)
    assert harm(outcome) == ()
    (unmask, *_) = [each for each in outcome.said if each.phase == Phase.UNMASK]
    victim = PublicKey(outcome.keys[0])
    both = replace(outcome, said=(*outcome.said, replace(unmask, author=victim)))
    assert len(masks_open(both)) == 1
    later = replace(unmask, author=victim, round=2)
    assert masks_open(replace(outcome, said=(*outcome.said, later))) == ()
    moved = tuple(map(without_the_first, both.forks))
    assert masks_open(replace(both, forks=moved)) == masks_open(replace(outcome, forks=moved))
    assert masks_open(both) != masks_open(replace(outcome, forks=moved))


def without_the_first(fork: ForkOutcome) -> ForkOutcome:
    """As if party 0 were not on any roll."""
    rounds = tuple(replace(found, roll=found.roll[1:]) for found in fork.findings.rounds)
    return replace(fork, findings=replace(fork.findings, rounds=rounds))
