"""The plan of a session for a privacy target: everything that a manifest needs, and why.

`plan` tries the paths of full mode (in rows or with bits: 14-Y6) and thresholds
of recovery, with `parameters.py` for the numbers of one try; where none works it says which close
target would. Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final, Unpack, get_args

from gopa.contract.terms import check_decimal, check_name
from gopa.planning.explanation import advice
from gopa.planning.parameters import plan_of
from gopa.planning.request import Request, counts_only
from gopa.planning.result import Plan
from gopa.planning.target import (
    BITS_UP_TO,
    CORRUPT,
    KEYWORDS,
    ROWS_FROM,
    SIGNATURE,
    SURE_CHANCE,
    THRESHOLDS,
    Means,
    NoiseName,
    PathName,
    Target,
    read_target,
)
from gopa.planning.usefulness import DROPOUTS
from wire.errors import UsageError

_LOG: Final = logging.getLogger("gopa.planning")

_TYPICAL_DEGREE: Final = 40
"""Of a party in a large plan; thresholds are chosen by it."""


def plan(n: int, **target: Unpack[Target]) -> Plan:
    """Everything a session needs so that it is (epsilon, delta)-private.

    `epsilon=None` plans a session without noise: the exact sum is released. Masks still hide
    everything else from coalitions of at most `corrupt` parties, but for a chance of `delta`,
    which is 1e-9 then if nobody says. Each of the `rounds` takes new values: two exact sums over
    sets that differ by one party reveal that party's value. Parties have to accept this by
    their policy.

    `n` parties, each with a value (or a vector of `dimension` coordinates) in `range`;
    `norm` bounds the L2 norm of vectors. `corrupt` is how many parties may collude, or
    which part of all: a tenth if nobody says, and at least one, a curious party. `dropout`
    is the chance that an honest party fails, by not joining or later. The plan holds for
    every number of parties that joins, from `Plan.terms.survivors` to n, with all corrupt
    ones among them.
    `rounds` releases from the same inputs are composed, each with `charged` charged
    retries, among at most `attempts` attempts. `integers` says that inputs are integers:
    they are not rounded.
    `path` is how full mode proves vectors. In "rows" their lengths are proved, at a small cost for
    each coordinate: `norm`, or else the ball around the box, and of noise its length and that
    coins place it. With "bits" every coordinate is proved to be in the range and all noise to
    follow its law, at a cost for each, and no length is. Where nobody says, vectors with a `norm`
    and those of many coordinates have rows, others bits; where rows have no plan there are bits,
    and `Plan.path` and the reasons say so. `weighted` says that the last coordinate
    is a private weight; rows prove that no vector is longer than its weight allows, bits that no
    number is larger.
    `noise` is the kind of law, and to name one is to ask for bits: without it single numbers get a
    table where one is wide enough, and vectors of bits sums of uniforms, because only those are
    proved for them. `steps` fixes the grid.
    `recovery`, an exact fraction such as "2/3", is the part of a party's neighbours that must
    not collude, because more of them can open its self-mask; None is for no recovery, and "auto"
    chooses one wherever parties have self-masks and few enough are corrupt. `beacon` is where
    the coins come from: nonces if nobody says, but drand for so many parties that too many
    nonces would be
    withheld. `mask` is uniform if nobody says, and Gaussian where all are trusted to keep
    the rules. Without recovery `charged` is chosen by the chance of a result; with it, it
    is 0. With `open_admission` other parties may come to the next attempt. `objective`:
    "error" loses least accuracy to the masks, "peers" needs fewest neighbours, "masks"
    keeps Gaussian masks small.

    >>> plan = gopa.plan(n=100, epsilon=1, delta=1e-6)
    >>> plan.terms.parties, plan.terms.corrupt
    (100, 10)
    >>> plan.errors.curator < plan.errors.planned < plan.errors.local
    True
    >>> "error of the mean" in plan.explain()
    True

    Raises `UsageError` that says which way to move when no plan meets the target, and
    when a session would get a result with a chance below `least_chance`.
    """
    asked = read_target(n, target)
    least_chance = asked.pop("least_chance")
    try:
        made = _made(asked, least_chance)
    except UsageError as error:
        raise _with_what_works(error, asked, lambda other: _made(other, least_chance)) from None
    # Whoever accepts any chance, as simulations do, hears it from the result.
    for warning in made.warnings if least_chance else ():
        _LOG.warning("%s", warning)
    return made


plan.__signature__ = SIGNATURE  # type: ignore[attr-defined]


def _made(asked: Mapping[str, Any], least_chance: float) -> Plan:
    """The plan that is asked for, by the first path that has one; else what the last one lacks."""
    asked = _without_idle_norm(asked)
    first, *others = _paths_for(asked)
    if not others:
        why = _why_bits(asked) if first == "bits" else ""
        return _on_path(asked, first, why, least_chance)
    try:
        in_rows = _on_path(asked, first, "", least_chance)
    except UsageError as error:
        why = f"rows, which would, have no plan here ({error})"
        return _on_path(asked, "bits", why, least_chance)
    if in_rows.wished is None:
        return in_rows
    why = (
        "rows, which would, leave proofs enough of delta at an epsilon of "
        f"{in_rows.terms.epsilon} at most, and their error would be more than {MOST_NOISE} times "
        "as large"
    )
    try:
        bits = _on_path(asked, "bits", why, least_chance)
    except UsageError:
        return in_rows
    return bits if in_rows.errors.planned > MOST_NOISE * bits.errors.planned else in_rows


def _on_path(given: Mapping[str, Any], path: PathName, why: str, least_chance: float) -> Plan:
    """The plan of this path; with recovery "auto" one without it where it is impossible."""
    asked = {**given, "path": path, "why_bits": why}
    made = _automatic(asked) if asked["recovery"] == "auto" else plan_of(Request.checked(asked))
    return _accepted(replace(made, colluding=asked["corrupt"]), least_chance)


def _automatic(asked: Mapping[str, Any]) -> Plan:
    """The plan with the best threshold of recovery, or with none where none is possible."""
    without = {**asked, "recovery": None}
    if asked["trust"] != "malicious":  # without self-masks there is nothing to recover
        return plan_of(Request.checked(without))
    refused: list[UsageError] = []
    found = _with_recovery(asked, refused)
    if found is not None:
        return found
    try:
        return plan_of(Request.checked(without))
    except UsageError as error:
        # Without recovery more parties have to remain, which nobody asked for.
        raise (refused[-1] if error.field == "corrupt" else error) from None


def _with_recovery(asked: Mapping[str, Any], refused: list[UsageError]) -> Plan | None:
    """The plan with the best threshold; None where recovery is not possible, and why."""
    first = _first_threshold(Request.checked({**asked, "recovery": THRESHOLDS[-1]}))
    found = [_recovering(asked, THRESHOLDS[first], refused)]
    larger, smaller = THRESHOLDS[:first][::-1], THRESHOLDS[first + 1 :]
    for threshold in larger if found[0] is None else smaller:
        best = found[-1]
        if best is not None and (found[0] is None or best.liveness.session >= SURE_CHANCE):
            break
        found.append(_recovering(asked, threshold, refused))
        if found[0] is not None and found[-1] is None:
            break
    made = [each for each in found if each is not None]
    return max(made, key=lambda each: each.liveness.session, default=None)


def _recovering(
    asked: Mapping[str, Any], threshold: Fraction, refused: list[UsageError]
) -> Plan | None:
    """The plan; None where neighbours could open self-masks, or no noise or mask is wide enough."""
    try:
        return plan_of(Request.checked({**asked, "recovery": threshold}))
    except UsageError as error:
        if error.field not in {"recovery", "noise", "mask"}:
            raise
        refused.append(error)
        return None


def _first_threshold(request: Request) -> int:
    """The place of the largest threshold that leaves room for failing neighbours.

    A large threshold needs fewer neighbours, as corrupt ones reach it more rarely; of the
    neighbours of a party so many are there for certain that the others suffice even where
    three deviations more than expected fail.
    """
    degree = min(request.survivors - 1, _TYPICAL_DEGREE)
    failing = request.dropout * degree
    failing += 3 * math.sqrt(failing * (1 - request.dropout))
    for place, tau in enumerate(THRESHOLDS):
        if degree - int(tau * degree) - 1 >= failing:
            return place
    return len(THRESHOLDS) - 1


def _accepted(made: Plan, least_chance: float) -> Plan:
    """The plan; `UsageError` if its session would get a result too rarely.

    Warnings are logged, but for whoever accepts any chance: simulations do, and know who fails.
    """
    if isinstance(least_chance, bool) or not isinstance(least_chance, (int, float)):
        raise UsageError("must be a probability from 0 to 1", "least_chance")
    if not 0 <= least_chance <= 1:
        raise UsageError("must be a probability from 0 to 1", "least_chance")
    if made.liveness.session < least_chance:
        message = (
            f"the session would get a result with a chance of {made.liveness.session:.2g} only: "
            f"{advice(made.terms, made.liveness)}, or accept that (least_chance=0)"
        )
        raise UsageError(message, "least_chance")
    return made


ASKED: Final = "asked for"
NAMED: Final = "a law of noise is named, and rows prove none"
FEW: Final = f"fewer than {ROWS_FROM} numbers cost no more that way, and nobody names a norm"

MOST_NOISE: Final = 1.5
"""Rows for less epsilon than was asked for are taken up to so many times the error of bits."""


def _paths_for(asked: Mapping[str, Any]) -> tuple[PathName, ...]:
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


def _without_idle_norm(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The target without a norm that no vector in the range exceeds: it bounds nothing.

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


def _why_bits(asked: Mapping[str, Any]) -> str:
    """Why numbers are proved one by one and not in rows, where these were not tried.

    Nothing for single numbers, of which there are no rows, and where nothing is proved.
    """
    if asked["mode"] != "full" or asked["dimension"] == 1:
        return ""
    if asked["path"] is not None:
        return ASKED
    return FEW if asked["noise"] is None else NAMED


def _by_length(asked: Mapping[str, Any]) -> bool:
    """Whether the caller bounds lengths; of counts no other length is possible."""
    if asked["norm"] is None:
        return False
    try:
        low, high, norm = (Decimal(str(asked[name])) for name in ("low", "high", "norm"))
        return not counts_only(integers=asked["integers"], low=low, high=high, norm=norm)
    except InvalidOperation:
        return False  # which is refused by name later


_MOST_PARTIES: Final = 30
"""For more parties every try takes long, and nobody is a party or two away from a plan."""

_FIELDS: Final = frozenset({"corrupt", "least_chance", "noise", "recovery"})
"""What is wrong with a target as a whole: other errors are about one number, and say which."""

_MORE_PARTIES: Final = (1, 2, 3, 4, 6, 8, 12, 20, 40, 80)
_LARGER: Final = (2, 5, 10, 20, 50, 100)
_MOST_EPSILON: Final = 10.0

_OPTIONS: Final = tuple(
    each
    for each in (*Means.__annotations__, "beacon", "integers")
    if each not in {"path", "least_chance"}
)
"""Keywords whose absence is tried, where the caller named them."""


def _with_what_works(
    error: UsageError, asked: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Plan]
) -> UsageError:
    """The error with the smallest changes of each kind for which `make` finds a plan.

    It names an option as something to change only if the caller gave it, and what works as
    values that were tried. Errors that are about one number stay as they are.
    """
    if error.field not in _FIELDS:
        return error
    if asked["parties"] > _MOST_PARTIES:
        return _with_steps(error, asked, make)

    def works(changes: Mapping[str, Any]) -> bool:
        try:
            make({**asked, **changes})
        except UsageError:
            return False
        return True

    kinds = (_dropouts(error, asked), _fewer(asked), _parties(asked), _epsilons(error, asked))
    found = [next((words for words, changes in kind if works(changes)), "") for kind in kinds]
    words = [f"with {each}" for each in found if each]
    words += [name for name, changes in _without(asked) if works(changes)]
    if not words:
        return error
    help_ = f"it works {', or '.join(words)}"
    if error.field == "least_chance":
        help_ += "; or accept that (least_chance=0)"
    field = "n" if error.field == "corrupt" and not _named(asked) else error.field
    return UsageError(f"{error.message.partition(': ')[0]}: {help_}", field)


def _with_steps(
    error: UsageError, asked: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Plan]
) -> UsageError:
    """The error with the steps that the planner would take, if those that were named are at fault.

    They are the most, or nearly so, for which there is a wide enough law.
    """
    if asked["steps"] is None:
        return error
    try:
        steps = make({**asked, "steps": None}).terms.steps
    except UsageError:
        return error
    return UsageError(
        f"{error.message.partition(': ')[0]}: it works with steps={steps}", error.field
    )


def _named(asked: Mapping[str, Any]) -> bool:
    """Whether the caller said how many collude."""
    return bool(asked["corrupt"] != CORRUPT)


Kind = Iterator[tuple[str, dict[str, Any]]]


def _dropouts(error: UsageError, asked: Mapping[str, Any]) -> Kind:
    """Smaller chances to fail; that nobody does only where too few would remain."""
    for dropout in (*DROPOUTS, *((0.0,) if error.field == "corrupt" else ())):
        if dropout < asked["dropout"]:
            yield f"dropout={dropout:g}", {"dropout": dropout}


def _fewer(asked: Mapping[str, Any]) -> Kind:
    """Smaller numbers of colluding parties, where the caller named one."""
    corrupt = asked["corrupt"]
    if not _named(asked):
        return
    if isinstance(corrupt, float):
        corrupt = int(corrupt * asked["parties"])
    for count in range(corrupt - 1, 0, -1):
        yield f"corrupt={count}", {"corrupt": count}


def _parties(asked: Mapping[str, Any]) -> Kind:
    """The advice to plan with more parties."""
    for more in _MORE_PARTIES:
        parties = asked["parties"] + more
        yield f"{parties} parties", {"parties": parties}


def _epsilons(error: UsageError, asked: Mapping[str, Any]) -> Kind:
    """Larger epsilons, where the noise would be too wide."""
    if error.field != "noise" or asked["epsilon"] is None:
        return
    for factor in _LARGER:
        epsilon = float(asked["epsilon"]) * factor
        if epsilon <= _MOST_EPSILON:
            yield f"epsilon={epsilon:g}", {"epsilon": epsilon}


def _without(asked: Mapping[str, Any]) -> Kind:
    for name in _OPTIONS:
        default = KEYWORDS[name].default
        if asked[name] != default:
            yield f"without `{name}`", {name: default}
