"""The one vector that a session sums: a model and its metrics, put in and taken out.

A party contributes how its model *differs* from the one that it was sent: differences need a
narrower range than models. Metrics follow, each moved from its own range into that of the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gopa.support.arrays import Floats
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json

Arrays = Mapping[str, npt.NDArray[Any]]

_LARGEST: Final = 65_536
_NAMES: Final = frozenset({"weighted_by", "max_weight", "low", "high", "metrics", "clip"})


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """What a vector holds besides the model, and in which range its numbers are.

    `weighted_by` is the metric that is the weight of a party, at most `max_weight`; without that
    all weigh the same. `metrics` are the names and ranges of those that are averaged too; no other
    leaves a party. With `clip` numbers outside of their range are moved into it.

    Raises `UsageError` for a range that is none.
    """

    weighted_by: str
    max_weight: str | None
    low: float
    high: float
    metrics: tuple[tuple[str, float, float], ...] = ()
    clip: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("range", self.low, self.high), *self.metrics):
            if not -np.inf < low < high < np.inf:
                raise UsageError("two numbers, the lower one first", name)
        if len({name for name, *_ in self.metrics}) < len(self.metrics):
            raise UsageError("each metric once", "metrics")
        if self.weighted_by in {name for name, *_ in self.metrics}:
            raise UsageError("the weight is summed by itself: leave it out", "metrics")

    def to_json(self) -> str:
        """What parties are told."""
        return json.dumps(asdict(self))

    @staticmethod
    def title(text: str) -> str:
        """The title of sessions over this layout, so that all parties in one were told the same."""
        return f"Flower, layout {sha256(text.encode()).hexdigest()}"

    @classmethod
    def from_json(cls, text: str) -> ModelLayout:
        """Read what a server says; `MalformedMessage` for anything else."""
        try:
            found = read_json(text.encode()) if len(text) <= _LARGEST else None
            if not isinstance(found, dict) or found.keys() != _NAMES:
                raise MalformedMessage("a layout has other names", "layout")
            metrics = tuple((str(a), float(b), float(c)) for a, b, c in found["metrics"])
            most = found["max_weight"]
            return cls(
                str(found["weighted_by"]),
                None if most is None else str(most),
                float(found["low"]),
                float(found["high"]),
                metrics,
                found["clip"] is True,
            )
        except (ValueError, TypeError, OverflowError, UsageError) as error:
            raise MalformedMessage(f"no layout: {error}", "layout") from None

    def size(self, model: Arrays) -> int:
        """How many numbers a party contributes, without its weight."""
        return sum(each.size for each in model.values()) + len(self.metrics)

    def vector(self, sent: Arrays, trained: Arrays, metrics: Mapping[str, Any]) -> Floats:
        """What a party contributes; `UsageError` if the trained model is of another form."""
        if list(sent) != list(trained):
            raise UsageError("the names of the model that was sent, in its order", "arrays")
        parts = []
        for name, before in sent.items():
            after = trained[name]
            if after.shape != before.shape:
                raise UsageError(f"{name} has another shape than in the model sent", "arrays")
            parts.append((after.astype(np.float64) - before.astype(np.float64)).reshape(-1))
        parts.append(np.array([self._moved(metrics, *each) for each in self.metrics]))
        return np.concatenate(parts)

    def weight(self, metrics: Mapping[str, Any]) -> float | None:
        """The weight of a party, None where all weigh the same."""
        if self.max_weight is None:
            return None
        return self._number(metrics, self.weighted_by)

    def model(self, sent: Arrays, mean: Floats) -> tuple[dict[str, npt.NDArray[Any]], Floats]:
        """The averaged model, in the types of the one that was sent, and the averaged metrics."""
        found, start = {}, 0
        for name, before in sent.items():
            part = mean[start : start + before.size].reshape(before.shape)
            found[name] = _as_type(before.astype(np.float64) + part, before.dtype)
            start += before.size
        width = self.high - self.low
        ends = np.array([(low, high) for _, low, high in self.metrics]).reshape(-1, 2)
        shares = (mean[start:] - self.low) / width
        return found, ends[:, 0] + shares * (ends[:, 1] - ends[:, 0])

    def _moved(self, metrics: Mapping[str, Any], name: str, low: float, high: float) -> float:
        share = (self._number(metrics, name) - low) / (high - low)
        return self.low + share * (self.high - self.low)

    @staticmethod
    def _number(metrics: Mapping[str, Any], name: str) -> float:
        value = metrics.get(name)
        if not isinstance(value, int | float):
            raise UsageError(f"the app's reply has no metric {name} that is a number", "metrics")
        return float(value)


def _as_type(values: Floats, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.kind == "b":
        return values >= 0.5
    return (np.rint(values) if dtype.kind in "iu" else values).astype(dtype)
