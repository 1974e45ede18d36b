"""Modes full and signed: a whole session with log, proofs or hashes, and signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from rich.console import Console

from gopa.aggregation.engine import (
    Carried,
    Excluded,
    Leaving,
    RoundAborted,
    Settings,
    exact_remark,
    leaving,
)
from gopa.aggregation.engine import Mode as ModeName
from gopa.aggregation.engine import Trust as TrustName
from gopa.aggregation.transcript import SessionTranscript
from gopa.contract.manifest import CommitReveal, Mode, TestCoins, Trust
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.contract.row_terms import sums_of_positions
from gopa.planning import PrivacyStatement, Terms, privacy
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.rules import Findings, RoundFindings, outcome_of
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.access import PartyAccess
from gopa.rounds.toolkit import Toolkit
from gopa.support.arrays import Integers
from gopa.support.progress import Advance, bar_on, shown
from wire.errors import UsageError
from wire.randomness import Rng

_UNPROVED: Final = "parties keep to the range and draw their noise: neither is proved"
_VETOED: Final = "; its organiser vetoed it: the log has what the round needed"
_HONEST: Final = "parties keep the rules: liars are not found"


class PhaseBar:
    """A bar that shows how many parties have been told of the phase that is open."""

    def __init__(self, wanted: bool | None, work: int) -> None:
        self._wanted = wanted
        self._work = work
        self._bar: Advance | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Shows the bar meanwhile, where one is shown."""
        console = Console(stderr=True)
        if not shown(self._wanted, self._work, console):
            yield
            return
        with bar_on(console) as advance:
            self._bar = advance
            try:
                yield
            finally:
                self._bar = None

    def __call__(self, phase: Phase, done: int, total: int) -> None:
        """Note how far the phase is."""
        if self._bar is not None:
            self._bar(phase.name.lower(), done, total)


class Silence:
    """The deed of a party that falls silent in a phase, as the script of the aggregator says."""

    __slots__ = ("_leaving",)

    def __init__(self, script: Leaving) -> None:
        self._leaving = script

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        """The message, unless the party is silent by now."""
        phase = self._leaving(access.round).get(access.index)
        return () if phase is not None and post.phase.place >= phase.place else (post,)

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """None."""
        del access, phase
        return ()

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """Nothing."""
        del access, phase
        return ()


class LocalSession:
    """One session over all rounds of an aggregator, with all its parties in this process."""

    def __init__(
        self, terms: Terms, settings: Settings, rng: Rng, toolkit: Toolkit | None = None
    ) -> None:
        self._terms = terms
        self._settings = settings
        self._rng = rng
        self._toolkit = toolkit
        self._bar = PhaseBar(settings.progress, _work(terms, settings))
        self._threads = ThreadPoolExecutor(settings.jobs) if settings.jobs > 1 else None
        self._simulation = Simulation(
            terms,
            rng=rng,
            setting=_setting(terms, settings),
            script=_script(terms, settings),
            options=SimulationOptions(
                directory=settings.storage,
                toolkit=toolkit,
                executor=settings.executor or self._threads,
                threads=self._threads,
                progress=self._bar,
                remember_noise=settings.remember_noise,
            ),
        )
        keys = [party.access.key.public.data for party in self._simulation.parties]
        positions = {key: party for party, key in enumerate(keys)}
        self._account = Account(terms, positions, settings.mode, settings.trust, rng)

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One logical round of the session, with all its attempts."""
        simulation = self._simulation
        with self._bar.running():
            record = simulation.run_round([None if row is None else row.tolist() for row in rows])
        number = record.attempts[-1].number if record.attempts else 0
        transcript = SessionTranscript(
            simulation.session, number, self._settings.storage, simulation.log, self._toolkit
        )
        return self._account.carried(record.findings, record.attempts, transcript)

    @property
    def simulation(self) -> Simulation:
        """The parties, the organiser and the board."""
        return self._simulation

    def close(self) -> None:
        """Release the directory of the log, and the threads."""
        self._simulation.close()
        if self._threads is not None:
            self._threads.shutdown()


def _setting(terms: Terms, settings: Settings) -> SessionSetting:
    stays = settings.trust == "honest-but-curious"
    if settings.mode == "signed" and (terms.mask == "gaussian") != stays:
        wanted = "gaussian" if stays else "uniform"
        raise UsageError(f"signed mode, {settings.trust}: plan with mask={wanted!r}", "mask")
    return SessionSetting(
        mode=Mode.FULL if settings.mode == "full" else Mode.SIGNED,
        trust=Trust.HONEST_BUT_CURIOUS if stays else Trust.MALICIOUS,
        beacon=TestCoins() if settings.beacon == "test" else CommitReveal(),
        weighted=settings.weighted,
        simulation=True,
    )


def _script(terms: Terms, settings: Settings) -> Script:
    if isinstance(settings.script, Script):
        return settings.script
    silence = Silence(leaving(settings.script, terms.parties))
    return Script(dict.fromkeys(range(terms.parties), (silence,)))


def _work(terms: Terms, settings: Settings) -> int:
    """About how many elementary steps a round takes."""
    heavy = 20_000 if settings.mode == "full" else 100
    return terms.parties * (terms.dimension * heavy + terms.k * 1000)


@dataclass(frozen=True, slots=True)
class Account:
    """What findings mean for parties, whose `positions` are told by their Ed25519 keys."""

    terms: Terms
    positions: Mapping[bytes, int]
    mode: ModeName
    trust: TrustName
    rng: Rng

    def carried(
        self, findings: Findings, attempts: Sequence[RoundFindings], transcript: Any
    ) -> Carried:
        """The logical round that these attempts made.

        Raises:
            RoundAborted: none of them has a result.
        """
        last = attempts[-1] if attempts else None
        if last is None or last.sums is None:
            raise self._aborted(attempts)
        included = self._parties(last, set(last.final or ()))
        sums = sums_of_positions(self.terms, last.sums, len(included))
        return Carried(
            sums=np.array(sums, dtype=np.int64),
            included=included,
            excluded=self._excluded(attempts, included),
            rolled_back=self._parties(last, {outside for _, outside in _undone(last)}),
            residual=self._residual(last),
            attempts=len(attempts),
            vetoes=sum(attempt.released for attempt in attempts[:-1]),
            organiser_vetoes=sum(bool(attempt.veto) for attempt in attempts),
            privacy=self._privacy(findings, last),
            transcript=transcript,
        )

    def _aborted(self, attempts: Sequence[RoundFindings]) -> RoundAborted:
        last = attempts[-1] if attempts else None
        if last is None or last.abort is None:
            message = "the session stopped: a party or the organiser broke a rule"
            return RoundAborted(message, "none", AbortReason.ORGANISER.name, (), len(attempts))
        remark = _VETOED if last.veto else ""
        remark += exact_remark(self.terms, masked=last.released)
        return RoundAborted.after(
            len(attempts),
            last.abort,
            masked=last.released,
            culprits=self._parties(last, set(last.culprits)),
            remark=remark,
        )

    def _parties(self, found: RoundFindings, positions: set[int]) -> tuple[int, ...]:
        return tuple(sorted(self.positions[found.roll[position]] for position in positions))

    def _excluded(
        self, attempts: Sequence[RoundFindings], included: tuple[int, ...]
    ) -> tuple[Excluded, ...]:
        """What the last attempt says, or an earlier one of whoever did not get into that."""
        fates: dict[int, Excluded] = {}
        for found in attempts:
            for party, fate in self._fates(found).items():
                if fate.phase != Phase.JOIN.name or party not in fates:
                    fates[party] = fate
        lost = sorted(set(self.positions.values()).difference(included))
        absent = (Phase.JOIN.name, RemovalCause.ABSENT.name)
        return tuple(fates.get(party, Excluded(party, *absent)) for party in lost)

    def _fates(self, found: RoundFindings) -> dict[int, Excluded]:
        """Who was removed in this attempt, or brought it to its end."""
        fates = {
            (party := self.positions[removed.author]): Excluded(
                party, removed.phase.name, removed.cause.name
            )
            for removed in found.removals
            if removed.author in self.positions
        }
        for party in self._parties(found, set(found.culprits)):
            phase = Phase.CONFIRM if found.abort is AbortReason.NOT_CONFIRMED else Phase.UNMASK
            fates.setdefault(party, Excluded(party, phase.name, RemovalCause.ABSENT.name))
        return fates

    def _residual(self, found: RoundFindings) -> float:
        """The variance of masks that stay in the sum: of live edges that nobody opens."""
        if self.trust != "honest-but-curious" or found.graph is None:
            return 0.0
        committed = next((each.members for each in found.lists if each.phase is Phase.COMMIT), ())
        final = found.final or ()
        outside, void = set(committed).difference(final), set(map(frozenset, found.void))
        ends = ((u, int(v)) for u in final for v in found.graph.neighbours(u))
        crossed = sum(v in outside and frozenset((u, v)) not in void for u, v in ends)
        return crossed * (self.terms.mask_deviation**2 + 1 / 12)

    def _privacy(self, findings: Findings, found: RoundFindings) -> PrivacyStatement | None:
        if self.terms.exact:
            return None
        outcome = outcome_of(findings, found.number)
        added = () if self.mode == "full" else (_UNPROVED,)
        if self.trust == "honest-but-curious":
            added = (*added, _HONEST)
        said = replace(outcome, assumptions=(*outcome.assumptions, *added))
        return privacy.of(said, rng=self.rng)


def _undone(found: RoundFindings) -> list[tuple[int, int]]:
    """Edges that were opened, the end in the result first."""
    inside = set(found.final or ())
    return [(u, v) if u in inside else (v, u) for u, v in found.opened]
