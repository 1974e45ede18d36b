"""Who misbehaves, when, how, and what that takes of a session: attacks are such sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Mode, Path
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour, OrganiserBehaviour, Script
from gopa.protocol.simulation.script import Rounds
from wire.errors import UsageError


class NotApplicable(UsageError):
    """A deed that means nothing in this session, such as a false proof where none is due."""


Deed: TypeAlias = Callable[[Phase, Rounds], Behaviour]
"""What a party does in place of its message of a phase; `gopa.adversary.deeds` has many."""

PHASES = {phase.name.lower(): phase for phase in Phase if phase is not Phase.ORGANISER}


@dataclass(frozen=True, slots=True)
class Malicious:
    """A party's other deed at a phase: `Malicious(1, at="publish", do=late())`.

    `party` is its number, from 0, in the order of the keys. `at` is a phase or its name.
    `rounds` are the numbers of the rounds, from 1, in which it misbehaves; None is all.
    Several for one party apply in their order. With `board` the board does it to the party's
    messages, such as holding one back, and the party itself keeps the rules.

    Raises:
        UsageError: no such phase, or a deed that means nothing in it.
    """

    party: int
    at: str | Phase
    do: Deed
    rounds: Collection[int] | None = None
    board: bool = False

    def meant_for(self, number: int) -> bool:
        """Whether it misbehaves in the round of this number."""
        return self.rounds is None or number in self.rounds

    def behaviour(self) -> Behaviour:
        """The behaviour that a simulation takes."""
        rounds = None if self.rounds is None else frozenset(self.rounds)
        return self.do(phase_of(self.at), rounds)


@dataclass(frozen=True, slots=True)
class MaliciousOrganiser:
    """An organiser's other message: `MaliciousOrganiser(do=AlteredResult(..))`."""

    do: OrganiserBehaviour


Actor: TypeAlias = Malicious | MaliciousOrganiser


def require_actors(actors: Iterable[Actor]) -> tuple[Actor, ...]:
    """The same; `UsageError` if there is anything else among them, or no list at all."""
    found = tuple(actors) if isinstance(actors, Iterable) else (None,)
    if all(isinstance(each, Malicious | MaliciousOrganiser) for each in found):
        return found
    raise UsageError("must be a list of Malicious(..) and MaliciousOrganiser(..)", "actors")


def script_of(actors: Iterable[Actor]) -> Script:
    """All of them as the script of a simulation; `UsageError` as for `require_actors`."""
    script = Script()
    for actor in require_actors(actors):
        if isinstance(actor, Malicious):
            script = script.misbehave(actor.party, actor.behaviour())
        else:
            script = script.organise(actor.do)
    return script


def phase_of(name: str | Phase) -> Phase:
    """A phase of the parties by its name; `UsageError` lists them."""
    found = name if isinstance(name, Phase) else PHASES.get(name)
    if found is None or found is Phase.ORGANISER:
        raise UsageError(f"must be one of {', '.join(PHASES)}", "at")
    return found


@dataclass(frozen=True, slots=True)
class Requirement:
    """What an attack needs of its session, in words that follow `it needs`."""

    words: str
    met: Callable[[Manifest], bool]


PROOFS: Final = Requirement(
    "proofs, which only full mode has, about one commitment for each party",
    lambda m: m.mode is Mode.FULL and m.path is Path.BITS,
)
NOISE: Final = Requirement("noise, which exact sums do without", lambda m: not m.terms.exact)
RECOVERY: Final = Requirement("recovery of self-masks", lambda m: m.terms.threshold is not None)
SEEDS: Final = Requirement("recovery of self-masks by their seeds", lambda m: m.deals_seeds)
WEIGHTS: Final = Requirement("weights", lambda m: m.weighted)
NONCES: Final = Requirement("coins from nonces", lambda m: isinstance(m.beacon, CommitReveal))
DRAND: Final = Requirement("coins from drand", lambda m: isinstance(m.beacon, DrandBeacon))
ROWS: Final = Requirement("vectors that are proved row by row", lambda m: m.path is Path.ROWS)
WITNESSES: Final = Requirement("a quorum of witnesses", lambda m: m.quorum is not None)


def require_met(needs: Iterable[Requirement], manifest: Manifest) -> None:
    """Raises `NotApplicable` with the first need that a session does not meet."""
    for need in needs:
        if not need.met(manifest):
            raise NotApplicable(f"it needs {need.words}", "attack")
