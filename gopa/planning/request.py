"""The checked target of a plan: what the caller of `plan` asked for, in the planner's own types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final, get_args

from gopa.accounting.gaussian import check_target
from gopa.contract.lengths import ENDS
from gopa.contract.terms import (
    FEWEST_PARTIES,
    LEAST_DELTA,
    MOST_ATTEMPTS,
    MOST_CHARGED,
    MOST_DENOMINATOR,
    MOST_DIMENSION,
    MOST_PARTIES,
    MOST_ROUNDS,
    MOST_STEPS,
    BeaconKind,
    MaskLaw,
    check_decimal,
    check_integer,
    check_name,
    graphs_of_attempt,
    releases_with_recovery,
)
from gopa.planning.neighbours.liveness import OwedMessages, PlannedDropouts, plan_dropouts
from gopa.planning.target import (
    ATTEMPTS,
    CHARGED,
    EXACT_DELTA,
    MOST_WITHHELD,
    NO_DELTA,
    NoiseName,
    Number,
    Objective,
    PathName,
    PlannedMode,
    PlannedTrust,
    colluding,
    float_below,
)
from gopa.support.wording import counted
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class Request:
    """A target in the planner's own types. `Request.checked` makes one.

    `more_charged` says that the planner may add charged retries: nobody named a number.
    Without an epsilon the exact sum is asked for. `wished` is an epsilon that was asked for where
    the plan keeps a smaller one, and `idle_norm` a norm that no vector of the range exceeds.
    """

    parties: int
    exact_epsilon: Decimal | None
    exact_delta: Decimal
    corrupt: int
    dropout: float
    low: Decimal
    high: Decimal
    dimension: int
    norm: Decimal | None
    rounds: int
    mask: MaskLaw
    noise: NoiseName | None
    objective: Objective
    steps: int | None
    charged: int
    more_charged: bool
    attempts: int
    integers: bool
    threshold: Fraction | None
    beacon: BeaconKind
    mode: PlannedMode
    trust: PlannedTrust
    open_admission: bool
    weighted: bool = False
    path: PathName = "bits"
    why_bits: str = ""
    idle_norm: str = ""
    wished: Decimal | None = None

    @classmethod
    def checked(cls, asked: Mapping[str, Any]) -> Request:
        """The target with every field checked; the first wrong one is named."""
        _check_kinds(asked)
        _check_exact(asked)
        found = {**asked, **_retries(asked)}
        if found["steps"] is not None:
            check_integer(found["steps"], 1, MOST_STEPS, "steps")
        found["dropout"] = _probability(found["dropout"])
        found |= _mask_and_beacon(found)
        check_name(found["objective"], get_args(Objective), "objective")
        found |= _lengths(found)
        epsilon, delta, norm = found["epsilon"], found["delta"], found["norm"]
        found |= {
            "exact_epsilon": None if epsilon is None else _decimal(epsilon, "epsilon"),
            "exact_delta": EXACT_DELTA if delta is None else _decimal(delta, "delta"),
            "corrupt": _corrupt(found["corrupt"], found["parties"]),
            "low": _decimal(found["low"], "range"),
            "high": _decimal(found["high"], "range"),
            "norm": None if norm is None else _decimal(norm, "norm"),
            "threshold": _threshold(found["recovery"], found["trust"]),
        }
        names = {each.name for each in fields(cls)}
        request = cls(**{name: value for name, value in found.items() if name in names})
        request._check()
        return request

    def _check(self) -> None:
        if not LEAST_DELTA <= self.exact_delta < 1:
            message = f"must lie between {LEAST_DELTA}, as cryptography promises no more, and 1"
            raise UsageError(message, "delta")
        if not self.exact:
            check_target(self.epsilon, self.delta)
        self._check_inputs()
        self._check_rows()
        if self.exact and self.open_admission and self.attempts != 1:
            message = "with open admission an exact sum has one attempt: 1"
            raise UsageError(message, "attempts")
        if self.open_admission and self.threshold is not None and self.attempts > self.charged + 1:
            message = "with open admission and recovery every attempt is charged: charged + 1"
            raise UsageError(message, "attempts")
        if self.honest < 2:
            message = (
                f"of {self.parties} parties fewer than two honest ones are certain to remain: "
                "enlist more parties, or assume that fewer collude or fail"
            )
            raise UsageError(message, "corrupt")

    def _check_inputs(self) -> None:
        if self.high <= self.low:
            raise UsageError("the upper end must lie above the lower end", "range")
        if self.norm is not None and self.norm <= 0:
            raise UsageError("the bound on the length of vectors is above 0", "norm")
        if self.norm is not None and self.dimension == 1:
            raise UsageError("single numbers are bounded by `range`: leave out `norm`", "norm")
        if self.integers:
            if any(end != end.to_integral_value() for end in (self.low, self.high)):
                raise UsageError("integer inputs lie between two integers", "range")
            if self.steps is not None and self.steps % self.integer_width:
                message = f"a multiple of {self.integer_width}, so that integers are on the grid"
                raise UsageError(message, "steps")

    def _check_rows(self) -> None:
        """14-L1: lengths are proved of vectors, in full mode and on words."""
        if self.weighted and self.dimension < 2:
            raise UsageError("the weight and at least one number beside it: 2", "dimension")
        if self.weighted and self.integers:
            raise UsageError("weighted values are no integers: leave it out", "integers")
        if not self.rows:
            return
        if self.dimension < 2:
            raise UsageError("lengths are proved of vectors, not of single numbers", "path")
        if self.mode != "full":
            raise UsageError("lengths are proved in full mode only", "path")
        if self.mask != "uniform":
            raise UsageError("words are masked uniformly where lengths are proved", "mask")

    def lowered(self, epsilon: Decimal) -> Request:
        """The request for less epsilon than was asked for, which keeps what was asked for."""
        wished = self.exact_epsilon if self.wished is None else self.wished
        return replace(self, exact_epsilon=epsilon, wished=wished)

    @property
    def rows(self) -> bool:
        """Whether vectors are committed to in rows, and their lengths proved."""
        return self.path == "rows"

    @property
    def counts(self) -> bool:
        """Whether a party contributes a one and zeros: nothing else has a norm that is less."""
        return counts_only(integers=self.integers, low=self.low, high=self.high, norm=self.norm)

    @property
    def exact(self) -> bool:
        """Whether the exact sum is asked for."""
        return self.exact_epsilon is None

    @property
    def epsilon(self) -> float:
        """Never above the target as written."""
        if self.exact_epsilon is None:
            raise UsageError("an exact sum keeps no epsilon", "epsilon")
        return float_below(self.exact_epsilon)

    @property
    def delta(self) -> float:
        """Never above the target as written."""
        return float_below(self.exact_delta)

    @property
    def survivors(self) -> int:
        """The fewest parties with which a round may end."""
        return self.losses(1).survivors

    @property
    def honest(self) -> int:
        """Honest survivors, when every corrupt party is among the survivors."""
        return self.survivors - self.corrupt

    @property
    def integer_width(self) -> int:
        """How many integers the range spans, less one; for integer inputs."""
        return int(self.high) - int(self.low)

    @property
    def releases(self) -> int:
        """Results computed from the same input, composed: as `Terms.releases`."""
        found = self.charged + 1
        if self.threshold is not None:
            found = releases_with_recovery(self.charged, self.parties, self.corrupt, self.survivors)
        return self.rounds * min(self.attempts, found)

    @property
    def tries(self) -> int:
        """Graphs of all attempts that a liar may look at: as `Terms.tries`."""
        nonces = self.beacon == "commit-reveal"
        each = graphs_of_attempt(self.parties, self.corrupt, self.survivors, nonces=nonces)
        return self.rounds * self.attempts * each

    @property
    def one_close(self) -> bool:
        """Whether the close of publish is final: parties are honest but curious."""
        return self.trust == "honest-but-curious"

    @property
    def course(self) -> OwedMessages:
        """The messages of a round."""
        nonces = self.beacon == "commit-reveal"
        return OwedMessages(nonces, self.threshold is not None, self.one_close, self.rows)

    def losses(self, k: int) -> PlannedDropouts:
        """The loss bound with k choices, and the fewest survivors.

        With recovery more than half of the honest parties remain for certain: then no two
        releases have disjoint confirming parties, and in a complete graph nobody can open
        all edges to those who confirm. So with exact sums: there is one in a logical round.
        """
        most_stay = self.threshold is not None or self.exact
        fewest = (self.parties + self.corrupt) // 2 + 1 if most_stay else 0
        return plan_dropouts(self.parties, k, self.dropout, self.course, fewest)

    @property
    def range_sensitivity(self) -> float:
        """How far one party can move the sum, in units of the range, before rounding."""
        box = float(self.high - self.low) * math.sqrt(self.dimension)
        return box if self.norm is None else min(box, 2 * float(self.norm))


def counts_only(*, integers: bool, low: Decimal, high: Decimal, norm: Decimal | None) -> bool:
    """Whether a party contributes a one and zeros: nothing else has a norm that is less."""
    return integers and low == 0 and high == 1 and norm is not None and norm < 1


def _check_kinds(asked: Mapping[str, Any]) -> None:
    """Refuse counts, names and flags that are none."""
    _check_parties(asked["parties"])
    check_integer(asked["dimension"], 1, MOST_DIMENSION, "dimension")
    check_integer(asked["rounds"], 1, MOST_ROUNDS, "rounds")
    check_name(asked["mode"], get_args(PlannedMode), "mode")
    check_name(asked["trust"], get_args(PlannedTrust), "trust")
    if asked["mode"] == "full" and asked["trust"] != "malicious":
        raise UsageError("full mode trusts nobody: take mode='signed' or 'off'", "trust")
    for name in ("integers", "open_admission", "weighted"):
        if type(asked[name]) is not bool:
            raise UsageError("must be true or false", name)


def _check_exact(asked: Mapping[str, Any]) -> None:
    """Refuse options that an exact sum has no room for (03-V41), and an epsilon without delta."""
    if asked["epsilon"] is not None:
        if asked["delta"] is None:
            raise UsageError(NO_DELTA, "delta")
        return
    if asked["noise"] is not None:
        raise UsageError("an exact sum has no noise: leave it out", "noise")
    if asked["trust"] != "malicious":
        message = "masks that stay in the sum would blur it: take trust='malicious'"
        raise UsageError(message, "trust")
    if asked["mask"] == "gaussian":
        raise UsageError("an exact sum has uniform masks: leave it out", "mask")
    if asked["charged"]:
        message = "two exact sums of one round would show who differs: no charged retries, 0"
        raise UsageError(message, "charged")


def _retries(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The charged retries and the attempts, and whether the planner may add charged ones."""
    charged, attempts, recovery = asked["charged"], asked["attempts"], asked["recovery"]
    exact, unasked = asked["epsilon"] is None, charged is None
    charged = CHARGED if charged is None else charged
    check_integer(charged, 0, MOST_CHARGED, "charged")
    if attempts is None:
        once = asked["open_admission"] and (recovery is not None or exact)
        several = charged + 1 if once else ATTEMPTS
        attempts = max(several, charged + 1)
    check_integer(attempts, charged + 1, MOST_ATTEMPTS, "attempts")
    more = unasked and recovery is None and not exact
    return {"charged": charged, "attempts": attempts, "more_charged": more}


def _mask_and_beacon(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The law of masks and where coins come from; the usual ones where nobody says."""
    mask, beacon = asked["mask"], asked["beacon"]
    if mask is None:
        mask = "uniform" if asked["trust"] == "malicious" else "gaussian"
    check_name(mask, get_args(MaskLaw), "mask")
    if beacon is None:
        beacon = _beacon(asked["parties"], asked["dropout"], asked["recovery"])
    check_name(beacon, get_args(BeaconKind), "beacon")
    return {"mask": mask, "beacon": beacon}


def _lengths(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The range and the length of vectors together with their weights, where they have any."""
    low, high, norm = asked["low"], asked["high"], asked["norm"]
    if asked["weighted"] and asked["path"] == "rows":
        low, high, norm = _weighted_ball(norm, low, high, asked["dimension"])
    elif asked["weighted"]:
        norm = _unproved_norm(norm, (low, high), asked["mode"])
    return {"low": low, "high": high, "norm": norm}


def _decimal(value: Number, field: str) -> Decimal:
    """The exact decimal that the caller wrote: 0.1 means one tenth."""
    try:
        exact = Decimal(str(value))
    except (InvalidOperation, ValueError):
        raise UsageError("must be a decimal number", field) from None
    check_decimal(exact, field)
    return exact


def _probability(value: float) -> float:
    """The chance that a party fails: a real number, not a string or a truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise UsageError("must be a probability from 0 to below 1", "dropout")
    return float(value)


_MIDDLE_DIGITS: Final = 20
"""A middle with more is rounded, and the ball around it has room for that."""

_DIGITS: Final = 6
"""Of a length that nobody named: people read it, as the ends of the range."""


def _weighted_ball(
    norm: Number | None, low: Number, high: Number, dimension: int
) -> tuple[Decimal, Decimal, Decimal]:
    """The range and the length that the largest weight allows, measured from the range's middle.

    A norm is a length from zero. Without one the ball around the caller's range is smallest from
    its middle. A weight lies in the range too: one that is twice as wide as vectors are long
    serves both.
    """
    ends = _decimal(low, "range"), _decimal(high, "range")
    length = Decimal(1) if norm is None else _decimal(norm, "norm")
    if ends[1] <= ends[0] or length <= 0:
        return *ends, length  # which is refused by name later
    if norm is not None:
        return -length, length, length
    middle = Context(prec=_MIDDLE_DIGITS).divide(sum(ends), Decimal(2))
    farthest = max(ENDS.subtract(ends[1], middle), ENDS.subtract(middle, ends[0]))
    root = Decimal(max(1, dimension - 1)).sqrt(Context(prec=30))
    length = Context(prec=_DIGITS, rounding=ROUND_CEILING).multiply(farthest, root)
    return ENDS.subtract(middle, length), ENDS.add(middle, length), length


def _unproved_norm(
    norm: Number | None, span: tuple[Number, Number], mode: PlannedMode
) -> Decimal | None:
    """The length of vectors beside their weights, where nothing proves that it is kept."""
    if norm is None:
        return None
    if mode == "full":
        message = "bits prove ranges of weighted numbers and no length: leave one out"
        raise UsageError(message, "norm")
    return widened_norm(norm, span)


def widened_norm(norm: Number, span: tuple[Number, Number]) -> Decimal:
    """The bound on the length of vectors together with their weights, rounded up."""
    low, high = (_decimal(end, "range") for end in span)
    length = _decimal(norm, "norm")
    context = Context(prec=30, rounding=ROUND_CEILING)
    half = (high - low) / 2
    squares = context.add(context.multiply(length, length), context.multiply(half, half))
    return context.next_plus(context.sqrt(squares))


def _beacon(parties: int, dropout: float, recovery: Fraction | str | None) -> BeaconKind:
    """Where coins come from unless somebody says: every withheld nonce may cost a neighbour."""
    withheld = parties * dropout * OwedMessages(True, recovery is not None).share("coins")
    return "commit-reveal" if withheld <= MOST_WITHHELD else "drand"


def _threshold(recovery: Fraction | str | None, trust: PlannedTrust) -> Fraction | None:
    """An exact part of all neighbours: a `Fraction` or text such as "2/3", never a float."""
    if recovery is None:
        return None
    # A float is no exact threshold: parties would count different numbers of shares.
    if not isinstance(recovery, Fraction | str):
        raise UsageError('an exact fraction such as "2/3"', "recovery")
    try:
        exact = Fraction(recovery)
    except (ValueError, ZeroDivisionError):
        raise UsageError('must be a fraction such as "2/3"', "recovery") from None
    if not 0 < exact < 1 or exact.denominator > MOST_DENOMINATOR:
        message = f"must lie between 0 and 1, with a denominator of at most {MOST_DENOMINATOR}"
        raise UsageError(message, "recovery")
    if trust != "malicious":
        raise UsageError("parties that are trusted have no self-masks: leave it out", "recovery")
    return exact


def _check_parties(parties: int) -> None:
    # `True` is an instance of `int`, and would pass for one party.
    if type(parties) is not int:
        raise UsageError("the number of parties must be an integer", "n")
    given = counted(parties, "party", "parties")
    if parties < FEWEST_PARTIES:
        raise UsageError(f"{given} given; at least {FEWEST_PARTIES} are needed", "n")
    if parties > MOST_PARTIES:
        raise UsageError(f"{given} given; at most {MOST_PARTIES} are possible", "n")


def _corrupt(corrupt: float, parties: int) -> int:
    """A count, or a part of all parties; at least one party is assumed to be curious."""
    if type(corrupt) is int:
        count = corrupt
    elif type(corrupt) is float and 0 <= corrupt < 1:
        count = colluding(corrupt, parties)
    else:
        raise UsageError(
            "must be a number of parties, or a part of them from 0.0 to below 1.0", "corrupt"
        )
    if not 0 <= count < parties:
        raise UsageError("must leave at least one honest party", "corrupt")
    return max(1, count)
