"""The target of a plan: every keyword of `gopa.plan` with its type, its default and its words.

One line of `Target` makes a keyword of `gopa.plan`, of `gopa.average` and its like where it does
not depend on what is asked (`Assumptions`, `Means`), and an option of `gopa plan`, `gopa simulate`
and `gopa session create`. Whatever else a plan assumes and chooses where its caller says nothing
stands here too; why each number: 03-V33a.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from gopa.contract.terms import BeaconKind, MaskLaw
from gopa.support.wording import meant
from wire.errors import UsageError

Number: TypeAlias = float | str | Decimal
PlannedMode: TypeAlias = Literal["full", "signed", "off"]
PlannedTrust: TypeAlias = Literal["malicious", "honest-but-curious"]
NoiseName: TypeAlias = Literal["gaussian", "binomial", "irwin-hall"]
"""A kind of law: a table, sums of bits, or sums of uniforms."""

PathName: TypeAlias = Literal["bits", "rows"]
Objective: TypeAlias = Literal["error", "peers", "masks"]

CORRUPT: Final = 0.1
"""A tenth of the parties: plans assume that so many collude, and parties ask that of plans."""

DROPOUT: Final = 0.05
ATTEMPTS: Final = 3

CHARGED: Final = 0
"""Charged retries. A plan without recovery may get more of them, by the chance of a result."""

EXACT_DELTA: Final = Decimal("1e-9")
"""The chance that masks give away more than an exact sum, where nobody says."""

EXACT_STEPS: Final = 2**32 - 1
"""The grid of an exact sum of single numbers: 32 bits for each."""

EXACT_VECTOR_STEPS: Final = 2**16 - 1
"""The grid of exact sums of vectors: 16 bits for each coordinate, which full mode proves."""

ROWS_FROM: Final = 24
"""From so many coordinates on rows cost neither a party nor an auditor more time than bits do."""

BITS_UP_TO: Final = 1_000
"""Vectors of more coordinates are proved number by number only where somebody asks for it."""

LEAST_CHANCE: Final = 0.5
"""A plan whose session gets a result less often than that is refused."""

GOOD_CHANCE: Final = 0.9
"""A plan whose session gets a result less often than that comes with a warning."""

SURE_CHANCE: Final = 0.98
"""Smaller thresholds of recovery are tried until a result is as likely as that."""

MOST_RETRIES: Final = 3
"""Without recovery at most so many charged retries are planned unasked."""

THRESHOLDS: Final = (Fraction(4, 5), Fraction(3, 4), Fraction(2, 3), Fraction(3, 5), Fraction(1, 2))
"""Thresholds of recovery that are tried, from the one with the fewest neighbours on."""

MOST_WITHHELD: Final = 32
"""With more parties than that expected to withhold their nonces, coins come from a beacon."""

TOLERANCE: Final = Fraction(1, 1000)
"""Half of the band around delta in which nothing is decided, and of that around beta."""

NO_DELTA: Final = "the chance that more than epsilon gets out: name it, such as delta=1e-6"


class Promise(TypedDict):
    """What is never left out: nobody gets an exact sum by saying nothing."""

    epsilon: Annotated[Number | None, "Privacy target: the loss; none for an exact sum, unhidden."]


class Assumptions(TypedDict, total=False):
    """What the privacy of a plan rests on."""

    delta: Annotated[Number | None, "Privacy target: chance of more.", None]
    corrupt: Annotated[
        float, "Colluding parties, as is assumed: count or part, at least one.", CORRUPT
    ]
    dropout: Annotated[float, "Chance to fail.", DROPOUT]


class Inputs(TypedDict, total=False):
    """What the parties have."""

    range: Annotated[tuple[Number, Number], "Smallest and largest input.", (0, 1)]
    dimension: Annotated[int, "Coordinates.", 1]
    norm: Annotated[Number | None, "Bound on the L2 norm of vectors.", None]
    rounds: Annotated[int, "Rounds to compose.", 1]
    weighted: Annotated[bool, "The last coordinate is a private weight.", False]
    integers: Annotated[bool, "Inputs are integers: nothing is rounded.", False]


class Means(TypedDict, total=False):
    """What the planner chooses itself unless somebody wants it otherwise."""

    mask: Annotated[
        MaskLaw | None,
        "Law of the masks that cancel; uniform unless masks are to stay as noise.",
        None,
    ]
    noise: Annotated[
        NoiseName | None,
        "Instead of the best kind; a law that is named is proved, with bits.",
        None,
    ]
    path: Annotated[
        PathName | None,
        "What full mode proves of vectors: rows their length, bits ranges and the law of noise.",
        None,
    ]
    objective: Annotated[Objective, "What to keep small.", "error"]
    steps: Annotated[int | None, "Grid steps, instead of the best ones.", None]
    recovery: Annotated[
        Fraction | str | None,
        'Threshold of self-mask recovery, such as "2/3"; none, or auto: the best there is.',
        "auto",
    ]
    charged: Annotated[int | None, "Charged retries; by the chance without.", None]
    attempts: Annotated[int | None, f"Attempts in all; {ATTEMPTS} where that costs nothing.", None]
    least_chance: Annotated[
        float, "Refuse plans that get a result more rarely; 0 takes any.", LEAST_CHANCE
    ]


class Course(TypedDict, total=False):
    """How the session will be run."""

    beacon: Annotated[
        BeaconKind | None,
        "Where the coins come from; nonces, or drand for very many parties.",
        None,
    ]
    mode: Annotated[PlannedMode, "What it is for.", "full"]
    trust: Annotated[PlannedTrust, "Whom it withstands.", "malicious"]
    open_admission: Annotated[bool, "Admission is open: other parties may come to a retry.", False]


class Target(Promise, Assumptions, Inputs, Means, Course):
    """All keywords of `gopa.plan`; the number of parties stands before them."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword of a plan as `Target` has it: its type, its line of help, its default if any."""

    name: str
    kind: Any
    help: str
    default: Any = Parameter.empty

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have, without None."""
        if get_origin(self.kind) in {Literal, tuple}:
            return (self.kind,)
        return tuple(each for each in get_args(self.kind) or (self.kind,) if each is not type(None))

    @property
    def choices(self) -> tuple[str, ...]:
        """The names to choose from; none for what is no choice."""
        return get_args(self.kinds[0]) if get_origin(self.kinds[0]) is Literal else ()


KEYWORDS: Final[Mapping[str, Keyword]] = MappingProxyType(
    {
        name: Keyword(name, *get_args(hint))
        for name, hint in get_type_hints(Target, include_extras=True).items()
    }
)

SIGNATURE: Final = Signature(
    [
        Parameter("n", Parameter.POSITIONAL_OR_KEYWORD, annotation=int),
        *(
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind)
            for each in KEYWORDS.values()
        ),
    ]
)
"""That of `gopa.plan`: what `help` shows, and what its arguments are read by."""


def read_target(n: int, target: Mapping[str, Any]) -> dict[str, Any]:
    """The whole target as Python's own numbers, with `parties`, `low` and `high`.

    Raises:
        UsageError: an unknown keyword, or a range that has not two ends.
        TypeError: no epsilon.
    """
    for name in target:
        if name not in KEYWORDS:
            raise no_such_keyword(name, SIGNATURE.parameters)
    bound = SIGNATURE.bind(n, **target)
    bound.apply_defaults()
    asked = dict(bound.arguments)
    ends = asked.pop("range")
    if not isinstance(ends, (tuple, list, np.ndarray)) or len(ends) != 2:
        raise UsageError("two numbers, the smallest and the largest input", "range")
    asked |= {"parties": asked.pop("n"), "low": ends[0], "high": ends[1]}
    return {name: python_number(value) for name, value in asked.items()}


_RANGE: Final = "range=(low, high)"
_OTHER_NAMES: Final = {
    "bounds": _RANGE,
    "limits": _RANGE,
    "lower": _RANGE,
    "upper": _RANGE,
    "low": _RANGE,
    "high": _RANGE,
    "eps": "epsilon",
    "parties": "n",
    "dim": "dimension",
    "d": "dimension",
    "sensitivity": "norm",
    "max_norm": "norm",
}
"""What others call the keywords of a plan, and of whatever makes one."""


def no_such_keyword(name: str, known: Iterable[str]) -> UsageError:
    """The error of a keyword that there is not, with the one that may be meant."""
    other = _OTHER_NAMES.get(name)
    hint = f"did you mean {other}?" if other else meant(name, list(known), "there are")
    return UsageError(f"there is no such keyword: {hint}", name)


def python_number(value: Any) -> Any:
    """A numpy scalar as the Python number that is written alike; anything else as it is.

    A float of 32 bits that prints as 0.1 means one tenth, as a decimal does.
    """
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


_SLACK: Final = 1e-9
"""A part of 0.29 is 29 of 100, though the float is a little less."""


def colluding(part: float | Fraction, parties: int) -> int:
    """How many of these parties collude if a part of them does: rounded down, and at least one."""
    return max(1, math.floor(part * parties + _SLACK))


def float_below(value: Decimal) -> float:
    """The largest float that is not above `value`: targets are met as written, not as rounded."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > Fraction(value) else nearest


def decimal_below(value: float, digits: int = 3) -> Decimal:
    """A short decimal that is at most `value`."""
    return Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value))
