"""Learns by deep Q-learning when to make a model public, as Jin, He and Dai publish it.

Decisions follow from losses on private rows, so whoever sees them learns of the rows: no privacy
is claimed. Specification: `specs/19-without-replacement.md`, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gopa import UsageError
from gopa.learning.checks import generator, number, whole
from gopa.learning.without_replacement.policies import Chosen, Controller
from gopa.support.arrays import Floats

_HIDDEN: Final = 128
_MEMORY: Final = 20
_BATCH: Final = 10
_RATE: Final = 0.01
_ADAM: Final = (0.9, 0.999, 1e-8)


@dataclass(frozen=True, slots=True)
class DeepQ:
    """Two linear networks for each node, run and model: what a decision is worth.

    Random decisions fall from all of them to a tenth within `annealed` steps. The paper does not
    say the discount, nor how often the second network follows the first.
    """

    annealed: int
    discount: float = 0.9
    follows: int = 10

    reads_data = True
    name = "deep Q-learning"

    def __post_init__(self) -> None:
        whole(self.annealed, "annealed")
        whole(self.follows, "follows")
        if not 0 <= number(self.discount, "discount") < 1:
            raise UsageError("at least 0 and below 1", "discount")

    def controller(self, node: int, *, runs: int, models: int, width: int, seed: int) -> Controller:
        streams = [generator(seed, "deep Q", str(run), str(node)) for run in range(runs)]
        return _Learner(self, streams, models, width)


class _Learner:
    """The learner of one node, in all runs and models side by side.

    Networks are W2 (W1 s + c1) + c2 without bends, for a state s: the model and its loss.
    """

    def __init__(
        self, settings: DeepQ, streams: list[np.random.Generator], models: int, width: int
    ) -> None:
        self._settings, self._streams, self._models = settings, streams, models
        shapes = ((width + 1, _HIDDEN), (1, _HIDDEN), (_HIDDEN, 2), (1, 2))
        self._weights = [self._drawn(shape) for shape in shapes]
        self._target = [each.copy() for each in self._weights]
        self._first = [np.zeros_like(each) for each in self._weights]
        self._second = [np.zeros_like(each) for each in self._weights]
        self._memory: list[tuple[Floats, Chosen, Floats, Floats]] = []
        self._last: tuple[Floats, Chosen] | None = None
        self._reward: Floats | None = None
        self._steps = self._updates = 0

    def choose(self, models: Floats, losses: Floats) -> Chosen:
        state = np.concatenate([models, losses[..., None]], axis=-1)
        if self._last is not None and self._reward is not None:
            self._memory.append((*self._last, self._reward, state))
            del self._memory[:-_MEMORY]
            self._learn()
        explored = max(0.1, 1 - 0.9 * self._steps / self._settings.annealed)
        tossed = self._rng(lambda rng: rng.random((2, self._models)))
        worth = _worth(self._weights, state[:, :, None])[0][:, :, 0]
        best = worth[..., 1] > worth[..., 0]
        chosen = np.where(tossed[:, 0] < explored, tossed[:, 1] < 0.5, best)
        self._last, self._steps = (state, chosen), self._steps + 1
        return chosen

    def told(self, losses: Floats) -> None:
        self._reward = -losses

    def _learn(self) -> None:
        """One step of Adam on the squares of the differences that are learnt from."""
        size = min(_BATCH, len(self._memory))
        picked = self._rng(lambda rng: rng.choice(len(self._memory), size, replace=False))
        states, chosen, rewards, after = (
            np.stack(each) for each in zip(*self._memory, strict=True)
        )
        runs = np.arange(len(self._streams))[:, None]
        state, then = (each[picked, runs].swapaxes(1, 2) for each in (states, after))
        reward, public = (each[picked, runs].swapaxes(1, 2) for each in (rewards, chosen))
        wanted = reward + self._settings.discount * _worth(self._target, then)[0].max(axis=-1)
        worth, hidden = _worth(self._weights, state)
        took = public.astype(int)[..., None]
        miss = np.take_along_axis(worth, took, -1)[..., 0] - wanted
        slope = np.zeros_like(worth)
        np.put_along_axis(slope, took, (2 * miss / size)[..., None], -1)
        back = np.einsum("rcbo,rcho->rcbh", slope, self._weights[2])
        slopes = [
            np.einsum("rcbs,rcbh->rcsh", state, back),
            back.sum(axis=2, keepdims=True),
            np.einsum("rcbh,rcbo->rcho", hidden, slope),
            slope.sum(axis=2, keepdims=True),
        ]
        self._updates += 1
        keep, keep_squares, least = _ADAM
        for place, each in enumerate(slopes):
            self._first[place] = keep * self._first[place] + (1 - keep) * each
            self._second[place] = keep_squares * self._second[place] + (1 - keep_squares) * each**2
            mean = self._first[place] / (1 - keep**self._updates)
            spread = np.sqrt(self._second[place] / (1 - keep_squares**self._updates))
            self._weights[place] -= _RATE * mean / (spread + least)
        if self._updates % self._settings.follows == 0:
            self._target = [each.copy() for each in self._weights]

    def _drawn(self, shape: tuple[int, int]) -> Floats:
        """Weights as Glorot and Bengio draw them; thresholds start at 0."""
        if shape[0] == 1:
            return np.zeros((len(self._streams), self._models, *shape))
        bound = np.sqrt(6 / sum(shape))
        drawn: Floats = self._rng(lambda rng: rng.uniform(-bound, bound, (self._models, *shape)))
        return drawn

    def _rng(self, draw: Callable[[np.random.Generator], Any]) -> Any:
        return np.stack([draw(rng) for rng in self._streams])


def _worth(weights: list[Floats], states: Floats) -> tuple[Floats, Floats]:
    """What both decisions are worth in each state, and the layer between."""
    hidden = np.einsum("rcbs,rcsh->rcbh", states, weights[0]) + weights[1]
    return np.einsum("rcbh,rcho->rcbo", hidden, weights[2]) + weights[3], hidden
