"""Averages by gossip: noisy numbers that spread over a graph, or groups that meet in sessions.

Specification: `specs/13-network-dp.md`, section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gopa
from gopa import UsageError
from gopa.graph import Graph, MixingMatrix, metropolis, require_connected
from gopa.learning.calls import algorithm
from gopa.learning.checks import generator, whole
from gopa.learning.data import Users as Problem
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.network_dp.counting import SHARED, claimed, require_supported, width_of
from gopa.learning.network_dp.laws import local_sigma
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Charge, Privacy
from gopa.support.arrays import Floats

_SEEN = 1e-13
"""A direction with more than this left of it is new: to err by rounding only adds."""


def gossip_shifts(mixing: MixingMatrix, rounds: int, observer: int) -> Floats:
    """What one user learns of each other one: the squared shift, in units of local noise.

    Every user adds noise once and mixes for so many rounds. The observer sees all messages of its
    neighbours, knows its own noise, and solves the linear equations as well as can be: 1 means
    that it knows the noisy number itself.
    """
    w = mixing.matrix.toarray()
    whole(observer, "observer", 0, len(w) - 1)
    new = np.eye(len(w))[(w[observer] > 0) & (np.arange(len(w)) != observer)]
    # Its own numbers are known in every round, and so is what they do to others.
    w[observer] = w[:, observer] = 0.0
    known = np.empty((0, len(w)))
    for _ in range(whole(rounds, "rounds")):
        for _ in range(2):
            new = new - new @ known.T @ known
        _, sizes, directions = np.linalg.svd(new, full_matrices=False)
        known = np.concatenate([known, directions[sizes > _SEEN]])
        # However little of a number comes this far: there is no other noise.
        new = directions[sizes > _SEEN] @ w
    return np.asarray(np.minimum((known**2).sum(axis=0), 1.0))


@algorithm(labels="unread")
def fit_gossip(  # noqa: PLR0913 - every algorithm is called like this
    problem: Problem,
    *,
    privacy: Privacy | None,
    graph: Graph | None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    low: float = 0.0,
    high: float = 1.0,
    rounds: int = 20,
    runs: int = 1,
) -> Outcome:
    """Everybody's mean: each adds noise once and mixes with its neighbours (Muffliato).

    Neighbours see the noisy number itself, so the noise is that of local privacy; distant users
    learn less, as `gossip_shifts` says. The model has one mean for each user.
    """
    run = AlgorithmRun(seed=seed, progress=progress)
    require_supported(privacy)
    if clock is not None:
        raise UsageError("all act at once: there is no clock", "clock")
    if graph is None or graph.parties != len(problem) or len(problem) < 2:
        raise UsageError("a graph of all users, at least two", "graph")
    mixing = metropolis(require_connected(graph))
    values, width = _single(problem, low, high)
    sigma = 0.0 if privacy is None else local_sigma(privacy.epsilon, privacy.delta, 1, width)
    noise = generator(seed, "network dp", "gossip").standard_normal(
        (len(values), whole(runs, "runs"))
    )
    found = values[:, None] + sigma * noise
    with run:
        for each in range(whole(rounds, "rounds") + 1):
            error = np.sqrt(np.mean((found - values.mean()) ** 2, axis=0))
            run.note(round=each, error=error)
            run.advance("rounds", each, rounds)
            if run.stopped or each == rounds:
                break
            found = mixing.matrix @ found
    sent = each * int(graph.degrees.sum())
    return run.outcome(
        "gossip of noisy numbers",
        found[:, 0] if runs == 1 else found,
        spent=claimed(privacy, "13-network-dp, theorem 8", SHARED[:1], f"noise {sigma:.4g}"),
        messages=sent,
        bytes=8 * sent,
    )


@algorithm(labels="unread")
def fit_groups(  # noqa: PLR0913 - every algorithm is called like this
    problem: Problem,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    size: int,
    low: float = 0.0,
    high: float = 1.0,
    corrupt: int = 0,
) -> Outcome:
    """The mean by groups of `size` users, each with a verified session, and gossip between groups.

    The noise of a group hides all of its members together, so its error falls with the size of
    groups: from that of local noise to that of one session of everybody. Users who are left over
    join the last groups.
    """
    if privacy is None or privacy.view != "everything" or graph is not None or clock is not None:
        raise UsageError("privacy against everybody, and neither graph nor clock", "privacy")
    require_supported(privacy)
    users = len(problem)
    # A session has at least three.
    whole(size, "size", 3, users)
    values, width = _single(problem, low, high)
    order = generator(seed, "network dp", "groups").permutation(users)
    groups = np.array_split(order, users // size)
    ledger = PrivacyLedger(privacy, assumptions=[f"at most {corrupt} of a group collude"])
    run = AlgorithmRun(seed=seed, progress=progress, ledger=ledger, stops=False)
    # Nobody is in two groups: all of them together cost a user what one does.
    ledger.charge(Charge.guarantee(privacy.epsilon, privacy.delta), note="its group")
    transcripts, total, sent, written = [], 0.0, 0, 0
    with run:
        for place in run.steps(len(groups), "groups"):
            members = groups[place]
            result = gopa.average(
                (values[members] - low) / width,
                epsilon=privacy.epsilon,
                delta=privacy.delta,
                mode="signed",
                corrupt=corrupt,
                seed=seed * len(groups) + place,
            )
            total += float(result) * len(members)
            log = result.transcript.log()
            transcripts.append(result.transcript)
            sent, written = sent + log.size, written + sum(map(len, log.entries()))
            run.note(group=place, mean=float(result), stderr=result.stderr)
    return run.outcome(
        f"sessions of {size}",
        low + width * total / users,
        messages=sent,
        bytes=written,
        transcript=tuple(transcripts),
    )


def _single(problem: Problem, low: float, high: float) -> tuple[Floats, float]:
    """Everybody's number, and how far numbers are apart."""
    if (problem.counts != 1).any():
        raise UsageError("every user has one row", "problem")
    width, first = width_of(low, high), np.concatenate(problem.rows)
    return np.asarray(np.clip(problem.table.features[first, 0], low, high)), width
