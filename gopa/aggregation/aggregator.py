"""What learning code is written against, and an aggregator with all parties in this process."""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, get_args, runtime_checkable

from commitments import ristretto255
from commitments.group import Group
from gopa.aggregation.encoding import Encoded, Encoding, Plain
from gopa.aggregation.engine import (
    AnyScript,
    Carried,
    Coins,
    Engine,
    Mode,
    OffMode,
    Seed,
    Settings,
    Trust,
    fresh_stream,
    leaving,
    source,
)
from gopa.aggregation.result import Reading, Result, result_of
from gopa.aggregation.values import Absent, Value, Values, values_of, weights_of
from gopa.aggregation.weighting import Weights, encoding_with, largest_weight
from gopa.contract.terms import check_name
from gopa.planning import Plan, Terms
from gopa.planning.target import python_number
from gopa.support.wording import counted
from wire.domains import ROUNDING
from wire.errors import UsageError
from wire.randomness import Rng

if TYPE_CHECKING:
    from gopa.protocol.simulation import Simulation


@runtime_checkable
class Aggregator(Protocol):
    """An aggregator of values that stay private, round after round, under the terms of one plan.

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
    """The rest of the `Aggregator` interface, derived from `average`; a context manager."""

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


def make_engine(terms: Terms, settings: Settings, group: Group, rng: Rng) -> Engine:
    """The engine for these settings; `UsageError` where plan and settings do not fit."""
    if settings.mode == "off":
        if settings.trust == "honest-but-curious" and terms.mask != "gaussian":
            raise UsageError("masks that stay in the sum are Gaussian: plan with them", "trust")
        script = leaving(settings.script, terms.parties)
        return OffMode(terms, group, rng, script, settings.progress)
    from gopa.aggregation.sessions import LocalSession

    return LocalSession(terms, settings, rng)


_LOG: Final = logging.getLogger("gopa.aggregation")


class LocalAggregator(AggregatorBase):
    """An aggregator with all parties in this process, which is always a *simulation*.

    One session serves all rounds: at most `plan.terms.rounds`, because the plan composes
    that many results computed from the same inputs. Usable as a context manager.

    `mode`: "full" proves that inputs are in range and that noise was drawn, "signed"
    proves neither and is quicker for long vectors, "off" does the arithmetic alone and
    claims nothing. `trust` "honest-but-curious" (not in full mode) leaves masks of
    parties that drop out in the sum, as further noise. `max_weight` is the largest
    weight; with it every round takes weights, and the plan has one dimension more than
    the values. `storage` is a directory for the log, which is otherwise kept in memory.
    `seed` makes everything reproducible. `script` says who drops out when: in mode off, which has
    no phases, nobody leaves after join. `beacon` is
    where the coins come from: "test" for coins from the log alone, or "commit-reveal".
    `progress` shows a bar on long rounds (None), on all (True) or never (False), on
    terminals and in notebooks. With `clip`, values the plan does not allow are moved to the
    nearest ones that it does, and counted; otherwise they are refused. With `absent` "nan" a
    value that is NaN stands for a party that does not take part, as None does; otherwise it is
    refused. `executor` checks proofs
    and signatures: any one, `gopa.executors.RayExecutor` too. In `jobs` threads parties
    work at once, and checks run there without an executor; results and log are the same.
    With `remember_noise` the simulation keeps what nobody else may know, for tests.
    With `vouched` vectors may be longer than the plan's norm: the caller answers for it that no two
    vectors that are not to be told apart are farther apart than twice the norm. So one record
    among many of a party is hidden, with less noise than would hide the party.

    Calls from several threads take turns.

    Raises:
        UsageError: settings that do not go together, or with the plan.
        Refusal: full or signed mode, and the plan claims more privacy than it has.
    """

    def __init__(  # noqa: PLR0913 - every setting has a name
        self,
        plan: Plan | Terms,
        *,
        mode: Mode = "full",
        trust: Trust = "malicious",
        max_weight: float | str | Decimal | None = None,
        storage: str | Path | None = None,
        seed: Seed = None,
        script: AnyScript | None = None,
        beacon: Coins = "test",
        progress: bool | None = None,
        clip: bool = False,
        absent: Absent = "none",
        executor: Executor | None = None,
        jobs: int = 1,
        remember_noise: bool = False,
        vouched: bool = False,
    ) -> None:
        self._terms = plan.terms if isinstance(plan, Plan) else plan
        self._most = None if max_weight is None else largest_weight(max_weight)
        self._clip = python_number(clip)
        if type(self._clip) is not bool:
            raise UsageError("must be true or false", "clip")
        check_name(absent, get_args(Absent), "absent")
        self._absent: Absent = absent
        self._vouched = vouched
        if vouched and self._most is not None:
            raise UsageError("weights keep to the plan's norm: leave one of both out", "vouched")
        seed = python_number(seed)
        self._settings = Settings(
            mode=mode,
            trust=trust,
            storage=None if storage is None else Path(storage),
            seed=seed,
            script=script,
            progress=python_number(progress),
            executor=executor,
            jobs=python_number(jobs),
            beacon=beacon,
            weighted=self._most is not None,
            remember_noise=remember_noise,
        )
        self._group: Group = ristretto255()
        self._rng = source(seed, self._group)
        self._engine = make_engine(self._terms, self._settings, self._group, self._rng)
        self._rounds = 0
        self._closed = False
        self._turn = threading.Lock()

    def __repr__(self) -> str:
        left = counted(self.rounds_left, "round")
        return f"<{type(self).__name__}: {self.terms.parties} parties, {left} left, simulation>"

    @property
    def terms(self) -> Terms:
        """What the rounds are planned for."""
        return self._terms

    @property
    def own(self) -> Sequence[int]:
        """All parties."""
        return range(self._terms.parties)

    @property
    def rounds_left(self) -> int:
        """How many more results the plan covers."""
        return self._terms.rounds - self._rounds

    @property
    def simulation(self) -> Simulation | None:
        """The parties, organiser and board of this process; None in mode off."""
        return self._engine.simulation

    def average(self, values: Values, *, weights: Values | None = None) -> Result:
        """One round over one value for each party; None does not take part.

        Raises:
            OutOfRange: a value that the plan does not allow, unless clipping is on.
            InvalidValue, InvalidWeight, UsageError: values, weights or their number do
                not fit each other or the plan, or its rounds are used up. Nothing was
                released.
            RoundAborted: too many parties were lost in every attempt.
            WeightTooSmall: the noisy sum of the weights cannot be told from zero.
        """
        listed = values_of(values, self._absent)
        return self.aggregate(listed, self.encoding(listed, weights))

    def aggregate(self, values: Values, encoding: Encoding) -> Result:
        """One round over values that an encoding turns into integers, and the sum back.

        Whoever brings an encoding of their own answers for what the plan is told: that
        two rows of it are never further apart than `terms.squared_sensitivity` says.
        """
        with self._turn:
            if self._closed:
                raise UsageError("it is closed: make another one", "aggregator")
            if not self.rounds_left:
                held = counted(self._terms.rounds, "round")
                raise UsageError(f"the plan covers {held}: plan with more `rounds`", "rounds")
            stream = fresh_stream(self._group, self._rng, ROUNDING)
            listed = values_of(values, self._absent)
            encoded = encoding.encode(listed, stream, clip=self._clip)
            self._rounds += 1
            carried = self._engine.run(encoded.rows)
        _LOG.info(
            "round %d: %s included, %d excluded, %s",
            self._rounds,
            counted(len(carried.included), "party", "parties"),
            len(carried.excluded),
            counted(carried.attempts, "attempt"),
        )
        return self._result(encoding, encoded, carried)

    def close(self) -> None:
        """Close the log. The aggregator runs no more rounds; calling it again does nothing."""
        with self._turn:
            self._rounds, self._closed = self._terms.rounds, True
            self._engine.close()

    def encoding(self, values: Sequence[Value | None], weights: Values | None) -> Encoding:
        """What `average` turns values into integers by."""
        if self._most is None:
            if weights is not None:
                raise UsageError("say how large a weight may be: max_weight=..", "weights")
            return Plain(self._terms, self._vouched)
        if weights is None:
            message = "with max_weight every round takes weights: give them, or leave it out"
            raise UsageError(message, "weights")
        given = weights_of(weights, values)
        checked = Weights.checked(given, self._most, self._terms.parties)
        return encoding_with(checked, self._terms, proved=self._settings.mode == "full")

    def _result(self, encoding: Encoding, encoded: Encoded, carried: Carried) -> Result:
        return result_of(
            carried,
            Reading(self._terms, encoding, encoded.structure, exact=encoded.exact),
            clipped=encoded.clipped,
            scaled=encoded.scaled,
            mode=self._settings.mode,
            trust=self._settings.trust,
            simulation=True,
        )
