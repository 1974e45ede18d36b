"""What every aggregator can do that can average."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from gopa.aggregation.result import Result
from gopa.aggregation.structure import Value


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
        """The same round as `average`: the sum is in `Result.sum`."""
        return self.average(values, weights=weights)

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
