"""The terms of a session: the part of a plan that its manifest repeats.

Terms may come from somebody who wants to claim too much, so an instance has numbers that fit
together; what they are worth is for `guarantee` to say. Also counts the graphs and the coins
that liars can choose among under these terms. Specification: `specs/03-privacy.md`, sections 8
and 10; `specs/09-beacon.md`, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from gopa.contract.lengths import longest_input
from wire.brief import Brief
from wire.errors import UsageError
from zkp.noise import NoiseLaw


def branches(parties: int, corrupt: int, survivors: int) -> int:
    """How many closes of join of one attempt honest parties can go on with to the end.

    An honest party acts on one of them, and each needs so many honest parties that
    `survivors` are left with all corrupt ones.
    """
    return (parties - corrupt) // (survivors - corrupt)


def releases_with_recovery(charged: int, parties: int, corrupt: int, survivors: int) -> int:
    """The most releases of one logical round when self-masks can be recovered.

    Every release is confirmed by survivors - corrupt honest parties at least, each of which
    confirms no more than charged + 1.
    """
    return (charged + 1) * (parties - corrupt) // (survivors - corrupt)


def graphs_of_attempt(parties: int, corrupt: int, survivors: int, *, nonces: bool) -> int:
    """The number of graphs of one attempt, chosen as they are seen.

    With nonces a graph shows itself as honest parties reveal theirs: whoever looks at the
    nonces of one leaf and then goes on with another has lost the parties that revealed there.
    A beacon shows all graphs at once, when everybody has noted its leaf.
    """
    return parties - survivors + 1 if nonces else branches(parties, corrupt, survivors)


MaskLaw: TypeAlias = Literal["gaussian", "uniform"]
BeaconKind: TypeAlias = Literal["commit-reveal", "drand"]

FEWEST_PARTIES: Final = 3
MOST_PARTIES: Final = 2_000_000
"""More than this takes minutes to account for."""

MOST_DIMENSION: Final = 2**20
MOST_ROUNDS: Final = 10_000
MOST_CHARGED: Final = 100
MOST_ATTEMPTS: Final = 1000
MOST_STEPS: Final = 2**40
MOST_DEVIATION: Final = 2**16
"""Wider Gaussian masks have no table of a reasonable size (08-M6)."""

MOST_DENOMINATOR: Final = 2**16 - 1
MOST_SQUARE: Final = 2**62
MOST_SENSITIVITY: Final = 2**64
"""Squared sensitivities lie below: messages have 64 bits for them."""

MOST_SPIKE: Final = 2**31
MOST_WEIGHT_TERM: Final = 2**32 - 1
LARGEST_EPSILON: Final = Decimal(100)
LEAST_DELTA: Final = Decimal("1e-20")
MOST_DIGITS: Final = 40
LARGEST_EXPONENT: Final = 60

_EXACT: Final = Context(prec=60)


@dataclass(frozen=True, slots=True, repr=False)
class Terms(Brief):
    """What a session is run by. `UsageError` names a number that does not fit the others.

    From `survivors` to `parties` parties join, of whom `corrupt` collude; each chooses
    `k` others; with fewer than `survivors` at any time there is no result. A survivor
    loses at most `loss` neighbours. `beta` bounds the chance that one graph is worse than
    assumed. Threshold recovery needs shares of more than
    `threshold_numerator / threshold_denominator` of a party's neighbours; 0 / 1 means that
    there is none. `epsilon` is None exactly where nobody adds noise: the exact sum is
    released, and `delta` bounds the chance that more than that sum gets out.

    The last six are those of a session that proves long vectors row by row, else all are 0
    (`specs/14-long-vectors.md`): squared lengths of inputs are at most `squared_norm`, of noise
    `noise_square`, eighth powers of noise add up to `spike`^8 at most. A round in which more than
    `late` parties go missing behind publish ends. Under private weights, else 0, a weight of v
    steps allows a length of v `weight_length` / `weight_scale` steps.
    """

    parties: int
    corrupt: int
    survivors: int
    loss: int
    k: int
    dimension: int
    low: Decimal
    high: Decimal
    steps: int
    squared_sensitivity: int
    noise: NoiseLaw
    mask: MaskLaw
    mask_deviation: int
    epsilon: Decimal | None
    delta: Decimal
    beta: Decimal
    rounds: int
    charged: int
    attempts: int
    beacon: BeaconKind
    threshold_numerator: int
    threshold_denominator: int
    squared_norm: int = 0
    noise_square: int = 0
    spike: int = 0
    late: int = 0
    weight_length: int = 0
    weight_scale: int = 0

    def __post_init__(self) -> None:
        self._check_parties()
        self._check_noise()
        self._check_target()
        self._check_threshold()
        self._check_rows()

    @property
    def exact(self) -> bool:
        """Whether nobody adds noise, so that the sum comes out as it is."""
        return self.epsilon is None

    @property
    def releases_one_sum(self) -> bool:
        """Whether at most one exact sum comes out of a logical round, on a roster (03-V41).

        From two of them over sets of parties that differ by one follows that party's input. With
        half of the honest parties or fewer a fork could release two.
        """
        most = 2 * self.survivors > self.parties + self.corrupt
        return self.mask == "uniform" and not self.charged and most

    @property
    def promised_epsilon(self) -> Decimal:
        """The epsilon; `UsageError` where the terms promise none."""
        if self.epsilon is None:
            raise UsageError("an exact sum keeps no epsilon", "epsilon")
        return self.epsilon

    @property
    def one_number(self) -> bool:
        """Whether full mode commits to single numbers with Pedersen's key, and not to vectors."""
        return self.noise.one_number(self.dimension)

    @property
    def honest(self) -> int:
        """Survivors may include every corrupt party: so many honest ones are certain."""
        return self.survivors - self.corrupt

    @property
    def releases(self) -> int:
        """Results computed from the same input, composed."""
        return self.rounds * self.composed

    @property
    def composed(self) -> int:
        """Releases of one logical round that the input of one party may be in.

        With recovery a party may be in the release of a round that it did not confirm, and
        so does not count.
        """
        if self.threshold is None:
            return self.charged + 1
        found = releases_with_recovery(self.charged, self.parties, self.corrupt, self.survivors)
        return min(self.attempts, found)

    @property
    def branches(self) -> int:
        """How many closes of join of one attempt can be gone on with to the end, on a fork."""
        return branches(self.parties, self.corrupt, self.survivors)

    @property
    def tries(self) -> int:
        """Graphs of all attempts, with or without a result, of which each may be a bad one.

        A liar may look at several in one attempt before honest parties are bound to one.
        """
        nonces = self.beacon == "commit-reveal"
        each = graphs_of_attempt(self.parties, self.corrupt, self.survivors, nonces=nonces)
        return self.rounds * self.attempts * each

    @property
    def bounds_length(self) -> bool:
        """Whether vectors have to be shorter than the range of their coordinates allows."""
        return self.squared_sensitivity < self.dimension * self.steps**2

    @property
    def longest(self) -> float:
        """How many steps long a vector may be that bounds on lengths admit, however it is rounded.

        Where rows prove lengths a vector is rounded again while that made it too long.
        """
        if not self.bounds_length:
            return math.inf
        if self.squared_norm and 4 * self.squared_norm <= self.squared_sensitivity:
            return longest_input(self.squared_norm, self.dimension)
        return math.sqrt(self.squared_sensitivity) / 2 - math.sqrt(self.dimension)

    @property
    def largest_coordinate(self) -> int:
        """How many steps one input may move a coordinate of the sum.

        Where the length is proved, and not the range, an input may put all of it into one
        coordinate. What lies in a box or is a single count moves by the range and no more.
        """
        count = self.squared_norm == self.steps**2 and self.squared_sensitivity == 2 * self.steps**2
        if not self.squared_norm or count or not self.bounds_length:
            return self.steps
        return 2 * math.isqrt(self.squared_norm)

    @property
    def threshold(self) -> Fraction | None:
        """The part of its neighbours that can open a party's self-mask, if any may."""
        if not self.threshold_numerator:
            return None
        return Fraction(self.threshold_numerator, self.threshold_denominator)

    def choices(self, joined: int) -> int:
        """How many others each party chooses when `joined` parties take part."""
        return min(self.k, joined - 1)

    def shares_needed(self, neighbours: int) -> int | None:
        """Shares that open the self-mask of a party with so many neighbours; None for never."""
        return None if self.threshold is None else int(self.threshold * neighbours) + 1

    def _check_parties(self) -> None:
        check_integer(self.parties, FEWEST_PARTIES, MOST_PARTIES, "parties")
        check_integer(self.corrupt, 1, self.parties - 2, "corrupt")
        # With one honest survivor the corrupt ones take their inputs off, and its own is left.
        check_integer(self.survivors, self.corrupt + 2, self.parties, "survivors")
        check_integer(self.loss, 0, self.parties - self.survivors, "loss")
        check_integer(self.k, 1, self.parties - 1, "k")
        check_integer(self.rounds, 1, MOST_ROUNDS, "rounds")
        check_integer(self.charged, 0, MOST_CHARGED, "charged")
        check_integer(self.attempts, self.charged + 1, MOST_ATTEMPTS, "attempts")

    def _check_noise(self) -> None:
        check_integer(self.dimension, 1, MOST_DIMENSION, "dimension")
        check_integer(self.steps, 1, MOST_STEPS, "steps")
        # One number moves by the whole range: a smaller sensitivity would get too little noise.
        box = self.dimension * self.steps**2
        check_integer(
            self.squared_sensitivity, box if self.dimension == 1 else 1, box, "squared_sensitivity"
        )
        if not isinstance(self.noise, NoiseLaw):
            raise UsageError("must be a noise law", "noise")
        check_name(self.mask, get_args(MaskLaw), "mask")
        deviations = (0, 0) if self.mask == "uniform" else (1, MOST_DEVIATION)
        check_integer(self.mask_deviation, *deviations, "mask_deviation")

    def _check_target(self) -> None:
        check_decimal(self.low, "low")
        check_decimal(self.high, "high")
        if self.high <= self.low:
            raise UsageError("the upper end must lie above the lower end", "high")
        # Neither follows from the other: an epsilon without noise would claim what nothing keeps.
        if (self.epsilon is None) != (self.noise.radius == 0):
            raise UsageError("None exactly where the law of noise is none", "epsilon")
        if self.epsilon is not None:
            check_decimal(self.epsilon, "epsilon")
            if not 0 < self.epsilon <= LARGEST_EPSILON:
                raise UsageError(f"above 0 and at most {LARGEST_EPSILON}", "epsilon")
        check_decimal(self.delta, "delta")
        if not LEAST_DELTA <= self.delta < 1:
            raise UsageError(f"must be from {LEAST_DELTA} to below 1", "delta")
        check_decimal(self.beta, "beta")
        if not 0 <= self.beta < 1:
            raise UsageError("must be from 0 to below 1", "beta")

    def _check_threshold(self) -> None:
        check_name(self.beacon, get_args(BeaconKind), "beacon")
        check_integer(self.threshold_denominator, 1, MOST_DENOMINATOR, "threshold_denominator")
        most = self.threshold_denominator - 1
        check_integer(self.threshold_numerator, 0, most, "threshold_numerator")

    def _check_rows(self) -> None:
        for field in ("squared_norm", "noise_square"):
            check_integer(getattr(self, field), 0, MOST_SQUARE - 1, field)
        check_integer(self.spike, 0, MOST_SPIKE - 1, "spike")
        check_integer(self.late, 0, self.parties - self.survivors, "late")
        for field in ("weight_length", "weight_scale"):
            check_integer(getattr(self, field), 0, MOST_WEIGHT_TERM, field)


@dataclass(frozen=True, slots=True)
class CoinChoices:
    """The number of coins to choose from in all attempts for one result.

    `helped` counts those of corrupt parties whom organiser and board help, `alone` those of
    the corrupt parties of the plan by themselves. Numbers of up to 50 digits are exact.
    """

    helped: Decimal
    alone: Decimal

    @property
    def helped_bits(self) -> Decimal:
        """The binary logarithm of `helped`."""
        return log2_of(self.helped)

    @property
    def alone_bits(self) -> Decimal:
        """The binary logarithm of `alone`."""
        return log2_of(self.alone)

    @property
    def shift(self) -> float:
        """About how far the best moves the corrupt parties' noise, in its standard deviations."""
        return math.sqrt(2 * float(_EXACT.ln(self.helped)))


@lru_cache(maxsize=64)
def coin_choices(terms: Terms) -> CoinChoices:
    """The choices of coins with commit-reveal or, by the terms, with drand.

    Whoever helps can fork the log: every branch has coins of its own, and they are known when
    honest parties can still be kept from all but one of them.
    """
    attempts = Decimal(terms.attempts)
    forked = Decimal(terms.attempts * terms.branches)
    if terms.beacon == "drand":
        return CoinChoices(forked, attempts)
    return CoinChoices(
        _EXACT.multiply(forked, subsets(terms.parties, terms.loss)),
        _EXACT.multiply(attempts, subsets(terms.corrupt, min(terms.loss, terms.corrupt))),
    )


def subsets(size: int, most: int) -> Decimal:
    """How many subsets of so many elements have at most `most` of them."""
    total = ways = Decimal(1)
    for taken in range(min(most, size)):
        ways = _EXACT.divide(_EXACT.multiply(ways, Decimal(size - taken)), Decimal(taken + 1))
        total = _EXACT.add(total, ways)
    return total


def log2_of(count: Decimal) -> Decimal:
    """The logarithm, with 60 digits."""
    return _EXACT.divide(_EXACT.ln(count), _EXACT.ln(Decimal(2)))


def check_integer(value: int, low: int, high: int, field: str) -> None:
    """`UsageError` unless `value` is an integer (no truth value, no float) in this range."""
    # `True` is an instance of `int`, and would pass for one party.
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"must be an integer from {low} to {high}", field)


def check_name(value: str, allowed: tuple[str, ...], field: str) -> None:
    """`UsageError` unless `value` is one of the names."""
    if type(value) is not str or value not in allowed:
        raise UsageError(f"must be one of {', '.join(allowed)}", field)


def check_decimal(value: Decimal, field: str) -> None:
    """`UsageError` unless `value` is a finite decimal with a reasonable number of digits."""
    if type(value) is not Decimal or not value.is_finite():
        raise UsageError("must be a finite decimal number", field)
    _, digits, scale = value.as_tuple()
    exponent = int(scale) if value.is_zero() else value.adjusted()
    if len(digits) > MOST_DIGITS or abs(exponent) > LARGEST_EXPONENT:
        raise UsageError(
            f"must have at most {MOST_DIGITS} digits and lie between 1e-{LARGEST_EXPONENT} "
            f"and 1e{LARGEST_EXPONENT}",
            field,
        )
