"""Carries out modes full and signed: a whole session with log, proofs or hashes, and signatures."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gopa.aggregation.account import Account
from gopa.aggregation.dropouts import Leaving, leaving
from gopa.aggregation.engine import Carried
from gopa.aggregation.grid import Integers
from gopa.aggregation.progress import PhaseBar
from gopa.aggregation.settings import Settings
from gopa.aggregation.transcript import SessionTranscript
from gopa.contract.manifest import CommitReveal, Mode, TestCoins, Trust
from gopa.contract.phases import Phase
from gopa.planning import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.access import PartyAccess
from gopa.rounds.toolkit import Toolkit
from wire.errors import UsageError
from wire.randomness import Rng


class Silence:
    """Makes a party post nothing from a phase on, as the script of the aggregator says."""

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
    """Runs one session over all rounds of an aggregator, with all its parties in this process."""

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
