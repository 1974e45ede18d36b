"""Takes the place of Flower's grid in a ServerApp: strategies get one reply, the average.

Messages that train become the exchanges of a verified session. The server that runs it is
organiser, board and host, and sees masked values, proofs and sums.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from bulletin_board import NoteSigner
from bulletin_board.display import visible
from gopa.aggregation.transcript import SessionTranscript
from gopa.contract.manifest import Mode
from gopa.contract.row_terms import middle
from gopa.planning import Plan, Terms
from gopa.plugins.flower.layout import ModelLayout
from gopa.plugins.flower.records import Asked, Courier, Said, put
from gopa.plugins.flower.strategies import calling_strategy, require_fit
from gopa.plugins.session import HostedSession, RoundSum, new_signer
from gopa.protocol.organiser import SessionSetting
from gopa.support.wording import counted
from wire.ed25519 import PublicKey
from wire.errors import Aborted, MalformedMessage, UsageError
from wire.randomness import Rng

if TYPE_CHECKING:
    from flwr.app import Message, RecordDict
    from flwr.serverapp import Grid as _Grid
else:
    _Grid = object

_LOG: Final = logging.getLogger("gopa.plugins")
_MODES: Final = {"signed": Mode.SIGNED, "full": Mode.FULL}
_NO_ANSWER: Final = "no answer"
_NOT_IN: Final = "was not in the round"
_FAILED: Final = 6
"""`MOD_FAILED_PRECONDITION` of Flower's codes of errors."""


Evaluation: TypeAlias = Literal["refuse", "clear"]


@dataclass(frozen=True, slots=True)
class FlowerRound:
    """One round for whoever runs the server: who is in it, and why others are not.

    `included` are node IDs, `left_out` the reason for each of the others. `stderr` is the largest
    standard error of a number in the average, from noise and rounding. `session` is the id of the
    session, `exchanges` how often messages went to and fro, `seconds` how long that took.
    """

    session: bytes
    included: tuple[int, ...]
    left_out: Mapping[int, str]
    weight: float
    stderr: float
    exchanges: int
    seconds: float


class VerifiableGrid(_Grid):  # type: ignore[misc, unused-ignore]
    """A `flwr.serverapp.Grid` whose training messages end in verified sums.

    `strategy.start(VerifiableGrid(grid, plan), ..)` is all that changes in a ServerApp. The plan is
    for `n` nodes and for vectors of as many numbers as the model and the `metrics` have together,
    and one more with `max_weight`; what a session with more rounds costs, the plan says. A context
    manager: leaving it tells the nodes that the session is over.

    Args:
        grid: the one that Flower gave.
        plan: from `gopa.plan`; its range is that of the *differences* between a trained model and
            the one that was sent.
        mode: "full" (inputs and noise are proved) or "signed" (quicker for long vectors).
        max_weight: the largest weight of a node; without it all weigh the same.
        weighted_by: the metric of the app's reply that is the weight; `weighted_by_key` of the
            strategy.
        metrics: the metrics that are averaged, each with its range; no other leaves a node.
        clip: whether numbers outside of their range are moved into it; nodes log it.
        evaluation: "clear" lets evaluations through, which show the server the metrics and the
            counts of each node.
        patience: seconds in which a node has to answer once it has trained.
        skip_aborted: whether a round without a result is one without replies to the strategy,
            instead of a `RoundAborted`.
        signer: the key of the log, so that nodes can know it; a new one without it.

    Raises `UsageError` for a plan that sessions between processes cannot have.
    """

    def __init__(  # noqa: PLR0913 - every part of a session has a name
        self,
        grid: _Grid,
        plan: Plan,
        *,
        mode: Literal["signed", "full"] = "full",
        max_weight: float | str | None = None,
        weighted_by: str = "num-examples",
        metrics: Mapping[str, tuple[float, float]] | None = None,
        clip: bool = False,
        evaluation: Evaluation = "refuse",
        patience: float = 120.0,
        skip_aborted: bool = False,
        signer: NoteSigner | None = None,
        rng: Rng = os.urandom,
    ) -> None:
        from flwr.serverapp import Grid

        Grid.register(VerifiableGrid)
        if mode not in _MODES:
            raise UsageError('"signed" or "full": other nodes see nothing else', "mode")
        if plan.terms.beacon == "drand":
            message = 'a round does not wait for a beacon: plan with beacon="commit-reveal"'
            raise UsageError(message, "plan")
        self._grid, self._plan, self._rng = grid, plan, rng
        self._layout = ModelLayout(
            weighted_by,
            None if max_weight is None else str(max_weight),
            *_range_of(plan.terms),
            tuple((name, float(low), float(high)) for name, (low, high) in (metrics or {}).items()),
            clip,
        )
        self._setting = SessionSetting(
            mode=_MODES[mode],
            weighted=max_weight is not None,
            title=ModelLayout.title(self._layout.to_json()),
        )
        self._evaluation, self._patience, self._skip = evaluation, patience, skip_aborted
        self._signer = signer or new_signer(rng)
        self._courier = Courier(grid)
        self._keys: dict[int, bytes] = {}
        self._lost: set[bytes] = set()
        self._session: HostedSession | None = None
        self.sessions: list[HostedSession] = []
        self.reports: list[FlowerRound] = []

    # What a grid does

    def set_run(self, run: Any) -> None:
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """The run of the grid inside."""
        return self._grid.run

    def create_message(self, *args: Any, **named: Any) -> Any:
        """The message that the grid inside makes."""
        return self._grid.create_message(*args, **named)

    def get_node_ids(self) -> Iterable[int]:
        """The ids of the nodes that the grid inside has."""
        found: Iterable[int] = self._grid.get_node_ids()
        return found

    def get_nodes(self) -> Iterable[Any]:
        """The nodes that the grid inside has."""
        found: Iterable[Any] = self._grid.get_nodes()
        return found

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Push what is neither training nor an evaluation that is refused."""
        listed = list(messages)
        if self._trains(listed):
            message = "training takes many messages here: call send_and_receive"
            raise UsageError(message, "messages")
        pushed: Iterable[str] = self._grid.push_messages(listed)
        return pushed

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The messages that the grid inside pulls."""
        found: Iterable[Message] = self._grid.pull_messages(message_ids)
        return found

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Hold one round for messages that train; others go through.

        Its replies are one with the average, its weight and its metrics, and one error for each
        node that is not in the average.

        Raises:
            UnfitStrategy: the strategy needs the update of each node.
            UsageError: the nodes or the model do not fit the plan.
            RoundAborted: the round has no result, and none is to be skipped.
        """
        listed = list(messages)
        if not self._trains(listed):
            found: Iterable[Message] = self._grid.send_and_receive(listed, timeout=timeout)
            return found
        require_fit(calling_strategy())
        return self._train(listed, timeout)

    # Sessions

    @property
    def transcripts(self) -> list[SessionTranscript]:
        """The logs of all sessions so far."""
        return [each.transcript for each in self.sessions]

    def keep(self, directory: str | Path) -> list[Path]:
        """Write the log of each session for `gopa audit`, and beside it its anchors; the logs.

        Names are those of the sessions: runs may keep their logs in one directory.
        """
        return [each.keep(directory) for each in self.transcripts]

    def close(self) -> None:
        """End the session: nodes forget what they know of it. Again, nothing happens."""
        session, self._session = self._session, None
        if session is not None:
            self._exchange(session, session.finish(), {}, self._patience, last=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One round

    def _trains(self, messages: Sequence[Message]) -> bool:
        """Whether these train; raises `UsageError` for a mixture, and for refused evaluations."""
        kinds = {each.metadata.message_type.partition(".")[0] for each in messages}
        if "evaluate" in kinds and self._evaluation != "clear":
            message = (
                "evaluations show the server the metrics of each node: set fraction_evaluate=0 and"
                ' name metrics of the training, or pass evaluation="clear" here and evaluation=True'
                " to gopa_mod"
            )
            raise UsageError(message, "evaluation")
        if "train" in kinds and len({each.metadata.message_type for each in messages}) > 1:
            raise UsageError("all messages of a training are of one type", "messages")
        return "train" in kinds

    def _train(self, messages: Sequence[Message], timeout: float | None) -> list[Message]:
        self._courier.like(messages[0])
        model = self._model(messages)
        self._enrol([each.metadata.dst_node_id for each in messages], timeout)
        by_key = self._by_key(messages)
        session = self._session_of(frozenset(by_key))
        begun = time.perf_counter()
        why, exchanges = self._round(session, by_key, timeout)
        why = _reasons(why, session.left_out())
        found, error = _outcome(session, self._layout.max_weight)
        included = frozenset() if found is None else found.included
        left_out = {key: why.get(key, _NOT_IN) for key in by_key.keys() - included}
        report = FlowerRound(
            session=session.manifest.session,
            included=tuple(sorted(map(self._node, included))),
            left_out={self._node(key): text for key, text in left_out.items()},
            weight=0.0 if found is None else found.weight,
            stderr=math.nan if found is None else float(found.deviation.max()),
            exchanges=exchanges,
            seconds=time.perf_counter() - begun,
        )
        self.reports.append(report)
        for node, text in report.left_out.items():
            _LOG.warning("node %d is not in the round: %s", node, visible(text))
        if error is not None and not self._skip:
            raise error
        if not session.rounds_left:
            self.close()
        failed = [_failure(by_key[key], text) for key, text in left_out.items()]
        if found is None:
            return failed
        example = by_key[min(included & by_key.keys())]
        return [self._average(example, model, found), *failed]

    def _model(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The model that is sent to all; raises `UsageError` if the plan is not for it."""
        records = messages[0].content.array_records
        if len(records) != 1:
            raise UsageError("training needs exactly one record of arrays", "arrays")
        first = next(iter(records.values()))
        if any(next(iter(each.content.array_records.values())) != first for each in messages[1:]):
            raise UsageError("all nodes train from one model", "arrays")
        model = {name: each.numpy() for name, each in first.items()}
        needed = self._layout.size(model) + self._setting.weighted
        if needed != self._plan.terms.dimension:
            message = (
                f"the plan is for {self._plan.terms.dimension} numbers, the model has {needed} with"
                f" its metrics and weight: plan with dimension={needed}"
            )
            raise UsageError(message, "plan")
        return model

    def _enrol(self, nodes: Iterable[int], seconds: float | None) -> None:
        """Ask nodes that are new for their keys; they may be about to start."""
        new = {node: put(Asked()) for node in nodes if node not in self._keys}
        answers = self._courier.send(new, seconds)
        for node in new:
            said = answers.get(node, Said(error=_NO_ANSWER))
            if _is_key(said.key):
                self._keys[node] = said.key
            else:
                _LOG.error("node %d told no key: %s", node, said.error)

    def _by_key(self, messages: Sequence[Message]) -> dict[bytes, Message]:
        found: dict[bytes, Message] = {}
        for each in messages:
            key = self._keys.get(each.metadata.dst_node_id)
            if key is not None and key in found:
                two = f"{found[key].metadata.dst_node_id} and {each.metadata.dst_node_id}"
                message = f"nodes {two} have one key: give each its own home"
                raise UsageError(message, "gopa-home")
            if key is not None:
                found[key] = each
        return found

    def _node(self, key: bytes) -> int:
        """The newest node with this key: one that restarts may get another number."""
        return next(node for node, each in reversed(self._keys.items()) if each == key)

    def _session_of(self, nodes: frozenset[bytes]) -> HostedSession:
        """The session that runs, if all of these nodes are in it; else a new one for them."""
        session, parties = self._session, self._plan.terms.parties
        if session is not None and nodes <= session.parties:
            return session
        if len(nodes) != parties:
            message = (
                f"the plan is for {parties} nodes, {counted(len(nodes), 'node')} can take part:"
                f" give the strategy min_train_nodes={parties} and min_available_nodes={parties}"
            )
            raise UsageError(message, "plan")
        self.close()
        if self.sessions:
            _LOG.warning(
                "session %d begins: a node pays the budget of the plan in each session that it is"
                " in, and nothing is saved by sampling",
                len(self.sessions) + 1,
            )
        self._session = HostedSession(self._plan, nodes, self._setting, self._signer, self._rng)
        self.sessions.append(self._session)
        return self._session

    def _round(
        self, session: HostedSession, by_key: Mapping[bytes, Message], timeout: float | None
    ) -> tuple[dict[bytes, str], int]:
        """Exchange messages until the round is over; why nodes fell silent, and how often."""
        why: dict[bytes, str] = {}
        requests, exchanges = session.open(frozenset(by_key)), 0
        while requests:
            exchanges += 1
            trains = {key: by_key[key].content for key in session.lacking() & requests.keys()}
            said = self._exchange(session, requests, trains, timeout if trains else self._patience)
            why |= {key: said[key].error if key in said else _NO_ANSWER for key in requests}
            replies = {key: each.reply for key, each in said.items() if each.reply}
            why = {key: text for key, text in why.items() if key not in replies}
            requests = session.advance(replies)
        return why, exchanges

    def _exchange(
        self,
        session: HostedSession,
        requests: Mapping[bytes, bytes],
        trains: Mapping[bytes, RecordDict],
        seconds: float | None,
        *,
        last: bool = False,
    ) -> dict[bytes, Said]:
        """Bring requests to the nodes, to some with what they train from, and replies back."""
        ticket = session.ticket.to_json()
        contents = {}
        for key, request in requests.items():
            layout = self._layout.to_json() if key in trains else ""
            asked = Asked(ticket, request, layout, key in self._lost, last)
            contents[self._node(key)] = put(asked, trains.get(key))
        answers = self._courier.send(contents, seconds)
        said = {self._keys[node]: each for node, each in answers.items()}
        self._lost |= {key for key, each in said.items() if each.lost}
        self._lost -= {key for key, each in said.items() if each.reply}
        return said

    def _average(self, example: Message, sent: Mapping[str, Any], found: RoundSum) -> Message:
        """The one reply that a strategy gets."""
        from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

        arrays, metrics = self._layout.model(sent, found.mean)
        record = ArrayRecord({name: Array(each) for name, each in arrays.items()})
        told = {
            name: float(each)
            for (name, *_), each in zip(self._layout.metrics, metrics, strict=True)
        }
        named = MetricRecord({self._layout.weighted_by: found.weight, **told})
        name = next(iter(example.content.array_records))
        return Message(RecordDict({name: record, "metrics": named}), reply_to=example)


def _is_key(data: bytes) -> bool:
    """Whether this can stand on a roster: one node that says nonsense must not end the run."""
    try:
        PublicKey(data)
    except (MalformedMessage, UsageError):
        return False
    return True


def _reasons(said: Mapping[bytes, str], found: Mapping[bytes, str]) -> dict[bytes, str]:
    """Why nodes are not in a round: what they said, else what the rules found."""
    spoken = {key: text for key, text in said.items() if text != _NO_ANSWER or key not in found}
    return {**found, **spoken}


def _outcome(session: HostedSession, most: str | None) -> tuple[RoundSum | None, Aborted | None]:
    try:
        return session.outcome(most), None
    except Aborted as error:
        return None, error


def _failure(message: Message, text: str) -> Message:
    from flwr.app import Error, Message

    return Message(Error(_FAILED, visible(text)), reply_to=message)


def _range_of(terms: Terms) -> tuple[float, float]:
    """The range of a number; where lengths are planned, in a vector as long as the plan allows."""
    low, high = float(terms.low), float(terms.high)
    if not terms.weight_length:
        return low, high
    centre, roots = float(middle(terms)), math.ceil(math.sqrt(terms.dimension - 1))
    return centre + (low - centre) / roots, centre + (high - centre) / roots
