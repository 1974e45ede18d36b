"""Says how sums are carried out, and plans the sessions for them.

Specification: `specs/22-federated.md`, section 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

import gopa
from gopa import Plan, UsageError
from gopa.learning.checks import whole
from gopa.learning.data import Users
from gopa.learning.fitting import require_seed
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.privacy import Privacy, Unit

Mode: TypeAlias = Literal["full", "signed", "off"]

_PLANNED: Final = frozenset({"corrupt", "dropout", "charged", "attempts", "recovery", "steps"})
_RUN: Final = frozenset({"storage", "script", "max_rollbacks", "executor", "jobs"})
_FINER: Final = (2, 6, 8)
"""Grids that are tried, in those that the planner takes by itself."""

_MANY: Final = 2_000
"""Users from whom on planning takes seconds: finer grids are not tried."""

_EXACT_STEPS: Final = 2**30


class SumOptions(TypedDict, total=False):
    """Says what every algorithm of sums is asked for: the fields of `Setting`."""

    privacy: Required[Privacy | None]
    seed: Required[int]
    most_rows: int | None
    mode: Mode
    session: Mapping[str, Any] | None
    ledger: PrivacyLedger | None


@dataclass(frozen=True, slots=True)
class Setting:
    """Says how sums are carried out: what is asked for, in which mode, from which seed.

    `most_rows` is public: how many rows a user has at most; who has more counts as so many.
    `session` has keywords of `gopa.plan` (corrupt, dropout, charged, attempts, recovery, steps)
    and of `gopa.LocalAggregator` (storage, script, max_rollbacks, executor, jobs). `ledger` is
    an account beyond this run, which is charged first.
    """

    privacy: Privacy | None
    seed: int
    most_rows: int | None = None
    mode: Mode = "signed"
    session: Mapping[str, Any] | None = None
    ledger: PrivacyLedger | None = None

    def __post_init__(self) -> None:
        require_seed(self.seed)
        if self.most_rows is not None:
            object.__setattr__(self, "most_rows", whole(self.most_rows, "most_rows"))
        for name in self.session or {}:
            if name not in _PLANNED | _RUN:
                message = f"one of {', '.join(sorted(_PLANNED | _RUN))}"
                raise UsageError(message, f"session[{name!r}]")
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

    @property
    def unit(self) -> Unit:
        """What is hidden."""
        return "user" if self.privacy is None else self.privacy.unit

    def most(self, problem: Users) -> int:
        """How many rows a user has at most: said, or counted where counts need not be hidden."""
        if self.most_rows is not None:
            return self.most_rows
        if self.privacy is not None and self.unit == "user":
            message = (
                "how many rows a user has stays private: say how many it has at most, beyond "
                "which rows do not count"
            )
            raise UsageError(message, "most_rows")
        return max(1, int(problem.counts.max()))

    @property
    def run(self) -> dict[str, Any]:
        """Those of the keywords of the session that are for `gopa.LocalAggregator`."""
        return {name: each for name, each in (self.session or {}).items() if name in _RUN}

    def plan(self, users: int, width: int, half: float, rounds: int) -> Plan:
        """A plan for so many rounds of vectors of numbers from -1 to 1.

        Two vectors that are not to be told apart are at most twice `half` apart. There are at
        least two numbers.

        Raises:
            UsageError: there is no such plan, or it allows for fewer that collude than are asked
                to be no danger.
        """
        asked = None if self.privacy is None else (self.privacy.epsilon, self.privacy.delta)
        given = sorted((self.session or {}).items())
        options = tuple(each for each in given if each[0] in _PLANNED)
        found = _planned(users, width, half, rounds, asked, self.mode, options)
        for each in (self.privacy, None if self.ledger is None else self.ledger.privacy):
            if each is not None and each.colluders > found.terms.corrupt:
                message = f"the session allows for {found.terms.corrupt}: say so in session"
                raise UsageError(f"{message}, {{'corrupt': {each.colluders}}}", "colluders")
        return found


@lru_cache(maxsize=64)
def _planned(  # noqa: PLR0913, PLR0917 - all that a plan depends on
    users: int,
    width: int,
    half: float,
    rounds: int,
    asked: tuple[float, float] | None,
    mode: Mode,
    options: tuple[tuple[str, Any], ...],
) -> Plan:
    """The plan with the least error: rounding counts, too, so finer grids are tried."""
    given: dict[str, Any] = {
        "n": users,
        "dimension": width,
        "range": (-1, 1),
        "norm": half,
        "rounds": rounds,
        "mode": mode,
        "least_chance": 0.0,
        "epsilon": None,
        **dict(options),
    }
    if mode != "off":
        given["beacon"] = "commit-reveal"
    if asked is None:
        fine = {} if mode == "full" else {"steps": _EXACT_STEPS}
        return gopa.plan(**{**fine, **given})
    given |= {"epsilon": asked[0], "delta": asked[1], "noise": "irwin-hall"}
    best = gopa.plan(**given)
    if "steps" in given:
        return best
    first = best.terms.steps
    for finer in itertools.takewhile(lambda _: users <= _MANY, _FINER):
        try:
            found = gopa.plan(**given, steps=finer * first)
        except UsageError:
            break  # no noise is wide enough for so fine a grid
        best = min(best, found, key=lambda each: each.errors.planned)
    return best
