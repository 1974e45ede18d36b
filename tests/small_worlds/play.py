"""Acting a world out: a whole session with real messages, masks and commitments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from gopa.adversary.deeds import conspire
from gopa.contract.manifest import Mode
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import RoundRecord, Simulation, SimulationOptions
from gopa.rounds.proofs import Proofs
from gopa.rounds.toolkit import GraphOfRound, Toolkit
from tests.lies import lying
from tests.protocol.simulation.prying import Coalition
from tests.protocol.simulation.worlds import inputs_for
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from tests.small_worlds.graphs import Edges, drawn_as
from tests.small_worlds.world import World
from zkp.noise import GaussianTable

TABLE: Final = GaussianTable.with_scale("4", bits=20, rows=31)
DOUBLES: Final = ProofDoubles()


@lru_cache
def terms_of(  # noqa: PLR0917 - the numbers of a world
    parties: int,
    survivors: int,
    loss: int,
    threshold: Fraction | None,
    attempts: int = 1,
    rounds: int = 1,
) -> Terms:
    """Terms that hold what they claim, which is nothing: the graphs are given."""
    return Terms(
        parties=parties,
        corrupt=1,
        survivors=survivors,
        loss=loss,
        k=parties - 1,
        dimension=1,
        low=Decimal(0),
        high=Decimal(1),
        steps=3,
        squared_sensitivity=9,
        noise=TABLE,
        mask="uniform",
        mask_deviation=0,
        epsilon=Decimal(100),
        delta=Decimal("0.999"),
        beta=Decimal("0.1"),
        rounds=rounds,
        charged=attempts - 1,
        attempts=attempts,
        beacon="commit-reveal",
        threshold_numerator=0 if threshold is None else threshold.numerator,
        threshold_denominator=1 if threshold is None else threshold.denominator,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A world that was acted out, with everything that its parties knew."""

    world: World
    simulation: Simulation
    record: RoundRecord
    inputs: tuple[tuple[int, ...], ...]
    secrets: Coalition

    @property
    def number(self) -> int:
        """The number of its (first) round."""
        return self.record.attempts[0].number

    def index(self, author: bytes) -> int:
        """The number of a party, from its key."""
        return next(each.index for each in self.simulation.parties if each.author == author)


class BelowTheLast(Simulation):
    """What comes late stands above the cut and before the close: it does not count either."""

    def _close_phase(self) -> bool:
        current = self._organiser.state.round
        phase = Phase.JOIN if current is None or current.opens is None else current.opens
        self._deliver([post for actor in self.parties for post in actor.last_words(phase)])
        close = self._end_phase()
        self._deliver([post for actor in self.parties for post in actor.after(phase)])
        return self._run(close)


def staged(
    world: World, terms: Terms, *, seed: int = 1, proofs: Proofs = DOUBLES, below: bool = False
) -> tuple[Simulation, Coalition]:
    """A session whose every secret is remembered, in which nobody does anything wrong yet."""
    secrets = Coalition(range(world.parties))
    mode = Mode.FULL if world.full else Mode.SIGNED
    simulation = (BelowTheLast if below else Simulation)(
        terms,
        rng=seeded(seed),
        setting=SessionSetting(mode=mode, max_rollbacks=world.rollbacks),
        options=SimulationOptions(
            toolkit=Toolkit(proofs=proofs, graph=_drawn(world.edges)),
            remember_noise=True,
            watch=secrets.watch,
        ),
    )
    return simulation, secrets


def play(
    world: World,
    *,
    seed: int = 1,
    proofs: Proofs = DOUBLES,
    attempts: int = 1,
    below: bool = False,
) -> Played:
    """One logical round of a new session; late entries come `below` the close, or behind it."""
    terms = terms_of(world.parties, world.survivors, world.loss, world.threshold, attempts)
    simulation, secrets = staged(world, terms, seed=seed, proofs=proofs, below=below)
    return play_round(world, simulation, secrets, seed)


def play_round(
    world: World, simulation: Simulation, secrets: Coalition, seed: int, *, acted: bool = False
) -> Played:
    """One more logical round; faults act in all of its attempts.

    With `acted` the caller has given the parties their behaviours.
    """
    terms = simulation.manifest.terms
    if not acted:
        act_out(world, simulation)
    inputs = inputs_for(terms, seed)
    record = simulation.run_round(inputs)
    values = tuple(map(tuple, inputs))
    world = replace(world, below=isinstance(simulation, BelowTheLast))
    return Played(world, simulation, record, values, secrets)


def act_out(world: World, simulation: Simulation) -> None:
    """Give every party its behaviour for what comes next."""
    for actor in simulation.parties:
        fault = world.faults.get(actor.index)
        about = world.about.get(actor.index, actor.index)
        actor.behaviours = () if fault is None else (fault.acted(about),)
        if fault is not None and fault.conspires:
            actor.behaviours = (lying("commit", conspire(about)), *actor.behaviours)


@lru_cache(maxsize=64)
def _drawn(edges: Edges) -> GraphOfRound:
    """One function for one graph: views of rounds are shared by it."""
    return drawn_as(edges)
