"""Defines what learning code is written against, and derives most of it from `average`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, runtime_checkable

from gopa.aggregation.result import Result
from gopa.aggregation.structure import Value
from gopa.planning import Terms


@runtime_checkable
class Aggregator(Protocol):
    """Averages values that stay private, round after round, under the terms of one plan.

    `own` are the positions of the parties whose values this process holds; `average` and
    `sum` take one value for each of them, in this order. All values of a round have one
    structure (a number, an array, or a dict, list or tuple of values), which the result
    has too; None stands for a party that does not take part. Weights are private, one for
    each value.
    """

    @property
    def terms(self) -> Terms:
        """What the rounds are planned for."""

    @property
    def own(self) -> Sequence[int]:
        """Whose values this process holds."""

    @property
    def rounds_left(self) -> int:
        """How many more results the terms cover."""

    def average(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """One round: the mean (weighted, with weights) is in `Result.mean`."""

    def sum(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """One round: the sum is in `Result.sum`."""

    async def average_async(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """`average`, without holding up the event loop."""

    async def sum_async(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """`sum`, without holding up the event loop."""


class AggregatorBase(ABC):
    """Derives the rest of the `Aggregator` interface from `average`; is a context manager."""

    @abstractmethod
    def average(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """One round: the mean is in `Result.mean`."""

    @abstractmethod
    def close(self) -> None:
        """No more rounds; calling it again does nothing."""

    def sum(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """The same round as `average`: the sum is in `Result.sum`, and is what the result shows."""
        return replace(self.average(values, weights=weights), asked="sum")

    async def average_async(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """`average` in a thread of its own, without holding up the event loop."""
        return await asyncio.to_thread(self.average, values, weights=weights)

    async def sum_async(
        self, values: Sequence[Value | None], *, weights: Sequence[Any] | None = None
    ) -> Result:
        """`sum` in a thread of its own, without holding up the event loop."""
        return await asyncio.to_thread(self.sum, values, weights=weights)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
