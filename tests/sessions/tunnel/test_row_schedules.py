"""Parties of rows in the tunnel say one thing and are never named, whenever they die."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

import gopa
from bulletin_board import Submission
from gopa.contract.party import OpenedEdge
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import opening
from gopa.protocol.party.context import PartyContext
from gopa.protocol.party.rows import prove_words
from gopa.protocol.party.states import Published
from gopa.protocol.rules import Findings
from gopa.protocol.rules.findings import RoundFindings
from gopa.rounds.rows.words import ShownMasks
from gopa.sessions.organising import Over
from gopa.sessions.tunnel import StateLost, StateReplayed, Supply, TunnelInput, Unguarded
from gopa.sessions.tunnel.messages import REPLY
from gopa.sessions.tunnel.packing import unpack
from tests.protocol.simulation.row_worlds import shifted
from tests.sessions.tunnel.worlds import Caller, Tunnelled, slots
from wire.errors import InvalidProof
from wire.randomness import Rng

PARTIES, WIDTH = 6, 8


HARMLESS = ("worked out and lost", "reply lost", "told twice")


HARMFUL = ("state lost", "put back", "away", "gone")


TURNS = 8


"""Turns before the organiser looks again: whoever comes back within them is not late."""


@cache
def exact_terms(recovery: str | None, rounds: int) -> Terms:
    """Sums without noise can be compared with the values."""
    return gopa.plan(
        n=PARTIES,
        epsilon=None,
        dimension=WIDTH,
        norm=4,
        range=(-4, 4),
        integers=True,
        path="rows",
        corrupt=1,
        dropout=0.1,
        recovery=recovery,
        rounds=rounds,
        least_chance=0,
    ).terms


def value_of(number: int, logical: int) -> list[int]:
    found = [0] * WIDTH
    found[number], found[(number + logical + 1) % WIDTH] = 2, -1
    return found


def supply_of(number: int) -> Supply:
    return lambda logical: TunnelInput(value_of(number, logical))


@dataclass
class Mortal(Caller):
    """Calls a party as long as it lives; `events` are the names of what happens at its calls."""

    world: Mortals | None = None
    number: int = 0
    events: Iterator[str | None] = field(default_factory=lambda: iter(()))
    left: list[bytes] = field(default_factory=list)
    old: list[bytes] = field(default_factory=list)
    hurt: bool = False
    happened: list[str] = field(default_factory=list)
    waits: int = 0
    lost: bool = False

    def reply(self, request: bytes) -> bytes | None:
        """What arrives at the host: None where nothing does."""
        assert self.world is not None
        if self.silent:
            return None
        if self.waits:
            self.waits -= 1
            return None
        if self.lost:
            self.lost = False
            return self._said(self.party().position(self.state))
        event = next(self.events, None)
        if event is not None:
            self.happened.append(event)
            self.hurt |= event in HARMFUL
        request = unpack(request, self.dictionaries)
        return self._ended(event, request)

    def _ended(self, event: str | None, request: bytes) -> bytes | None:
        if event in {"gone", "away", "worked out and lost"}:
            self._silenced(event, request)
            return None
        if event == "put back" and self.old:
            self.state = random.Random(len(self.old)).choice(self.old)
        try:
            state, reply = self.party().answer(self.state, request, self.supply)
        except InvalidProof:  # the request is for a newer state than the one put back
            self.hurt = True
            return self._said(self.party().position(self.state))
        except (StateReplayed, StateLost):
            self.hurt = True
            self.state = self.party().begin(lost=True)
            return self._said(self.party().position(self.state))
        self._said(reply)
        if event == "state lost":
            return None  # what it said may be on its way or not
        self.old.append(self.state)
        self.state = state
        if event == "told twice" and self.old[-1]:
            again = self.party().answer(self.old[-1], request, self.supply)
            assert again == (state, reply)
        self.lost = event == "reply lost"
        return None if self.lost else reply

    def _silenced(self, event: str, request: bytes) -> None:
        """It dies before its answer counts, for a while or for ever."""
        assert self.world is not None
        self.silent = event == "gone"
        if event == "away":
            self.waits = 3 * TURNS
        elif event == "worked out and lost":
            self.world.maker(self.number, Unguarded())().answer(self.state, request, self.supply)

    def _said(self, reply: bytes) -> bytes:
        self.left += REPLY.decode(reply).posts
        return reply


@dataclass
class Mortals(Tunnelled):
    """A session whose parties die as a seed says; `liar` says something false about an edge."""

    seed: int = 0
    rate: float = 0.1
    most_hurt: int = 1
    liar: int | None = None
    lies: tuple[str, ...] = ("edge",)

    def __post_init__(self) -> None:
        super().__post_init__()
        source = random.Random(self.seed)
        self.frail = set(source.sample(range(self.terms.parties), self.most_hurt))
        for number, identity in enumerate(self.identities):
            self.callers[identity.public.data] = Mortal(
                self.maker(number),
                supply_of(number),
                self.dictionaries,
                world=self,
                number=number,
                events=self._fates(random.Random(f"{self.seed} {number}"), number),
            )

    def _fates(self, source: random.Random, number: int) -> Iterator[str | None]:
        kinds: Sequence[str] = HARMLESS + (HARMFUL if number in self.frail else ())
        rate = 3 * self.rate if number in self.frail else self.rate
        while True:
            yield source.choice(kinds) if source.random() < rate else None

    @property
    def mortals(self) -> list[Mortal]:
        found = [self.caller(number) for number in range(self.terms.parties)]
        return [each for each in found if isinstance(each, Mortal)]

    def send(self, requests: Any) -> dict[bytes, bytes]:
        found = {}
        for party, request in requests.items():
            caller = self.callers[party]
            assert isinstance(caller, Mortal)
            reply = caller.reply(request)
            if reply is not None:
                found[party] = reply
        return found

    def hold(self) -> Findings:
        """To the end, or until nothing moves any more."""
        with lying(self):
            idle = 0
            while idle < 4 * TURNS:
                over = isinstance(self.act(), Over)
                moved = [self.turn() for _ in range(TURNS)]
                idle = 0 if any(moved) or not over else idle + TURNS
        return self.findings()


@contextmanager
def lying(world: Mortals) -> Iterator[None]:
    """The liar proves with another mask of an edge and of itself, or opens edges wrongly."""

    def lies(author: bytes, lie: str) -> bool:
        mine = world.liar is not None and author == world.identities[world.liar].public.data
        return mine and lie in world.lies

    def told(published: Published, shown: ShownMasks, *rest: Any, rng: Rng) -> bytes:
        if lies(published.view.enrolment.authors[published.view.position], "edge"):
            neighbour = min(published.keys)
            shown = shifted(neighbour).alter(None, published, shown)  # type: ignore[arg-type]
        return prove_words(published, shown, *rest, rng=rng)

    def opened(party: PartyContext, *rest: Any) -> Any:
        if not lies(party.author, "key"):
            return honestly(party, *rest)
        with patch.object(opening, "OpenedEdge", lambda v, _: OpenedEdge(v, bytes([7] * 32))):
            return honestly(party, *rest)

    honestly = opening._open
    with patch.object(opening, "prove_words", told), patch.object(opening, "_open", opened):
        yield


def require(world: Mortals, findings: Findings) -> None:
    """One voice, nobody honest named, nobody unhurt missing, and sums of the values."""
    said = [raw for each in world.mortals for raw in each.left]
    assert all(len(each) == 1 for each in slots([*said, *world.raws()]).values()), "two voices"
    mine = {
        raw for raw in world.raws() if Submission.decode(raw).entry.author.data in world.callers
    }
    assert mine <= set(said)
    liars = set() if world.liar is None else {world.identities[world.liar].public.data}
    assert {each.author for each in findings.faults} <= liars
    unhurt = {n for n, each in enumerate(world.mortals) if not each.hurt and n != world.liar}
    for found in findings.rounds:
        if found.final is not None and found.sums is not None:
            require_sum(world, found, unhurt)


def require_sum(world: Mortals, found: RoundFindings, unhurt: set[int]) -> None:
    keys = [each.public.data for each in world.identities]
    inside = [keys.index(found.roll[place]) for place in found.final or ()]
    assert unhurt <= set(inside), (found.number, inside)
    values = [value_of(number, found.logical) for number in inside]
    scale = world.terms.steps // 8
    assert list(found.sums or ()) == [scale * sum(each) for each in zip(*values, strict=True)]


def schedule(seed: int) -> Mortals:
    """A session drawn by a seed: with recovery or not, with a liar or not, one or two rounds."""
    source = random.Random(f"schedule {seed}")
    recovery = source.choice(["1/2", None])
    terms = exact_terms(recovery, source.choice([1, 2]))
    world = Mortals(
        terms,
        SessionSetting(),
        seed=seed,
        rate=source.choice([0.02, 0.1, 0.25]),
        most_hurt=source.choice([0, 1, 1, 2]),
    )
    if source.random() < 0.3:
        world.liar = source.choice(sorted(set(range(terms.parties)) - world.frail))
        world.lies = source.choice([("edge",), ("key",), ("edge", "key")])
    return world


__all__ = ["Mortals", "exact_terms", "require", "schedule"]


def held(world: Mortals) -> int:
    """How many results a session has that was held to its end."""
    findings = world.hold()
    require(world, findings)
    return sum(each.sums is not None for each in findings.rounds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_of_deaths(seed: int) -> None:
    held(schedule(seed))


@pytest.mark.slow
def test_whoever_only_loses_replies_is_in_the_result() -> None:
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.5, most_hurt=0)
    assert held(world) == 1
    assert sum(len(each.happened) for each in world.mortals) > 10


@pytest.mark.slow
def test_whoever_lies_about_an_edge_is_out_and_named() -> None:
    """Its neighbours open their edges to it; nobody else is named or missing."""
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.0, most_hurt=0, liar=2)
    assert held(world) == 1
    findings = world.findings()
    assert {each.author for each in findings.faults} == {world.identities[2].public.data}
    assert findings.rounds[0].final == (0, 1, 3, 4, 5)
    assert (1, 2) in findings.rounds[0].opened


@pytest.mark.slow
def test_whoever_opens_an_edge_with_another_key_is_out_and_named() -> None:
    """It has to open the edge to a party that is gone behind publish."""
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.0, most_hurt=0, liar=2)
    world.lies, gone = ("key",), world.mortals[4]
    gone.events, gone.hurt = iter([None] * 5 + ["gone"]), True
    assert held(world) == 1
    findings = world.findings()
    assert {each.author for each in findings.faults} == {world.identities[2].public.data}
    assert findings.rounds[0].final == (0, 1, 3, 5)


@pytest.mark.soak
def test_hundreds_of_schedules() -> None:
    worlds = [schedule(seed) for seed in range(200)]
    results = [held(each) for each in worlds]
    assert sum(results) > 150
    happened = {event for each in worlds for party in each.mortals for event in party.happened}
    assert len(happened) == 7
