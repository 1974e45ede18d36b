"""Sessions in which schedules are played: few parties, cheap proofs or real ones."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from commitments import Opening
from gopa.adversary.setup import FOUR
from gopa.contract.manifest import Mode
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.rounds.proofs import NoiseClaim, Proofs
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.toolkit import Toolkit
from tests.rounds.doubles import ProofDoubles
from wire.randomness import Rng
from zkp.noise import GaussianTable, NoiseSeed, NoNoise


class RowDoubles(ProofDoubles):
    """Doubles with proofs that are long enough for every deed that spoils a byte of one."""

    def prove_noise(
        self,
        claim: NoiseClaim,
        seed: NoiseSeed | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        proof, weighing = super().prove_noise(claim, seed, given, output, rng)
        return 2 * proof, weighing

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        torn = {i for i, each in enumerate(claims) if each.proof[:32] != each.proof[32:]}
        halves = [replace(each, proof=each.proof[:32]) for each in claims]
        return super().bad_noises(halves, rng, executor) | torn


_DOUBLES: Final = RowDoubles()
_REAL: Final = RealProofs()


@dataclass(frozen=True, slots=True)
class World:
    """Terms, mode, and whether its proofs are real. Its graph is the one that chance draws."""

    name: str
    terms: Terms
    full: bool = True
    real: bool = False

    @property
    def setting(self) -> SessionSetting:
        return SessionSetting(mode=Mode.FULL if self.full else Mode.SIGNED)

    @property
    def toolkit(self) -> Toolkit:
        proofs: Proofs = _REAL if self.real else _DOUBLES
        return Toolkit(proofs=proofs)

    def inputs(self, logical: int) -> tuple[tuple[int, ...], ...]:
        """What the parties have; whoever is missing or counts twice shows in most sums."""
        steps = self.terms.steps
        return tuple((1 + (3 * u + logical) % steps,) for u in range(self.terms.parties))

    def __str__(self) -> str:
        return self.name


_WIDE: Final = replace(
    FOUR,
    steps=20,
    squared_sensitivity=400,
    noise=GaussianTable.with_scale("4", bits=20, rows=31),
)


def _shapes(four: Terms) -> dict[str, Terms]:
    five = replace(four, parties=5, k=4, loss=2)
    six = replace(five, parties=6, k=5, survivors=4)
    sparse = replace(four, parties=8, k=3, loss=1, survivors=6, attempts=2, beta=Decimal("0.08"))
    return {
        "four": four,
        "five": five,
        "recovery": replace(six, threshold_numerator=1, threshold_denominator=2),
        "sparse": sparse,
    }


def _without_noise(four: Terms) -> dict[str, Terms]:
    """Exact sums, which need more than half of the honest parties; attempts there are several."""
    exact = replace(four, noise=NoNoise(), epsilon=None, charged=0, attempts=3)
    shapes = {name: terms for name, terms in _shapes(exact).items() if name != "five"}
    return {f"{name}, exact": terms for name, terms in shapes.items()}


def _worlds() -> tuple[World, ...]:
    found = []
    for suffix, base, real in (("", _WIDE, False), (" with proofs", FOUR, True)):
        for rounds, twice in ((1, ""), (2, ", two rounds")):
            four = replace(base, rounds=rounds)
            exact = {} if real else _without_noise(four)
            for shape, terms in {**_shapes(four), **exact}.items():
                name = f"{shape}{twice}{suffix}"
                found.append(World(name, terms, real=real))
                if not real or shape == "four":
                    found.append(World(f"{name}, signed", terms, full=False, real=real))
    return tuple(found)


WORLDS: Final = {world.name: world for world in _worlds()}
