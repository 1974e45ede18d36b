"""What colluders learn: the bound beside the exact view of quadratic functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gopa import UsageError
from gopa.accounting import Loss
from gopa.graph import (
    Graph,
    MixingMatrix,
    complete,
    fixed,
    from_edges,
    grid,
    random_regular,
    ring,
    star,
)
from gopa.learning.clipping import DEVIATION
from gopa.learning.clocks import Steps, constant, harmonic
from gopa.learning.correlated import Disclosure, Method, descend, disclosure
from gopa.learning.correlated.disguises import InStates
from gopa.learning.objectives import SQUARED, Linear, Quadratic
from gopa.learning.privacy import Unit
from gopa.learning.rows import AgentRows
from tests.learning.correlated.networks import tumours

Floats = npt.NDArray[np.float64]


@dataclass
class View:
    """Holds by how much each agent's other point moves what is heard, and how noise moves it.

    Both have a row for everything heard; `moved` has a column for each agent, `noises` for each
    draw.
    """

    moved: Floats
    noises: Floats

    def directions(self) -> tuple[Floats, Floats]:
        """The combination of what is heard that tells most of each agent, and how much it moves.

        In deviations of the noise; infinite where some combination has no noise.
        """
        values, vectors = np.linalg.eigh(self.noises @ self.noises.T)
        known = values > 1e-12 * values.max()
        along = vectors.T @ self.moved
        bare = np.abs(along[~known]).max(axis=0, initial=0.0) > 1e-9
        scaled = along[known] / values[known, None]
        shifts = np.sqrt((along[known] * scaled).sum(axis=0))
        return vectors[:, known] @ scaled, np.where(bare, math.inf, shifts)


def draws_of(
    graph: Graph, *, to_each: bool
) -> tuple[Floats, list[set[int]], list[tuple[int, int]]]:
    """How draws add to what is sent: a row for each message, a column for each draw; who knows it.

    Messages are (sender, receiver), with receiver -1 for one to all.
    """
    if not to_each:
        first, second = (ends.tolist() for ends in graph.edges())
        matrix = np.zeros((graph.parties, len(first)))
        matrix[first, range(len(first))] = 1
        matrix[second, range(len(first))] = -1
        known = [{low, high} for low, high in zip(first, second, strict=True)]
        return matrix, known, [(agent, -1) for agent in range(graph.parties)]
    messages = [
        (agent, int(other)) for agent in range(graph.parties) for other in graph.neighbours(agent)
    ]
    columns, known = [], []
    for one, (sender, _) in enumerate(messages):
        for two in range(one + 1, len(messages)):
            if messages[two][0] == sender:
                column = np.zeros(len(messages))
                column[one], column[two] = 1, -1
                columns.append(column)
                known.append({sender})
    return np.array(columns).T, known, messages


def view(
    graph: Graph,
    mixing: MixingMatrix,
    steps: Steps,
    iterations: int,
    *,
    noise: float,
    bend: float,
    change: float,
    coalition: Sequence[int],
    to_each: bool,
) -> View:
    """Of functions bend / 2 (x - c)^2, one of which has its gradient moved by `change`."""
    weights = mixing.matrix.toarray()
    matrix, known, messages = draws_of(graph, to_each=to_each)
    each = matrix.shape[1]
    models, moved = np.zeros((graph.parties, iterations * each)), np.zeros_like(weights)
    heard, shifts = [], []
    for number in range(iterations):
        step = float(steps(number + 1))
        place = slice(number * each, (number + 1) * each)
        mixed = weights @ models
        for row, (sender, receiver) in enumerate(messages):
            sent = models[sender].copy()
            sent[place] += step * noise * matrix[row]
            receivers = graph.neighbours(sender) if receiver < 0 else np.array([receiver])
            if sender not in coalition and set(receivers.tolist()) & set(coalition):
                heard.append(sent)
                shifts.append(moved[sender])
            reached = weights[:, sender] if receiver < 0 else np.eye(len(weights))[receiver]
            share = 1.0 if receiver < 0 else weights[receiver, sender]
            mixed[:, place] += np.outer(reached * share, step * noise * matrix[row])
        for draw, who in enumerate(known):
            if who & set(coalition):
                heard.append(np.eye(iterations * each)[number * each + draw])
                shifts.append(np.zeros(graph.parties))
        models = (1 - bend * step) * mixed
        moved = (1 - bend * step) * (weights @ moved) + step * change * np.eye(graph.parties)
    return View(np.array(shifts), np.array(heard))


STEPS = 7


NETWORKS = {
    "cycle of 4": (ring(4), [0]),
    "cycle of 8": (ring(8), [0, 1]),
    "between two": (ring(8), [0, 2]),
    "grid, corner": (grid(3, 3), [0]),
    "grid, middle": (grid(3, 3), [4]),
    "random": (random_regular(10, 4, seed=1), [0, 1]),
    "complete": (complete(5), [0]),
    "star": (star(5), [1]),
    "torus": (grid(3, 3, torus=True), [0]),
    "torus, two": (grid(3, 4, torus=True), [0, 1]),
    "two pieces": (
        from_edges(7, [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 6), (6, 4)]),
        [0],
    ),
}


BARE = {
    ("complete", "rss"),
    ("two pieces", "rss"),
    ("between two", "rss"),
    ("between two", "rss-lb"),
}


"""Where colluders hear everybody of a piece, or all that somebody says."""


def ends(agents: int) -> Quadratic:
    """Functions (x - c)^2 with points from -1 to 1: another point moves a gradient by 4."""
    return Quadratic(np.linspace(-1, 1, agents)[:, None])


def seen(
    graph: Graph, coalition: list[int] | None, method: Any, steps: Steps, **more: Any
) -> Disclosure:
    coalitions = None if coalition is None else [coalition]
    settings = {"noise": 50.0, "iterations": STEPS, "coalitions": coalitions, **more}
    return disclosure(
        ends(graph.parties), graph, method=method, mixing=fixed(graph), steps=steps, **settings
    )


def exact(
    graph: Graph, coalition: list[int], method: str, steps: Steps, upto: int = STEPS
) -> float:
    """Of the agent that is worst off."""
    found = view(
        graph, fixed(graph), steps, upto, noise=50.0, bend=2.0, change=4.0,
        coalition=coalition, to_each=method == "rss-lb",
    )  # fmt: skip
    _, shifts = found.directions()
    return float(np.delete(shifts, coalition).max())


@pytest.mark.parametrize("steps", [constant(0.1), harmonic(0.5)], ids=["constant", "falling"])
@pytest.mark.parametrize("method", ["rss", "rss-lb"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_bound_is_above_the_exact_view_and_close_to_it(
    name: str, method: str, steps: Steps
) -> None:
    graph, coalition = NETWORKS[name]
    found, true = seen(graph, coalition, method, steps), exact(graph, coalition, method, steps)
    assert ((name, method) in BARE) == (true == math.inf)
    if true == math.inf:
        assert found.reason
        assert found.epsilon(1e-6) == math.inf
        return
    assert true <= found.composed[-1] <= 1.15 * true
    assert np.all(np.diff(found.composed) >= 0)
    assert found.composed[0] == 0
    assert found.composed[3] >= exact(graph, coalition, method, steps, 4)
    assert np.all(found.each <= found.composed + 1e-12)


@pytest.mark.parametrize(("noise", "more"), [(25.0, 2.0), (100.0, 0.5)])
def test_noise_and_sensitivity_count_as_they_should(noise: float, more: float) -> None:
    once = seen(ring(4), [0], "rss", constant(0.1)).composed[-1]
    assert seen(ring(4), [0], "rss", constant(0.1), noise=noise).composed[-1] == pytest.approx(
        more * once, rel=0.02
    )
    farther = Quadratic(2 * ends(4).centres)
    twice = disclosure(
        farther, ring(4), method="rss", mixing=fixed(ring(4)), steps=constant(0.1),
        iterations=STEPS, noise=50.0, coalitions=[[0]],
    )  # fmt: skip
    assert twice.composed[-1] == pytest.approx(2 * once, rel=0.01)


@pytest.mark.parametrize("method", ["rss", "rss-lb"])
def test_rounding_may_show_a_step_of_the_grid(method: str) -> None:
    """However much noise there is: models that hardly differ may be rounded apart."""
    found = seen(ring(4), [0], method, constant(0.1), noise=1e9)
    assert 1 / DEVIATION <= found.each[1] <= found.composed[1] < 0.01


def test_the_worst_coalition_counts() -> None:
    graph = grid(3, 3)
    one = seen(graph, None, "rss", constant(0.1), colluders=1)
    each = [seen(graph, [agent], "rss", constant(0.1)).composed[-1] for agent in range(9)]
    assert one.composed[-1] == pytest.approx(max(each))
    assert min(each) < max(each)
    two = seen(graph, None, "rss-lb", constant(0.1), colluders=2)
    # Both neighbours of a corner: nobody else knows what it says.
    assert two.reason
    with pytest.raises(UsageError, match="list those you fear"):
        seen(random_regular(40, 4, seed=1), None, "rss", constant(0.1), colluders=4)
    for colluders in (0, 4):
        with pytest.raises(UsageError, match="from 1 to 3"):
            seen(ring(4), None, "rss", constant(0.1), colluders=colluders)
    for coalition in ([], [4], [0, 1, 2, 3]):
        with pytest.raises(UsageError) as caught:
            seen(ring(4), coalition, "rss", constant(0.1))
        assert caught.value.field == "coalitions"


@pytest.mark.parametrize(
    ("method", "view", "said"),
    [
        ("dgd", "neighbour", "without noise"),
        ("functions", "neighbour", "sum of all functions"),
        ("rss", "everything", "adds up"),
    ],
)
def test_where_nothing_holds_it_says_infinity(method: str, view: str, said: str) -> None:
    found = seen(ring(4), [0], method, constant(0.1), view=view)
    assert said in found.reason
    assert np.isinf(found.composed).all()
    assert found.epsilon(1e-3) == math.inf


def test_noise_that_vanishes_with_the_step_hides_less_and_less() -> None:
    """Models settle while the noise goes away: without end, everything is shown."""
    short, long = (
        seen(ring(6), [0], "rss", harmonic(0.5), iterations=count).composed[-1]
        for count in (50, 400)
    )
    assert long > 7 * short


def test_units_and_losses() -> None:
    graph, objective = ring(4), tumours(4, 40)

    def claimed(unit: Unit) -> Disclosure:
        return disclosure(
            objective, graph, method="rss", steps=constant(0.5), iterations=5, noise=2.0, unit=unit
        )

    user, record = claimed("user"), claimed("record")
    # A gradient moves by 2, behind a noise of deviation 2 on the one edge to who is not heard.
    assert user.each[1] == pytest.approx(1, rel=0.03)
    # Ten rows each: one of them counts a tenth.
    assert record.composed[-1] == pytest.approx(user.composed[-1] / 10, rel=0.03)
    with pytest.raises(UsageError, match="mean over rows"):
        seen(graph, [0], "rss", constant(0.1), unit="record")
    rows = AgentRows.of([([[0.5]], [1.0])] * 4).clipped(2, 1.0, labels=1.0)
    unbounded = disclosure(
        Linear(SQUARED, rows), graph, method="rss", mixing=fixed(graph), steps=constant(0.1),
        iterations=3, noise=1.0,
    )  # fmt: skip
    assert "any amount" in unbounded.reason


@pytest.mark.parametrize("method", ["rss", "rss-lb"])
def test_real_runs_show_what_the_exact_view_says(method: Method) -> None:
    """Messages as they are sent, and the colluder's own draws, by the score that tells most."""
    graph, noise, steps = ring(4), 8.0, constant(0.1)
    mixing, to_each = fixed(graph), method == "rss-lb"
    heard = view(
        graph, mixing, steps, 5, noise=noise, bend=2.0, change=4.0,
        coalition=[0], to_each=to_each,
    )  # fmt: skip
    directions, shifts = heard.directions()
    direction, shift = directions[:, 1], float(shifts[1])
    matrix, known, messages = draws_of(graph, to_each=to_each)

    def scores(point: float, seed: int) -> np.ndarray:
        """Of many runs with eight numbers each, that have nothing to do with each other."""
        points = np.zeros((4, 8))
        points[1] = point
        walk = descend(
            Quadratic(points), graph, method=method, mixing=mixing, steps=steps, noise=noise,
            seed=seed, runs=100,
        )  # fmt: skip
        drawn = InStates(
            graph, mixing, noise=noise, seed=seed, runs=100, dimension=8, to_each=to_each
        )
        listed: list[np.ndarray] = []
        for each in islice(walk, 5):
            unit, noises = 0.1 * noise / DEVIATION, drawn.drawn(each.number)
            sent = np.rint(each.models / unit)
            # Of draws all that can be known again from what is sent.
            of_edges = np.einsum("em,mrd->erd", np.linalg.pinv(matrix), noises) / DEVIATION
            for place, (sender, receiver) in enumerate(messages):
                hears = 0 in graph.neighbours(sender) if receiver < 0 else receiver == 0
                if sender != 0 and hears:
                    listed.append((sent[sender] + noises[place]) * unit)
            listed += [of_edges[draw] for draw, who in enumerate(known) if 0 in who]
        found: np.ndarray = np.einsum("h,hrd->rd", direction, np.stack(listed))
        return found.ravel()

    one, other = scores(-1.0, 5), scores(1.0, 6)
    found = abs(one.mean() - other.mean()) / math.sqrt((one.var() + other.var()) / 2)
    assert found == pytest.approx(shift, abs=5 * math.sqrt(2 / len(one)))
    bound = disclosure(
        ends(4), graph, method=method, mixing=mixing, steps=steps, iterations=5, noise=noise,
        coalitions=[[0]],
    )  # fmt: skip
    assert shift <= bound.composed[-1]
    least = Loss.gaussian(1.0, 0.8 * shift).epsilon(1e-2)
    assert 0 < least < bound.epsilon(1e-2)
