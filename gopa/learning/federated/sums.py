"""Sums vectors of users in one session of `gopa`, planned and charged as a whole.

Everything that users tell is a sum of this kind, whatever algorithm asks. Specification:
`specs/22-federated.md`, section 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, Final, Literal, Self, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

import gopa
from gopa import Plan, Result, RoundAborted, UsageError
from gopa.learning.charges import Charge
from gopa.learning.fitting import require_seed
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy, Unit

Floats: TypeAlias = npt.NDArray[np.float64]
Mode: TypeAlias = Literal["full", "signed", "off"]

_PLANNED: Final = frozenset({"corrupt", "dropout", "charged", "attempts", "recovery", "steps"})
_RUN: Final = frozenset({"storage", "script", "max_rollbacks", "executor", "jobs"})
_FINER: Final = (2, 6, 8)
"""Grids that are tried, in those that the planner takes by itself."""

_EXACT_STEPS: Final = 2**30
_NO_SESSION = "mode off: the arithmetic of a session, without one"
_ONE_RECORD = "the vector of a user changes with one record as little as its algorithm says"


class SumOptions(TypedDict, total=False):
    """Says how sums are carried out: fields of `Setting` that have a default."""

    mode: Mode
    session: Mapping[str, Any] | None
    ledger: PrivacyLedger | None


@dataclass(frozen=True, slots=True)
class Setting:
    """Says how sums are carried out: what is asked for, in which mode, from which seed.

    `session` has keywords of `gopa.plan` (corrupt, dropout, charged, attempts, recovery, steps)
    and of `gopa.LocalAggregator` (storage, script, max_rollbacks, executor, jobs). `ledger` is
    an account beyond this run, which is charged first.
    """

    privacy: Privacy | None
    seed: int
    mode: Mode = "signed"
    session: Mapping[str, Any] | None = None
    ledger: PrivacyLedger | None = None

    def __post_init__(self) -> None:
        require_seed(self.seed)
        for name in self.session or {}:
            if name not in _PLANNED | _RUN:
                message = f"one of {', '.join(sorted(_PLANNED | _RUN))}"
                raise UsageError(message, f"session[{name!r}]")
        if self.privacy is not None and self.privacy.relation != "replace-one":
            message = 'who takes part is public here: ask for "replace-one"'
            raise UsageError(message, "relation")
        if self.privacy is not None and not self.privacy.delta:
            raise UsageError("a session needs a delta above 0, such as 1e-6", "delta")

    @property
    def unit(self) -> Unit:
        """What is hidden."""
        return "user" if self.privacy is None else self.privacy.unit

    def options(self, names: frozenset[str]) -> dict[str, Any]:
        """Those of the keywords of the session."""
        return {name: each for name, each in (self.session or {}).items() if name in names}

    def plan(self, users: int, width: int, half: float, rounds: int) -> Plan:
        """A plan for so many rounds of vectors of numbers from -1 to 1.

        Two vectors that are not to be told apart are at most twice `half` apart. There are at
        least two numbers.
        """
        asked = None if self.privacy is None else (self.privacy.epsilon, self.privacy.delta)
        options = tuple(sorted(self.options(_PLANNED).items()))
        return _planned(users, width, half, rounds, asked, self.mode, options)


class SumSession:
    """Sums one vector of each user, round after round, and remembers what that cost.

    The whole session is charged when it is made, before anything is sent. A context manager.
    With `vouched` vectors may be longer than `half`, as one record does not move them by more.

    Raises:
        BudgetExceeded: the account of the setting does not cover it.
        UsageError: there is no such plan.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        *,
        users: int,
        width: int,
        half: float,
        rounds: int,
        vouched: bool = False,
    ) -> None:
        self.name, self.setting = name, setting
        self._start = perf_counter()
        self.plan = setting.plan(users, width, half, rounds)
        assumed = [f"at most {self.plan.terms.corrupt} of {users} users collude"]
        assumed += [_NO_SESSION] if setting.mode == "off" else []
        assumed += [_ONE_RECORD] if vouched else []
        self._ledger = PrivacyLedger(setting.privacy, assumptions=assumed)
        for ledger in (setting.ledger, self._ledger):
            if ledger is not None:
                ledger.charge(_price(setting.privacy), note=f"{name}, {rounds} rounds")
        self._aggregator = gopa.LocalAggregator(
            self.plan,
            mode=setting.mode,
            seed=setting.seed,
            progress=False,
            vouched=vouched,
            **setting.options(_RUN),
        )
        self.results: list[Result] = []
        self.warnings: list[str] = []

    @property
    def rounds_left(self) -> int:
        """How many more rounds were charged."""
        return self._aggregator.rounds_left

    def sum(self, vectors: Sequence[Floats | None]) -> Result:
        """One round; None stands for a user who stays away.

        Raises:
            RoundAborted: too many users were lost. The outcome will say so; others may follow.
        """
        number = self.plan.terms.rounds - self.rounds_left + 1
        try:
            result = self._aggregator.sum(vectors)
        except RoundAborted as error:
            self.warnings.append(f"round {number} had no result: {error}")
            raise
        self.results.append(result)
        return result

    def outcome(
        self,
        model: Any,
        history: History,
        *,
        converged: bool | None = None,
        warnings: Sequence[str] = (),
        before: Sequence[SumSession] = (),
    ) -> Outcome:
        """What came of it, with all that this session and those `before` it know."""
        transcripts: list[Any] = []
        messages = size = 0
        for each in (*before, self):
            more, bytes_more = each.traffic()
            messages, size = messages + more, size + bytes_more
            transcripts += [found.transcript for found in each.results if found.transcript]
        return Outcome(
            algorithm=self.name,
            model=model,
            history=history,
            spent=self._ledger.spent(),
            messages=messages,
            bytes=size,
            seconds=perf_counter() - self._start,
            seed=self.setting.seed,
            transcript=tuple(transcripts) or None,
            converged=converged,
            warnings=(*self.warnings, *warnings),
        )

    def traffic(self) -> tuple[int, int]:
        """Messages and bytes: all of the log, or in mode off what users would publish."""
        if self.setting.mode == "off" or not self.results:
            messages = sum(each.count for each in self.results)
            return messages, 8 * self.plan.terms.dimension * messages
        log = self.results[-1].transcript.log()
        return log.size, sum(map(len, log.entries()))

    def close(self) -> None:
        """No more rounds; what was said stays."""
        self._aggregator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _price(privacy: Privacy | None) -> Charge:
    if privacy is None:
        return Charge.exact()
    return Charge.guarantee(privacy.epsilon, privacy.delta)


_MANY: Final = 2_000
"""Users from whom on planning takes seconds."""


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
