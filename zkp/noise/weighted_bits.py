"""Proves noise from weighted bits, for the coordinates of vectors (specification 07, section 4).

Every coordinate has private coins, which are committed, together with the bits of the
input, in one point A before the public coins exist. A public coin then flips or keeps
its private one, and the noise is the weighted sum of the results minus its mean. One
proof covers all coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import ClassVar, Final

import numpy as np

from commitments import Commitment, Opening, VectorPedersen
from commitments.group import Group, Point, SecretScalarVec
from wire.codec import record, u16, vector
from wire.errors import ComputationFault, UsageError
from wire.randomness import Rng
from wire.randomness import draw as draw_bytes
from wire.secret import Guarded
from zkp import bits
from zkp.equations import Equation
from zkp.noise.law import (
    CoinSource,
    NoiseKind,
    NoiseLaw,
    NoiseSeed,
    NoiseSetting,
    PostedNoise,
    PublicCoins,
    check_law,
    one_commitment,
    wrong_seed,
)
from zkp.range import Interval, require_unambiguous, secret_bits
from zkp.transcript import Transcript

MOST_WEIGHTED_BITS: Final = 1024
LARGEST_TOTAL_WEIGHT: Final = 8192
_MOST_AT_ONCE: Final = 128


@dataclass(frozen=True, slots=True)
class WeightRun:
    """`count` independent fair bits of the same weight."""

    weight: int
    count: int

    def __post_init__(self) -> None:
        if type(self.weight) is not int or not 1 <= self.weight <= LARGEST_TOTAL_WEIGHT:
            raise UsageError(f"a weight is an integer from 1 to {LARGEST_TOTAL_WEIGHT}", "weight")
        if type(self.count) is not int or not 1 <= self.count <= MOST_WEIGHTED_BITS:
            raise UsageError(f"a run has 1 to {MOST_WEIGHTED_BITS} bits", "count")


@dataclass(frozen=True, slots=True)
class WeightedBits(NoiseLaw):
    """The sum of weighted fair bits, minus its mean.

    Runs are in increasing order of weight, so that a law has one description. Weights
    whose sums leave gaps, and so form a lattice coarser than the grid of the inputs,
    are refused by the check of log-concavity: the total modulo the step would leak.
    """

    runs: tuple[WeightRun, ...]
    kind: ClassVar[NoiseKind] = NoiseKind.WEIGHTED_BITS

    def __post_init__(self) -> None:
        if type(self.runs) is not tuple or any(type(run) is not WeightRun for run in self.runs):
            raise UsageError("runs are a tuple of WeightRun", "runs")
        if any(first.weight >= second.weight for first, second in pairwise(self.runs)):
            raise UsageError("runs are in increasing order of weight, one for each weight", "runs")
        total = sum(run.weight * run.count for run in self.runs)
        if not 2 <= total <= LARGEST_TOTAL_WEIGHT or total % 2:
            message = f"the weights sum to an even number from 2 to {LARGEST_TOTAL_WEIGHT}"
            raise UsageError(message, "runs")
        if sum(run.count for run in self.runs) > MOST_WEIGHTED_BITS:
            raise UsageError(f"a law uses at most {MOST_WEIGHTED_BITS} bits", "runs")
        check_law(self.masses)

    @property
    def weights(self) -> tuple[int, ...]:
        """One weight for each bit, in the order in which a proof commits them."""
        return tuple(run.weight for run in self.runs for _ in range(run.count))

    @property
    def masses(self) -> tuple[int, ...]:
        """The probabilities in units of 1 / total, computed once for all equal laws."""
        return _masses(self.runs)

    @property
    def parameters(self) -> bytes:
        """The encoding of the parameters, without the kind."""
        return WEIGHTED_BITS.encode(self)

    @property
    def words(self) -> str:
        """The law and its parameters in one phrase for people."""
        return f"{self.hidden_bits} weighted bits, deviation {sqrt(self.variance):.4g} steps"

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The masses of groups of at most 128 bits."""
        return tuple(counts(group) for group in even_groups(self.weights))

    @property
    def hidden_bits(self) -> int:
        """One private coin for each weight."""
        return sum(run.count for run in self.runs)

    def one_number(self, dimension: int) -> bool:
        """What is proved is always a vector."""
        return False

    def proof_size(self, setting: NoiseSetting) -> int:
        """The length of every proof of inputs and their noise."""
        return bits.proof_size(setting.group, self.plan(setting).layout)

    def plan(self, setting: NoiseSetting) -> WeightedNoisePlan:
        """What is fixed before the coins."""
        return WeightedNoisePlan(setting.group, self, setting.dimension, setting.interval, True)

    def seed(
        self, setting: NoiseSetting, inputs: SecretScalarVec, hedge: Transcript, *, rng: Rng
    ) -> NoiseBits:
        """Fresh private coins, committed to with the bits of the inputs."""
        return commit_weighted_noise(self.plan(setting), inputs, hedge, rng=rng)

    def coins(self, setting: NoiseSetting, source: CoinSource) -> bytes:
        """A public coin for each private one."""
        return source.flips(setting.dimension * self.hidden_bits)

    def statement(self, posted: PostedNoise) -> WeightedNoiseStatement:
        """What a proof is about; raises as `NoiseLaw.statement`."""
        setting, coins = posted.setting, posted.coins
        if type(coins) is not bytes:
            raise UsageError("the coins are bytes, one for each private coin")
        return WeightedNoiseStatement(
            self.plan(setting),
            setting.group.decode_point(posted.seed),
            coins,
            one_commitment(self, setting, posted.output),
            one_commitment(self, setting, posted.inputs),
        )

    def prove(  # noqa: PLR0913 - as NoiseLaw.prove
        self,
        posted: PostedNoise,
        seed: NoiseSeed | None,
        inputs: Opening,
        output: Opening,
        transcript: Transcript,
        *,
        rng: Rng,
    ) -> bytes:
        """The proof; uses the seed up. `UsageError` for a seed of another law."""
        if not isinstance(seed, NoiseBits):
            raise wrong_seed()
        openings = bits.Openings(vectors=[inputs, output])
        return prove_weighted_noise(self.statement(posted), seed, openings, transcript, rng=rng)


WEIGHTED_BITS: Final = record(
    WeightedBits, runs=vector(record(WeightRun, weight=u16, count=u16), 1, MOST_WEIGHTED_BITS)
)
"""The encoding of the parameters."""


def binomial(count: int) -> WeightedBits:
    """The centred binomial of an even number of fair bits; its variance is count / 4."""
    return WeightedBits((WeightRun(1, count),))


def irwin_hall(terms: int, width: int) -> WeightedBits:
    """The centred sum of an even number of uniforms on [0, 2^width).

    Its variance is terms (4^width - 1) / 12, from terms * width bits.
    """
    if type(width) is not int or not 1 <= width <= LARGEST_TOTAL_WEIGHT.bit_length():
        raise UsageError("each uniform has at least one bit and few", "width")
    return WeightedBits(tuple(WeightRun(1 << bit, terms) for bit in range(width)))


@dataclass(frozen=True, slots=True)
class WeightedNoisePlan:
    """What is known before the coins: the law, the dimension, the inputs' range.

    Without an interval the proof is about noise alone. With `inputs_committed` a vector
    commitment of the inputs takes part in the statement; without, the inputs exist in
    the bits alone.
    """

    group: Group
    law: WeightedBits
    dimension: int
    interval: Interval | None = None
    inputs_committed: bool = False

    def __post_init__(self) -> None:
        VectorPedersen(self.group, self.dimension)
        if self.interval is not None:
            radius = self.law.radius
            wide = Interval(self.interval.low - radius, self.interval.high + radius)
            require_unambiguous(wide, self.group)
        elif self.inputs_committed:
            raise UsageError("committed inputs need the interval they lie in")

    @property
    def coin_count(self) -> int:
        """How many public coins the proof takes: one for each private one."""
        return self.dimension * len(self.law.weights)

    @property
    def layout(self) -> bits.Layout:
        """The layout of the bits, which A fixes."""
        width = 0 if self.interval is None else len(self.interval.weights)
        return bits.layout_of(self.coin_count + self.dimension * width, (self.dimension,))


class NoiseBits(Guarded):
    """Private coins and input bits behind the point A, which is published before the coins.

    It serves one list of coins and one proof: a second list would tell, with the
    first, almost everything about the private coins.
    """

    __slots__ = ("_bits", "_coins", "committed", "plan")

    def __init__(
        self, plan: WeightedNoisePlan, committed: bits.BitCommitment, hidden: SecretScalarVec
    ) -> None:
        """Keep the committed bits of noise; `commit_weighted_noise` makes them."""
        self.plan = plan
        self.committed = committed
        self._bits = hidden
        self._coins: PublicCoins | None = None

    @property
    def point(self) -> Point:
        """The point A, to be published."""
        return self.committed.point

    @property
    def posted(self) -> bytes:
        """The point A, as a join carries it."""
        return self.point.to_bytes()

    def reveal(self) -> tuple[bytes, bytes, bytes]:
        """Bits, one in each byte, blinding and point, to be kept until the proof is made."""
        scalars = np.frombuffer(self._bits.reveal().to_bytes(), dtype=np.uint8)
        blinding, point = self.committed.reveal()
        return scalars.reshape(-1, 32)[:, 0].tobytes(), blinding, point

    @classmethod
    def kept(cls, plan: WeightedNoisePlan, data: bytes, blinding: bytes, point: bytes) -> NoiseBits:
        """What `reveal` gave; whoever keeps it has it serve one list of coins and one proof."""
        found = np.frombuffer(data, dtype=np.uint8).astype(np.int64)
        hidden = plan.group.secret_scalars(found)
        committed = bits.BitCommitment.kept(plan.group, plan.layout, point, hidden, blinding)
        return cls(plan, committed, hidden)

    def settle(self, coins: PublicCoins) -> None:
        """Decide for these public coins.

        Raises:
            UsageError: other coins were used before, or their number is wrong.
        """
        require_coins(self.plan, coins)
        if self._coins not in {None, coins}:
            raise UsageError("private coins serve one list of public coins: commit to new ones")
        self._coins = coins

    def noise(self, coins: PublicCoins) -> SecretScalarVec:
        """The noise of each coordinate under the public coins; raises as `settle`.

        Takes a time that depends on the private coins.
        """
        self.settle(coins)
        weights, mean = self.plan.law.weights, self.plan.law.radius
        private = self._bits[: self.plan.coin_count].reveal().ints()
        flipped = [own ^ coin for own, coin in zip(private, coins, strict=True)]
        count, order = len(weights), self.plan.group.order
        sums = [
            sum(w for w, bit in zip(weights, flipped[at : at + count], strict=True) if bit) - mean
            for at in range(0, len(flipped), count)
        ]
        return self.plan.group.secret_scalars([value % order for value in sums])


def commit_weighted_noise(
    plan: WeightedNoisePlan,
    inputs: SecretScalarVec | None,
    transcript: Transcript,
    *,
    rng: Rng,
) -> NoiseBits:
    """Draw the private coins and commit to them and to the inputs.

    The transcript, bound to the context, only hedges the blinding; it does not change.

    Raises:
        UsageError: inputs without an interval or the reverse, a wrong number of them, or
            one outside of the interval.
    """
    count, group = plan.coin_count, plan.group
    if (inputs is None) != (plan.interval is None):
        raise UsageError("give inputs exactly if the plan has an interval for them")
    data = draw_bytes(rng, -(-count // 8))
    hidden = group.secret_scalars([data[i // 8] >> i % 8 & 1 for i in range(count)])
    if inputs is not None and plan.interval is not None:
        if len(inputs) != plan.dimension:
            raise UsageError(f"{plan.dimension} inputs wanted, not {len(inputs)}")
        hidden = hidden.concat(secret_bits(group, inputs, [plan.interval] * plan.dimension))
    committed = bits.commit_bits(group, plan.layout, hidden, transcript, rng=rng)
    return NoiseBits(plan, committed, hidden)


@dataclass(frozen=True, slots=True)
class WeightedNoiseStatement:
    """That `output` hides the inputs plus the noise, or the noise alone.

    `committed` is the point A, which was published before anybody knew `coins`: one
    byte, 0 or 1, for each private coin. The caller makes sure of that order.
    """

    plan: WeightedNoisePlan
    committed: Point
    coins: bytes
    output: Commitment
    inputs: Commitment | None = None

    def __post_init__(self) -> None:
        require_coins(self.plan, self.coins)
        key = VectorPedersen(self.group, self.plan.dimension)
        given = [self.output] if self.inputs is None else [self.inputs, self.output]
        if any(each.key != key or len(each) != 1 for each in given):
            raise UsageError(f"inputs and output are one commitment each, under {key.describe()}")
        if (self.inputs is not None) != self.plan.inputs_committed:
            raise UsageError("give a commitment of the inputs exactly if the plan says so")

    @property
    def group(self) -> Group:
        """The group of all commitments."""
        return self.plan.group

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits (07-R12)."""
        plan, law = self.plan, self.plan.law
        weights, count = law.weights, len(law.weights)
        signed = [
            -weight if coin else weight
            for weight, coin in zip(weights * plan.dimension, self.coins, strict=True)
        ]
        low = 0 if plan.interval is None else plan.interval.low
        shifts = [
            sum(w for w, coin in zip(weights, self.coins[at : at + count], strict=True) if coin)
            for at in range(0, len(self.coins), count)
        ]
        constants = [low] * plan.dimension if self.inputs else []
        return bits.BitStatement.of(
            _shape(plan),
            constants=constants + [low + shift - law.radius for shift in shifts],
            vectors=[self.output] if self.inputs is None else [self.inputs, self.output],
            varying=signed,
        )

    def bind(self, transcript: Transcript) -> None:
        """Absorb what the bits do not say by themselves (07-R13)."""
        transcript.absorb(b"weighted-noise/law", _law_hash(self.plan.law))
        transcript.absorb(b"weighted-noise/coins", self.coins)

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_weighted_noise`."""
        self.bind(transcript)
        return bits.equations(self.as_bits(), proof, transcript, committed=self.committed)


def prove_weighted_noise(
    statement: WeightedNoiseStatement,
    hidden: NoiseBits,
    openings: bits.Openings,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Prove that the output hides what private and public coins make of it.

    `openings.vectors` has the openings of the inputs, if the statement has them, and of
    the output. The caller has bound the context to the transcript. Uses `hidden` up.

    Raises:
        UsageError: bits and openings do not satisfy the statement. Nothing was sent.
        ComputationFault: a computation went wrong. Nothing was sent.
    """
    if hidden.plan != statement.plan or hidden.point != statement.committed:
        raise UsageError("these are not the private coins of the statement")
    hidden.settle(statement.coins)
    statement.bind(transcript)
    claim, again = statement.as_bits(), statement.as_bits()
    # A wrong coefficient on a coin that is 0 would go unnoticed: the rows hold.
    if claim.varying != again.varying:
        raise ComputationFault("the statement of a proof is not the one that was asked for")
    return bits.prove_committed(claim, hidden.committed, openings, transcript, rng=rng)


def verify_weighted_noise(
    statement: WeightedNoiseStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a noise proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    statement.bind(transcript)
    bits.verify(statement.as_bits(), proof, transcript, committed=statement.committed)


def require_coins(plan: WeightedNoisePlan, coins: PublicCoins) -> None:
    """Raises `UsageError` for anything but one byte, 0 or 1, for each private coin."""
    # A byte above 1 would flip a coin as 1 does, but be hashed as another statement.
    if type(coins) is not bytes or len(coins) != plan.coin_count or not {0, 1}.issuperset(coins):
        raise UsageError(f"coins are {plan.coin_count} bytes, each 0 or 1")


@lru_cache(maxsize=64)
def _law_hash(law: WeightedBits) -> bytes:
    return law.table_hash()


@lru_cache(maxsize=16)
def _shape(plan: WeightedNoisePlan) -> bits.ConstraintShape:
    count, width = len(plan.law.weights), 0
    inputs = [bits.BitForm(())] * plan.dimension
    if plan.interval is not None:
        width = len(plan.interval.weights)
        first = plan.coin_count
        inputs = [
            bits.BitForm.weighted(first + j * width, plan.interval.weights)
            for j in range(plan.dimension)
        ]
    noise = [
        bits.BitForm((), tuple(range(j * count, (j + 1) * count))) for j in range(plan.dimension)
    ]
    outputs = tuple(own + given for own, given in zip(noise, inputs, strict=True))
    constraints = [bits.CommittedVector(tuple(inputs))] if plan.inputs_committed else []
    return bits.ConstraintShape(
        plan.group,
        plan.coin_count + plan.dimension * width,
        [*constraints, bits.CommittedVector(outputs)],
    )


def even_groups(weights: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Groups of at most 128 weights whose totals are even, so that each has a middle value.

    Odd weights come first. There is an even number of them, as the total is even, so
    every slice of 128 holds an even number of them.
    """
    ordered = sorted(weights, key=lambda weight: weight % 2 == 0)
    return [tuple(ordered[at : at + _MOST_AT_ONCE]) for at in range(0, len(ordered), _MOST_AT_ONCE)]


@lru_cache(maxsize=64)
def _masses(runs: tuple[WeightRun, ...]) -> tuple[int, ...]:
    return counts(tuple(run.weight for run in runs for _ in range(run.count)))


def counts(weights: tuple[int, ...]) -> tuple[int, ...]:
    """How many settings of the bits give each sum 0, 1, .., total weight."""
    found = [1]
    for weight in weights:
        gap = [0] * weight
        found = [a + b for a, b in zip(found + gap, gap + found, strict=True)]
    return tuple(found)
