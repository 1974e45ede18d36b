"""Adds up numbers, and counts values, in a token that goes from user to user."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import Final

import numpy as np
from scipy.stats import binom

from gopa import UsageError
from gopa.accounting import Loss
from gopa.graph import Graph
from gopa.learning.clocks import Clock, ClockLaw, require_law
from gopa.learning.data import Users as Problem
from gopa.learning.fitting import Progress, generator, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.network_dp.closed_forms import local_sigma
from gopa.learning.network_dp.laws import sum_law
from gopa.learning.network_dp.responses import added_reports, ring_histogram, walk_histogram
from gopa.learning.network_dp.updates import Numbers, ReportUpdate, ring_deviations
from gopa.learning.network_dp.walks import Floats, Update, Visits, Walk, carry
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy, Spent

SHARED = ("users do as they are told, and are curious", "a user sees its own messages alone")
WALKED = (
    *SHARED,
    "next users are drawn by fresh coins; the path may be known, and the claim averages over it",
)

_RING_SUM: Final = ("13-network-dp, theorem 2", SHARED)
_WALKED_SUM: Final = ("13-network-dp, theorem 4", WALKED)
_RING_COUNTS: Final = ("13-network-dp, theorem 5", SHARED)
_WALKED_COUNTS: Final = ("13-network-dp, theorem 6", WALKED)


def fit_sum(  # noqa: PLR0913 - every algorithm is called like this
    problem: Problem,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    low: float = 0.0,
    high: float = 1.0,
    rounds: int = 1,
    cap: int | None = None,
    distributed: bool = False,
    runs: int = 1,
) -> Outcome:
    """The mean of all contributions, from a token that adds them up (algorithms 4.2 and 4.4).

    On a ring the token goes around `rounds` times; on the complete graph it takes as many steps,
    and a user adds data `cap` times at most, by default twice as often as expected. Numbers, the
    first column, are cut off at `low` and `high`. `distributed` noise (remark 4.2) withstands
    colluders on a ring.
    """
    require_seed(seed)
    require_supported(privacy)
    walk, start = _walk(problem, graph, clock, rounds, cap), perf_counter()
    steps, most = rounds * len(problem), rounds if _turns(walk) else walk.cap or rounds
    require_ends(low, high)
    require_counts(runs=runs)
    width, colluders = high - low, privacy.colluders if privacy else 1
    sigma = 0.0
    if privacy is None:
        deviations = np.zeros(steps)
    elif privacy.view == "everything":
        sigma = local_sigma(privacy.epsilon, privacy.delta, most, width)
        deviations = np.full(steps, sigma)
    elif _turns(walk):
        if colluders > 1 and not distributed:
            message = "two colluders around a user see its number bare: distributed=True"
            raise UsageError(message, "privacy")
        # Between two colluders a user's own part of the noise is all there is.
        sigma = local_sigma(privacy.epsilon, privacy.delta, rounds, width)
        sigma *= math.sqrt(len(problem) - 1) if colluders > 1 else 1
        deviations = ring_deviations(len(problem), rounds, sigma, distributed=distributed)
    else:
        law = sum_law(len(problem), most, colluders)
        sigma = law.sigma(privacy.epsilon, privacy.delta, width)
        deviations = np.full(steps, sigma)
    visits = walk.visits(seed, steps=steps, runs=runs)
    noise = generator(seed, "network dp", "noise").standard_normal((steps, runs))
    noise *= deviations[:, None]
    values = np.clip(_columns(problem), low, high)
    sums, history = _carried(visits, Numbers(values, noise), (runs, 1), rounds, progress)
    count = steps if _turns(walk) else _expected(len(problem), steps, most)
    return _outcome(
        "sum on a ring" if _turns(walk) else "sum by a random walk",
        (sums[:, 0] / count, history, 1),
        (problem, visits, seed, start),
        claimed(privacy, _RING_SUM if _turns(walk) else _WALKED_SUM, f"noise {sigma:.4g}"),
    )


def fit_histogram(  # noqa: PLR0913 - every algorithm is called like this
    problem: Problem,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    values: int,
    rounds: int = 1,
    cap: int | None = None,
    runs: int = 1,
) -> Outcome:
    """The shares of all values, from a token of randomised counts (algorithm 4.3, remark 4.6).

    A user's values are its labels, from 0 to `values` - 1. The token begins and ends with as many
    uniform reports as hide those of a round on a ring.
    """
    require_seed(seed)
    require_supported(privacy)
    require_counts(runs=runs)
    walk, start = _walk(problem, graph, clock, rounds, cap), perf_counter()
    if privacy is None:
        raise UsageError("reports that are not randomised hide nothing: ask for privacy", "privacy")
    truth = _labels(problem, values)
    users, steps = len(problem), rounds * len(problem)
    most = rounds if _turns(walk) else walk.cap or rounds
    local = privacy.view == "everything" or (_turns(walk) and privacy.colluders > 1)

    def losses(epsilon: float) -> tuple[Loss, ...]:
        if local:
            return (Loss.randomised_response(epsilon, values).repeated(most),)
        if _turns(walk):
            return ring_histogram(epsilon, values, users, rounds)
        return (walk_histogram(epsilon, values, users, most, privacy.colluders),)

    epsilon = _largest(lambda x: max(each.delta(privacy.epsilon) for each in losses(x)), privacy)
    visits = walk.visits(seed, steps=steps, runs=runs)
    update = ReportUpdate(seed, truth, values, epsilon, visits)
    added = added_reports(epsilon, values, users) if _turns(walk) else 0
    rng = generator(seed, "network dp", "uniform")
    begun = rng.multinomial(added, np.full(values, 1 / values), runs).astype(np.float64)
    counts, history = _carried(visits, update, begun, rounds, progress)
    counts = counts + rng.multinomial(added, np.full(values, 1 / values), runs)
    shares = debiased(counts, update.beta, reports=steps, uniform=2 * added)
    if not _turns(walk):
        # Reports past the cap are uniform, and so many are expected.
        part = _expected(users, steps, most) / steps
        shares = (shares - (1 - part) / values * steps) / part
    return _outcome(
        "histogram on a ring" if _turns(walk) else "histogram by a random walk",
        (shares / steps, history, values),
        (problem, visits, seed, start),
        claimed(
            privacy,
            _RING_COUNTS if _turns(walk) else _WALKED_COUNTS,
            f"reports of epsilon {epsilon:.4g}",
        ),
    )


def debiased(counts: Floats, beta: float, *, reports: int, uniform: int) -> Floats:
    """What is expected of the true counts, from those of reports uniform with chance `beta`."""
    places = counts.shape[-1]
    return np.asarray((counts - (uniform + beta * reports) / places) / (1 - beta))


def _walk(
    problem: Problem, graph: Graph | None, clock: Clock | None, rounds: int, cap: int | None
) -> Walk:
    """The walk that was asked for, with a cap."""
    require_counts(rounds=rounds)
    if (problem.counts != problem.counts[0]).any() or not problem.counts[0]:
        raise UsageError("every user has as many rows, at least one", "problem")
    walk = Walk.on(len(problem), graph, clock, cap=cap)
    require_law(walk.clock, ClockLaw.IN_TURN, ClockLaw.UNIFORM)
    if _turns(walk) and cap is not None:
        raise UsageError("on a ring everybody adds as often as there are rounds", "cap")
    return Walk(walk.clock, 2 * rounds) if cap is None and not _turns(walk) else walk


def require_supported(privacy: Privacy | None) -> None:
    """Refuses what tokens cannot keep."""
    if privacy is not None and privacy.delta == 0:
        raise UsageError("normal noise and random walks need a delta above 0", "delta")
    if privacy is not None and privacy.relation != "replace-one":
        raise UsageError("who has the token is seen: users can be replaced, not hidden", "relation")


def require_counts(**counts: int) -> None:
    """Refuses what is no number of things."""
    for name, value in counts.items():
        if type(value) is not int or value < 1:
            raise UsageError("a whole number, at least 1", name)


def require_ends(low: float, high: float) -> None:
    """Refuses ends that no number lies between."""
    if not -math.inf < low < high < math.inf:
        raise UsageError("public ends of the numbers, the lower one first", "low")


def _turns(walk: Walk) -> bool:
    return walk.clock.law is ClockLaw.IN_TURN


def _expected(users: int, steps: int, cap: int) -> float:
    """How many visits with data are expected of all users together."""
    return users * float(binom.sf(np.arange(cap), steps, 1 / users).sum())


def _columns(problem: Problem) -> Floats:
    return np.stack([problem.table.features[rows, 0] for rows in problem.rows])


def _labels(problem: Problem, values: int) -> np.ndarray:
    labels = problem.table.labels
    if type(values) is not int or values < 2:
        raise UsageError("at least two values", "values")
    whole = np.asarray(labels, dtype=np.int64) if labels.dtype.kind in "iub" else None
    if whole is None or (whole < 0).any() or (whole >= values).any():
        raise UsageError(f"labels are integers from 0 to {values - 1}", "problem")
    return np.stack([whole[rows] for rows in problem.rows])


def _largest(delta: Callable[[float], float], privacy: Privacy) -> float:
    """The largest local epsilon with which all stays private; nothing beyond 16 is of use."""
    low, high = 1e-3, 16.0
    if delta(low) > privacy.delta:
        raise UsageError("no report that says anything keeps this: ask for less", "privacy")
    while high - low > 1e-2 * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if delta(middle) <= privacy.delta else (low, middle)
    return low


def _carried(
    visits: Visits, update: Update, token: Floats | tuple[int, int], rounds: int, progress: Progress
) -> tuple[Floats, Recorder]:
    """The last tokens, and one row of history for each round."""
    tokens = np.zeros(token) if isinstance(token, tuple) else token
    notes, steps = Recorder(), visits.users.shape[1]
    with told(progress) as advance:
        for each in range(rounds):
            first, last = each * steps // rounds, (each + 1) * steps // rounds
            tokens = carry(visits, update, tokens, first=first, last=last)
            notes.note(round=each + 1, token=tokens[:, 0])
            advance("rounds", each + 1, rounds)
    return tokens, notes


def claimed(privacy: Privacy | None, basis: tuple[str, tuple[str, ...]], noise: str) -> Spent:
    """What is reported of a token whose noise was chosen for this privacy."""
    if privacy is None:
        return Spent.nothing_hidden()
    theorem, assumptions = basis
    if privacy.view == "everything" and theorem.startswith("13"):
        theorem, assumptions = "local: every message is noisy enough by itself", SHARED[:1]
    said = f"{theorem}; {noise}"
    return Spent.of(privacy, privacy.epsilon, theorem=said, assumptions=assumptions)


def _outcome(
    name: str,
    found: tuple[Floats, Recorder, int],
    run: tuple[Problem, Visits, int, float],
    spent: Spent,
) -> Outcome:
    (model, notes, width), (problem, visits, seed, start) = found, run
    runs, messages = len(model), visits.users.shape[1] + len(problem) - 2
    single = model[0] if model.ndim > 1 else float(model[0])
    return Outcome(
        algorithm=name,
        model=single if runs == 1 else model,
        history=notes.history(),
        spent=spent,
        messages=messages,
        bytes=8 * width * messages,
        seconds=perf_counter() - start,
        seed=seed,
    )
