"""Adds up numbers, and counts values, in a token that goes from user to user."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import bdtrc

from gopa import UsageError
from gopa.accounting import Loss
from gopa.graph import Graph
from gopa.learning.calls import algorithm
from gopa.learning.checks import generator, number, whole
from gopa.learning.clocks import Clock, ClockLaw, require_law
from gopa.learning.data import Users as Problem
from gopa.learning.network_dp.laws import colluder_chance, least, local_sigma, sum_law
from gopa.learning.network_dp.responses import added_reports, ring_histogram, walk_histogram
from gopa.learning.network_dp.walks import Flags, Update, Users, Visits, Walk, carry
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Privacy, Spent
from gopa.noise import randomised_response, subseed
from gopa.support.arrays import Floats
from gopa.support.draws import Draws

SHARED = ("users do as they are told, and are curious", "a user sees its own messages alone")
WALKED = (
    *SHARED,
    "next users are drawn by fresh coins; the path may be known, and the claim averages over it",
)
_CLAIMS: Final = {
    "sum on a ring": ("13-network-dp, theorem 2", SHARED),
    "sum by a random walk": ("13-network-dp, theorem 4", WALKED),
    "histogram on a ring": ("13-network-dp, theorem 5", SHARED),
    "histogram by a random walk": ("13-network-dp, theorem 6", WALKED),
}


@algorithm(labels="unread")
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
    """The mean of all numbers, from a token that adds them up (algorithms 4.2 and 4.4).

    On a ring the token goes around `rounds` times; on the complete graph it takes as many steps,
    and a user adds data `cap` times at most, by default twice as often as expected. Numbers, the
    first column, are cut off at `low` and `high`; users with several take turns with them, from
    any of them on. `distributed` noise (remark 4.2) withstands colluders on a ring.
    """
    run = AlgorithmRun(seed=seed, progress=progress, stops=False)
    walk, visits = _visits(problem, privacy, graph, clock, cap, seed=seed, rounds=rounds, runs=runs)
    width = width_of(low, high)
    sigma = _deviations(walk, privacy, width, rounds, distributed=distributed)
    noise = generator(seed, "network dp", "noise").standard_normal((len(sigma), runs))
    values = np.stack([problem.table.features[rows, 0] for rows in problem.rows])
    update = numbers(np.clip(values, low, high), noise * sigma[:, None])
    sums = _carried(run, visits, update, np.zeros((runs, 1)), rounds)
    name = "sum on a ring" if walk.turns else "sum by a random walk"
    spent = claimed(privacy, *_CLAIMS[name], f"noise {sigma[0]:.4g}")
    messages = len(sigma) + len(problem) - 2
    return outcome(run, name, sums[:, 0] / _expected(walk, len(sigma)), spent, messages)


@algorithm()
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

    A user's values are its labels, from 0 to `values` - 1; users with several take turns with
    them, from any of them on. The token begins and ends with as many uniform reports as hide those
    of a round on a ring.
    """
    run = AlgorithmRun(seed=seed, progress=progress, stops=False)
    walk, visits = _visits(problem, privacy, graph, clock, cap, seed=seed, rounds=rounds, runs=runs)
    if privacy is None:
        raise UsageError("reports that are not randomised hide nothing: ask for privacy", "privacy")
    users, steps, truth = len(problem), rounds * len(problem), _labels(problem, values)
    epsilon = _report_epsilon(walk, privacy, values)
    own = truth[visits.users, visits.times % truth.shape[1]]
    law = randomised_response(values, epsilon)
    # Past its cap a user reports anything, which is a value and no data.
    anything = Draws(seed, "network dp", "anything").below(values, own.size).reshape(own.shape)
    reports = law.report(own, subseed(seed, "network dp", "reports"))
    update = ones(values, np.where(visits.active, reports, anything))
    added = added_reports(epsilon, values, users) if walk.turns else 0
    rng, even = generator(seed, "network dp", "uniform"), np.full(values, 1 / values)
    begun = rng.multinomial(added, even, runs).astype(np.float64)
    counts = _carried(run, visits, update, begun, rounds)
    counts = counts + rng.multinomial(added, even, runs)
    # Reports past the cap are uniform, and so many are expected.
    past = steps - _expected(walk, steps)
    beta = float(law.other) * values
    shares = debiased(counts, beta, reports=steps - past, uniform=2 * added + past) / (steps - past)
    name = "histogram on a ring" if walk.turns else "histogram by a random walk"
    spent = claimed(privacy, *_CLAIMS[name], f"reports of epsilon {epsilon:.4g}")
    return outcome(run, name, shares, spent, steps + users - 2)


def numbers(values: Floats, noise: Floats) -> Update:
    """Adds a user's number, its k-th at the k-th visit, and the noise (steps, runs) of the step.

    `values` (users, times) start again at the end.
    """

    def update(_: Floats, step: int, users: Users, times: Users, active: Flags) -> Floats:
        own = values[users, times % values.shape[1]] * active
        return np.asarray(own + noise[step])[:, None]

    return update


def ones(places: int, reports: Users) -> Update:
    """Adds a one at the place of the report (runs, steps)."""
    everywhere = np.arange(places)
    return lambda _, step, *__: np.asarray(reports[:, step, None] == everywhere, dtype=np.float64)


def ring_deviations(
    users: int, rounds: int, sigma: float, *, distributed: bool = False, published: bool = True
) -> Floats:
    """The deviation of the noise in each step on a ring.

    Algorithm 4.2 has `sigma` every users - 1 steps. `distributed` (remark 4.2) has it in the first
    step, and a part of it in all others, so that the users - 1 others of a round make up `sigma`.
    Whatever is `published` has it in the last step, too: without, who stands near the end sees
    the last numbers bare.
    """
    steps = np.arange(users * rounds)
    rest = sigma / math.sqrt(users - 1) if distributed else 0.0
    full = steps == 0 if distributed else steps % (users - 1) == 0
    found = np.where(full | (published & (steps == steps[-1])), sigma, rest)
    return np.asarray(found, dtype=np.float64)


def debiased(counts: Floats, beta: float, *, reports: float, uniform: float) -> Floats:
    """What is expected of the true counts, from those of reports uniform with chance `beta`."""
    places = counts.shape[-1]
    return np.asarray((counts - (uniform + beta * reports) / places) / (1 - beta))


def _visits(  # noqa: PLR0913 - all that is asked for
    problem: Problem,
    privacy: Privacy | None,
    graph: Graph | None,
    clock: Clock | None,
    cap: int | None,
    *,
    seed: int,
    rounds: int,
    runs: int,
) -> tuple[Walk, Visits]:
    """The walk that was asked for, with a cap: on a ring the number of rounds.

    Users begin with any of their rows, so that all rows count alike.
    """
    require_supported(privacy)
    users, rows = len(problem), int(problem.counts[0])
    if not rows or (problem.counts != rows).any():
        raise UsageError("every user has as many rows, at least one", "problem")
    walk = Walk.on(users, graph, clock, cap=cap)
    require_law(walk.clock, ClockLaw.IN_TURN, ClockLaw.UNIFORM)
    if walk.turns and cap is not None:
        raise UsageError("on a ring everybody adds as often as there are rounds", "cap")
    if privacy is not None:
        colluder_chance(users, privacy.colluders)
    if cap is None:
        walk = Walk(walk.clock, whole(rounds, "rounds") * (1 if walk.turns else 2))
    found = walk.visits(seed, steps=whole(rounds, "rounds") * users, runs=whole(runs, "runs"))
    begun = Draws(seed, "network dp", "first row").below(rows, runs * users).reshape(runs, users)
    times = found.times + np.take_along_axis(begun, found.users, axis=1)
    return walk, replace(found, times=times)


def _deviations(
    walk: Walk, privacy: Privacy | None, width: float, rounds: int, *, distributed: bool
) -> Floats:
    """The deviation of the noise in each step."""
    users, steps = walk.clock.agents, rounds * walk.clock.agents
    most = walk.cap or rounds
    if distributed and not walk.turns:
        raise UsageError("noise is in all steps of a random walk anyway", "distributed")
    if privacy is None:
        return np.zeros(steps)
    if privacy.view == "everything":
        return np.full(steps, local_sigma(privacy.epsilon, privacy.delta, most, width))
    if not walk.turns:
        law = sum_law(users, most, privacy.colluders)
        return np.full(steps, law.sigma(privacy.epsilon, privacy.delta, width))
    sigma = local_sigma(privacy.epsilon, privacy.delta, rounds, width)
    if privacy.colluders > 1:
        if not distributed:
            message = "two colluders around a user see its number bare: distributed=True"
            raise UsageError(message, "privacy")
        # Between two colluders a user's own part of the noise is all there is.
        sigma *= math.sqrt(users - 1)
    return ring_deviations(users, rounds, sigma, distributed=distributed)


def _report_epsilon(walk: Walk, privacy: Privacy, values: int) -> float:
    """The largest local epsilon with which all stays private; nothing beyond 16 is of use."""
    users, most = walk.clock.agents, walk.cap or 1

    def keeps(epsilon: float) -> bool:
        if privacy.view == "everything" or (walk.turns and privacy.colluders > 1):
            loss = Loss.randomised_response(epsilon, values).repeated(most)
        elif walk.turns:
            loss = ring_histogram(epsilon, values, users, most)
        else:
            loss = walk_histogram(epsilon, values, users, most, privacy.colluders)
        return loss.delta(privacy.epsilon) <= privacy.delta

    return 1 / least(lambda x: keeps(1 / x), 1 / 16, 1e3, close=1e-2)


def width_of(low: float, high: float) -> float:
    """How far numbers are apart at most."""
    width = number(high, "high") - number(low, "low")
    if not 0 < width < math.inf:
        raise UsageError("public ends of the numbers, the lower one first", "low")
    return width


def require_supported(privacy: Privacy | None) -> None:
    """Refuses what tokens cannot keep."""
    if privacy is not None and privacy.delta == 0:
        raise UsageError("normal noise and random walks need a delta above 0", "delta")
    if privacy is not None and privacy.relation != "replace-one":
        raise UsageError("who has the token is seen: users can be replaced, not hidden", "relation")


def _expected(walk: Walk, steps: int) -> float:
    """How many visits with data are expected of all users together."""
    if walk.turns:
        return steps
    users = walk.clock.agents
    return users * float(bdtrc(np.arange(min(walk.cap or steps, steps)), steps, 1 / users).sum())


def _labels(problem: Problem, values: int) -> np.ndarray:
    labels, most = problem.table.labels, whole(values, "values", 2) - 1
    if labels.dtype.kind not in "iub" or not 0 <= labels.min() <= labels.max() <= most:
        raise UsageError(f"labels are integers from 0 to {most}", "problem")
    return np.stack([labels[rows].astype(np.int64) for rows in problem.rows])


def _carried(
    run: AlgorithmRun, visits: Visits, update: Update, tokens: Floats, rounds: int
) -> Floats:
    """The last tokens; the run notes one row for each round."""
    users = visits.users.shape[1] // rounds
    with run:
        for each in run.steps(rounds, "rounds"):
            tokens = carry(visits, update, tokens, first=each * users, last=(each + 1) * users)
            run.note(round=each + 1, token=tokens[:, 0])
    return tokens


def claimed(
    privacy: Privacy | None, theorem: str, assumptions: tuple[str, ...], noise: str
) -> Spent:
    """What is reported of a token whose noise was chosen for this privacy."""
    if privacy is None:
        return Spent.nothing_hidden()
    if privacy.view == "everything" and theorem.startswith("13"):
        theorem, assumptions = "local: every message is noisy enough by itself", SHARED[:1]
    said = f"{theorem}; {noise}"
    return Spent.of(privacy, privacy.epsilon, theorem=said, assumptions=assumptions)


def outcome(run: AlgorithmRun, name: str, models: Floats, spent: Spent, messages: int) -> Outcome:
    """The outcome of so many runs; of one run its model alone."""
    single = models[0] if models.ndim > 1 else float(models[0])
    model, size = single if len(models) == 1 else models, int(np.size(models[0]))
    return run.outcome(name, model, spent=spent, messages=messages, bytes=8 * messages * size)
