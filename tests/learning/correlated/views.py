"""What colluders hear of quadratic functions, worked out as one normal vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gopa.graph import Graph, MixingMatrix
from gopa.learning.steps import Steps

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
