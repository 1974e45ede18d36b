"""Minimises the sum of private functions on networks, behind noise that cancels.

`fig1` is the first figure of Gade and Vaidya: four agents on a cycle, functions (x - i)^2.
`disclosure` shows what one curious neighbour learns, step by step.

    python -m examples.correlated fig1 --quick --out figures
"""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np

from gopa.graph import fixed, grid, random_regular, ring
from gopa.learning import History, quadratics
from gopa.learning.clocks import constant
from gopa.learning.correlated import Method, descend, disclosure
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.objectives import Quadratic

figures = FigureSet(__doc__.partition("\n")[0])

CLOSE = 0.1
SHOWN: tuple[Method, ...] = ("dgd", "rss", "rss-lb")


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


if __name__ == "__main__":
    figures.main()
