"""How sums are carried out, and the plans of the sessions for them.

Specification: `specs/22-federated.md`, section 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

import numpy as np

import gopa
from gopa import Aggregator, LocalAggregator, Plan, UsageError
from gopa.learning.checks import encoded, require_seed, whole
from gopa.learning.data import Users
from gopa.learning.ledger import BudgetExceeded, LedgerEntry, PrivacyLedger
from gopa.learning.privacy import Privacy, Unit
from gopa.support.arrays import Floats

Mode: TypeAlias = Literal["full", "signed", "off"]

_PLANNED: Final = frozenset({"corrupt", "dropout", "charged", "attempts", "recovery", "steps"})
_RUN: Final = frozenset({"storage", "script", "executor", "jobs"})
_FINER: Final = (2, 6, 8)
"""Grids that are tried, in those that the planner takes by itself."""

_MANY: Final = 2_000
"""Users from whom on planning takes seconds: finer grids are not tried."""

_EXACT_STEPS: Final = 2**30
_LONGEST: Final = 3.5
"""A vector of so many halves of the range, at this grid, has a squared length below 2^62."""

_NEAR: Final = 1e-9
"""The part of a length that a sum of floats may be off by."""


class SumOptions(TypedDict, total=False):
    """What every algorithm of sums is asked for: the fields of `Setting`."""

    privacy: Required[Privacy | None]
    seed: Required[int]
    most_rows: int | None
    mode: Mode
    session: Mapping[str, Any] | None
    ledger: PrivacyLedger | None
    aggregator: Aggregator | None


@dataclass(frozen=True, slots=True)
class Setting:
    """How sums are carried out: what is asked for, in which mode, from which seed.

    `most_rows` is public: how many rows a user has at most; who has more counts as so many.
    `session` has keywords of `gopa.plan` (corrupt, dropout, charged, attempts, recovery, steps)
    and of `gopa.LocalAggregator` (storage, script, executor, jobs). `ledger` is
    an account beyond this run, which is charged first. `before` is what the model has cost that it
    starts from: `privacy` is for all of it together, and rests on what is `assumed`, too. With
    `each_one` each user has one row, and everybody knows of how many there are rows in a round.
    `begun` are the numbers that a model starts from, where somebody gave them.

    Between processes `aggregator` is one of a session that was opened for this algorithm: the users
    are those of this process, `mode` and `session` are the session's, and everybody gives the same
    `most_rows` and `seed`, from which public choices follow, but no noise.
    """

    privacy: Privacy | None
    seed: int
    most_rows: int | None = None
    mode: Mode = "signed"
    session: Mapping[str, Any] | None = None
    ledger: PrivacyLedger | None = None
    aggregator: Aggregator | None = None
    before: tuple[LedgerEntry, ...] = ()
    assumed: tuple[str, ...] = ()
    each_one: bool = False
    begun: Floats | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_seed(self.seed)
        self._check_session()
        if self.most_rows is not None:
            object.__setattr__(self, "most_rows", whole(self.most_rows, "most_rows"))
        if self.privacy is None:
            return
        if not isinstance(self.privacy, Privacy):
            raise UsageError("a Privacy, such as Privacy(1.0, 1e-6), or None", "privacy")
        if self.privacy.relation != "replace-one":
            message = 'who takes part is public here: ask for "replace-one"'
            raise UsageError(message, "relation")
        if not self.privacy.delta:
            raise UsageError("a session needs a delta above 0, such as 1e-6", "delta")
        account = None if self.ledger is None else self.ledger.privacy
        if account is not None and (
            account.relation != "replace-one" or (account.unit, self.unit) == ("user", "record")
        ):
            # Noise for one record is no noise for a user, and a charge does not say whose it is.
            message = f"it accounts for more than is hidden here: {account}"
            raise UsageError(message, "ledger")

    def _check_session(self) -> None:
        if isinstance(self.aggregator, LocalAggregator):
            raise UsageError("leave it out: a simulation makes its own", "aggregator")
        if self.aggregator is not None and self.session is not None:
            raise UsageError("the session is there already: leave it out", "session")
        for name in self.session or {}:
            if name not in _PLANNED | _RUN:
                message = f"one of {', '.join(sorted(_PLANNED | _RUN))}"
                raise UsageError(message, f"session[{name!r}]")

    @property
    def left(self) -> Privacy | None:
        """What is left of `privacy` after all that was before, by basic composition.

        Raises:
            BudgetExceeded: nothing is left, or what was before hides nothing.
        """
        if self.privacy is None or not self.before:
            return self.privacy
        if any(each.charge.law != "guarantee" for each in self.before):
            message = (
                "the model that it starts from hides nothing: give its numbers if these are public"
            )
            raise BudgetExceeded(message, math.inf, 0)
        parts = [[each.times * n for n in each.charge.numbers] for each in self.before]
        epsilon, delta = (math.fsum(column) for column in zip(*parts, strict=True))
        left = self.privacy.epsilon - epsilon, self.privacy.delta - delta
        if not min(left) > 0:
            message = (
                f"epsilon {epsilon:.4g} and delta {delta:.2g} were spent on the model that it "
                f"starts from, of {self.privacy}: ask for more of both, for all of it together"
            )
            raise BudgetExceeded(message, epsilon, 0, delta)
        return replace(self.privacy, epsilon=left[0], delta=left[1])

    @property
    def noise_seed(self) -> int:
        """The seed of a session that is not charged yet: another one after each session before.

        With the same one their noise would be the same, and cancel in the difference of two sums.
        Before it are those of the model, and all that the account beyond this run was charged; a
        model that is given as numbers may come from a session, too.
        """
        entries = () if self.ledger is None else self.ledger.entries
        beyond = [each for each in (entries or None, self.begun) if each is not None]
        if not self.before and not beyond:
            return self.seed
        digest = sha256(encoded((self.seed, self.before, *beyond))).digest()
        return int.from_bytes(bytes(digest[:16]), "big")

    @property
    def unit(self) -> Unit:
        """The unit of privacy: what is hidden."""
        return "user" if self.privacy is None else self.privacy.unit

    def most(self, problem: Users) -> int:
        """How many rows a user has at most: said, or counted where counts need not be hidden."""
        if self.most_rows is not None:
            return self.most_rows
        if (self.privacy is not None and self.unit == "user") or self.aggregator is not None:
            message = (
                "how many rows a user has stays private: say how many it has at most, beyond "
                "which rows do not count"
            )
            raise UsageError(message, "most_rows")
        return max(1, int(np.ceil(problem.masses.max())))

    @property
    def run(self) -> dict[str, Any]:
        """The session's keywords that are for `gopa.LocalAggregator`."""
        return {name: each for name, each in (self.session or {}).items() if name in _RUN}

    def plan(
        self, users: int, width: int, half: float, rounds: int, *, vouched: bool = False
    ) -> Plan:
        """A plan for so many rounds of vectors of numbers from -1 to 1.

        Two vectors that are not to be told apart are at most twice `half` apart. There are at
        least two numbers. Full mode proves that vectors are no longer than `half`, unless they are
        `vouched` for.

        Raises:
            UsageError: there is no such plan, or it allows for fewer that collude than are asked
                to be no danger.
        """
        left = self.left
        asked = None if left is None else (left.epsilon, left.delta)
        given = sorted((self.session or {}).items())
        options = tuple(each for each in given if each[0] in _PLANNED)
        sums = _Sums(users, width, half, rounds, asked, self.mode, options)
        found = _in_rows(sums) if self.mode == "full" and not vouched else None
        found = found or _by_number(sums)
        self._require_colluders(found.terms.corrupt)
        return found

    def require_session(
        self, given: Aggregator, users: int, width: int, half: float, rounds: int
    ) -> None:
        """Refuses a session between processes unless it hides what `plan` would.

        Whoever opened it may have planned for vectors that are closer together, or for less
        privacy: then nothing is told (22-F19).

        Raises:
            UsageError: it is another session than this algorithm needs.
        """
        terms = given.terms
        if len(given.own) != users:
            raise UsageError(f"{len(given.own)} users are of this process", "problem")
        require_room(given, width, half)
        if given.rounds_left < rounds:
            raise UsageError(f"the session has {given.rounds_left} rounds left", "rounds")
        asked, kept = self.left, (terms.epsilon, terms.delta)
        if asked is None or terms.exact:
            enough = asked is None and terms.exact
        else:
            enough = float(kept[0] or 0) <= asked.epsilon and float(kept[1]) <= asked.delta
        if not enough:
            raise UsageError(f"the session keeps epsilon {kept[0]} and delta {kept[1]}", "privacy")
        self._require_colluders(terms.corrupt)

    def _require_colluders(self, planned: int) -> None:
        for each in (self.privacy, None if self.ledger is None else self.ledger.privacy):
            if each is not None and each.colluders > planned:
                message = f"the session allows for {planned}: say so in session"
                raise UsageError(f"{message}, {{'corrupt': {each.colluders}}}", "colluders")


def require_room(given: Aggregator, width: int, half: float) -> None:
    """Refuses sums whose noise is not made for vectors that are twice `half` apart.

    `UsageError` says what to plan with.
    """
    terms = given.terms
    # A vector within the range stays there; one within a length is moved by rounding.
    steps = terms.longest if terms.bounds_length else math.sqrt(terms.squared_sensitivity) / 2
    room = math.inf if terms.exact else 2 * steps / terms.steps
    alike = terms.dimension == width and terms.low == -1 and terms.high == 1
    if not alike or room < half * (1 - _NEAR):
        message = (
            f"it has dimension={terms.dimension}, range=({terms.low}, {terms.high}) and room for a "
            f"norm of {room:.6g}: plan with dimension={width}, range=(-1, 1), norm={_above(half)}"
        )
        raise UsageError(message, "aggregator")


def _above(value: float) -> float:
    """Six digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 5)
    return float(f"{math.ceil(value / unit) * unit:.6g}")


@dataclass(frozen=True, slots=True)
class _Sums:
    """What a plan of sums depends on; `asked` is epsilon and delta, if there are any."""

    users: int
    width: int
    half: float
    rounds: int
    asked: tuple[float, float] | None
    mode: Mode
    options: tuple[tuple[str, Any], ...]

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords for `gopa.plan`."""
        epsilon, delta = (None, None) if self.asked is None else self.asked
        given: dict[str, Any] = {
            "n": self.users,
            "dimension": self.width,
            "range": (-1, 1),
            "norm": self.half,
            "rounds": self.rounds,
            "mode": self.mode,
            "least_chance": 0.0,
            **dict(self.options),
            "epsilon": epsilon,
            "delta": delta,
        }
        if self.mode != "off":
            given["beacon"] = "commit-reveal"
        return given


def _fine(sums: _Sums) -> dict[str, Any]:
    """Without noise the grid is as fine as the squared lengths of vectors allow for."""
    if sums.asked is not None:
        return {}
    coarser = math.ceil(math.log2(max(1.0, sums.half / _LONGEST)))
    return {"steps": max(1, _EXACT_STEPS >> coarser)}


@lru_cache(maxsize=64)
def _in_rows(sums: _Sums) -> Plan | None:
    """The plan that proves lengths, at a small cost for each number; None if there is none."""
    try:
        return gopa.plan(**{**_fine(sums), **sums.keywords}, path="rows")
    except UsageError:
        return None


@lru_cache(maxsize=64)
def _by_number(sums: _Sums) -> Plan:
    """The plan with the least error: rounding counts, too, so finer grids are tried."""
    given = sums.keywords | {"path": "bits"}
    if sums.asked is None:
        return gopa.plan(**{**_fine(sums), **given})
    given |= {"noise": "irwin-hall"}
    best = gopa.plan(**given)
    if "steps" in given:
        return best
    first = best.terms.steps
    for finer in itertools.takewhile(lambda _: sums.users <= _MANY, _FINER):
        try:
            found = gopa.plan(**given, steps=finer * first)
        except UsageError:
            break  # no noise is wide enough for so fine a grid
        best = min(best, found, key=lambda each: each.errors.planned)
    return best
