"""How rounds are carried out: the settings, what an engine is, and the engine of mode off.

An engine takes integers and gives their sum with noise. That of modes full and signed is a whole
session, in `sessions.py`. Mode off, for experiments, claims nothing. Grid and noise are those of a
session, so its results have the same law; keys, masks and proofs, which would cancel out, are left
out, and so nobody can leave between two phases.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np

from commitments.group import Group, Stream
from gopa.aggregation.transcript import NO_TRANSCRIPT
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.contract.terms import check_integer, check_name
from gopa.planning import PrivacyStatement, Terms
from gopa.planning.target import PlannedMode, PlannedTrust, python_number
from gopa.rounds.unproved_noise import add_noise
from gopa.support.arrays import Integers
from gopa.support.progress import watch
from gopa.support.wording import ABORTS, EXACT_DIFFERENCE, counted, name_of
from wire.domains import SIMULATION_SEED, SIMULATION_STREAM, Domain, stream_domain
from wire.errors import Aborted, UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

if TYPE_CHECKING:
    from gopa.protocol.simulation import Script as Departures
    from gopa.protocol.simulation import Simulation

Mode: TypeAlias = PlannedMode
Trust: TypeAlias = PlannedTrust

Coins: TypeAlias = Literal["test", "commit-reveal"]
"""Where the coins of a simulation come from."""

Seed: TypeAlias = int | bytes | None
"""What makes a simulation reproducible; None takes randomness from the operating system.

Never text: "7" from a command line would silently be another run than 7.
"""

Dropouts: TypeAlias = Mapping[int, "str | Phase"]
"""From which phase on a party posts nothing, by its position: `{3: "publish"}`."""

Script: TypeAlias = "Dropouts | Callable[[int], Dropouts]"
"""Dropouts of every round, or a function of its number, from 1; attempts are rounds too."""

AnyScript: TypeAlias = "Script | Departures"
"""Sessions also take `gopa.protocol.simulation.Script`: parties that lie, and not only leave."""

Leaving: TypeAlias = Callable[[int], Mapping[int, Phase]]
"""A script whose phases are checked."""

MOST_JOBS: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How rounds are carried out; the same for all rounds of an aggregator."""

    mode: Mode
    trust: Trust
    storage: Path | None
    seed: Seed
    script: AnyScript | None
    progress: bool | None
    executor: Executor | None
    jobs: int
    beacon: Coins
    weighted: bool
    remember_noise: bool

    def __post_init__(self) -> None:
        check_name(self.mode, get_args(Mode), "mode")
        check_name(self.trust, get_args(Trust), "trust")
        check_name(self.beacon, get_args(Coins), "beacon")
        check_integer(self.jobs, 1, MOST_JOBS, "jobs")
        if self.progress is not None and type(self.progress) is not bool:
            raise UsageError("must be true, false or None", "progress")
        if self.mode == "full" and self.trust != "malicious":
            raise UsageError("full mode trusts nobody: take mode='signed' or 'off'", "trust")
        if self.mode == "off" and self.storage is not None:
            raise UsageError("mode off keeps no log: take mode='signed'", "storage")


def leaving(script: AnyScript | None, parties: int) -> Leaving:
    """The script as a function of the round; what that returns is checked when it is asked.

    Raises:
        UsageError: neither dropouts nor a function; from the function returned, too: an
            unknown party or phase.
    """
    if script is None:
        return lambda _round: {}
    if isinstance(script, Mapping):
        always = _checked(script, parties)
        return lambda _round: always
    if not callable(script):
        message = "dropouts by party, or a function of the round; parties lie in sessions only"
        raise UsageError(message, "script")
    return lambda number: _checked(script(number), parties)


def _checked(dropouts: Dropouts, parties: int) -> Mapping[int, Phase]:
    if not isinstance(dropouts, Mapping):
        raise UsageError("dropouts by party, {} for none", "script")
    return {_party(party, parties): _phase(phase) for party, phase in dropouts.items()}


def _party(party: int, parties: int) -> int:
    party = python_number(party)
    if isinstance(party, bool) or not isinstance(party, int) or not 0 <= party < parties:
        raise UsageError(f"a party must be a position from 0 to {parties - 1}", "script")
    return party


def _phase(phase: str | Phase) -> Phase:
    names = {known.name.lower(): known for known in Phase if known is not Phase.ORGANISER}
    found = phase if isinstance(phase, Phase) else names.get(str(phase).lower())
    if found is None or found is Phase.ORGANISER:
        raise UsageError(f"a phase must be one of {', '.join(names)}", "script")
    return found


def source(seed: Seed, group: Group) -> Rng:
    """The randomness of a simulation: seeded, or that of the operating system.

    Raises:
        UsageError: the seed is no integer and no bytes.
    """
    if seed is None:
        return os.urandom
    if isinstance(seed, bool) or not isinstance(seed, (int, bytes)):
        raise UsageError("must be an integer or bytes, or None for fresh randomness", "seed")
    key = hashlib.sha256(SIMULATION_SEED + repr(seed).encode()).digest()
    return group.stream(SecretBytes(key), stream_domain(SIMULATION_STREAM)).bytes


def fresh_stream(group: Group, rng: Rng, purpose: Domain) -> Stream:
    """A stream of its own for one purpose, keyed from `rng`."""
    return group.stream(SecretBytes(draw(rng, 32)), stream_domain(purpose))


@dataclass(frozen=True, slots=True)
class Excluded:
    """A party that is not in the result, the phase in which it was lost, and why.

    For a party that was kept out of later attempts it is what it was kept out for.
    """

    party: int
    phase: str
    cause: str


@dataclass(frozen=True, slots=True)
class Carried:
    """What a logical round with a result came to.

    `sums` are the sums over `included`, with noise; `residual` is the variance, in
    squared steps, of masks that stayed in each of them. `rolled_back` are parties whose
    masks others opened. `attempts` counts rounds, `vetoes` those of them that ended
    without a result after masked values were out, `organiser_vetoes` those that the organiser
    ended though the log would have carried them on. `transcript` leads to the log.
    """

    sums: Integers
    included: tuple[int, ...]
    excluded: tuple[Excluded, ...]
    rolled_back: tuple[int, ...]
    residual: float
    attempts: int
    vetoes: int
    organiser_vetoes: int
    privacy: PrivacyStatement | None
    transcript: Any


class Engine(Protocol):
    """What carries out logical rounds, one after the other, over the same parties."""

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One logical round; None stands for a party that does not take part.

        Raises:
            RoundAborted: no attempt had a result.
        """

    @property
    def simulation(self) -> Simulation | None:
        """The parties, organiser and board; None where there is no session."""

    def close(self) -> None:
        """Give back what the engine holds; calling it again does nothing."""


class RoundAborted(Aborted):
    """A logical round ended without a result: its attempts are used up.

    `reason` is that of the last attempt, in the words of the protocol's list of reasons;
    `culprits` are the parties that this attempt found missing or wrong, as positions in
    the list of values; `attempts` says how many were made.
    """

    def __init__(
        self,
        message: str,
        released: Literal["none", "masked"],
        reason: str,
        culprits: tuple[int, ...],
        attempts: int,
    ) -> None:
        super().__init__(message, released)
        self.args = (message, released, reason, culprits, attempts)
        self.reason = reason
        self.culprits = culprits
        self.attempts = attempts

    @classmethod
    def after(
        cls,
        attempts: int,
        reason: AbortReason,
        *,
        masked: bool,
        culprits: tuple[int, ...],
        remark: str = "",
    ) -> RoundAborted:
        """The error of a logical round whose last attempt ended for this reason.

        `masked` says whether masked values were released; `remark` ends the message.
        """
        why, tried = ABORTS[name_of(reason)], counted(attempts, "attempt")
        message = f"no result after {tried} because {why}{remark}"
        return cls(message, "masked" if masked else "none", reason.name, culprits, attempts)


def exact_remark(terms: Terms, *, masked: bool) -> str:
    """What to mind after an abort behind which somebody may know an exact sum; else nothing."""
    if not (terms.exact and masked):
        return ""
    return (
        "; somebody may know the exact sum all the same, so give these values to no other sum: "
        f"{EXACT_DIFFERENCE}"
    )


_ABSENT: Final = (Phase.JOIN.name, RemovalCause.ABSENT.name)


class OffMode:
    """The engine of mode off: logical rounds over the parties of a plan."""

    def __init__(
        self,
        terms: Terms,
        group: Group,
        rng: Rng,
        leaving: Leaving,
        progress: bool | None = False,
    ) -> None:
        self._terms = terms
        self._group = group
        self._rng = rng
        self._leaving = leaving
        self._progress = progress
        self._round = 0

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One result, after as many attempts as it takes until enough parties join.

        Raises:
            RoundAborted: the plan allows no further attempt.
            UsageError: the script has a party leave in a later phase than join.
        """
        for attempt in range(1, self._terms.attempts + 1):
            self._round += 1
            joined = self._joined(rows)
            if len(joined) >= max(2, self._terms.survivors):
                return self._carried(joined, attempt)
        reason = AbortReason.TOO_FEW_JOINED
        raise RoundAborted.after(self._terms.attempts, reason, masked=False, culprits=())

    @property
    def simulation(self) -> None:
        """There is no session."""

    def close(self) -> None:
        """There is nothing to give back."""

    def _joined(self, rows: Sequence[Integers | None]) -> dict[int, Integers]:
        """The rows of those who take part."""
        leaving = self._leaving(self._round)
        if any(phase is not Phase.JOIN for phase in leaving.values()):
            message = "mode off has no phase after join: let parties leave there, or in mode signed"
            raise UsageError(message, "script")
        return {
            party: row for party, row in enumerate(rows) if row is not None and party not in leaving
        }

    def _carried(self, joined: dict[int, Integers], attempts: int) -> Carried:
        terms = self._terms
        words = np.zeros(terms.dimension, dtype=np.uint64)
        work = len(joined) * terms.dimension
        for row in watch(self._progress, list(joined.values()), "adding", work):
            words += row.astype(np.uint64)
            add_noise(words, terms.noise, self._group, self._rng)
        return Carried(
            sums=words.view(np.int64),
            included=tuple(joined),
            excluded=tuple(
                Excluded(party, *_ABSENT) for party in range(terms.parties) if party not in joined
            ),
            rolled_back=(),
            residual=0.0,
            attempts=attempts,
            vetoes=0,
            organiser_vetoes=0,
            privacy=None,
            transcript=NO_TRANSCRIPT,
        )
