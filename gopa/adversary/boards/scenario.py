"""Scenarios in a served session, the same session without lies, and what must never come of any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

from bulletin_board import Entry
from gopa.adversary.boards.outcome import ServedOutcome, of, outcome_of
from gopa.adversary.boards.served_session import ServedSession, serve_session
from gopa.adversary.boards.transport import NeverHappened
from gopa.adversary.setup import SessionSetup
from gopa.adversary.trial import TwinFailed
from gopa.contract.party import OPENING, RECOVER
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.graph import Graph
from gopa.protocol.rules import RoundPicture
from gopa.protocol.simulation import Script
from wire.errors import ProtocolError

Scenario: TypeAlias = Callable[[ServedSession], Awaitable[None]]
"""What happens: who enters, what the front does, and what is waited for."""


def played(
    setup: SessionSetup, scenario: Scenario, *, honest_organiser: bool = True, retries: bool = False
) -> ServedOutcome:
    """Runs a scenario and says what came of it. One that waits in vain is stuck, and ended."""
    with serve_session(setup, retries=retries) as session:
        stuck = asyncio.run(_perform(session, scenario))
        return outcome_of(session, honest_organiser=honest_organiser, stuck=stuck)


@lru_cache(maxsize=16)
def require_honest_session(setup: SessionSetup) -> None:
    """Raises `TwinFailed` unless a session over a front that does nothing has a right result."""
    outcome = played(setup, nobody_lies)
    everybody = all(end.included for end in outcome.ends)
    if outcome.result != "right" or outcome.caught or harm(outcome) or not everybody:
        raise TwinFailed(f"without lies: {outcome.result}, {harm(outcome)}, {outcome.caught}")


async def nobody_lies(session: ServedSession) -> None:
    """Everybody takes part in a round, and the front passes everything on."""
    session.start_organiser()
    session.gather()
    await session.done()


def lying(script: Script) -> Scenario:
    """A scenario in which these parties lie, the others are honest, and the board is, too.

    The organiser waits for everybody who keeps the rules. Liars speak last where they want to.
    """

    async def scenario(session: ServedSession) -> None:
        session.start_organiser(in_vain=partial(_only_liars_are_late, session))
        for number in range(len(session.identities)):
            if number in script.parties:
                session.lie(number, script.parties[number])
            else:
                session.enter(number)
        await session.done_at_last()

    return scenario


def _only_liars_are_late(session: ServedSession, current: RoundPicture) -> bool:
    """Whether liars alone are waited for, and have said whatever they want to say."""
    if not current.expected <= {liar.key for liar in session.liars}:
        return False
    finished = [liar.finish(current.opened_at) for liar in session.liars]
    return all(finished)


async def _perform(session: ServedSession, scenario: Scenario) -> str:
    """What it waited for in vain."""
    try:
        await scenario(session)
    except NeverHappened as error:
        return str(error)
    finally:
        await session.leave()
    return ""


Edge = frozenset[bytes]
"""Two keys of parties."""


@dataclass(frozen=True, slots=True)
class Known:
    """One round: honest edges that nobody opened, and whose self-mask is known.

    `fewest` is how many honest values a plan hides in one sum, at least.
    """

    hidden: frozenset[Edge]
    bare: frozenset[bytes]
    fewest: int

    def bared(self) -> Iterator[tuple[bytes, ...]]:
        """Parties that are joined by hidden edges to bare ones only, and to too few of them."""
        left = set(self.bare)
        while left:
            group = self._joined(left.pop())
            left -= group
            if group <= self.bare and len(group) < self.fewest:
                yield tuple(sorted(group))

    def _joined(self, key: bytes) -> set[bytes]:
        group, grown = {key}, True
        while grown:
            beside = {end for edge in self.hidden if edge & group for end in edge}
            grown = not beside <= group
            group |= beside
        return group


def known_of(outcome: ServedOutcome) -> Iterator[Known]:
    """Every round that has a graph; forks share what was said before anybody had a value out."""
    forks = [fork.findings for fork in outcome.forks]
    manifest = next((found.manifest for found in forks if found.manifest is not None), None)
    if manifest is None or len(outcome.liars) > manifest.terms.corrupt:
        return
    rolls = {
        found.number: (found.roll, found.graph)
        for each in forks
        for found in each.rounds
        if found.graph is not None
    }
    honest = {key for at, key in enumerate(outcome.keys) if at not in outcome.liars}
    for number, (roll, graph) in sorted(rolls.items(), key=lambda item: item[0]):
        said = [each for each in outcome.said if each.round == number]
        yield _Round(manifest.terms, roll, graph, honest.intersection(roll), said).known()


@dataclass(frozen=True, slots=True)
class _Round:
    """A graph over a roll, and what everybody has said."""

    terms: Terms
    roll: tuple[bytes, ...]
    graph: Graph
    honest: AbstractSet[bytes]
    said: Sequence[Entry]

    def known(self) -> Known:
        edges = {frozenset((u, v)) for u in self.honest for v in self._beside(u) & self.honest}
        bare = {each.author.data for each in of(self.said, Phase.UNMASK)} | set(self._recovered())
        fewest = self.terms.survivors - self.terms.corrupt
        hidden = frozenset(edges.difference(self._opened()))
        return Known(hidden, frozenset(bare & self.honest), fewest)

    def _beside(self, key: bytes) -> set[bytes]:
        around = self.graph.neighbours(self.roll.index(key)).tolist()
        return {self.roll[v] for v in around if v < len(self.roll)}

    def _opened(self) -> Iterator[Edge]:
        for each in of(self.said, Phase.ROLLBACK):
            for edge in OPENING.decode(each.body).edges:
                if edge.neighbour < len(self.roll):
                    yield frozenset((each.author.data, self.roll[edge.neighbour]))

    def _recovered(self) -> Iterator[bytes]:
        """Whose shares are enough, with those of neighbours that lie."""
        givers = {key: self._beside(key) - self.honest for key in self.roll}
        for each in of(self.said, Phase.RECOVER):
            for share in RECOVER.decode(each.body).shares:
                if share.dealer < len(self.roll):
                    givers[self.roll[share.dealer]].add(each.author.data)
        for key, who in givers.items():
            needed = self.terms.shares_needed(len(self._beside(key)))
            if needed is not None and len(who) >= needed:
                yield key


def harm(outcome: ServedOutcome) -> tuple[str, ...]:
    """Everything that happened and must not, in words."""
    return (
        *masks_open(outcome),
        *honest_blamed(outcome),
        *wrong_sums(outcome),
        *fell_over(outcome),
        *hangs(outcome),
    )


def masks_open(outcome: ServedOutcome) -> tuple[str, ...]:
    """Too few honest values hide each other: the other masks around them are known.

    All forks together, and what was lost on the way: who runs them all sees all of it. Where
    a log forks, some edges to a party may be open beside its own mask, and plans count on
    that. Says nothing about sessions with more liars than the terms allow.
    """
    found = [bared for known in known_of(outcome) for bared in known.bared()]
    return tuple(_in_words(outcome, keys) for keys in sorted(set(found)))


def _in_words(outcome: ServedOutcome, keys: tuple[bytes, ...]) -> str:
    names = " and ".join(map(outcome.name_of, keys))
    if len(keys) == 1:
        return f"the edges to honest {names} and its own mask are open"
    return f"the sum of the honest {names} is known"


def honest_blamed(outcome: ServedOutcome) -> tuple[str, ...]:
    """Somebody honest is convicted by a fork, or accused by another party."""
    innocent = _honest(outcome)
    if outcome.honest_organiser:
        innocent.add(outcome.organiser)
    faults = [each for fork in outcome.forks for each in fork.report.faults if each.proved]
    blamed = sorted({each.author for each in faults} & innocent)
    found = [f"{outcome.name_of(key)} was blamed and is honest" for key in blamed]
    if not outcome.liars and of(outcome.said, Phase.ACCUSE):
        found.append("honest parties accuse each other")
    return tuple(found)


def wrong_sums(outcome: ServedOutcome) -> tuple[str, ...]:
    """A fork has a result that an audit accepts, and that cannot be right."""
    return ("a wrong sum was accepted",) if outcome.result == "wrong" else ()


def fell_over(outcome: ServedOutcome) -> tuple[str, ...]:
    """An honest party ended with an error that says nothing about the board."""
    return tuple(
        f"party {end.number} fell over: {type(end.error).__name__}"
        for end in outcome.ends
        if end.error is not None and not isinstance(end.error, ProtocolError)
    )


def hangs(outcome: ServedOutcome) -> tuple[str, ...]:
    """Something that had to happen never did."""
    return (f"it did not end: {outcome.stuck}",) if outcome.stuck else ()


def _honest(outcome: ServedOutcome) -> set[bytes]:
    """The keys of parties that keep the rules."""
    return {key for number, key in enumerate(outcome.keys) if number not in outcome.liars}
