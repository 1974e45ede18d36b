"""Modes full and signed: a whole session with log, proofs or hashes, and signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gopa.aggregation.bounds import Bounds
from gopa.aggregation.dropouts import Leaving, leaving
from gopa.aggregation.engine import Carried, Excluded
from gopa.aggregation.errors import RoundAborted
from gopa.aggregation.grid import Integers
from gopa.aggregation.off_lists import crossing
from gopa.aggregation.progress import PhaseBar
from gopa.aggregation.settings import Settings
from gopa.aggregation.transcript import SessionTranscript
from gopa.messages.manifest import CommitReveal, Mode, TestCoins, Trust
from gopa.messages.organiser import Abort, Cause, Why
from gopa.messages.phases import Phase
from gopa.organiser import Setting
from gopa.party import Post
from gopa.planning import PrivacyStatement, Terms, privacy
from gopa.rounds.toolkit import Toolkit
from gopa.rules import Findings, RoundFindings, outcome_of
from gopa.simulation import RoundRecord, Script, Simulation, Stage
from gopa.simulation.scene import Scene
from wire.errors import UsageError
from wire.randomness import Rng

_UNPROVED: Final = "parties keep to the range and draw their noise: neither is proved"
_HONEST: Final = "parties keep the rules: liars are not found"


class Silence:
    """A party that posts nothing from a phase on, as the script of the aggregator says."""

    __slots__ = ("_leaving",)

    def __init__(self, script: Leaving) -> None:
        self._leaving = script

    def says(self, scene: Scene, post: Post) -> Sequence[Post]:
        """The message, unless the party is silent by now."""
        phase = self._leaving(scene.round).get(scene.index)
        return () if phase is not None and post.phase >= phase else (post,)

    def last_words(self, scene: Scene, phase: Phase) -> Sequence[Post]:
        """None."""
        del scene, phase
        return ()

    def after(self, scene: Scene, phase: Phase) -> Sequence[Post]:
        """Nothing."""
        del scene, phase
        return ()


class Session:
    """One session over all rounds of an aggregator, with all its parties."""

    def __init__(
        self, terms: Terms, settings: Settings, rng: Rng, toolkit: Toolkit | None = None
    ) -> None:
        self._terms = terms
        self._settings = settings
        self._rng = rng
        self._toolkit = toolkit
        self._bar = PhaseBar(settings.progress, _work(terms, settings))
        self._simulation = Simulation(
            terms,
            rng=rng,
            setting=_setting(terms, settings),
            script=_script(terms, settings),
            stage=Stage(
                directory=settings.storage,
                toolkit=toolkit,
                executor=settings.executor,
                progress=self._bar,
            ),
        )
        keys = [actor.scene.key.public.data for actor in self._simulation.parties]
        self._positions = {key: party for party, key in enumerate(keys)}

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One logical round of the session, with all its attempts."""
        simulation = self._simulation
        with self._bar.running():
            record = simulation.run_round([None if row is None else row.tolist() for row in rows])
        if record.sums is None or not record.attempts:
            raise self._aborted(record)
        last = record.attempts[-1]
        crossed = self._crossed(last)
        stays = self._settings.trust == "honest-but-curious"
        variance = self._terms.mask_deviation**2 + 1 / 12
        return Carried(
            sums=np.array(record.sums, dtype=np.int64),
            included=record.included,
            excluded=self._excluded(record.attempts, record.included),
            rolled_back=self._parties(last, {outside for _, outside in self._undone(last)}),
            residual=len(crossed) * variance if stays else 0.0,
            attempts=len(record.attempts),
            vetoes=sum(attempt.released for attempt in record.attempts[:-1]),
            privacy=self._privacy(record.findings, last),
            transcript=SessionTranscript(
                simulation.session,
                last.number,
                self._settings.storage,
                simulation.log,
                self._toolkit,
            ),
        )

    def close(self) -> None:
        """Release the directory of the log."""
        self._simulation.close()

    def _aborted(self, record: RoundRecord) -> RoundAborted:
        ended = record.outcome
        if not isinstance(ended, Abort):
            message = "the session stopped: a party or the organiser broke a rule"
            return RoundAborted(message, "none", Why.ORGANISER.name, (), len(record.attempts))
        last = record.attempts[-1]
        reason = ended.reason.name.lower().replace("_", " ")
        return RoundAborted(
            f"no result after {len(record.attempts)} attempts; the last one ended for the "
            f"reason: {reason}",
            "masked" if last.released else "none",
            ended.reason.name,
            self._parties(last, set(ended.culprits)),
            len(record.attempts),
        )

    def _parties(self, found: RoundFindings, positions: set[int]) -> tuple[int, ...]:
        return tuple(sorted(self._positions[found.roll[position]] for position in positions))

    def _excluded(
        self, attempts: Sequence[RoundFindings], included: tuple[int, ...]
    ) -> tuple[Excluded, ...]:
        """What the last attempt says, or an earlier one of whoever did not get into that."""
        fates: dict[int, Excluded] = {}
        for found in attempts:
            for party, fate in self._fates(found).items():
                if fate.phase != Phase.JOIN.name or party not in fates:
                    fates[party] = fate
        lost = sorted(set(self._positions.values()).difference(included))
        absent = (Phase.JOIN.name, Cause.ABSENT.name)
        return tuple(fates.get(party, Excluded(party, *absent)) for party in lost)

    def _fates(self, found: RoundFindings) -> dict[int, Excluded]:
        """Who was removed in this attempt, or brought it to its end."""
        fates = {
            (party := self._positions[removed.author]): Excluded(
                party, removed.phase.name, removed.cause.name
            )
            for removed in found.removals
            if removed.author in self._positions
        }
        for party in self._parties(found, set(found.culprits)):
            phase = Phase.CONFIRM if found.abort is Why.NOT_CONFIRMED else Phase.UNMASK
            fates.setdefault(party, Excluded(party, phase.name, Cause.ABSENT.name))
        return fates

    def _undone(self, found: RoundFindings) -> list[tuple[int, int]]:
        """Edges that were opened, the end in the result first."""
        inside = set(found.final or ())
        return [(u, v) if u in inside else (v, u) for u, v in found.opened]

    def _crossed(self, found: RoundFindings) -> list[tuple[int, int]]:
        """Live edges from the result to parties that had committed to them."""
        committed = next((each.members for each in found.lists if each.phase is Phase.COMMIT), ())
        final = found.final or ()
        if found.graph is None:
            return []
        pairs = crossing(found.graph, final, set(committed).difference(final))
        void = {frozenset(pair) for pair in found.void}
        return [pair for pair in pairs if frozenset(pair) not in void]

    def _privacy(self, findings: Findings, found: RoundFindings) -> PrivacyStatement:
        outcome = outcome_of(findings, found.number)
        added = () if self._settings.mode == "full" else (_UNPROVED,)
        if self._settings.trust == "honest-but-curious":
            added = (*added, _HONEST)
        said = replace(outcome, assumptions=(*outcome.assumptions, *added))
        return privacy.of(said, rng=self._rng)


def _setting(terms: Terms, settings: Settings) -> Setting:
    stays = settings.trust == "honest-but-curious"
    if settings.mode == "signed" and (terms.mask == "gaussian") != stays:
        wanted = "gaussian" if stays else "uniform"
        raise UsageError(f"signed mode, {settings.trust}: plan with mask={wanted!r}", "mask")
    return Setting(
        mode=Mode.FULL if settings.mode == "full" else Mode.SIGNED,
        trust=Trust.HONEST_BUT_CURIOUS if stays else Trust.MALICIOUS,
        beacon=TestCoins() if settings.beacon == "test" else CommitReveal(),
        weighted=settings.weighted and Bounds.of(terms).reach is None,
        simulation=True,
        max_rollbacks=settings.max_rollbacks,
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
