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
from functools import lru_cache

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group, SecretScalarVec
from wire.errors import UsageError
from wire.randomness import Rng
from wire.randomness import draw as draw_bytes
from wire.secret import Guarded
from zkp import bits
from zkp.equations import Equation
from zkp.noise_table import GaussianTable
from zkp.range import Interval, RangeStatement, require_unambiguous, secret_bits
from zkp.transcript import Transcript


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
        """The hidden bits of this draw, in the order of rule R6."""
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
        """The same claim about hidden bits (rule R7)."""
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
        """Absorb what the bits do not say by themselves (rule R8)."""
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
    """The linear forms of one draw (rule R6).

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
