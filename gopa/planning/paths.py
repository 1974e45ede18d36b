"""Decides by which path of full mode a vector is proved, and says why a plan has numbers proved.

In rows lengths are proved, and of noise its length and that coins place it. With bits each number
is proved to be in its range, and each party's noise to follow its law, but no length. So rows are
for whoever planned with a length, and for many numbers, which bits would make expensive.
Specification 14, rule Y6.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final, get_args

from gopa.contract.terms import Terms, check_decimal, check_name
from gopa.planning.defaults import BITS_UP_TO, ROWS_FROM
from gopa.planning.result import Errors, NoiseName, PathName
from wire.errors import UsageError

ASKED: Final = "asked for"
NAMED: Final = "a law of noise is named, and rows prove none"
FEW: Final = f"fewer than {ROWS_FROM} numbers cost no more that way, and nobody names a norm"
_IMPOSSIBLE: Final = "rows, which would, have no plan here ({})"
_NOISIER: Final = (
    "rows, which would, leave proofs enough of delta at an epsilon of {} at most, and their error "
    "would be more than {} times as large"
)

MOST_NOISE: Final = 1.5
"""Rows for less epsilon than was asked for are taken up to so many times the error of bits."""


def paths_for(asked: Mapping[str, Any]) -> tuple[PathName, ...]:
    """The paths to try in turn for these keywords of `plan`.

    Raises:
        UsageError: a path and noise that exclude each other, or an unknown one.
    """
    path, noise = asked["path"], asked["noise"]
    for name, given, known in (("path", path, PathName), ("noise", noise, NoiseName)):
        if given is not None:
            check_name(given, get_args(known), name)
    if path == "rows" and noise is not None:
        raise UsageError("rows prove no law of noise: leave one of both out", "path")
    if path is not None:
        return (path,)
    if noise is not None or asked["mode"] != "full":
        return ("bits",)
    dimension, weighted = asked["dimension"], asked["weighted"] is True
    fewest = 2 if weighted or _by_length(asked) else ROWS_FROM
    if type(dimension) is not int or dimension < fewest:
        return ("bits",)
    only = weighted or dimension > BITS_UP_TO
    return ("rows",) if only else ("rows", "bits")


def without_idle_norm(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same, without a norm that no vector in the range exceeds: it bounds nothing.

    Noise and rows for it would be made for vectors that are not there. What is no number, or bounds
    single ones, is left for others to refuse.
    """
    norm, dimension = asked["norm"], asked["dimension"]
    if norm is None or type(dimension) is not int or dimension < 2:
        return asked
    given = []
    try:
        for name in ("low", "high", "norm"):
            given.append(Decimal(str(asked[name])))
            check_decimal(given[-1], name)
    except (InvalidOperation, UsageError):
        return asked
    low, high, longest = map(Fraction, given)
    corner = max(abs(low), abs(high))
    if low >= high or longest**2 < (dimension - (asked["weighted"] is True)) * corner**2:
        return asked
    return {**asked, "norm": None, "idle_norm": str(norm)}


def no_rows(refused: UsageError) -> str:
    """Why numbers are proved one by one: what rows have no plan for."""
    return _IMPOSSIBLE.format(refused)


def noisier_rows(terms: Terms) -> str:
    """Why numbers are proved one by one: rows in these terms would have more noise."""
    return _NOISIER.format(terms.epsilon, MOST_NOISE)


def worth_bits(in_rows: Errors, in_bits: Errors) -> bool:
    """Whether rows that keep less epsilon than was asked for cost too much accuracy."""
    return in_rows.planned > MOST_NOISE * in_bits.planned


def why_bits(asked: Mapping[str, Any]) -> str:
    """Why numbers are proved one by one and not in rows, where these were not tried.

    Nothing for single numbers, of which there are no rows, and where nothing is proved.
    """
    if asked["mode"] != "full" or asked["dimension"] == 1:
        return ""
    if asked["path"] is not None:
        return ASKED
    return FEW if asked["noise"] is None else NAMED


def counts_only(*, integers: bool, low: Decimal, high: Decimal, norm: Decimal | None) -> bool:
    """Whether a party contributes a one and zeros: nothing else has a norm that is less."""
    return integers and low == 0 and high == 1 and norm is not None and norm < 1


def _by_length(asked: Mapping[str, Any]) -> bool:
    """Whether the caller bounds lengths; of counts no other length is possible."""
    if asked["norm"] is None:
        return False
    try:
        low, high, norm = (Decimal(str(asked[name])) for name in ("low", "high", "norm"))
        return not counts_only(integers=asked["integers"], low=low, high=high, norm=norm)
    except InvalidOperation:
        return False  # which is refused by name later
