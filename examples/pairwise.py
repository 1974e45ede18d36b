"""Statistics of all pairs of users, and models that rank: by gossip, reports and verified counts.

Figures 3.4 to 3.6 and Theorem 3.6 of Bellet's thesis, and one that compares all ways on the same
users.

    python -m examples.pairwise fig3.4 --quick --out figures
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import minimize

import gopa
from gopa.accounting import gaussian_sigma
from gopa.graph import Graph, complete, grid, ring, watts_strogatz
from gopa.learning import Charge, History, Privacy, Recorder, Table, Users, generator, load, ratings
from gopa.learning.clocks import root
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.pairwise import (
    AUC,
    KENDALL,
    RANKING,
    WILCOXON,
    Cells,
    Kernel,
    MeanLoss,
    OpenRows,
    Pairs,
    Prox,
    area_under_curve,
    dual_averages,
    estimates,
    fit_local,
    fit_ranking,
    fit_verified,
    ranking_error_bound,
    shared_out,
    statistic,
)
from gopa.learning.pairwise.averaging import DualIterate
from gopa.learning.pairwise.gossip import Method
from gopa.learning.pairwise.kernels import Places
from gopa.learning.pairwise.local import kernels_between
from gopa.learning.pairwise.ranking import CountTree, cells_of, ordered_pairs
from gopa.learning.pairwise.verified import from_counts
from gopa.noise import hadamard_bit, subseed
from gopa.support.arrays import Floats

figures = FigureSet(__doc__.partition("\n")[0])

SIDE = 35
SHOWN: tuple[Method, ...] = ("gosta", "gosta-sync", "u2")


def small_world(users: int) -> Graph:
    """Four neighbours each, and three of ten edges moved."""
    return watts_strogatz(users, 4, 0.3, 1)


def one_each(scores: np.ndarray, labels: np.ndarray, source: str) -> Users:
    """Every user has one number and one label."""
    table = Table(np.asarray(scores)[:, None], labels, source)
    return Users(table, tuple(np.arange(len(table))[:, None]))


def svm_scores(seed: int, side: int) -> Users:
    """As many rows of svmguide3 as a square grid has places, scored by the difference of means."""
    table = load("svmguide3")
    chosen = table.take(generator(seed, "rows").permutation(len(table))[: side**2])
    high, low = (chosen.features[chosen.labels == y].mean(axis=0) for y in (1, -1))
    return one_each(chosen.features @ (high - low), chosen.labels, table.source)


def gossip_errors(  # noqa: PLR0913 - a run has many parts
    pairs: Pairs, goal: float, graph: Graph, method: Method, *, steps: int, seed: int, runs: int
) -> History:
    """Mean relative errors of all users, and how far users are apart, along the way."""
    notes = Recorder()
    marks = np.unique(np.geomspace(10, steps, 40).astype(int))
    walk = estimates(pairs, graph, method=method, steps=steps, marks=marks, seed=seed, runs=runs)
    for step, found in walk:
        relative = np.abs(found - goal) / goal
        notes.note(step=step, error=relative.mean(axis=1), users=relative.std(axis=1).mean())
    return notes.history()


@figures.figure(
    "fig3.4",
    published={
        f"{shape}, {method}": value
        for shape, values in {
            "complete": (0.083, 0.096, 0.260),
            "small world": (0.156, 0.167, 0.321),
            "grid": (0.188, 0.199, 0.335),
        }.items()
        for method, value in zip(SHOWN, values, strict=True)
    },
)
def fig34(run: FigureRun) -> None:
    """The AUC of svmguide3 by gossip: mean relative errors on three graphs, against U2's."""
    side, steps, runs = (12, 2000, 4) if run.quick else (SIDE, 20_000, 50)
    problem = svm_scores(run.seed, side)
    run.uses(problem)
    pairs, goal = Pairs(AUC, problem), statistic(AUC, problem)
    run.number("exact AUC", goal)
    shapes = {
        "complete": complete(side**2),
        "small world": small_world(side**2),
        "grid": grid(side, side),
    }
    with run.picture(*shapes) as axes:
        for place, (shape, graph) in zip(axes, shapes.items(), strict=True):
            for method in SHOWN:
                compute = partial(
                    gossip_errors, pairs, goal, graph, method, steps=steps, seed=run.seed, runs=runs
                )
                history = run.part(f"{shape}-{method}", compute)
                mean = history["error"].mean(axis=1)
                run.number(f"{shape}, {method}", mean[-1])
                place.plot(history["step"], mean, label=method)
                place.fill_between(
                    history["step"], mean - history["users"], mean + history["users"], alpha=0.15
                )
            place.set(ylim=(0, 1.2), xlabel="exchanges", ylabel="relative error")
            place.legend()


def tumours(seed: int, most: int | None) -> np.ndarray:
    """Rows of breast-cancer in random order: features of deviation 1, then of length 1 at most."""
    table = load("breast-cancer")
    features = (table.features - table.features.mean(axis=0)) / table.features.std(axis=0)
    features /= np.linalg.norm(features, axis=1).max()
    rows = np.column_stack([features, table.labels])
    return rows[generator(seed, "rows").permutation(len(rows))[:most]]


def gradient_bias(rows: OpenRows, found: DualIterate) -> Floats:
    """How far the mean of all users' gradients is from what all pairs would give, by run.

    It is the bias of Theorem 3.2, each user at its own model: the rows that users hold are those
    of their neighbours first.
    """
    everybody = np.arange(rows.users)
    total = rows.gradient(found.models, everybody, found.seen).mean(axis=1)
    for user in range(rows.users):
        one = everybody[user : user + 1]
        right = rows.gradient(found.models[:, user, None], one, everybody).mean(axis=1)
        total -= right / rows.users
    return np.asarray(total)


def ranked(  # noqa: PLR0913 - as above
    rows: np.ndarray, graph: Graph, *, steps: int, seed: int, runs: int, biased: int
) -> History:
    """Values of users' models along the way, how far they are apart, and the bias of gradients."""
    mean, notes = MeanLoss(RANKING, rows), Recorder()
    marks = np.unique(np.geomspace(20, steps, 20).astype(int))
    some = np.linspace(0, len(rows) - 1, 6).astype(int)
    open_rows = OpenRows(RANKING, rows)
    walk = dual_averages(open_rows, graph, steps=steps, marks=marks, seed=seed, runs=runs)
    for found in walk:
        values = mean.value(found.averaged[:, some])
        time = np.full(len(found.sums), float(found.number))
        central = Prox()(found.sums.mean(axis=1), time, root(1.0)(time))
        bias = math.nan
        if biased:
            few = replace(found, models=found.models[:biased], seen=found.seen[:biased])
            off = gradient_bias(open_rows, few)
            bias = float(np.abs((off * central[:biased]).sum(axis=1)).mean())
        notes.note(
            step=found.number, loss=values.mean(axis=1), users=values.std(axis=1).mean(), bias=bias
        )
    return notes.history()


@figures.figure(
    "fig3.5",
    published={"start": 0.1566, "complete": 0.0492, "small world": 0.0528, "cycle": 0.0628},
)
def fig35(run: FigureRun) -> None:
    """A model that ranks tumours, learnt by gossip: its loss (a), and the bias of gradients (b)."""
    steps, runs, biased = (1000, 2, 1) if run.quick else (40_000, 50, 2)
    rows = tumours(run.seed, 120 if run.quick else None)
    run.uses(load("breast-cancer"))
    many = len(rows)
    run.number("start", float(MeanLoss(RANKING, rows).value(np.zeros(rows.shape[1] - 1))))
    shapes = {"complete": complete(many), "small world": small_world(many), "cycle": ring(many)}
    with run.picture(
        "(a) mean loss over all pairs", "(b) bias of gradients along the model"
    ) as axes:
        for shape, graph in shapes.items():
            compute = partial(
                ranked, rows, graph, steps=steps, seed=run.seed, runs=runs, biased=biased
            )
            history = run.part(shape, compute)
            mean = history["loss"].mean(axis=1)
            run.number(shape, mean[-1])
            run.number(f"{shape}: bias in the end", history["bias"][-1])
            axes[0].plot(history["step"], mean, label=shape)
            spread = history["users"]
            axes[0].fill_between(history["step"], mean - spread, mean + spread, alpha=0.15)
            axes[1].plot(history["step"], history["bias"], label=shape)
        for each in axes:
            each.set(xlabel="exchanges", xscale="log")
            each.legend()
        axes[1].set_yscale("log")


def diabetes_scores(seed: int) -> tuple[Users, str]:
    """Scores from 0 to 1 of the rows that a logistic model was not trained on."""
    table = load("diabetes")
    centred = (table.features - table.features.mean(axis=0)) / table.features.std(axis=0)
    rows = np.column_stack([centred, np.ones(len(table))])
    order = generator(seed, "split").permutation(len(table))
    half = len(table) // 2
    train, test = order[:half], order[half:]
    labels = table.labels.astype(float)

    def value(model: np.ndarray) -> tuple[float, np.ndarray]:
        margin = labels[train] * np.einsum("nd,d->n", rows[train], model)
        slope = -labels[train] * np.exp(-np.logaddexp(0, margin))
        gradient = np.einsum("n,nd->d", slope, rows[train]) / half
        return float(np.logaddexp(0, -margin).mean()), gradient

    model = minimize(value, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    scores = 1 / (1 + np.exp(-np.einsum("nd,d->n", rows[test], model)))
    return one_each(scores, table.labels[test], table.source), table.source


def curve(name: str, sizes: list[int], measured: Callable[[int], list[float]]) -> History:
    """Errors by size, a column for each run."""
    return History({name: sizes, "error": [measured(size) for size in sizes]})


def by_reports(
    problem: Users, seeds: range, kernel: Kernel, epsilon: float, count: int
) -> list[float]:
    """Estimates of the AUC from reports of so many cells."""
    asked, cells = Privacy(epsilon), Cells.even(count)
    runs = (fit_local(problem, kernel=kernel, privacy=asked, cells=cells, seed=s) for s in seeds)
    return [each.model for each in runs]


def by_bits(
    problem: Users, seeds: range, epsilon: float, patience: float | None, depth: int
) -> list[float]:
    """Estimates of the AUC from one bit of each user."""
    asked = Privacy(epsilon)
    runs = (
        fit_ranking(problem, privacy=asked, patience=patience, depth=depth, seed=s) for s in seeds
    )
    return [each.model for each in runs]


def by_counts(
    problem: Users, seeds: range, kernel: Kernel, epsilon: float, count: int
) -> list[float]:
    """Estimates of the AUC from counts with the noise of sessions that a tenth may collude in."""
    cells, labels, public = Cells.even(count), problem.table.labels, np.array([-1.0, 1.0])
    counts, deviations = np.empty((2, 2, count))
    for group, label in enumerate(public):
        inside = cells.of(problem.table.features[labels == label], 0)
        counts[group], many = np.bincount(inside, minlength=count), len(inside)
        # Two counts change by 1 each: vectors no longer than half of sqrt(2), around a middle.
        plan = gopa.plan(n=many, epsilon=epsilon, delta=1e-5, dimension=count, norm="0.70710679")
        deviations[group] = plan.errors.planned * many
    kernels, found = kernels_between(kernel, cells, public), []
    for seed in seeds:
        noise = generator(seed, "counts").standard_normal(counts.shape)
        pairs = from_counts(kernels, counts + noise * deviations, deviations)
        found.append(pairs / kernel.divisor(labels))
    return found


@figures.figure("fig3.6")
def fig36(run: FigureRun) -> None:
    """The AUC of scores of patients behind reports (a), bits of trees (b) and noisy counts (c).

    So many patients are too many for a session here: (c) has the noise that one is planned with,
    for delta 10^-5.
    """
    problem, _ = diabetes_scores(run.seed)
    run.uses(problem)
    scores, labels = problem.table.features[:, 0], problem.table.labels
    truth = area_under_curve(scores, labels)
    above, below = (labels > 0).sum(), (labels < 0).sum()
    for name, value in (("exact AUC", truth), ("n+", above), ("n-", below)):
        run.number(name, float(value))
    seeds = range(run.seed, run.seed + (3 if run.quick else 20))
    sizes = [4, 16] if run.quick else [2, 4, 8, 16, 32, 64, 128, 256]
    depths = [6, 10] if run.quick else [2, 4, 6, 8, 10, 12, 14]
    ties = ((AUC, "0", ":"), (WILCOXON, "a half", "-"))
    titles = (
        "(a) reports of k cells", "(b) one bit of a tree over 2^depth cells",
        "(c) counts of k cells, delta 1e-5, computed",
    )  # fmt: skip
    with run.picture(*titles) as axes:
        for epsilon in (1.0, 4.0) if run.quick else (0.5, 1.0, 2.0, 4.0):
            lines = [
                (axes[0], "k", sizes, style, f"reports, {{}}, ties count {name}",
                 partial(by_reports, problem, seeds, kernel, epsilon))
                for kernel, name, style in ties
            ] + [
                (axes[1], "depth", depths, style, f"bits, {{}}, {name}",
                 partial(by_bits, problem, seeds, epsilon, patience))
                for patience, name, style in ((4.0, "pruned", "-"), (None, "whole", ":"))
            ] + [
                (axes[2], "k", [*sizes, 1024], style, f"counts, {{}}, ties count {name}",
                 partial(by_counts, problem, seeds, kernel, epsilon))
                for kernel, name, style in ties
            ]  # fmt: skip
            for place, across, along, style, name, estimated in lines:
                label = name.format(f"epsilon {epsilon:g}")
                history = run.part(label, partial(curve, across, along, estimated))
                error = np.sqrt(((history["error"] - truth) ** 2).mean(axis=1))
                place.plot(along, error, style, label=label.partition(", ")[2], marker=".")
                run.number(f"{label}, best", error.min())
                run.number(f"{label}, largest", error[-1])
        axes[0].set(ylabel="root mean square error")
        for place, across in zip(axes, ("k", "depth", "k"), strict=True):
            place.set(xlabel=across, ylim=(1e-3, 10), yscale="log")
            place.set_xscale("linear" if across == "depth" else "log")
            place.legend(fontsize=6)


def missed_pairs(
    many: int, asked: Privacy, seeds: range, depth: int, *, every_level: bool
) -> list[float]:
    """Errors of the AUC from bits: as many users of both labels, scores by two Beta laws."""
    times = depth if every_level else 1
    each = shared_out(asked, times, Charge.randomised_response)
    rng = generator(seeds[0], "scores")
    cells = [cells_of(rng.beta(a, b, many), depth) for a, b in ((4, 2), (2, 4))]
    truth = ordered_pairs(CountTree.of(cells[0], depth), CountTree.of(cells[1], depth))
    found = []
    for seed in seeds:
        above, below = (
            CountTree.reported(
                listed, depth, each, subseed(seed, "theorem", place), every_level=every_level
            )
            for place, listed in enumerate(cells)
        )
        found.append((ordered_pairs(above, below, 4.0) - truth) / many**2)
    return found


@figures.figure("theorem3.6")
def theorem36(run: FigureRun) -> None:
    """The AUC from bits of all levels and of drawn ones, beside the bound of Theorem 3.6."""
    depth, asked = 10, Privacy(1.0, 1e-6)
    many = [1000, 4000] if run.quick else [1000, 3000, 10_000, 30_000, 100_000]
    seeds = range(run.seed, run.seed + (3 if run.quick else 20))
    bounds = [ranking_error_bound(each, each, privacy=asked, depth=depth) for each in many]
    with run.picture(f"epsilon 1, delta 1e-6, depth {depth}") as (place,):
        for every, name in ((True, "all levels"), (False, "a level at random")):
            across = partial(missed_pairs, asked=asked, seeds=seeds, depth=depth, every_level=every)
            history = run.part(name, partial(curve, "users", many, across))
            errors = np.sqrt((history["error"] ** 2).mean(axis=1))
            place.plot(many, errors, label=name, marker=".")
            for users, error in zip(many, errors, strict=True):
                run.number(f"{name}, {users} of each label", error)
        for users, bound in zip(many, bounds, strict=True):
            run.number(f"bound, {users} of each label", bound)
        place.plot(many, bounds, ":", label="bound, all levels")
        place.set(xscale="log", yscale="log", xlabel="users of each label")
        place.legend()


def exact_tree_variance(above: Places, below: Places, depth: int, epsilon: float) -> float:
    """The exact variance of `ordered_pairs` without pruning, one bit of each user (Hoeffding)."""
    unbias = 1 / float(2 * hadamard_bit(epsilon).keep - 1)
    factor = depth * unbias**2
    first, second = CountTree.of(above, depth), CountTree.of(below, depth)
    lower = np.concatenate([[0.0], np.cumsum(second.levels[depth])])
    higher = len(above) - np.cumsum(first.levels[depth])
    # Of each user alone: all nodes of its level, less the square of what it is right to expect.
    one = len(above) * factor * sum(float((each[0::2] ** 2).sum()) for each in second.levels[1:])
    one -= float((lower[above] ** 2).sum())
    other = len(below) * factor * sum(float((each[1::2] ** 2).sum()) for each in first.levels[1:])
    other -= float((higher[below] ** 2).sum())
    zeros = depth - ones_of(below)
    both = factor**2 * (2.0**depth - 1) * len(above) * len(below)
    both -= factor * (len(above) * float(zeros.sum()) + len(below) * float(ones_of(above).sum()))
    return one + other + both + float(lower[above].sum())


def ones_of(cells: Places) -> Places:
    """How many bits of each cell are 1."""
    return np.array([each.bit_count() for each in cells.tolist()], dtype=np.int64)


@figures.figure(
    "depth",
    published={
        "pruned, 2^6": 0.048, "pruned, 2^10": 0.068, "pruned, 2^14": 0.061, "whole, 2^14": 0.356,
    },
)  # fmt: skip
def depth(run: FigureRun) -> None:
    """Errors of the AUC by trees, 40,000 users at epsilon 1, as the domain grows."""
    many, repeats = (500, 2) if run.quick else (20_000, 100)
    rng = generator(run.seed, "scores")
    scores = [rng.beta(4, 2, many), rng.beta(2, 4, many)]
    depths = [6, 10] if run.quick else [6, 10, 14]

    def measured(patience: float | None, deep: int) -> list[float]:
        inside = [cells_of(each, deep) for each in scores]
        truth = ordered_pairs(CountTree.of(inside[0], deep), CountTree.of(inside[1], deep))
        missed = []
        for each in range(repeats):
            trees = [
                CountTree.reported(cells, deep, 1.0, subseed(run.seed, place, each))
                for place, cells in enumerate(inside)
            ]
            missed.append((ordered_pairs(trees[0], trees[1], patience) - truth) / many**2)
        return missed

    with run.picture("epsilon 1") as (axes,):
        for name, patience in (("pruned", 4.0), ("whole", None)):
            history = run.part(name, partial(curve, "depth", depths, partial(measured, patience)))
            error = np.sqrt((history["error"] ** 2).mean(axis=1))
            axes.plot(depths, error, label=name, marker=".")
            for deep, value in zip(depths, error, strict=True):
                run.number(f"{name}, 2^{deep}", value)
        exact = []
        for deep in depths:
            above, below = (cells_of(each, deep) for each in scores)
            exact.append(math.sqrt(exact_tree_variance(above, below, deep, 1.0)) / many**2)
            run.number(f"whole, 2^{deep}, exact", exact[-1])
        axes.plot(depths, exact, "k:", label="whole, exact")
        axes.set(xlabel="depth", ylabel="root mean square error", yscale="log")
        axes.legend()


@figures.figure("ways")
def ways(run: FigureRun) -> None:
    """Kendall's tau of two ratings: private reports, verified counts, a trusted curator."""
    many, repeats = (12, 2) if run.quick else (60, 20)
    epsilons = (8.0,) if run.quick else (1.0, 2.0, 4.0, 8.0)
    problem = ratings(many, seed=run.seed)
    run.uses(problem)
    truth = statistic(KENDALL, problem)
    cells = Cells(tuple(range(6)), tuple(range(6)))

    def measured(epsilon: float) -> History:
        rows: dict[str, list[float]] = {"reports": [], "verified": []}
        for seed in range(run.seed, run.seed + repeats):
            local = fit_local(
                problem, kernel=KENDALL, privacy=Privacy(epsilon), cells=cells, seed=seed
            )
            rows["reports"].append(local.model - truth)
        for seed in range(run.seed, run.seed + 3):
            counted = fit_verified(
                problem, kernel=KENDALL, privacy=Privacy(epsilon, 1e-5), cells=cells, seed=seed,
                corrupt=1, mode="signed",
            )  # fmt: skip
            rows["verified"].append(counted.model - truth)
        error = {name: [math.sqrt(np.mean(np.square(each)))] for name, each in rows.items()}
        # Another point moves a mean over all pairs by 4 / n at most: Kendall's kernel spans 2.
        curator = gaussian_sigma(epsilon, 1e-5, 4 / many)
        return History({"epsilon": [epsilon], **error, "curator": [curator]})

    parts = [run.part(f"epsilon-{each:g}", partial(measured, each)) for each in epsilons]
    names = ("reports", "verified", "curator")
    whole = History(
        {"epsilon": epsilons, **{n: [float(each[n][0]) for each in parts] for n in names}}
    )
    for place, epsilon in enumerate(epsilons):
        for name in names:
            run.number(f"{name}, epsilon {epsilon:g}", whole[name][place])
    with run.picture(f"Kendall's tau of {many} users") as (axes,):
        whole.plot(ax=axes)
        axes.set(xscale="log", yscale="log", ylabel="root mean square error")


if __name__ == "__main__":
    figures.main()
