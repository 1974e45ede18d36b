"""The data of all agents as arrays, and what was declared about the length of rows.

Specification: `specs/17-graphs-and-clocks.md`, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.clipping import Norm, clip, finite, length, require_norm
from gopa.support.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class AgentRows:
    """The data of all agents, padded to equal length: x (agents, rows, d), y, counts.

    `bounds` says what was declared about the length of rows, by norm, and `label_bound` about
    labels. An agent may have no row at all.
    """

    x: Floats
    y: Floats
    counts: npt.NDArray[np.int64]
    bounds: Mapping[Norm, float] = field(default_factory=dict)
    label_bound: float = math.inf

    def __post_init__(self) -> None:
        agents, rows, _ = self.x.shape
        if self.y.shape != (agents, rows) or self.counts.shape != (agents,):
            raise UsageError("x (agents, rows, d), y (agents, rows) and counts (agents)", "rows")
        if not ((self.counts >= 0) & (self.counts <= rows)).all():
            raise UsageError("an agent has as many rows as are counted, or padding", "counts")
        for norm, bound in self.bounds.items():
            # Noise is measured by what is declared: it has to be true, up to rounding.
            if not (length(self.x, norm) <= bound * (1 + 1e-9)).all():
                raise UsageError("some rows are longer than declared: use `clipped`", "bounds")
        if not (np.abs(self.y) <= self.label_bound).all():
            raise UsageError("some labels are larger than declared", "label_bound")
        for array in (self.x, self.y, self.counts):
            array.flags.writeable = False

    @staticmethod
    def of(datasets: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> AgentRows:
        """One pair for each agent: rows of features, and as many labels."""
        if not len(datasets):
            raise UsageError("there is at least one agent", "datasets")
        parts = [_dataset(x, y, f"datasets[{i}]") for i, (x, y) in enumerate(datasets)]
        widths = {x.shape[1] for x, _ in parts}
        if len(widths) > 1 or 0 in widths:
            raise UsageError(
                f"rows of all agents have equal widths, at least 1: these have {sorted(widths)}",
                "datasets",
            )
        counts = np.array([len(y) for _, y in parts], dtype=np.int64)
        x = np.zeros((len(parts), max(1, int(counts.max())), *widths))
        y = np.zeros(x.shape[:2])
        for i, (rows, labels) in enumerate(parts):
            x[i, : len(labels)], y[i, : len(labels)] = rows, labels
        return AgentRows(x, y, counts)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows are no padding."""
        return np.arange(self.y.shape[1]) < self.counts[:, None]

    def clipped(self, norm: Norm, bound: float, *, labels: float = math.inf) -> AgentRows:
        """Rows no longer than `bound`, labels of no larger modulus; both count as declared."""
        if not labels > 0:
            raise UsageError("a bound is positive", "labels")
        bounds = {**self.bounds, norm: min(bound, self.bounds.get(norm, math.inf))}
        y = np.clip(self.y, -labels, labels)
        return AgentRows(
            clip(self.x, norm, bound), y, self.counts, bounds, min(labels, self.label_bound)
        )

    def bound(self, norm: Norm) -> float:
        """How long a row is at most, by what was declared in this norm or another."""
        wanted, width = require_norm(norm), self.x.shape[2]
        found = min(
            (bound * widening(declared, wanted, width) for declared, bound in self.bounds.items()),
            default=math.inf,
        )
        if found == math.inf:
            raise UsageError(
                "no bound of the rows was declared, and measuring one would betray them: "
                "use `clipped`",
                "rows",
            )
        return found


def widening(known: Norm, wanted: Norm, width: int) -> float:
    """The most by which one norm exceeds another in so many dimensions."""
    return max(1.0, math.pow(width, 1 / wanted - 1 / known))


def _dataset(x: npt.ArrayLike, y: npt.ArrayLike, where: str) -> tuple[Floats, Floats]:
    rows, labels = finite(x, where), finite(y, where)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise UsageError("a table of rows, and one label for each", where)
    return rows, labels
