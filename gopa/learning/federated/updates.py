"""Federated averaging of updates of any kind: whoever brings a function of weights has a run.

`gopa.learning.torch` is one such; nothing here knows of PyTorch. An update is one vector of the
numbers that are trained, shortened to a bound as a whole. Specification: `specs/22-federated.md`,
section 3 (22-F26).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import number
from gopa.learning.clipping import finite
from gopa.learning.federated.rounds import AdaptiveClip, RoundShape, mean_round, require_bound
from gopa.learning.federated.setting import Setting
from gopa.learning.federated.sums import SumRun, SumSession
from gopa.support.arrays import Floats

Rule: TypeAlias = Callable[[Floats], Floats]
"""How far the model moves, by the mean update of a round; it remembers earlier ones."""


@dataclass(frozen=True, slots=True)
class ServerSGD:
    """The mean update times `rate`, with `momentum` of the steps before; by default FedAvg."""

    rate: float = 1.0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        _require_rates(self.rate, momentum=self.momentum)

    def begun(self, width: int) -> Rule:
        """The rule of a new run, which has seen nothing."""
        velocity = np.zeros(width)

        def step(mean: Floats) -> Floats:
            velocity[:] = self.momentum * velocity + mean
            return self.rate * velocity

        return step


@dataclass(frozen=True, slots=True)
class ServerAdam:
    """FedAdam of Reddi et al. (2021), without correction of its beginning, as it stands there."""

    rate: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        _require_rates(self.rate, beta1=self.beta1, beta2=self.beta2)
        if not 0 < number(self.tau, "tau") < math.inf:
            raise UsageError("a finite number above 0", "tau")

    def begun(self, width: int) -> Rule:
        """The rule of a new run, which has seen nothing."""
        first, second = np.zeros(width), np.full(width, self.tau**2)

        def step(mean: Floats) -> Floats:
            first[:] = self.beta1 * first + (1 - self.beta1) * mean
            second[:] = self.beta2 * second + (1 - self.beta2) * mean**2
            return np.asarray(self.rate * first / (np.sqrt(second) + self.tau))

        return step


def _require_rates(rate: float, **parts: float) -> None:
    if not 0 < number(rate, "rate") < math.inf:
        raise UsageError("a finite number above 0", "rate")
    for name, value in parts.items():
        if not 0 <= number(value, name) < 1:
            raise UsageError("from 0 to below 1", name)


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The places of named arrays in one vector."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def width(self) -> int:
        """How many numbers the vector has."""
        return sum(map(math.prod, self.shapes.values()))

    def joined(self, arrays: Mapping[str, npt.ArrayLike]) -> Floats:
        """The vector of these arrays, which have the names and shapes of the layout."""
        if not isinstance(arrays, Mapping):
            raise UsageError("arrays by name", "module")
        found = {name: np.asarray(each, dtype=np.float64) for name, each in arrays.items()}
        shapes = {name: each.shape for name, each in found.items()}
        if shapes != dict(self.shapes):
            wrong = sorted(dict(set(shapes.items()) ^ set(self.shapes.items())))
            raise UsageError(f"other names or shapes than at first: {', '.join(wrong)}", "module")
        return np.concatenate([found[name].ravel() for name in self.shapes])

    def split(self, vector: npt.ArrayLike) -> dict[str, Floats]:
        """The named arrays of a vector."""
        found = finite(vector, "module")
        ends = np.cumsum([math.prod(each) for each in self.shapes.values()])
        parts = np.split(found, ends[:-1])
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(shape) for (name, shape), part in pairs}


class UpdateRun(SumRun):
    """Rounds of clipped updates, and the weights that follow from their means.

    `updates` says by how much every user changes weights, in the round of a number, one row each;
    `show` hears the weights after a round.
    """

    def __init__(  # noqa: PLR0913 - what a run is about
        self,
        setting: Setting,
        layout: ArrayLayout,
        weights: Floats,
        updates: Callable[[Floats, int], Floats],
        *,
        users: int,
        rounds: int,
        clip: float | AdaptiveClip,
        server: ServerSGD | ServerAdam,
        show: Callable[[Floats], None] = lambda _: None,
    ) -> None:
        super().__init__()
        if setting.unit != "user":
            message = 'one row changes all steps of its user: ask for the unit "user"'
            raise UsageError(message, "privacy")
        if not isinstance(server, ServerSGD | ServerAdam):
            raise UsageError("a ServerSGD or a ServerAdam", "server")
        self.weights, self._layout, self._updates, self._show = weights, layout, updates, show
        self._clip = clip if isinstance(clip, AdaptiveClip) else None
        self._bound = require_bound(clip.bound if isinstance(clip, AdaptiveClip) else clip)
        self._shape = RoundShape(layout.width, weighted=False, adaptive=self._clip is not None)
        self._step, self._shortened, self._broken = server.begun(layout.width), 0, 0
        self._idle = True
        self.session = SumSession(
            "FedAvg of a module",
            replace(setting, begun=weights),
            users=users,
            width=self._shape.dimension,
            half=self._shape.half,
            rounds=rounds,
        )

    def _round(self, problem: Any) -> None:
        del problem  # it is with whoever computes updates
        updates, bound = self._updates(self.weights, self.done), self._bound
        # No length makes NaN harmless, and whoever stopped for it would tell that somebody has one.
        broken = np.asarray(~np.isfinite(updates).all(axis=1))
        updates = np.where(broken[:, None], 0.0, updates)
        self._idle = self._idle and not updates.any()
        found = mean_round(self.session, self._shape, updates, bound=bound)
        step = self._step(found.mean)
        self.weights = self.weights + step
        self._shortened += found.shortened
        self._broken += int(broken.sum())
        self.notes.note(
            round=self.done,
            users=found.count,
            bound=bound,
            shortened=found.shortened,
            broken=int(broken.sum()),
            noise=found.stderr / found.count,
            step=float(np.sqrt(np.sum(step * step))),
        )
        if self._clip is not None and found.kept is not None:
            self._bound = self._clip.after(bound, found.kept)
        self._show(self.weights)

    def _model(self) -> dict[str, Any]:
        return dict(self._layout.split(self.weights))

    def _warnings(self) -> Sequence[str]:
        found = []
        if self._idle and not self._broken:
            found.append(
                "no user changed anything: it is the copy that is to be trained, in its place"
            )
        if self._shortened:
            found.append(f"{self._shortened} updates were shortened to the clipping bound")
        if self._broken:
            found.append(
                f"{self._broken} updates were not finite and counted as 0: take shorter steps, "
                "or look for NaN in the data"
            )
        return found
