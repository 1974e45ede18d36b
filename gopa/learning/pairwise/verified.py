"""Estimates statistics of pairs from a verified histogram: one session, and an audit of it.

Specification: `specs/23-pairwise.md`, section 6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import gopa
from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.data import Users
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.kernels import NAMED_KERNELS, Kernel, points_of
from gopa.learning.pairwise.local import (
    Cells,
    chosen_cells,
    groups_of,
    kernels_between,
    require_local,
)
from gopa.learning.privacy import Charge, Privacy
from gopa.noise import subseed
from gopa.support.arrays import Floats


@algorithm(
    named={"kernel": (Kernel, NAMED_KERNELS)},
    labels="signs",
    points=True,
    alone="a session makes its own: leave graph and clock out",
)
def fit_verified(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    cells: Cells | None = None,
    **options: Any,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs, from verified counts of cells.

    Users with one public label are a session of their own. `options` are those of
    `gopa.histogram`, such as `corrupt` and `mode`; what its sessions assume stands in `spent`.

    Raises:
        UsageError: parts do not fit together.
    """
    asked = require_local(privacy, problem)
    run = AlgorithmRun(seed=seed, progress=progress, stops=False)
    if options.get("mode") == "off":
        raise UsageError("a session leaves a log that can be audited: not off", "mode")
    points = points_of(problem.table)[np.concatenate(problem.rows)]
    chosen = chosen_cells(cells, kernel, len(points), asked.epsilon)
    public, groups = groups_of(points, kernel)
    divisor, inside = kernel.divisor(points[:, 1]), chosen.of(points, seed)
    ledger = PrivacyLedger(asked)
    # Nobody is in two groups, so all sessions together cost what one costs.
    ledger.charge(Charge.guarantee(asked.epsilon, asked.delta), note="counts")
    with run:
        results = [
            gopa.histogram(
                inside[groups == group] + 0.5,
                bins=chosen.count,
                range=(0, chosen.count),
                epsilon=asked.epsilon,
                delta=asked.delta,
                seed=int.from_bytes(subseed(seed, "pairwise", "session", group)[:6]),
                **options,
            )
            for group in run.steps(len(public), "sessions")
        ]
    assumed = [line for each in results if each.privacy for line in each.privacy.assumptions]
    counts = np.stack([each.counts for each in results])
    deviations = np.stack([np.broadcast_to(each.sum_stderr, counts[0].shape) for each in results])
    value = from_counts(kernels_between(kernel, chosen, public), counts, deviations) / divisor
    logs = [each.transcript.log() for each in results]
    return run.outcome(
        f"statistic of pairs from verified counts ({kernel.name})",
        value,
        history=History(
            {"users": [len(points)], "estimate": [value], "count_error": [float(deviations.max())]}
        ),
        spent=replace(
            ledger.spent(), assumptions=tuple(dict.fromkeys([*kernel.assumptions, *assumed]))
        ),
        messages=sum(each.size for each in logs),
        bytes=sum(len(entry) for each in logs for entry in each.entries()),
        transcript=tuple(each.transcript for each in results),
    )


def from_counts(kernels: Floats, counts: Floats, deviations: Floats) -> float:
    """The sum of a kernel over all pairs of points, right in expectation, from noisy counts.

    Pairs of a point with itself are taken out, and what the noise of a count does to its square.
    """
    everything = float(np.einsum("gi,ghij,hj->", counts, kernels, counts))
    own = np.einsum("ggii->gi", kernels)
    return everything - float((own * (counts + deviations**2)).sum())
