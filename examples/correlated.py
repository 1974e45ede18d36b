"""Minimises the sum of private functions on networks, behind noise that cancels.

`fig1` is the first figure of Gade and Vaidya: four agents on a cycle, functions (x - i)^2. `bounds`
has runs beside what their lemmas allow; `disclosure` shows what one curious neighbour learns, step
by step. In the others a hundred agents have one or two digits of MNIST each and hear four others:
in `digits` behind noise, also in functions (their section 6.2), in `topology` on graphs that know
nothing of digits, and on one that was fitted to them. They read `mnist` below the folder
`GOPA_DATA`.

    python -m examples.correlated fig1 --quick --out figures
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from gopa.graph import (
    MixingMatrix,
    fitted_mixing,
    fixed,
    from_edges,
    grid,
    heterogeneity,
    random_regular,
    ring,
)
from gopa.learning import History, Table, Users, generator, quadratics
from gopa.learning.clocks import Steps, constant
from gopa.learning.correlated import (
    Method,
    descend,
    descent_bound,
    disclosure,
    disguised_bound,
    gradient_heterogeneity,
    optimum,
)
from gopa.learning.correlated.disguises import InFunctions
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.objectives import LOGISTIC, Linear, Quadratic
from gopa.learning.rows import AgentRows
from gopa.noise import discrete_laplace, subseed
from gopa.support.arrays import Floats

figures = FigureSet(__doc__.partition("\n")[0])

CLOSE = 0.1
SLOWLY = Steps(0.4, 0.75, 3.0)
SHOWN: tuple[Method, ...] = ("dgd", "rss", "rss-lb")

AGENTS, DEGREE, DIGITS = 100, 4, 10
SHARD = 32
"""Rows of one digit that lie together; an agent has two such shards."""

STEP, RIDGE, BATCH = 1.0, 1e-3, 8
SHUFFLED = "fitted to others"
DISGUISES: dict[str, tuple[Method, float]] = {
    "dgd": ("dgd", 0.0),
    "rss, noise 1": ("rss", 1.0),
    "rss, noise 10": ("rss", 10.0),
    "rss-lb, noise 1": ("rss-lb", 1.0),
    "functions, noise 0.1": ("functions", 0.1),
    "functions, noise 1": ("functions", 1.0),
}
FALLING = Steps(20.0, 0.75, 20.0)
"""Steps without a sum, whose squares have one, as Theorem 1 wants."""

STEEPER = 1e-2
"""The ridge behind noise: with a smaller one thousands of steps are not enough for anybody."""

GRAPHS = ("clusters", "ring", "torus", "random regular", "exponential", SHUFFLED, "fitted")


def four_agents() -> Quadratic:
    """Functions (x - i)^2 for i from 1 to 4."""
    return Quadratic(quadratics(4).table.features)


def traced(method: Method, *, runs: int, seed: int, steps: int = 200) -> History:
    """The farthest agent from the limit, the average and the loss of each run, step by step."""
    objective = four_agents()
    walk = descend(objective, ring(4), method=method, radius=10.0, seed=seed, runs=runs)
    rows = list(islice(walk, steps))
    models = np.stack([each.models[:, :, 0] for each in rows])
    average = models.mean(axis=1)
    loss = ((average[:, :, None] - objective.centres[:, 0]) ** 2).sum(axis=-1)
    return History(
        {
            "step": np.arange(steps),
            "error": np.abs(models - 2.5).max(axis=1),
            "average": average,
            "agent": models[:, 0],
            "loss": loss,
        }
    )


@figures.figure(
    "fig1", published={"dgd: steps to stay within 0.1": 20, "rss: steps to stay within 0.1": 50}
)
def fig1(run: FigureRun) -> None:
    """Iterates, their average and the loss, and how many steps it takes to stay within 0.1."""
    runs = 50 if run.quick else 1000
    with run.picture("agent 1, one run", "average of all agents", "sum of all functions") as axes:
        for method in SHOWN:
            many = 1 if method == "dgd" else runs
            history = run.part(method, partial(traced, method, runs=many, seed=run.seed))
            off = history["error"].reshape(len(history), -1) > CLOSE
            last = len(history) - np.argmax(off[::-1], axis=0)
            run.number(f"{method}: steps to stay within 0.1", float(np.median(last)))
            run.number(f"{method}: least", float(last.min()))
            run.number(f"{method}: most", float(last.max()))
            for place, name in enumerate(("agent", "average", "loss")):
                values = history[name].reshape(len(history), -1)[:60, 0]
                axes[place].plot(values, label=method)
        for each in axes:
            each.set_xlabel("step")
            each.legend()


def beside(method: Method, steps: int, runs: int) -> History:
    """The worst of many runs, and the bound for the gradients and the noise that they met."""
    centres = np.linspace(-1, 1, 12)[:, None]
    mixing, lengths = fixed(random_regular(12, 4, seed=1)), SLOWLY(np.arange(1, steps + 1))
    walk = descend(
        Quadratic(centres), mixing.graph(), method=method, mixing=mixing, steps=SLOWLY, start=2.0,
        seed=1, runs=1 if method == "dgd" else runs,
    )  # fmt: skip
    models = np.stack([each.models[:, :, 0] for each in islice(walk, steps + 1)])
    # Without a radius a step can be undone: x = h - 2 a (h - c).
    step = lengths[:, None, None]
    fused = (models[1:] - 2 * step * centres) / (1 - 2 * step)
    noise = (fused - np.einsum("ij,kjr->kir", mixing.matrix.toarray(), models[:-1])) / step
    at_average = models[:-1].mean(axis=1, keepdims=True) - centres
    slopes = [np.sqrt((each**2).mean(axis=1)).max() for each in (fused - centres, at_average)]
    bound = disguised_bound(
        mixing, SLOWLY, steps, slope=2 * max(slopes), distance=2.0,
        noise=np.sqrt((noise**2).mean(axis=1)).max(),
    )  # fmt: skip
    above = np.cumsum(step[:, 0] * models[:-1].mean(axis=1) ** 2, axis=0)
    return History(
        {
            "step": np.arange(1, steps + 1),
            "distance": np.sqrt((models[1:] ** 2).mean(axis=1)).max(axis=1),
            "distance_bound": bound.distance,
            "loss": above.max(axis=1) / np.cumsum(lengths),
            "loss_bound": bound.loss,
        }
    )


@figures.figure("bounds")
def bounds(run: FigureRun) -> None:
    """How far the worst of a thousand runs is from the optimum, and what the lemmas allow."""
    steps, runs = (20, 20) if run.quick else (300, 1000)
    titles = ("distance of agents from the optimum", "mean loss so far, above the least")
    with run.picture(*(f"{each} (dotted: its bound)" for each in titles)) as axes:
        for number, method in enumerate(SHOWN):
            history = run.part(method, partial(beside, method, steps, runs))
            for place, what in zip(axes, ("distance", "loss"), strict=True):
                color, bound = f"C{number}", f"{what}_bound"
                place.plot(history["step"], history[what], color=color, label=method)
                place.plot(history["step"], history[bound], ":", color=color)
                for name in (what, bound):
                    run.number(f"{method}: {name} after {steps}", history[name][-1])
        for place in axes:
            place.set(xlabel="step", xscale="log", yscale="log")
            place.legend()


def learnt(method: Method, shape: str, steps: int) -> History:
    """What the worst single neighbour learns of anybody, in deviations of normal noise."""
    graph = {"ring": ring(12), "grid": grid(3, 4), "regular": random_regular(12, 4, seed=1)}[shape]
    objective = Quadratic(np.linspace(-1, 1, 12)[:, None])
    found = disclosure(
        objective, graph, method=method, mixing=fixed(graph), steps=constant(0.05),
        iterations=steps, noise=100.0,
    )  # fmt: skip
    return History({"step": np.arange(1, steps + 1), "deviations": found.composed})


@figures.figure("disclosure")
def disclosed(run: FigureRun) -> None:
    """What a curious neighbour learns up to each step, on three graphs of twelve agents."""
    steps = 20 if run.quick else 100
    with run.picture("the same to all neighbours", "to each something else") as axes:
        for place, method in zip(axes, SHOWN[1:], strict=True):
            for shape in ("ring", "grid", "regular"):
                history = run.part(f"{method}-{shape}", partial(learnt, method, shape, steps))
                place.plot(history["step"], history["deviations"], label=shape)
                run.number(f"{method}, {shape}: deviations", history["deviations"][-1])
            place.set(xlabel="step", ylabel="deviations between two functions of one agent")
            place.legend()


@dataclass(frozen=True, slots=True)
class Task:
    """Ten classifiers, one digit against the rest: by agents, and with all rows in one place."""

    table: Table
    proportions: Floats
    problems: list[Linear]
    whole: list[Linear]
    best: Floats
    least: Floats
    test: Table

    def above(self, models: Floats) -> Floats:
        """Losses on all rows above the least, of models by any number, digit and weight."""
        values = [each.value(models[:, k, None])[:, 0] for k, each in enumerate(self.whole)]
        return np.stack(values, axis=1) - self.least

    def accuracies(self, models: Floats) -> Floats:
        """The share of fresh rows whose digit each of these models names."""
        named = (self.test.features @ models.swapaxes(-1, -2)).argmax(axis=-1)
        return np.asarray((named == self.test.labels).mean(axis=-1))


def shards(table: Table, seed: int) -> Users:
    """Two shards for every agent, each of one digit, and as many of every digit."""
    rng, each = generator(seed, "shards"), 2 * AGENTS // DIGITS
    parts: list[np.ndarray] = []
    for digit in range(DIGITS):
        rows = rng.permutation(np.flatnonzero(table.labels == digit))[: each * SHARD]
        parts += np.split(rows, each)
    order = rng.permutation(len(parts)).reshape(AGENTS, 2)
    return Users(table, tuple(np.concatenate([parts[i], parts[j]]) for i, j in order.tolist()))


def with_one(table: Table) -> Table:
    """The rows with a column of ones, of length 1 again."""
    wider = np.column_stack([table.features, np.ones(len(table))]) / np.sqrt(2)
    return Table(wider, table.labels, table.source)


@cache
def task(seed: int, ridge: float = RIDGE) -> Task:
    """The rows are 50 principal components, as in `examples/without_replacement.py`."""
    from examples.without_replacement import digits

    table, test = map(with_one, digits(seed))
    pairs = shards(table, seed).pairs()
    everything = [(np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs]))]

    def against_rest(pairs: list[tuple[Floats, np.ndarray]], digit: int) -> Linear:
        signed = [(x, np.where(y == digit, 1.0, -1.0)) for x, y in pairs]
        return Linear(LOGISTIC, AgentRows.of(signed).clipped(2, 1.0), ridge=ridge)

    problems, whole = (
        [against_rest(part, digit) for digit in range(DIGITS)] for part in (pairs, everything)
    )
    best = np.stack([optimum(each, tolerance=1e-7) for each in whole])
    least = np.array([each.value(w[None])[0] for each, w in zip(whole, best, strict=True)])
    shares = np.stack([np.bincount(y, minlength=DIGITS) / len(y) for _, y in pairs])
    return Task(table, shares, problems, whole, best, least, test)


def clusters() -> MixingMatrix:
    """Cliques of five on a ring: one edge of each was opened, and leads to the next clique."""
    size = DEGREE + 1
    starts, apart = range(0, AGENTS, size), np.column_stack(np.triu_indices(size, 1))
    inside = [
        (start + i, start + j) for start in starts for i, j in apart.tolist() if j - i < DEGREE
    ]
    return fixed(
        from_edges(AGENTS, [*inside, *((s + DEGREE, (s + size) % AGENTS) for s in starts)])
    )


def exponential() -> MixingMatrix:
    """Every agent hears those 1, 4, 16 and 64 further on; this one is directed, too."""
    here = np.arange(AGENTS)
    heard = [(here + far) % AGENTS for far in (0, *(4**k for k in range(DEGREE)))]
    places = (np.tile(here, DEGREE + 1), np.concatenate(heard))
    weights = np.full(len(places[0]), 1 / (DEGREE + 1))
    matrix = sparse.csr_array((weights, places), shape=(AGENTS, AGENTS))
    return MixingMatrix("exponential", matrix, np.full(AGENTS, 1 / AGENTS), doubly_stochastic=True)


def topology(name: str, seed: int) -> MixingMatrix:
    """One in which everybody hears four others; agents stand in random order."""
    if name == "clusters":
        return clusters()
    if name == "exponential":
        return exponential()
    if name in {"fitted", SHUFFLED}:
        shares = task(seed).proportions
        if name == SHUFFLED:
            # As well connected, by agents who have the labels of somebody else.
            shares = generator(seed, "shuffled").permutation(shares)
        return fitted_mixing(shares, DEGREE)
    graphs = {
        "ring": lambda: from_edges(
            AGENTS, [(u, (u + far) % AGENTS) for u in range(AGENTS) for far in (1, 2)]
        ),
        "torus": lambda: grid(10, 10, torus=True),
        "random regular": lambda: random_regular(AGENTS, DEGREE, seed),
    }
    return fixed(graphs[name]())


def marked(steps: int) -> np.ndarray:
    """The steps after which agents are looked at."""
    return np.unique([steps // 10, *np.rint(np.geomspace(1, steps, 16)).astype(int)])


def walked(
    found: Task, mixing: MixingMatrix, last: int, seed: int, **how: Any
) -> tuple[Floats, Floats]:
    """Average models after every step, and what agents fused at the marked ones, of all digits."""
    marks = marked(last)
    averages = np.empty((last + 1, DIGITS, found.best.shape[1]))
    agents = np.empty((len(marks), AGENTS, *averages.shape[1:]))
    for k, problem in enumerate(found.problems):
        # The rows that are drawn are those of all digits' models; noise is for each its own.
        own = seed if "batch" in how else DIGITS * seed + k
        walk = descend(problem, mixing.graph(), mixing=mixing, seed=own, **how)
        for each in islice(walk, last + 1):
            averages[each.number, k] = each.average[0]
            if each.number in marks:
                fused = mixing.matrix @ each.models[:, 0]
                agents[np.searchsorted(marks, each.number), :, k] = fused
    return averages, agents


def followed(name: str, seed: int, steps: int) -> History:
    """Agents' losses above the least and accuracies, and the mean loss of averages so far."""
    found, mixing, marks = task(seed), topology(name, seed), marked(steps)
    plain: dict[str, Any] = {"method": "dgd", "steps": constant(STEP), "batch": BATCH}
    averages, agents = walked(found, mixing, steps, seed, **plain)
    bound = [
        descent_bound(
            mixing,
            step=STEP,
            iterations=steps,
            smoothness=float(problem.smoothness().max()),
            curvature=RIDGE,
            heterogeneity=gradient_heterogeneity(problem, mixing, averages[:, k]).max(),
            distance=float(np.linalg.norm(found.best[k])),
            noise=problem.row_gradient_bound(2) / np.sqrt(BATCH),
        ).loss
        for k, problem in enumerate(found.problems)
    ]
    so_far = np.cumsum(found.above(averages[:-1]).mean(axis=1)) / np.arange(1, steps + 1)
    return History(
        {
            "step": marks,
            "above": [found.above(each).mean() for each in agents],
            **reached(found, agents),
            "average": so_far[marks - 1],
            "bound": np.mean(bound, axis=0)[marks - 1],
        }
    )


def reached(found: Task, agents: Floats) -> dict[str, Any]:
    """How many fresh digits agents name rightly at marked steps, and the worst of them."""
    right = [found.accuracies(each) for each in agents]
    return {
        "accuracy": [each.mean() for each in right],
        "worst": [each.min() for each in right],
    }


def noted(run: FigureRun, name: str, each: list[History]) -> None:
    """The means over seeds after a tenth of all steps and after all, some with their ends."""
    mixings = [topology(name, run.seed + seed) for seed in range(len(each))]
    shares = [task(run.seed + seed).proportions for seed in range(len(each))]
    unlike = [heterogeneity(w, p) for w, p in zip(mixings, shares, strict=True)]
    run.number(f"{name}: heterogeneity", float(np.mean(unlike)))
    run.number(f"{name}: gap", float(np.mean([w.spectral_gap() for w in mixings])))
    if name == "fitted":
        noted_noisy(run, shares)
    steps = each[0]["step"]
    for place in (int(np.searchsorted(steps, steps[-1] / 10)), -1):
        for what in ("above", "accuracy", "worst", "average", "bound"):
            values = np.array([part[what][place] for part in each])
            title = f"{name}: {what} after {steps[place]}"
            run.number(title, values.mean())
            if what in {"above", "worst"}:
                run.number(f"{title}, least", values.min())
                run.number(f"{title}, most", values.max())


def noted_noisy(run: FigureRun, shares: list[Floats]) -> None:
    """What is left if agents tell their counts of labels with noise, by what the noise hides."""
    for unit, moved in (("row", 2), ("agent", 2 * 2 * SHARD)):
        for epsilon in (1, 4, 16):
            unlike = [
                heterogeneity(fitted_mixing(noisy(each, moved, epsilon, seed), DEGREE), each)
                for seed, each in enumerate(shares, run.seed)
            ]
            name = f"fitted to counts that hide a whole {unit}, epsilon {epsilon}: heterogeneity"
            run.number(name, float(np.mean(unlike)))


def noisy(shares: Floats, moved: int, epsilon: int, seed: int) -> Floats:
    """Proportions from counts with noise: `moved` is how far other data move them all together."""
    counts = np.rint(2 * SHARD * shares).astype(np.int64)
    law = discrete_laplace(Fraction(moved, epsilon))
    found = np.maximum(counts + law.draw(subseed(seed, "counts"), counts.shape), 0)
    found[~found.any(axis=1)] = 1
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def disguised(name: str, seed: int, steps: int) -> History:
    """The same behind noise that cancels, and how far all are from the optimum."""
    found, (method, noise) = task(seed, STEEPER), DISGUISES[name]
    how: dict[str, Any] = {"method": method, "noise": noise, "steps": FALLING}
    averages, agents = walked(found, topology("random regular", seed), steps, seed, **how)
    marks, least = marked(steps), found.best
    off, average = (
        np.sqrt(((each - least) ** 2).sum(axis=(-1, -2))) for each in (agents, averages[marks])
    )
    return History(
        {
            "step": marks,
            "off": off.max(axis=1),
            "average": average,
            "above": found.above(averages[marks]).mean(axis=1),
            **reached(found, agents),
        }
    )


def bent(name: str, seed: int) -> float:
    """How long the gradients of noise functions are at 0, in lengths of agents' own."""
    problem, mixing = task(seed, STEEPER).problems[0], topology("random regular", seed)
    zero = np.zeros((AGENTS, 1, problem.dimension))
    noisy = InFunctions(
        mixing.graph(),
        mixing,
        noise=DISGUISES[name][1],
        seed=DIGITS * seed,
        runs=1,
        objective=problem,
    ).bent(zero)
    return float(np.linalg.norm(noisy) / np.linalg.norm(problem.gradient(zero[:, 0])))


def seen(name: str, seed: int, steps: int) -> float:
    """What the worst of ten neighbours learns of a row from all models, in deviations."""
    mixing, (method, noise) = topology("random regular", seed), DISGUISES[name]
    found = disclosure(
        task(seed, STEEPER).problems[0], mixing.graph(), method=method, mixing=mixing,
        steps=FALLING, iterations=steps, noise=noise, unit="record",
        coalitions=[[agent] for agent in range(10)],
    )  # fmt: skip
    return float(found.composed[-1] * np.sqrt(DIGITS))


def noted_digits(run: FigureRun, name: str, mean: dict[str, Floats], right: float) -> None:
    """Means over seeds, and when the worst agent was last two points below the optimum."""
    step, near = mean["step"], mean["worst"] >= right - 0.02
    if name.startswith("functions"):
        run.number(f"{name}: gradients at 0, in those of agents", bent(name, run.seed))
    tenth = int(step[-1]) // 10
    for at in (max(1, tenth // 10), tenth):
        run.number(f"{name}: deviations between rows after {at}", seen(name, run.seed, at))
    for at in (int(np.searchsorted(step, tenth)), -1):
        for what in ("off", "above", "accuracy", "worst"):
            run.number(f"{name}: {what} after {step[at]:g}", mean[what][at])
    kept = step[np.logical_and.accumulate(near[::-1])[::-1]]
    run.number(f"{name}: steps until all are within two points", kept[0] if len(kept) else np.nan)


@figures.figure("digits")
def digits_behind_noise(run: FigureRun) -> None:
    """Digits by logistic regression, functions shared as losses of made-up rows (6.2)."""
    steps, seeds = (60, range(1)) if run.quick else (2000, range(3))
    run.uses(task(run.seed, STEEPER).table)
    titles = (
        "farthest agent from the optimum (dotted: the average)",
        "loss of the average, above the least",
        "accuracy of the worst agent",
    )  # fmt: skip
    best = [task(run.seed + seed, STEEPER) for seed in seeds]
    right = float(np.mean([each.accuracies(each.best[None])[0] for each in best]))
    run.number("optimum: accuracy", right)
    with run.picture(*titles) as axes:
        for number, name in enumerate(DISGUISES):
            each = [
                run.part(f"{name} {seed}", partial(disguised, name, run.seed + seed, steps))
                for seed in seeds
            ]
            mean = {what: np.mean([part[what] for part in each], axis=0) for what in each[0].names}
            step = mean["step"]
            for place, what in zip(axes, ("off", "above", "worst"), strict=True):
                place.plot(step, mean[what], color=f"C{number}", label=name)
            axes[0].plot(step, mean["average"], ":", color=f"C{number}")
            noted_digits(run, name, mean, right)
        for place, scale in zip(axes, ("log", "log", "linear"), strict=True):
            place.set(xlabel="step", xscale="log", yscale=scale)
            place.legend()


@figures.figure("topology")
def topologies(run: FigureRun) -> None:
    """Descent with rows of one or two digits for each agent, on seven graphs of four neighbours."""
    steps, seeds = (60, range(1)) if run.quick else (1000, range(5))
    run.uses(task(run.seed).table)
    titles = (
        "loss of agents, above the least", "accuracy of the worst agent",
        "mean loss so far of averages (dotted), and its bound",
    )  # fmt: skip
    with run.picture(*titles) as axes:
        for number, name in enumerate(GRAPHS):
            each = [
                run.part(f"{name}-{seed}", partial(followed, name, run.seed + seed, steps))
                for seed in seeds
            ]
            step = each[0]["step"]
            shown = [*zip(axes, ("above", "worst", "bound"), "---", strict=True)]
            for place, what, style in [*shown, (axes[2], "average", ":")]:
                mean = np.mean([part[what] for part in each], axis=0)
                label = name if style == "-" else None
                place.plot(step, mean, style, color=f"C{number}", label=label)
            noted(run, name, each)
        for place, scale in zip(axes, ("log", "linear", "log"), strict=True):
            place.set(xlabel="step", xscale="log", yscale=scale)
            place.legend()


if __name__ == "__main__":
    figures.main()
