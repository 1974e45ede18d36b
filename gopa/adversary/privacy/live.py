"""Runs real sessions, whose logs are stripped and compared with the views that are simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from gopa.adversary.privacy.evidence import PartySecrets
from gopa.adversary.setup import FOUR
from gopa.contract.parameters import Mode, Trust
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party.states import Committed
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import PostsLate
from wire.randomness import Rng
from zkp.noise import GaussianTable, binomial

LAST_ROUND: Final = 10_000


@dataclass(frozen=True, slots=True)
class Live:
    """A kind of session. `coalition` are numbers of parties; the others keep the rules.

    Those in `script` fall silent or are late, each in its own way.
    """

    name: str
    terms: Terms
    setting: SessionSetting
    script: Script
    coalition: tuple[int, ...] = (0, 1)

    @property
    def masks_stay(self) -> bool:
        """Nobody lies, so no mask is opened: those of parties that are gone stay in the sum."""
        return self.setting.trust is Trust.HONEST_BUT_CURIOUS

    def inputs(self) -> list[list[int]]:
        """The inputs on the grid, one row for each party."""
        terms = self.terms
        return [
            [(party + at) % (terms.steps + 1) for at in range(terms.dimension)]
            for party in range(terms.parties)
        ]

    def played(self, rounds: int, rng: Rng) -> Played:
        """A session of so many logical rounds, and every secret of it."""
        terms = replace(self.terms, rounds=rounds)
        memory = SecretsRecorder()
        options = SimulationOptions(remember_noise=True, watch=memory)
        simulation = Simulation(
            terms, rng=rng, setting=self.setting, script=self.script, options=options
        )
        rows = self.inputs()
        while not simulation.over:
            simulation.run_round(rows)
        return Played(self, simulation, memory.secrets, rows)


@dataclass(slots=True)
class SecretsRecorder:
    """What parties know behind their commits, by round and position."""

    secrets: dict[tuple[int, int], PartySecrets] = field(default_factory=dict)

    def __call__(self, actor: SimulatedParty) -> None:
        stage = actor.state.stage
        if isinstance(stage, Committed):
            keys = {other: edge.key for other, edge in stage.edges.items()}
            where = stage.opened.context.round, stage.view.position
            self.secrets[where] = PartySecrets(actor.index, keys, stage.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A session that is over. `secrets` are by round and position."""

    live: Live
    simulation: Simulation
    secrets: Mapping[tuple[int, int], PartySecrets]
    inputs: Sequence[Sequence[int]]

    def of_round(self, number: int) -> dict[int, PartySecrets]:
        """The secrets of one round by position."""
        return {place: found for (at, place), found in self.secrets.items() if at == number}

    def plain(self, number: int, party: int) -> tuple[int, ...]:
        """Input and noise of a party."""
        noise = self.simulation.noise_for_tests[number, party]
        return tuple(x + eta for x, eta in zip(self.inputs[party], noise, strict=True))


_SEVEN: Final = replace(
    FOUR,
    parties=7,
    k=4,
    survivors=6,
    loss=1,
    noise=GaussianTable.with_scale("2", bits=16, rows=15),
    beta=Decimal("0.000001"),
    charged=0,
    attempts=1,
)
_GAUSSIAN: Final = replace(_SEVEN, k=6, mask="gaussian", mask_deviation=40)
_RECOVERING: Final = replace(_SEVEN, threshold_numerator=1, threshold_denominator=2)
_RETRIED: Final = replace(_SEVEN, charged=1, attempts=2)
_VECTORS: Final = replace(_SEVEN, dimension=3, squared_sensitivity=48, noise=binomial(8))
_SHARED: Final = replace(_VECTORS, threshold_numerator=1, threshold_denominator=2)
_SIGNED: Final = SessionSetting(mode=Mode.SIGNED)
_CURIOUS: Final = SessionSetting(mode=Mode.SIGNED, trust=Trust.HONEST_BUT_CURIOUS)

_GONE: Final = Script().drop(5, before=Phase.PUBLISH)
_LATE: Final = Script().misbehave(4, PostsLate(Phase.PUBLISH))
_SILENT: Final = Script().drop(2, before=Phase.UNMASK).misbehave(5, PostsLate(Phase.PUBLISH))
_ODD: Final = frozenset(range(1, LAST_ROUND, 2))
_VETO: Final = Script().drop(0, before=Phase.UNMASK, rounds=_ODD)

SIGNED_SESSIONS: Final = (
    Live("signed, dropouts", _SEVEN, _SIGNED, _GONE),
    Live("signed, late values", _VECTORS, _SIGNED, _LATE),
    Live("signed, veto", _RETRIED, _SIGNED, _VETO),
    Live("signed, recovery", _SHARED, _SIGNED, _SILENT),
    Live("signed, Gaussian masks", _GAUSSIAN, _CURIOUS, Script()),
    Live("signed, Gaussian masks, dropouts", _GAUSSIAN, _CURIOUS, _GONE),
    Live("signed, Gaussian masks, late values", _GAUSSIAN, _CURIOUS, _LATE),
)
FULL_SESSIONS: Final = (
    Live("full, recovery", _RECOVERING, SessionSetting(), _SILENT),
    Live("full, Gaussian masks, late values", _GAUSSIAN, SessionSetting(), _LATE),
    Live("full, vectors", _VECTORS, SessionSetting(), _GONE),
    Live("full, vectors, recovery", _SHARED, SessionSetting(), _SILENT),
)
SESSIONS: Final = (*SIGNED_SESSIONS, *FULL_SESSIONS)
"""Both modes and both laws of masks, and every way in which a key or a seed is opened."""
