"""The interface of the laws of the independent noise: exact, public, the same integers everywhere.

A law is a symmetric log-concave distribution on the integers from -radius to radius
whose probabilities are `masses[i] / total`. Provers, verifiers and the privacy
accountant all use these integers, so there is no approximation to argue about. Laws
are valid by construction: parameters that give anything else raise `UsageError`
(`MalformedMessage` when decoded). Specification: `specs/03-privacy.md`, section 2.

Real numbers are computed as intervals of integers that no machine may round differently. An
enclosure `(low, high)` at precision P says low <= value * 2^P <= high. Every operation rounds the
lower end down and the upper end up. There are no floats: two machines compute the same integers,
and a decision taken from an enclosure is a proof.
"""

from __future__ import annotations

import bisect
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from commitments import Commitment, Opening, Pedersen, VectorPedersen
from commitments.group import Group, SecretScalarVec
from wire.codec import u8
from wire.domains import NOISE_TABLE
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.batch import Verifiable
from zkp.range import Interval
from zkp.transcript import Transcript


class Enclosure(NamedTuple):
    """A non-negative real number, bounded from both sides in units of 2^-precision."""

    low: int
    high: int


def product(left: Enclosure, right: Enclosure, precision: int) -> Enclosure:
    """An enclosure of the product of two enclosed numbers."""
    return Enclosure(
        left.low * right.low >> precision,
        -(-left.high * right.high >> precision),
    )


def exp_of_minus(numerator: int, denominator: int, precision: int) -> Enclosure:
    """An enclosure of exp(-numerator / denominator), for 0 < numerator, denominator.

    The argument is halved until it is below 1/2, where the series of exp converges
    at least as fast as a geometric one; the inverse is squared back.
    """
    halvings = 0
    while numerator * 2 > denominator << halvings:
        halvings += 1
    result = _inverse(_exp_series(numerator, denominator << halvings, precision), precision)
    for _ in range(halvings):
        result = product(result, result, precision)
    return result


def _exp_series(numerator: int, denominator: int, precision: int) -> Enclosure:
    """exp(x) for 0 < x <= 1/2: after the term t the rest of the series is below t."""
    low = high = 1 << precision
    term = Enclosure(low, high)
    index = 1
    while term.high > 1:
        divisor = denominator * index
        term = Enclosure(term.low * numerator // divisor, -(-term.high * numerator // divisor))
        low += term.low
        high += term.high
        index += 1
    return Enclosure(low, high + term.high)


def _inverse(value: Enclosure, precision: int) -> Enclosure:
    one = 1 << 2 * precision
    return Enclosure(one // value.high, -(-one // value.low))


class NoiseKind(Enum):
    """The kinds of laws, as they are numbered in terms."""

    GAUSSIAN_TABLE = 1
    WEIGHTED_BITS = 2
    NONE = 3


PublicCoins: TypeAlias = tuple[int, ...] | bytes
"""What a law makes of the coins of one party: its half of every draw."""


class CoinSource(Protocol):
    """The public coins of one party in one round."""

    def number(self, width: int) -> int:
        """A number of so many bits."""

    def flips(self, count: int) -> bytes:
        """So many bytes, each 0 or 1."""


class NoiseSeed(Protocol):
    """What a party has drawn of its noise before the coins; a secret."""

    @property
    def posted(self) -> bytes:
        """The commitment to it that a join carries."""

    def noise(self, coins: PublicCoins) -> SecretScalarVec:
        """The noise of every number; `UsageError` if other coins were used before."""


@dataclass(frozen=True, slots=True)
class NoiseSetting:
    """What is fixed before the coins beside the law: the group, how many numbers, their range."""

    group: Group
    dimension: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class PostedNoise:
    """What one proof of input and noise is about, as the party posted it.

    `inputs` is the commitment to the inputs, `seed` what was posted before `coins`, `output`
    the commitment to inputs with noise. Without noise only `inputs` has bytes.
    """

    setting: NoiseSetting
    coins: PublicCoins
    inputs: bytes
    seed: bytes
    output: bytes


class NoiseLaw(ABC):
    """A law of noise: its probabilities, and how noise of it is drawn and proved.

    What follows from the masses stands here, and so do what privacy is charged and how noise
    adds up, which are computed from them alone. A law has a file of its own for the rest, and a
    line in `zkp.noise.LAWS`.
    """

    __slots__ = ()
    kind: ClassVar[NoiseKind]

    @property
    @abstractmethod
    def parameters(self) -> bytes:
        """The encoding of the parameters, without the kind."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The law and its parameters in one phrase for people."""

    @property
    @abstractmethod
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """Masses of independent draws, with totals up to 2^128, that add up to one of the law."""

    @property
    @abstractmethod
    def hidden_bits(self) -> int:
        """How many bits a proof hides for each number, beside those of the input."""

    @abstractmethod
    def one_number(self, dimension: int) -> bool:
        """Whether what is proved are single numbers under Pedersen's key, and no vector."""

    @abstractmethod
    def proof_size(self, setting: NoiseSetting) -> int:
        """The length of every proof of inputs and their noise."""

    @abstractmethod
    def seed(
        self, setting: NoiseSetting, inputs: SecretScalarVec, hedge: Transcript, *, rng: Rng
    ) -> NoiseSeed | None:
        """A fresh seed for these inputs; None where there is no noise."""

    @abstractmethod
    def coins(self, setting: NoiseSetting, source: CoinSource) -> PublicCoins:
        """The public half of the draws of one party."""

    @abstractmethod
    def statement(self, posted: PostedNoise) -> Verifiable:
        """What a proof is about.

        Raises:
            MalformedMessage: bytes that are no points.
            UsageError: numbers or coins that are not those of the setting.
        """

    @abstractmethod
    def prove(  # noqa: PLR0913 - statement, witness, transcript and rng of every proof
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

    def require_provable(self, setting: NoiseSetting) -> None:
        """Raises `UsageError` where no proof about such numbers exists."""
        self.proof_size(setting)

    @property
    @abstractmethod
    def masses(self) -> tuple[int, ...]:
        """Probabilities of -radius, .., radius as integers; they sum to `total`."""

    @property
    def total(self) -> int:
        """The common denominator of all probabilities, a power of two."""
        return sum(self.masses)

    @property
    def radius(self) -> int:
        """The noise lies in [-radius, radius] and can take both ends."""
        return len(self.masses) // 2

    @property
    def cumulative(self) -> tuple[int, ...]:
        """F_0 = 0 < F_1 < .. < F_J = total: row i holds the draws F_i <= y < F_(i+1)."""
        return (0, *accumulate(self.masses))

    @property
    def variance(self) -> Fraction:
        """The exact variance; the mean is zero."""
        radius = self.radius
        squares = sum(mass * (row - radius) ** 2 for row, mass in enumerate(self.masses))
        return Fraction(squares, self.total)

    def noise_at(self, uniform: int) -> int:
        """The noise for a draw in [0, total): the inverse of the cumulative table.

        What the law says of one draw, for tests of whoever proves or computes it otherwise.
        Takes a time that depends on the draw. Anything but such an integer raises
        `UsageError`.
        """
        if type(uniform) is not int or not 0 <= uniform < self.total:
            raise UsageError("the draw must be an integer from 0 to the table's total minus 1")
        return bisect.bisect_right(self.cumulative, uniform) - 1 - self.radius

    def to_bytes(self) -> bytes:
        """The parameters; `decode_noise_law` rebuilds the law from them."""
        return u8.encode(self.kind.value) + self.parameters

    def table_hash(self) -> bytes:
        """32 bytes that name this law: SHA-256 over label, parameters and every F_i.

        The table is hashed besides its parameters, so that two programs that build
        different tables from equal parameters disagree at once.
        """
        width = self.total.bit_length() // 8 + 1
        rows = b"".join(value.to_bytes(width) for value in self.cumulative[1:])
        return hashlib.sha256(NOISE_TABLE + self.to_bytes() + rows).digest()


def check_law(masses: Sequence[int]) -> None:
    """Raise `UsageError` unless the masses are those of a law the theorems accept.

    In integers: an odd number of rows, at least three, all positive (the cumulative
    table increases strictly), symmetric, log-concave, total a power of two.
    """
    if len(masses) < 3 or len(masses) % 2 == 0:
        raise UsageError("a noise law has an odd number of rows, at least 3")
    if min(masses) < 1:
        raise UsageError("a row of the noise table is empty: use fewer rows or more bits")
    if any(left != right for left, right in zip(masses, reversed(masses), strict=True)):
        raise UsageError("the noise law is not symmetric")
    inner = zip(masses, masses[1:], masses[2:], strict=False)
    if any(here * here < before * after for before, here, after in inner):
        raise UsageError(
            "the noise law is not log-concave: use fewer rows or more bits for a table, "
            "weights without gaps for bits"
        )
    total = sum(masses)
    if total & (total - 1):
        raise UsageError("the masses of a noise law sum to a power of two")


def key_of(law: NoiseLaw, group: Group, dimension: int) -> Pedersen | VectorPedersen:
    """The key of inputs and outputs with noise of this law."""
    return Pedersen(group) if law.one_number(dimension) else VectorPedersen(group, dimension)


def one_commitment(law: NoiseLaw, setting: NoiseSetting, data: bytes) -> Commitment:
    """The one commitment that these bytes are, under the key of the law."""
    group = setting.group
    return Commitment(key_of(law, group, setting.dimension), group.decode_points(data, 1))


def wrong_seed() -> UsageError:
    """The error for a seed that another law has made, or that is missing."""
    return UsageError("must be a seed that the law of the terms has made", "seeds")
