"""Brings verified sums to Flower's older API, where `SecAggPlusWorkflow` stands too.

`GopaWorkflow` takes its place: `DefaultWorkflow(fit_workflow=GopaWorkflow(epsilon=None))`, and
`gopa_legacy_mod` that of `secaggplus_mod`. Everything below is `gopa.plugins.flower`: the older
API only has other names for what travels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import gopa
from gopa.planning import Plan
from gopa.planning.target import CORRUPT
from gopa.plugins.fixed_point import FixedPoint
from gopa.plugins.flower import VerifiableGrid, gopa_mod
from gopa.plugins.flower.mod import GopaMod
from gopa.plugins.flower.strategies import UnfitStrategy, require_fit
from gopa.protocol.party import Refusal
from wire.errors import UsageError

if TYPE_CHECKING:
    from flwr.app import Context, Message, RecordDict
    from flwr.serverapp import Grid

_BITS: Final = 28
_FINEST: Final = 30
"""Of a range of lengths, which is wider than that of numbers."""
_SENT: Final = "fitins.parameters"
_RESULT: Final = "fitres"
_COUNT: Final = "num_examples"
_OLD_NOISE: Final = "its noise would come on top of that of the session: set epsilon here"
_UNFIT: Final = {
    "DPFedAvgAdaptive": _OLD_NOISE,
    "DPFedAvgFixed": _OLD_NOISE,
    "FedXgbNnAvg": "it needs the trees of each client, and nobody has them but the client",
}


class GopaWorkflow:
    """Trains a round in a verified sum: `fit_workflow` of a `DefaultWorkflow`.

    The strategy gets one result, the average, with the number of all examples; what of each client
    leaves it is masked. The plan is made in the first round, for the clients that are sampled then
    and for all rounds of the server's configuration; every later round needs the same clients.

    Args:
        epsilon: of all rounds together; None releases exact averages.
        delta: as `gopa.plan` takes it, like `corrupt` and `dropout`.
        mode: "full" proves every number, "signed" is for large models.
        max_weight: the largest number of examples of a client; None weighs all clients the same.
        clipping_range: an update, the difference of a model to the one before, is clipped to it.
        timeout: seconds for a client to train; None waits for all of them.
        patience: seconds for each answer of a client once it has trained.
        logs: a directory for the logs of the sessions, for `gopa audit`.

    A round without a result is one without results to the strategy, as with SecAgg+.
    """

    def __init__(  # noqa: PLR0913 - every part of a plan has a name
        self,
        *,
        epsilon: float | str | Decimal | None,
        delta: float | str | Decimal | None = None,
        corrupt: float = CORRUPT,
        dropout: float = 0.05,
        mode: Literal["signed", "full"] = "full",
        max_weight: float | str | None = 1000.0,
        clipping_range: float = 8.0,
        timeout: float | None = None,
        patience: float = 120.0,
        logs: str | Path | None = None,
    ) -> None:
        if not 0 < clipping_range < math.inf:
            raise UsageError("the largest change of a number, above 0", "clipping_range")
        if mode not in {"signed", "full"}:
            raise UsageError('"signed" or "full"', "mode")
        self.timeout, self.patience, self.logs = timeout, patience, logs
        self._asked = {
            "epsilon": epsilon,
            "delta": delta,
            "corrupt": corrupt,
            "dropout": dropout,
            "mode": mode,
            "range": (-clipping_range, clipping_range),
        }
        self._mode, self._max_weight = mode, max_weight
        self.grid: VerifiableGrid | None = None

    def __call__(self, grid: Grid, context: Context) -> None:
        """Train one round.

        Raises:
            UnfitStrategy: the strategy needs the update of each client.
            UsageError: no plan is possible, or the clients or the model do not fit it.
        """
        from flwr.server import LegacyContext
        from flwr.server.workflow.default_workflows import default_fit_workflow

        if not isinstance(context, LegacyContext):
            raise TypeError(f"expects a LegacyContext, not {type(context).__name__}")
        require_legacy_fit(context.strategy)
        default_fit_workflow(_RoundGrid(self, grid, context.config.num_rounds), context)
        if self.logs is not None and self.grid is not None:
            self.grid.keep(self.logs)

    def train(self, grid: Grid, rounds: int, messages: list[Message]) -> list[Message]:
        """Hold a round over what clients make of these messages: the average, and failures."""
        if not all(_model(each.content) for each in messages):
            message = "clients keep their models: give the strategy initial_parameters"
            raise UsageError(message, "initial_parameters")
        if self.grid is None:
            plan = self._plan(messages, rounds)
            self.grid = VerifiableGrid(
                grid,
                plan,
                mode=self._mode,
                max_weight=self._max_weight,
                weighted_by=_COUNT,
                clip=True,
                patience=self.patience,
                skip_aborted=True,
            )
        found = self.grid.send_and_receive(messages, timeout=self.timeout)
        return [each if each.has_error() else _translated(each) for each in found]

    def _plan(self, messages: list[Message], rounds: int) -> Plan:
        size = sum(each.numpy().size for each in _model(messages[0].content).values())
        dimension = size + (self._max_weight is not None)
        asked: dict[str, Any] = {**self._asked, "dimension": dimension, "rounds": rounds}
        asked["weighted"] = self._max_weight is not None
        if asked["epsilon"] is None:  # noise would be coarser by far
            bits = _FINEST if asked["weighted"] and self._mode == "full" else _BITS
            asked["steps"] = FixedPoint.finest(bits, 1.0, dimension).largest
        return gopa.plan(n=len(messages), **asked)


class _RoundGrid:
    """Is as much of a grid as Flower's own workflow for one round of training needs."""

    def __init__(self, workflow: GopaWorkflow, grid: Grid, rounds: int) -> None:
        self._workflow, self._grid, self._rounds = workflow, grid, rounds

    def send_and_receive(self, messages: Iterable[Message]) -> list[Message]:
        return self._workflow.train(self._grid, self._rounds, list(messages))


class LegacyGopaMod(GopaMod):
    """Wraps a client of the older API: see `gopa_legacy_mod`."""

    def _require_harmless(self, category: str) -> None:
        """Refuse what a server asks for in the clear: the model of a client is what it trained."""
        if category == "get_parameters":
            message = "this node keeps its model: give the strategy initial_parameters"
            raise Refusal(message, "initial_parameters")
        super()._require_harmless(category)


def gopa_legacy_mod(policy: gopa.LocalPolicy, **options: Any) -> LegacyGopaMod:
    """The mod for `ClientApp(client_fn, mods=[..])`; its options are those of `gopa_mod`."""
    made = gopa_mod(policy, **options)
    return LegacyGopaMod(**{name: getattr(made, name) for name in GopaMod.__dataclass_fields__})


def require_legacy_fit(strategy: Any) -> None:
    """As `require_fit`, with the strategies that only the older API has."""
    require_fit(strategy)
    for each in type(strategy).__mro__:
        if each.__module__.startswith("flwr.") and each.__name__ in _UNFIT:
            raise UnfitStrategy(
                f"{each.__name__} cannot be used: {_UNFIT[each.__name__]}", "strategy"
            )


def _model(content: RecordDict) -> dict[str, Any]:
    """The model in these instructions; nothing where clients have not told theirs."""
    found = dict(content.array_records.get(_SENT, {}))
    return found if all(each.data for each in found.values()) else {}


def _translated(average: Message) -> Message:
    """The average as the older API names its parts."""
    from flwr.app import ConfigRecord, MetricRecord, RecordDict

    content = average.content
    (arrays,) = content.array_records.values()
    (metrics,) = content.metric_records.values()
    examples = max(1, round(float(metrics[_COUNT])))
    average.content = RecordDict(
        {
            f"{_RESULT}.parameters": arrays,
            f"{_RESULT}.num_examples": MetricRecord({_COUNT: examples}),
            f"{_RESULT}.metrics": ConfigRecord({}),
            f"{_RESULT}.status": ConfigRecord({"code": 0, "message": ""}),
        }
    )
    return average
