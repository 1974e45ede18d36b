"""Sessions that prove vectors row by row: both verifiers find the same in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest

from gopa.adversary.deeds import add_to_the_sum, wrong_edge, wrong_key
from gopa.contract.manifest import TestCoins
from gopa.contract.party import OPENING, EdgeOpenings, OpenedEdge
from gopa.contract.phases import Phase
from gopa.contract.rows import Prove
from gopa.contract.terms import Terms
from gopa.protocol.party import Post
from gopa.protocol.party.states import Confirmed, Published
from gopa.protocol.simulation import Behaviour, Script
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import (
    Drop,
    Garbage,
    Honest,
    PostsLate,
    Replay,
    Skip,
    Twice,
    TwiceLater,
)
from tests.lies import lying, says
from tests.lies.table import LIES, OF_ROWS
from tests.protocol.simulation.row_worlds import (
    IN_ROWS,
    MANY_ROWS,
    RECOVERING,
    ROWS,
    WEIGHTED,
    shifted,
    shifted_together,
    simulate_rows,
    vectors_for,
)
from tests.protocol.simulation.test_rows import lies_in_two_rollbacks
from tests.verifier.answers import ACCEPTED, first, second
from tests.verifier.test_sessions import PHASES, TRIES, archive_of
from zkp.noise import NoNoise

ONCE: Final = replace(ROWS, rounds=1)
WEIGHTED_ONCE: Final = replace(WEIGHTED, rounds=1)
EXACT: Final = replace(
    MANY_ROWS, noise=NoNoise(), epsilon=None, charged=0, noise_square=1, spike=1, rounds=1
)
WORLDS: Final[dict[str, Terms]] = {
    "rows": replace(ROWS, rounds=2),
    "many": replace(MANY_ROWS, rounds=1),
    "recovering": replace(RECOVERING, rounds=2),
    "weighted": WEIGHTED_ONCE,
    "exact": EXACT,
    "one loss": replace(ROWS, rounds=2, late=1),
    "test coins": ONCE,
}


def vectors(terms: Terms, number: int) -> list[list[int]]:
    """With weights the last coordinate is one."""
    rows = vectors_for(terms, number)
    if not terms.weight_scale:
        return rows
    return [[*row[:-1], 10 + place] for place, row in enumerate(rows)]


def played(terms: Terms, script: Script, *, name: str = "", seed: int = 1) -> tuple[bytes, bytes]:
    """The archive of a whole session, and its anchors."""
    setting = replace(IN_ROWS, beacon=TestCoins()) if name == "test coins" else IN_ROWS
    weighted = bool(terms.weight_scale)
    simulation = simulate_rows(terms, script, seed=seed, setting=setting, weighted=weighted)
    for number in range(terms.rounds):
        if not simulation.over:
            simulation.run_round(vectors(terms, number))
    return archive_of(simulation)


def adds(amount: int, neighbour: int | None = None) -> Behaviour:
    """Larger words, with a false mask of an edge or of its own that makes up for it."""
    return lying("publish", add_to_the_sum(amount, neighbour))


def departure(source: random.Random, parties: int, own: int) -> Behaviour:
    """One way of not keeping to the rules."""
    other = source.choice([each for each in range(parties) if each != own])
    lies: list[Behaviour] = [
        *OF_ROWS,
        *(shifted(other), shifted_together(other)),
        *(adds(7), adds(7, other)),
    ]
    phase, later = source.choice(PHASES), source.choice(PHASES)
    silences: list[Behaviour] = [
        *(Drop(phase, before=True), Drop(phase, before=False), Skip(phase), PostsLate(phase)),
        *(Replay(phase), Twice(phase), TwiceLater(phase, later), Garbage(phase)),
    ]
    return source.choice(source.choice([lies, silences]))


def script_for(seed: str, parties: int) -> Script:
    """One to four departures of at most three parties."""
    source, script = random.Random(seed), Script()
    some = source.sample(range(parties), 3)
    for _ in range(source.randint(1, 4)):
        own = source.choice(some)
        script = script.misbehave(own, departure(source, parties, own))
    return script


def agreed(archive: bytes, anchors: bytes) -> str:
    """The verdict of both."""
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    return found.verdict


def test_both_take_an_honest_session_and_one_with_a_liar_about_an_edge() -> None:
    assert agreed(*played(ONCE, Script())) == "VALID"
    archive, anchors = played(ONCE, Script().misbehave(2, shifted(3)))
    assert agreed(archive, anchors) == "VALID"
    assert {rule for *_, rule in second(archive, anchors).faults} == {"14-K6"}


@pytest.mark.slow
def test_both_convict_once_whom_two_keys_convict() -> None:
    archive, anchors = played(ONCE, lies_in_two_rollbacks())
    assert agreed(archive, anchors) == "VALID"
    assert [rule for *_, rule in second(archive, anchors).faults] == ["14-K6", "14-K6"]


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", WORLDS)
def test_honest_sessions_are_accepted(name: str) -> None:
    archive, anchors = played(WORLDS[name], Script(), name=name)
    assert agreed(archive, anchors) == "VALID"
    assert not second(archive, anchors).faults


ABOUT_MASKS: Final = {
    "alone": Script().misbehave(2, adds(7)),
    "with an edge": Script().misbehave(2, adds(7, 3)),
    "two alike": Script().misbehave(2, shifted_together(3)).misbehave(3, shifted_together(2)),
    "silent behind it": Script().misbehave(2, shifted(3)).drop(2, before=Phase.ROLLBACK),
    "twice": Script().misbehave(2, shifted(3)).misbehave(2, Twice(Phase.PROVE)),
    "struck as it opens": Script().misbehave(2, shifted(3)).misbehave(2, Twice(Phase.ROLLBACK)),
}


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("terms", [ROWS, RECOVERING], ids=["plain", "recovering"])
@pytest.mark.parametrize("lie", ABOUT_MASKS)
def test_both_convict_who_lies_about_masks(lie: str, terms: Terms) -> None:
    archive, anchors = played(replace(terms, rounds=1), ABOUT_MASKS[lie])
    assert agreed(archive, anchors) == "VALID"
    assert second(archive, anchors).faults


def about_a_void_edge(said: Prove) -> Prove:
    """Says of edges that mask nothing what it says of its own mask."""
    return replace(said, edges=tuple(each.strip(b"\0") or said.self_mask for each in said.edges))


SELDOM: Final[dict[str, tuple[Terms, Script, frozenset[str], tuple[str | None, ...]]]] = {
    "too few have words": (
        ONCE,
        Script()
        .drop(0, before=Phase.PUBLISH)
        .drop(1, before=Phase.PUBLISH)
        .drop(4, before=Phase.PUBLISH),
        frozenset(),
        ("too_few_left", "too_few_joined", "too_few_joined"),
    ),
    "more go missing than may": (
        replace(ONCE, late=1, attempts=1, charged=0),
        Script().misbehave(0, Skip(Phase.PROVE)).misbehave(1, Skip(Phase.PROVE)),
        frozenset(),
        ("too_few_left",),
    ),
    "too long in the first of two rounds": (
        replace(ROWS, rounds=2),
        Script().misbehave(2, *LIES["another test"].does),
        frozenset({"14-P3"}),
        (None, None),
    ),
    "silent in prove before a retry": (
        ONCE,
        Script().misbehave(1, Skip(Phase.PROVE)).misbehave(2, adds(7)),
        frozenset({"14-K6"}),
        ("not_unmasked", None),
    ),
    "a void edge": (
        ONCE,
        Script()
        .misbehave(2, lying("commit", wrong_edge()))
        .misbehave(0, says(Phase.PROVE, about_a_void_edge)),
        frozenset({"04-A3", "14-P6"}),
        (None,),
    ),
    "a wrong key for a disputed edge": (
        ONCE,
        Script().misbehave(2, shifted(3), lying("rollback", wrong_key())),
        frozenset({"14-K6"}),
        (None,),
    ),
}


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", SELDOM)
def test_both_come_to_the_same_end(name: str) -> None:
    terms, script, rules, aborts = SELDOM[name]
    archive, anchors = played(terms, script)
    agreed(archive, anchors)
    found = second(archive, anchors)
    assert {each for *_, each in found.faults} == rules
    assert tuple(each.abort for each in found.rounds) == aborts


@dataclass(frozen=True, slots=True)
class OpensBehindTheClose(Honest):
    """Opens the edge to a neighbour when it has confirmed the final close."""

    neighbour: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        before, now = access.before.stage, access.state.stage
        if isinstance(before, Published) and isinstance(now, Confirmed):
            key = OpenedEdge(self.neighbour, before.keys[self.neighbour].reveal())
            access.memory["kept"] = EdgeOpenings(now.leaf, (key,)), before.next_seq
        return [post]

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        if phase is not Phase.CONFIRM:
            return []
        content, seq = access.memory["kept"]
        return [access.sign(Phase.ROLLBACK, OPENING.encode(content), seq)]


@pytest.mark.slow
@pytest.mark.parametrize("lies", [False, True])
def test_an_edge_that_is_opened_behind_the_close_is_open_whatever_was_said_about_it(
    lies: bool,
) -> None:
    """04-O5 is about keys that are right by their hash: they give the mask away."""
    script = Script().misbehave(2, OpensBehindTheClose(3))
    if lies:
        script = script.misbehave(2, shifted_together(3)).misbehave(3, shifted_together(2))
    archive, anchors = played(ONCE, script)
    assert agreed(archive, anchors) == "VALID"
    told = {rule for *_, rule in second(archive, anchors).faults}
    assert told - {"14-K6"} == {"04-F3", "04-O5"}


@pytest.mark.soak
@TRIES
@pytest.mark.parametrize("name", WORLDS)
def test_both_find_the_same_in_sessions_with_departures(name: str, seed: int) -> None:
    terms = WORLDS[name]
    script = script_for(f"{name} {seed}", terms.parties)
    archive, anchors = played(terms, script, name=name, seed=seed)
    assert agreed(archive, anchors) in {*ACCEPTED, "INCOMPLETE"}
