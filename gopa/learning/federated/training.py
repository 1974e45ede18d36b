"""Trains linear models: users improve the model on their own data, and rounds average that.

FedAvg takes several steps on each user's data before a round, FedSGD one. Only a budget ends a
run early, and it does so before the round that it does not cover. Specification:
`specs/22-federated.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import RoundAborted, UsageError
from gopa.graph import Graph
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.rounds import (
    Clipping,
    FixedClip,
    RoundMean,
    RoundShape,
    clipping_of,
    mean_round,
)
from gopa.learning.federated.sums import Mode, Setting, SumSession
from gopa.learning.fitting import Progress, require_neither, told
from gopa.learning.history import Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.objectives import LOGISTIC, Linear, RowLoss
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy
from gopa.learning.rows import AgentRows

Floats: TypeAlias = npt.NDArray[np.float64]
CLIP: Final = FixedClip(2.0)
_NO_NETWORK: Final = "sums need neither graph nor clock: leave it out"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Says how a model is improved.

    `local_steps` of length `rate` on each user's data; none for FedSGD, which sends the gradient.
    Every row gets a further number, `intercept`, unless that is 0. `weighted` counts each
    user by its rows, up to `most_rows`, else all alike. Without noise a mean update no longer than
    `tol` ends the run.
    """

    loss: RowLoss = LOGISTIC
    local_steps: int = 20
    rate: float = 3.0
    ridge: float = 0.0
    intercept: float = 0.2
    clip: Clipping = CLIP
    weighted: bool = True
    most_rows: int | None = None
    tol: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", clipping_of(self.clip))
        if type(self.local_steps) is not int or self.local_steps < 0:
            raise UsageError("a number of steps, at least 0", "local_steps")
        for name, low in (("rate", 0.0), ("ridge", -1.0), ("intercept", -1.0), ("tol", -1.0)):
            value = getattr(self, name)
            if not low < value < math.inf or value < 0:
                raise UsageError("finite and not negative, and a rate above 0", name)

    def objective(self, problem: Users) -> Linear:
        """What users minimise, with the column of the intercept."""
        rows = [(self.widened(x), y) for x, y in problem.pairs()]
        ridge = self.ridge if self.local_steps else 0.0
        return Linear(self.loss, AgentRows.of(rows), ridge=ridge)

    def most(self, privacy: Privacy | None, counts: npt.NDArray[np.int64]) -> float:
        """The largest weight, which everybody knows."""
        if not self.weighted and not (privacy is not None and privacy.unit == "record"):
            return 1.0
        if self.most_rows is not None:
            if not 1 <= self.most_rows < math.inf:
                raise UsageError("at least one row", "most_rows")
            return float(self.most_rows)
        if privacy is not None and privacy.unit == "user":
            message = (
                "how many rows a user has stays private: say how many it has at most, beyond "
                "which rows do not count, or take weighted=False"
            )
            raise UsageError(message, "most_rows")
        return float(max(1, counts.max()))

    def split(self, weights: Floats) -> dict[str, Any]:
        """The model in words: what is multiplied with features, and what is added."""
        if not self.intercept:
            return {"coef": weights, "intercept": 0.0}
        return {"coef": weights[:-1], "intercept": float(self.intercept * weights[-1])}

    def widened(self, x: Floats) -> Floats:
        """Rows with the column of the intercept."""
        if not self.intercept:
            return x
        return np.hstack([x, np.full((len(x), 1), float(self.intercept))])


class Training:
    """Holds a model between rounds, with the session in which they are carried out."""

    def __init__(  # noqa: PLR0913 - what is trained, and how
        self,
        name: str,
        setting: Setting,
        recipe: Recipe,
        problem: Users,
        *,
        rounds: int,
        start: Floats | None = None,
    ) -> None:
        privacy = setting.privacy
        by_record = privacy is not None and privacy.unit == "record"
        if by_record and recipe.local_steps:
            message = "one record changes several steps of a user: take fedsgd, or unit='user'"
            raise UsageError(message, "privacy")
        if type(rounds) is not int or rounds < 1:
            raise UsageError("at least one round", "rounds")
        self.recipe, self._setting, self._users = recipe, setting, len(problem)
        self._objective = recipe.objective(problem)
        self.weights = np.zeros(self._objective.dimension) if start is None else start
        if self.weights.shape != (self._objective.dimension,):
            raise UsageError(f"a model has {self._objective.dimension} numbers", "start")
        self._shape = RoundShape(
            self._objective.dimension,
            most=recipe.most(privacy, problem.counts),
            weighted=recipe.weighted or by_record,
            adaptive=recipe.clip.adaptive,
            unit=setting.unit,
        )
        self._bound, self._notes, self._shares = recipe.clip.bound, Recorder(), _Shares()
        self.done = 0
        self.converged: bool | None = None
        self.warnings: list[str] = []
        self._shortened = 0
        self.session = SumSession(
            name,
            setting,
            users=len(problem),
            width=self._shape.dimension,
            half=self._shape.half,
            rounds=rounds,
            vouched=self._shape.vouched,
        )

    def round(self, problem: Users | None = None) -> None:
        """One round, on other data of the same users if some is given.

        The model stays as it is if too many users were lost.
        """
        if problem is not None:
            self._use(problem)
        counts = self._objective.rows.counts
        self.done += 1
        updates, kept = self._updates()
        most = self._shape.most
        weights = np.minimum(counts, most) if self._shape.weighted else np.ones(len(counts))
        try:
            found = mean_round(
                self.session, self._shape, updates, weights, bound=self._bound, kept=kept
            )
        except RoundAborted:
            return
        share = self._shares.after(found, exact=self._setting.privacy is None)
        self._step(found, found.total.divisor(share))

    def _use(self, problem: Users) -> None:
        if len(problem) != self._users:
            raise UsageError(f"the session has {self._users} users", "groups")
        self._objective = self.recipe.objective(problem)

    def _updates(self) -> tuple[Floats, Floats | None]:
        """What each user would change, and of which part of its records that is the whole."""
        recipe, objective = self.recipe, self._objective
        models = np.broadcast_to(self.weights, (objective.agents, objective.dimension)).copy()
        kept = None
        with np.errstate(over="ignore", invalid="ignore"):
            if recipe.local_steps:
                for _ in range(recipe.local_steps):
                    models -= recipe.rate * objective.gradient(models)
                updates = models - self.weights
            elif self._shape.unit == "user":
                updates = -objective.gradient(models)
            else:
                updates, kept = self._by_record(models)
        if not np.isfinite(updates).all():
            raise UsageError("the model ran away: take shorter steps", "rate")
        # Who has no rows has nothing to say.
        return np.where(objective.rows.counts[:, None] > 0, updates, 0.0), kept

    def _by_record(self, models: Floats) -> tuple[Floats, Floats]:
        slopes = -self._objective.row_gradients(models)
        present = self._objective.rows.present
        whole = (length(slopes, 2) <= self._bound) & present
        many = np.maximum(self._objective.rows.counts, 1)
        means = clip(slopes, 2, self._bound).sum(axis=1) / many[:, None]
        return means, whole.sum(axis=1) / many

    def _step(self, found: RoundMean, divisor: float) -> None:
        recipe, total = self.recipe, found.total
        step = total.total / divisor
        if not recipe.local_steps:
            step = recipe.rate * (step - recipe.ridge * self.weights)
        self.weights = self.weights + step
        self._shortened += found.shortened
        moved = float(np.sqrt(np.sum(step * step)))
        self._notes.note(
            round=self.done,
            users=total.count,
            bound=self._bound,
            shortened=found.shortened,
            weight=total.weight,
            noise=total.stderr / divisor,
            step=moved,
            kept=math.nan if total.kept is None else total.kept,
        )
        self._bound = recipe.clip.after(self._bound, total.kept)
        if recipe.tol and self._setting.privacy is None:
            self.converged = moved <= recipe.tol * max(1.0, float(np.abs(self.weights).max()))

    def outcome(self) -> Outcome:
        """What came of all rounds so far."""
        warnings = list(self.warnings)
        if self._shortened:
            what = "gradients of records" if self._shape.vouched else "updates"
            warnings.append(f"{self._shortened} {what} were shortened to the clipping bound")
        over = int((self._objective.rows.counts > self._shape.most).sum())
        if over and self._shape.weighted:
            warnings.append(f"{over} users have more than {self._shape.most:g} rows: they count so")
        if not self.session.results:
            raise UsageError("no round had a result: let fewer users fail", "session")
        return self.session.outcome(
            self.recipe.split(self.weights),
            self._notes.history(),
            converged=self.converged,
            warnings=warnings,
        )


@dataclass(slots=True)
class _Shares:
    """Knows the mean weight better from round to round, where noise is added to each of them."""

    _seen: list[tuple[float, float]] = field(default_factory=list)

    def after(self, found: RoundMean, *, exact: bool) -> tuple[float, float]:
        if exact:
            return found.total.share
        self._seen.append(found.total.share)
        parts, blurs = np.array(self._seen).T
        return float(parts.mean()), float(np.sqrt((blurs**2).sum())) / len(parts)


def fedavg(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    rounds: int = 5,
    planned: int | None = None,
    mode: Mode = "signed",
    session: Mapping[str, Any] | None = None,
    ledger: PrivacyLedger | None = None,
    **recipe: Any,
) -> Outcome:
    """Trains a linear model by federated averaging, in `rounds` verified rounds.

    Labels are -1 and 1 for the logistic loss. Further keywords are those of `Recipe`. The noise
    is made for `planned` rounds, as many as `rounds` unless somebody says: more of them are
    not begun, and the outcome says so. `mode`, `session` and `ledger` are those of `Setting`. Its
    model has `coef` and `intercept`.

    Raises:
        BudgetExceeded: the ledger does not cover the session.
        UsageError: anything else about the arguments; `field` names it.
    """
    require_neither(graph, clock, _NO_NETWORK)
    setting = Setting(privacy, seed, mode, session, ledger)
    return _trained("FedAvg", problem, setting, Recipe(**recipe), rounds, planned, progress)


def fedsgd(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    rounds: int = 20,
    planned: int | None = None,
    mode: Mode = "signed",
    session: Mapping[str, Any] | None = None,
    ledger: PrivacyLedger | None = None,
    **recipe: Any,
) -> Outcome:
    """Trains a linear model by gradients: `fedavg` with none of its local steps.

    With unit "record" the gradients of single records are shortened, before users add them up.
    """
    require_neither(graph, clock, _NO_NETWORK)
    setting = Setting(privacy, seed, mode, session, ledger)
    chosen = replace(Recipe(**recipe), local_steps=0)
    return _trained("FedSGD", problem, setting, chosen, rounds, planned, progress)


def _trained(  # noqa: PLR0913, PLR0917 - what both have in common
    name: str,
    problem: Users,
    setting: Setting,
    recipe: Recipe,
    rounds: int,
    planned: int | None,
    progress: Progress,
) -> Outcome:
    covered = rounds if planned is None else planned
    training = Training(name, setting, recipe, problem, rounds=covered)
    return run_rounds(training, rounds, progress)


def run_rounds(training: Training, rounds: int, progress: Progress) -> Outcome:
    """So many rounds, or as many as the session has, or until the model stands still."""
    covered = training.session.rounds_left
    with training.session, told(progress) as advance:
        advance("rounds", 0, rounds)
        for done in range(rounds):
            if not training.session.rounds_left:
                training.warnings.append(
                    f"stopped before round {done + 1} of {rounds}: the budget covers {covered}"
                )
                break
            training.round()
            advance("rounds", done + 1, rounds)
            if training.converged:
                break
        return training.outcome()
