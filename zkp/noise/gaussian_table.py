"""Proves draws of exact discrete Gaussian noise (specification 07, section 3).

A party commits to a private half y of every draw (`NoiseSeeds`) before public coins p
exist. Afterwards it has no choice: the noise is the row of the table in which y + p
falls. One proof covers any number of draws, alone or together with the ranges of the
inputs the noise is added to.

The arithmetic of one draw is on integers only. A party fixes y before public coins give p. Their
sum mod the total of the table is uniform when either of them is, and the table turns it into
noise. Specification 07, section 3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, sqrt
from typing import ClassVar, Final

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group, SecretScalarVec
from wire.codec import record, u8, u16, u64
from wire.errors import UsageError
from wire.randomness import Rng
from wire.randomness import draw as draw_bytes
from wire.secret import Guarded
from zkp import bits
from zkp.equations import Equation
from zkp.noise.law import (
    CoinSource,
    Enclosure,
    NoiseKind,
    NoiseLaw,
    NoiseSeed,
    NoiseSetting,
    PostedNoise,
    check_law,
    exp_of_minus,
    one_commitment,
    product,
    wrong_seed,
)
from zkp.range import Interval, RangeStatement, require_unambiguous, secret_bits
from zkp.transcript import Transcript

DEFAULT_BITS: Final = 48
DEFAULT_ROWS: Final = 113
MOST_BITS: Final = 62
MOST_ROWS: Final = 1023

_LARGEST_TERM: Final = 2**63 - 1
_SMALLEST_SQUARE, _LARGEST_SQUARE = Fraction(1, 16), Fraction(2**20)


@dataclass(frozen=True, slots=True)
class GaussianTable(NoiseLaw):
    """The table of the truncated discrete Gaussian exp(-i^2 / (2 s^2)), in multiples of 2^-bits.

    s^2 = `square_numerator` / `square_denominator` in lowest terms; `rows` is odd.
    Every row but the centre is the integer nearest to 2^bits w_i / W, where W sums w_i
    over the rows; the centre takes the rest. A table that is not positive everywhere and
    log-concave raises `UsageError`.
    """

    square_numerator: int
    square_denominator: int
    bits: int = DEFAULT_BITS
    rows: int = DEFAULT_ROWS
    kind: ClassVar[NoiseKind] = NoiseKind.GAUSSIAN_TABLE

    def __post_init__(self) -> None:
        _check_square(self.square_numerator, self.square_denominator)
        if type(self.bits) is not int or not 2 <= self.bits <= MOST_BITS:
            raise UsageError(f"a table has 2 to {MOST_BITS} bits", "bits")
        if type(self.rows) is not int or not 3 <= self.rows <= MOST_ROWS or self.rows % 2 == 0:
            raise UsageError(f"a table has an odd number of rows, 3 to {MOST_ROWS}", "rows")
        check_law(self.masses)

    @classmethod
    def with_scale(
        cls, scale: Fraction | int | str, *, bits: int = DEFAULT_BITS, rows: int = DEFAULT_ROWS
    ) -> GaussianTable:
        """The table of deviation parameter `scale`, exact: a fraction or a decimal string."""
        if type(scale) not in {Fraction, int, str}:
            raise UsageError("a scale is a Fraction, an int or a decimal string, never a float")
        try:
            square = Fraction(scale) ** 2
        except (ValueError, ZeroDivisionError):
            raise UsageError("a scale is a fraction or a decimal number", "scale") from None
        return cls(square.numerator, square.denominator, bits, rows)

    @property
    def square(self) -> Fraction:
        """s^2, exactly. The variance of the table is close to it, not equal."""
        return Fraction(self.square_numerator, self.square_denominator)

    @property
    def masses(self) -> tuple[int, ...]:
        """The probabilities in units of 1 / total, computed once for all equal tables."""
        return _gaussian_masses(
            self.square_numerator, self.square_denominator, self.bits, self.rows
        )

    @property
    def parameters(self) -> bytes:
        """The encoding of the parameters, without the kind."""
        return GAUSSIAN_TABLE.encode(self)

    @property
    def words(self) -> str:
        """The law and its parameters in one phrase for people."""
        scale = sqrt(self.square)
        return f"discrete Gaussian, s = {scale:.4g} steps, {self.rows} rows, {self.bits} bits"

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The table: one draw from it is one draw of the law."""
        return (self.masses,)

    @property
    def hidden_bits(self) -> int:
        """A bit for every row, two positions in it, and the carry."""
        return self.rows + 2 * slack_bits(self) + 1

    def one_number(self, dimension: int) -> bool:
        """Tables are proved for single numbers only."""
        return True

    def proof_size(self, setting: NoiseSetting) -> int:
        """The length of every proof of inputs and their noise."""
        hidden = self.hidden_bits + len(setting.interval.weights)
        return bits.proof_size(setting.group, bits.layout_of(setting.dimension * hidden))

    def seed(
        self, setting: NoiseSetting, inputs: SecretScalarVec, hedge: Transcript, *, rng: Rng
    ) -> NoiseSeeds:
        """Fresh private halves, one for each input."""
        return NoiseSeeds.fresh(setting.group, self, setting.dimension, rng=rng)

    def coins(self, setting: NoiseSetting, source: CoinSource) -> tuple[int, ...]:
        """The public half of the one draw."""
        return (source.number((self.total - 1).bit_length()),)

    def statement(self, posted: PostedNoise) -> GaussianNoiseStatement:
        """What a proof is about; raises as `NoiseLaw.statement`."""
        setting, coins = posted.setting, posted.coins
        if type(coins) is not tuple:
            raise UsageError("the coins are a tuple, one for each draw")
        inputs = one_commitment(self, setting, posted.inputs)
        return GaussianNoiseStatement(
            self,
            one_commitment(self, setting, posted.seed),
            coins,
            one_commitment(self, setting, posted.output),
            RangeStatement(inputs, (setting.interval,)),
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
        if not isinstance(seed, NoiseSeeds):
            raise wrong_seed()
        witness = NoiseWitness(seed, output, inputs)
        return prove_gaussian_noise(self.statement(posted), witness, transcript, rng=rng)


GAUSSIAN_TABLE: Final = record(
    GaussianTable, square_numerator=u64, square_denominator=u64, bits=u8, rows=u16
)
"""The encoding of the parameters."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draw(Guarded):
    """The place of the sum of both halves in the table. Secret: it tells the noise.

    `row` is the row with F_row <= y + p - carry * total < F_(row + 1); the position in
    it is `below` steps above its lower end and `above` steps below its last integer.
    """

    noise: int
    row: int
    below: int
    above: int
    carry: int

    def bits(self, table: GaussianTable) -> list[int]:
        """The hidden bits of this draw, in the order of 07-R6."""
        width = slack_bits(table)
        one_hot = [int(row == self.row) for row in range(table.rows)]
        slacks = [slack >> j & 1 for slack in (self.below, self.above) for j in range(width)]
        return [*one_hot, *slacks, self.carry]


def draw(table: GaussianTable, y: int, p: int) -> Draw:
    """The draw that the private half y and the public coins p decide.

    Takes a time that depends on the draw.

    Raises:
        UsageError: a half is not an integer in [0, total).
    """
    total, cumulative = table.total, table.cumulative
    require_halves(table, [y], "a private half")
    require_halves(table, [p], "a coin")
    carry, uniform = divmod(y + p, total)
    row = bisect_right(cumulative, uniform) - 1
    below, above = uniform - cumulative[row], cumulative[row + 1] - 1 - uniform
    return Draw(row - table.radius, row, below, above, carry)


def slack_bits(table: GaussianTable) -> int:
    """How many bits a position in the widest row takes."""
    return (max(table.masses) - 1).bit_length()


def require_halves(table: GaussianTable, halves: list[int] | tuple[int, ...], what: str) -> None:
    """Raises `UsageError` for a half that is not an integer in [0, total)."""
    total = table.total
    if any(type(half) is not int or not 0 <= half < total for half in halves):
        raise UsageError(f"{what} is an integer from 0 to the table's total minus 1")


class NoiseSeeds(Guarded):
    """The private halves of some draws, to be published as `commitment` before the coins.

    It works with one list of coins: with a second list the difference of two noises
    would be public almost entirely. It serves one output, with one input: the same
    noise in two outputs would cancel in their difference and leave the difference of
    the inputs. Whoever stores the opening keeps both rules.
    """

    __slots__ = ("_coins", "_served", "commitment", "opening", "table")

    def __init__(self, table: GaussianTable, opening: Opening) -> None:
        """Halves that were drawn before; `fresh` makes new ones."""
        self.table = table
        self.opening = opening
        key = Pedersen(opening.key.group)
        self.commitment: Commitment = key.commit(opening.values, opening.blindings)
        self._coins: tuple[int, ...] | None = None
        self._served: bytes | None = None

    @classmethod
    def fresh(cls, group: Group, table: GaussianTable, count: int, *, rng: Rng) -> NoiseSeeds:
        """Uniform halves for `count` draws, with fresh blindings."""
        data, mask = draw_bytes(rng, 8 * count), table.total - 1
        words = [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(count)]
        values = group.secret_scalars([word & mask for word in words])
        blindings = group.random_scalars(count, rng)
        return cls(table, Opening(Pedersen(group), values, blindings))

    @property
    def posted(self) -> bytes:
        """The commitment, as a join carries it."""
        return self.commitment.to_bytes()

    def draws(self, coins: Sequence[int]) -> list[Draw]:
        """What each draw comes to with these coins, one for each draw.

        Raises:
            UsageError: other coins were used before, or there is not one coin for each
                draw.
        """
        given = tuple(coins)
        halves = self.opening.values.reveal().ints()
        if len(given) != len(halves):
            raise UsageError(f"{len(halves)} draws take as many coins, not {len(given)}")
        if self._coins not in {None, given}:
            raise UsageError("seeds serve one list of coins: commit to new ones")
        found = [draw(self.table, y, p) for y, p in zip(halves, given, strict=True)]
        self._coins = given
        return found

    def require_free_for(self, statement: GaussianNoiseStatement) -> None:
        """Raises `UsageError` if the seeds served another output or input before."""
        if self._served not in {None, statement.hidden}:
            raise UsageError("seeds serve one output and input: commit to new ones")

    def serve(self, statement: GaussianNoiseStatement) -> None:
        """Keep to the output and input of this statement from now on."""
        self.require_free_for(statement)
        self._served = statement.hidden

    def noise(self, coins: Sequence[int]) -> SecretScalarVec:
        """The noise of each draw; raises as `draws`."""
        order = self.opening.key.group.order
        values = [each.noise % order for each in self.draws(coins)]
        return self.opening.key.group.secret_scalars(values)


@dataclass(frozen=True, slots=True)
class GaussianNoiseStatement:
    """That `output` i hides input i plus the noise of draw i, or the noise alone.

    `seeds` was published before anybody knew `coins`; the caller makes sure of that,
    and that no seed is used with two coins. `inputs` also claims their ranges.
    """

    table: GaussianTable
    seeds: Commitment
    coins: tuple[int, ...]
    output: Commitment
    inputs: RangeStatement | None = None

    def __post_init__(self) -> None:
        key = Pedersen(self.group)
        if self.seeds.key != key or self.output.key != key:
            raise UsageError("seeds and outputs are Pedersen commitments of one group")
        if type(self.coins) is not tuple:
            raise UsageError("the coins are a tuple: a statement must not change")
        if not len(self.seeds) == len(self.coins) == len(self.output) > 0:
            raise UsageError("every draw takes one seed, one coin and one output")
        require_halves(self.table, self.coins, "a coin")
        if self.inputs is None:
            return
        if self.inputs.group != self.group or len(self.inputs.commitment) != len(self.seeds):
            raise UsageError("give one input of the same group for each draw")
        radius = self.table.radius
        for interval in self.inputs.intervals:
            require_unambiguous(Interval(interval.low - radius, interval.high + radius), self.group)

    @property
    def group(self) -> Group:
        """The group of all commitments."""
        return self.seeds.key.group

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals of the inputs; none where the statement is about noise alone."""
        return () if self.inputs is None else self.inputs.intervals

    @property
    def hidden(self) -> bytes:
        """The commitments that the noise of these seeds may appear in, and no others."""
        inputs = b"" if self.inputs is None else self.inputs.commitment.to_bytes()
        return self.output.to_bytes() + inputs

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits (07-R7)."""
        spans = tuple(interval.high - interval.low for interval in self.intervals)
        lows = [interval.low for interval in self.intervals]
        count = len(self.coins)
        given = [] if self.inputs is None else [self.inputs.commitment]
        return bits.BitStatement.of(
            _shape(self.group, self.table, count, spans),
            constants=[-1] * (2 * count) + [-p for p in self.coins] + lows + (lows or [0] * count),
            commitments=[self.seeds, *given, self.output],
        )

    def bind(self, transcript: Transcript) -> None:
        """Absorb what the bits do not say by themselves (07-R8)."""
        transcript.absorb(b"gaussian-noise/table", _table_hash(self.table))
        coins = b"".join(p.to_bytes(8, "little") for p in self.coins)
        transcript.absorb(b"gaussian-noise/coins", coins)

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for a proof of kind `bits`; raises as `verify_gaussian_noise`."""
        self.bind(transcript)
        return bits.equations(self.as_bits(), proof, transcript)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NoiseWitness(Guarded):
    """What the prover knows: the seeds and the openings of outputs and inputs."""

    seeds: NoiseSeeds
    output: Opening
    inputs: Opening | None = None


def prove_gaussian_noise(
    statement: GaussianNoiseStatement,
    witness: NoiseWitness,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Prove that every output hides its input plus the noise that seed and coin decide.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: seeds, inputs and outputs do not satisfy the statement, or the seeds
            were used with other coins, or for another output or input. Nothing was sent.
    """
    _require_fitting(statement, witness)
    witness.seeds.require_free_for(statement)
    group, seeds, inputs = statement.group, witness.seeds, witness.inputs
    found = [bit for each in seeds.draws(statement.coins) for bit in each.bits(statement.table)]
    hidden, opened = group.secret_scalars(found), [seeds.opening]
    if inputs is not None:
        hidden = hidden.concat(secret_bits(group, inputs.values, statement.intervals))
        opened.append(inputs)
    openings = bits.Openings(commitments=[*opened, witness.output])
    statement.bind(transcript)
    made = bits.prove(statement.as_bits(), hidden, openings, transcript, rng=rng)
    seeds.serve(statement)
    return made


def _require_fitting(statement: GaussianNoiseStatement, witness: NoiseWitness) -> None:
    """What the bits cannot tell: shapes, and whose seeds these are."""
    seeds, inputs, count = witness.seeds, witness.inputs, len(statement.coins)
    if seeds.table != statement.table or seeds.commitment != statement.seeds:
        raise UsageError("these are not the seeds of the statement")
    if (inputs is None) != (statement.inputs is None):
        raise UsageError("give the opening of the inputs exactly if the statement has inputs")
    if len(witness.output) != count or (inputs is not None and len(inputs) != count):
        raise UsageError(f"{count} draws take openings of {count} commitments")


def verify_gaussian_noise(
    statement: GaussianNoiseStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a noise proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    statement.bind(transcript)
    bits.verify(statement.as_bits(), proof, transcript)


@lru_cache(maxsize=64)
def _table_hash(table: GaussianTable) -> bytes:
    return table.table_hash()


@lru_cache(maxsize=64)
def _shape(
    group: Group, table: GaussianTable, count: int, spans: tuple[int, ...]
) -> bits.ConstraintShape:
    block = table.rows + 2 * slack_bits(table) + 1
    draws = [DrawRows.at(table, block * number) for number in range(count)]
    inputs, at = [], block * count
    for span in spans:
        weights = Interval(0, span).weights
        inputs.append(bits.BitForm.weighted(at, weights))
        at += len(weights)
    outputs = [each.noise for each in draws]
    if spans:
        outputs = [noise + given for noise, given in zip(outputs, inputs, strict=True)]
    return bits.ConstraintShape(
        group,
        at,
        [
            *(bits.Public(each.one_row) for each in draws),
            *(bits.Public(each.inside) for each in draws),
            *(bits.CommittedValue(each.seed) for each in draws),
            *map(bits.CommittedValue, inputs),
            *map(bits.CommittedValue, outputs),
        ],
    )


@dataclass(frozen=True, slots=True)
class DrawRows:
    """The linear forms of one draw (07-R6).

    `one_row` minus 1 is zero: exactly one row is chosen. `inside` minus 1 is zero: both
    slacks together fill the row, so neither leaves it. `seed` minus the coin is y.
    """

    one_row: bits.BitForm
    inside: bits.BitForm
    seed: bits.BitForm
    noise: bits.BitForm

    @classmethod
    def at(cls, table: GaussianTable, first: int) -> DrawRows:
        """The rows of a draw whose bits begin at position `first`."""
        width, rows = slack_bits(table), table.rows
        powers = [1 << j for j in range(width)]
        below, above = first + rows, first + rows + width
        weighted = bits.BitForm.weighted
        slacks = weighted(below, [-power for power in powers] * 2)
        carry = weighted(above + width, [table.total])
        starts = weighted(first, table.cumulative[:-1])
        return cls(
            one_row=weighted(first, [1] * rows),
            inside=weighted(first, table.masses) + slacks,
            seed=starts + weighted(below, powers) + carry,
            noise=weighted(first, range(-table.radius, table.radius + 1)),
        )


def _check_square(numerator: int, denominator: int) -> None:
    if any(
        type(term) is not int or not 1 <= term <= _LARGEST_TERM for term in (numerator, denominator)
    ):
        raise UsageError("the square of the scale is a ratio of integers below 2^63", "square")
    if gcd(numerator, denominator) != 1:
        raise UsageError("the square of the scale is in lowest terms", "square")
    if not _SMALLEST_SQUARE <= Fraction(numerator, denominator) <= _LARGEST_SQUARE:
        raise UsageError("the scale lies between 1/4 and 1024 grid steps", "square")


@lru_cache(maxsize=64)
def _gaussian_masses(numerator: int, denominator: int, bits: int, rows: int) -> tuple[int, ...]:
    """The nearest integers; precision doubles until every one of them is decided.

    It ends because no 2^bits w_i / W lies halfway between integers: that would be a
    linear relation with rational coefficients, not all zero, between the values of exp
    at distinct rational points, which the theorem of Lindemann and Weierstrass forbids.
    """
    precision = bits + 64
    while (half := _decided_half(numerator, denominator, bits, rows, precision)) is None:
        precision *= 2
    centre = (1 << bits) - 2 * sum(half)
    return (*reversed(half), centre, *half)


def _decided_half(
    numerator: int, denominator: int, bits: int, rows: int, precision: int
) -> list[int] | None:
    """Rows 1, 2, .. right of the centre, or None where an enclosure leaves a choice."""
    weights = _gaussian_weights(numerator, denominator, rows // 2, precision)
    one = 1 << precision
    total = Enclosure(
        one + 2 * sum(weight.low for weight in weights),
        one + 2 * sum(weight.high for weight in weights),
    )
    half: list[int] = []
    for weight in weights:
        low = _nearest(weight.low << bits, total.high)
        high = _nearest(weight.high << bits, total.low)
        if low != high:
            return None
        half.append(low)
    return half


def _gaussian_weights(
    numerator: int, denominator: int, count: int, precision: int
) -> list[Enclosure]:
    """w_1, .., w_count, each from the one before: w_i = w_(i-1) r^(2i-1), r = w_1."""
    factor = exp_of_minus(denominator, 2 * numerator, precision)
    squared = product(factor, factor, precision)
    weight = Enclosure(1 << precision, 1 << precision)
    weights: list[Enclosure] = []
    for _ in range(count):
        weight = product(weight, factor, precision)
        factor = product(factor, squared, precision)
        weights.append(weight)
    return weights


def _nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
