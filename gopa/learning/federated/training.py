"""Trains linear models: users improve the model on their own data, and rounds average that.

FedAvg takes several steps on each user's data before a round, FedSGD one. Only a budget ends a
run early, and it does so before the round that it does not cover. Specification:
`specs/22-federated.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gopa import Aggregator, UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import number, whole
from gopa.learning.clipping import clip, finite, length
from gopa.learning.data import ClassWeight, Users, class_numbers, class_weighted
from gopa.learning.federated.rounds import (
    AdaptiveClip,
    Clipping,
    RoundShape,
    mean_round,
    require_bound,
)
from gopa.learning.federated.row_sums import LengthVotes
from gopa.learning.federated.setting import Mode, Setting
from gopa.learning.federated.sums import Callback, SumRun, SumSession
from gopa.learning.ledger import LedgerEntry, PrivacyLedger
from gopa.learning.objectives import LOGISTIC, LOSSES, Linear, RowLoss, Softmax, mean_of_rows
from gopa.learning.outcome import Outcome, Progress
from gopa.learning.privacy import CLASSES, Charge, Privacy, Unit
from gopa.learning.rows import AgentRows
from gopa.support.arrays import Floats

_NO_NETWORK: Final = "sums need neither graph nor clock: leave it out"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is improved.

    `local_steps` of length `rate` on each user's data; none for FedSGD, which sends the gradient.
    Every row gets a further number, `intercept`, unless that is 0. `clip` is the length to which
    updates are shortened, or an `AdaptiveClip`; it also sets how fine the grid of a sum is. None
    shortens nothing, and the grid follows from the longest update, which every round asks for
    beforehand: without noise, where nothing else needs a bound. `weighted` counts each user by its
    rows, or their weights, else all alike. Without noise a mean update no longer than `tol` ends
    the run. More `classes` than two are told apart by a softmax, in place of the logistic loss.
    """

    loss: RowLoss = LOGISTIC
    local_steps: int = 20
    rate: float = 3.0
    ridge: float = 0.0
    intercept: float = 0.2
    clip: Clipping = 2.0
    weighted: bool = True
    tol: float = 0.0
    classes: int = 2

    def __post_init__(self) -> None:
        whole(self.local_steps, "local_steps", 0)
        for name in ("rate", "ridge", "intercept", "tol"):
            value = number(getattr(self, name), name)
            if not 0 <= value < math.inf or (name == "rate" and not value):
                raise UsageError("finite and not negative, and a rate above 0", name)
        if self.clip is not None:
            require_bound(self.bound, "; without privacy None shortens nothing")

    @property
    def bound(self) -> float:
        """The clipping bound of the first round; infinite if nothing is shortened."""
        if self.clip is None:
            return math.inf
        return self.clip.bound if isinstance(self.clip, AdaptiveClip) else self.clip

    def objective(self, problem: Users) -> Linear | Softmax:
        """What users minimise, with the column of the intercept."""
        pairs = [(self.widened(x), y) for x, y in problem.pairs()]
        rows = AgentRows.of(pairs, problem.weights)
        ridge = self.ridge if self.local_steps else 0.0
        return mean_of_rows(self.loss, rows, self.classes, ridge=ridge)

    def split(self, weights: Floats) -> dict[str, Any]:
        """The model in words: what is multiplied with features, and what is added."""
        each = weights if self.classes == 2 else weights.reshape(self.classes, -1)
        if not self.intercept:
            return {"coef": each, "intercept": 0.0}
        added = self.intercept * each[..., -1]
        return {"coef": each[..., :-1], "intercept": added if added.ndim else float(added)}

    def joined(self, start: Any, columns: int, classes: Any) -> Floats:
        """The weights of a model to begin with, which fits these columns and classes."""
        model = start.model if isinstance(start, Outcome) else start
        own = start.classes if isinstance(start, Outcome) else None
        if own is not None and not np.array_equal(own, classes):
            raise UsageError(f"a model of the classes {classes}, and this is one of {own}", "start")
        if not isinstance(model, Mapping) or not {"coef", "intercept"} <= set(model):
            raise UsageError("an outcome of fedavg, or a dict of coef and intercept", "start")
        shape = (columns,) if self.classes == 2 else (self.classes, columns)
        coef = finite(model["coef"], "start")
        added = finite(np.atleast_1d(model["intercept"]), "start")
        if coef.shape != shape or added.shape not in {(1,), shape[:-1]}:
            raise UsageError(f"coefficients {shape}, and as many intercepts", "start")
        if not self.intercept:
            if added.any():
                raise UsageError("it has an intercept: give intercept=0.2", "start")
            return coef.ravel()
        each = np.broadcast_to(added / self.intercept, shape[:-1] or (1,))
        return np.column_stack([np.atleast_2d(coef), each]).ravel()

    def widened(self, x: Floats) -> Floats:
        """Rows with the column of the intercept."""
        if not self.intercept:
            return x
        return np.hstack([x, np.full((len(x), 1), float(self.intercept))])


class Training(SumRun):
    """A model between rounds, with the session in which they are carried out."""

    _carried = ("weights",)

    def __init__(
        self,
        setting: Setting,
        recipe: Recipe,
        problem: Users,
        *,
        rounds: int,
        start: Floats | None = None,
    ) -> None:
        super().__init__()
        by_record = setting.unit == "record"
        if by_record and recipe.local_steps:
            message = "one record changes several steps: take fedsgd or local_steps=0, or users"
            raise UsageError(message, "privacy")
        _require_alike(problem, setting.unit)
        if recipe.loss.labels == "signs":
            # What classes there are was looked up in the rows of all, or is no secret anyway.
            setting = replace(setting, assumed=(CLASSES, *setting.assumed))
        setting = replace(setting, begun=start)
        dimension = recipe.objective(problem).dimension
        self.weights = np.zeros(dimension) if start is None else start
        if self.weights.shape != (dimension,):
            raise UsageError(f"a model has {dimension} numbers", "start")
        weighted = recipe.weighted or by_record
        self._shape = RoundShape(
            dimension,
            most=setting.most(problem) if weighted else 1.0,
            weighted=weighted,
            adaptive=isinstance(recipe.clip, AdaptiveClip),
            unit=setting.unit,
        )
        self._votes = self._asked(setting, recipe, len(problem), rounds)
        self._variance = 0.0
        self._recipe, self._exact, self._bound = recipe, setting.privacy is None, recipe.bound
        self._shares: list[tuple[float, float]] = []
        self._shortened = self._over = 0
        self.session = SumSession(
            "FedAvg" if recipe.local_steps else "FedSGD",
            setting,
            users=len(problem),
            width=self._shape.dimension,
            half=self._shape.half,
            rounds=rounds,
            vouched=self._shape.vouched,
            before=() if self._votes is None else (self._votes.session,),
        )

    @staticmethod
    def _asked(setting: Setting, recipe: Recipe, users: int, rounds: int) -> LengthVotes | None:
        """Who asks for the longest update of a round, if nobody says what the longest one is."""
        if recipe.clip is not None:
            return None
        if setting.privacy is not None or setting.aggregator is not None:
            message = (
                "with privacy noise is made for it, and between processes it is public: say to "
                "which length updates are shortened"
            )
            raise UsageError(message, "clip")
        return LengthVotes("clip", setting, users, rounds)

    def round(self, problem: Users) -> None:
        """One round, of which the noise was made for rows as they were said to be."""
        _require_alike(problem, self._shape.unit)
        super().round(problem)

    def _round(self, problem: Users) -> None:
        shape, recipe, bound = self._shape, self._recipe, self._bound
        objective = recipe.objective(problem)
        counts = problem.masses
        self._over = max(self._over, int((counts > shape.most).sum()))
        updates, kept = self._updates(objective)
        if self._votes is not None:
            bound = self._votes.longest([each[None] for each in updates])
        weights = np.minimum(counts, shape.most) if shape.weighted else np.ones(len(counts))
        found = mean_round(self.session, shape, updates, weights, bound=bound, kept=kept)
        divisor = found.divisor(*self._share(found.share))
        step = found.total / divisor
        if not recipe.local_steps:
            step = recipe.rate * (step - recipe.ridge * self.weights)
        spread = found.stderr / divisor * (1.0 if recipe.local_steps else recipe.rate)
        self._variance += spread**2
        self.weights = self.weights + step
        self._shortened += found.shortened
        moved = float(np.sqrt(np.sum(step * step)))
        self.notes.note(
            round=self.done,
            users=found.count,
            bound=bound,
            shortened=found.shortened,
            weight=found.weight,
            noise=found.stderr / divisor,
            step=moved,
            kept=math.nan if found.kept is None else found.kept,
        )
        if isinstance(recipe.clip, AdaptiveClip) and found.kept is not None:
            self._bound = recipe.clip.after(bound, found.kept)
        if recipe.tol and self._exact:
            self.converged = moved <= recipe.tol * max(1.0, float(np.abs(self.weights).max()))

    def _share(self, found: tuple[float, float]) -> tuple[float, float]:
        """The mean weight: where noise is added to it, known better from round to round."""
        if self._exact:
            return found
        self._shares.append(found)
        parts, stderrs = np.array(self._shares).T
        return float(parts.mean()), float(np.sqrt((stderrs**2).sum())) / len(parts)

    def _updates(self, objective: Linear | Softmax) -> tuple[Floats, Floats | None]:
        """What each user would change, and of which part of its records that is the whole."""
        recipe, kept = self._recipe, None
        models = np.broadcast_to(self.weights, (objective.agents, objective.dimension)).copy()
        with np.errstate(over="ignore", invalid="ignore"):
            if recipe.local_steps:
                for _ in range(recipe.local_steps):
                    models -= recipe.rate * objective.gradient(models)
                updates = models - self.weights
            elif self._shape.unit == "user":
                updates = -objective.gradient(models)
            else:
                updates, kept = self._by_record(objective, models)
        if not np.isfinite(updates).all():
            raise UsageError("the model ran away: take shorter steps", "rate")
        # Who has no rows has nothing to say.
        has_some: Any = objective.rows.shares.any(axis=1)
        return np.where(has_some[:, None], updates, 0.0), kept

    def _by_record(self, objective: Linear | Softmax, models: Floats) -> tuple[Floats, Floats]:
        slopes = -objective.row_gradients(models)
        whole = (length(slopes, 2) <= self._bound) & objective.rows.present
        many = np.maximum(objective.rows.counts, 1)
        means = clip(slopes, 2, self._bound).sum(axis=1) / many[:, None]
        return means, whole.sum(axis=1) / many

    def _model(self) -> dict[str, Any]:
        found = self._recipe.split(self.weights)
        return found if self._exact else found | {"stderr": math.sqrt(self._variance)}

    def _noise(self) -> float:
        """What the noise of all rounds has, as if no round made up for that of an earlier one."""
        square = float(np.sum(self.weights**2))
        return len(self.weights) * self._variance / max(square, 1e-300)

    def _warnings(self) -> Sequence[str]:
        found, shape = [], self._shape
        if self._shortened:
            what = "gradients of records" if shape.vouched else "updates"
            found.append(f"{self._shortened} {what} were shortened to the clipping bound")
        if self._over and shape.weighted:
            found.append(f"{self._over} users have more than {shape.most:g} rows: they count so")
        return found


def _require_alike(problem: Users, unit: Unit) -> None:
    """Refuses weights of rows where single records are hidden, in later rounds, too."""
    if unit == "record" and problem.weights is not None:
        raise UsageError("a record that counts more would be hidden less", "sample_weight")


@algorithm(
    named={"loss": (RowLoss, LOSSES)},
    more=[each.name for each in fields(Recipe)],
    alone=_NO_NETWORK,
)
def fedavg(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    rounds: int = 5,
    planned: int | None = None,
    most_rows: int | None = None,
    mode: Mode = "signed",
    session: Mapping[str, Any] | None = None,
    ledger: PrivacyLedger | None = None,
    aggregator: Aggregator | None = None,
    callback: Callback | None = None,
    start: Outcome | Mapping[str, Any] | None = None,
    classes: npt.ArrayLike | None = None,
    class_weight: ClassWeight = None,
    **recipe: Any,
) -> Outcome:
    """Trains a linear model by federated averaging, in `rounds` verified rounds.

    With the logistic loss labels are of any kind, and several classes are told apart by a softmax;
    which `classes` there are is public, and between processes everybody names the same. Further
    keywords are those of `Recipe`. The noise is made for `planned` rounds, as many as `rounds`
    unless somebody says: more of them are not begun, and the outcome says so. `most_rows`, `mode`,
    `session`, `ledger` and `aggregator` are those of `Setting`. Its model has `coef` and
    `intercept`; after each round `callback` hears the number of the round and the model, and
    `StopIteration` from it ends the run early: all that was planned is spent.

    It goes on from `start`: an outcome, whose privacy is charged beside this run's, `privacy` being
    for both; or a model that is public, as a dict of `coef` and `intercept`.

    Raises:
        BudgetExceeded: the ledger does not cover the session, or nothing is left after `start`.
        UsageError: anything else about the arguments; `field` names it.
    """
    private = privacy is not None or aggregator is not None
    problem = class_weighted(problem, class_weight, may_count=not private)
    asked, named = Recipe(**recipe), None
    if asked.loss.labels == "signs":
        if classes is None and aggregator is not None and not _are_signs(problem):
            raise UsageError("everybody names the same: what others have is not known", "classes")
        problem, named = class_numbers(problem, classes)
        asked = replace(asked, classes=len(named))
    earlier = start if isinstance(start, Outcome) else None
    before = () if earlier is None else before_of(earlier, privacy)
    assumed = () if earlier is None else earlier.spent.assumptions
    setting = Setting(privacy, seed, most_rows, mode, session, ledger, aggregator, before, assumed)
    covered = rounds if planned is None else planned
    begun = None if start is None else asked.joined(start, problem.table.features.shape[1], named)
    training = Training(setting, asked, problem, rounds=covered, start=begun)
    return replace(training.carried_out(problem, rounds, progress, callback), classes=named)


def _are_signs(problem: Users) -> bool:
    labels = problem.table.labels
    return labels.dtype.kind in "iuf" and bool(np.isin(labels, (-1, 1)).all())


def before_of(start: Outcome, privacy: Privacy | None) -> tuple[LedgerEntry, ...]:
    """What an outcome has cost, as whoever goes on from it is charged.

    `UsageError` where that was about other neighbours, or against others who look.
    """
    spent = start.spent
    if not spent.hides:
        return (LedgerEntry(Charge.exact(), 1, start.algorithm),)
    known = (privacy is None or spent.unit in {"user", privacy.unit}) and spent.view == "everything"
    fewer = privacy is not None and spent.colluders < privacy.colluders
    if not known or fewer or spent.relation != "replace-one":
        # A claim for one record, or against a neighbour or fewer who collude, is no claim of ours.
        raise UsageError(f"its privacy is of another kind than {privacy}: {spent}", "start")
    return (LedgerEntry(Charge.guarantee(spent.epsilon, spent.delta), 1, start.algorithm),)


def fedsgd(
    problem: Any, y: Any = None, groups: Any = None, *, rounds: int = 20, **asked: Any
) -> Outcome:
    """Trains a linear model by gradients: `fedavg`, with its keywords, but without local steps.

    With unit "record" the gradients of single records are shortened, before users add them up.
    """
    return fedavg(problem, y, groups, rounds=rounds, local_steps=0, **asked)
