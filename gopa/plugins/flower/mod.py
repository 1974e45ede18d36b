"""Answers for one party inside a ClientApp: trains when a round asks for it, and says no value.

What the server sends is believed as far as it proves itself; `specs/12-sessions.md`, section 7.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bulletin_board.display import visible
from gopa.aggregation.values import OutOfRange
from gopa.plugins.flower.home import NodeHome, home_of
from gopa.plugins.flower.layout import ModelLayout
from gopa.plugins.flower.records import RECORD, Asked, Said, asked_in, put
from gopa.plugins.session import KnownRoster
from gopa.protocol.party import LocalPolicy, Refusal
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import (
    Guard,
    StateLost,
    StateOfAnother,
    StateReplayed,
    TunnelInput,
    TunnelParty,
)
from gopa.sessions.tunnel.state import StatePlace, counter_of
from gopa.sessions.vault import StateDiverged, VaultDamaged
from gopa.sessions.vault.guard import last_mark
from wire.errors import GopaError, ProtocolError, UsageError

if TYPE_CHECKING:
    from flwr.app import Context, Message, RecordDict

_LOG: Final = logging.getLogger("gopa.plugins")
_LOST: Final = (StateReplayed, StateLost, StateDiverged, VaultDamaged, StateOfAnother)
_OWN_FAULT: Final = "see the log of this node"

Next = Callable[["Message", "Context"], "Message"]


def gopa_mod(  # noqa: PLR0913 - everything that a party decides by
    policy: LocalPolicy,
    *,
    home: str | Path | None = None,
    log: str | None = None,
    roster: Collection[bytes] | None = None,
    sessions: int | None = None,
    evaluation: bool = False,
) -> GopaMod:
    """The mod for `ClientApp(mods=[gopa_mod(policy), ..])`; it comes first, in front of all others.

    Training leaves the node only as a share of a verified sum: a message that asks for it in any
    other way is refused.

    Args:
        policy: the least that this party asks of a session.
        home: where it keeps its key, unless the node's own configuration says `gopa-home`.
        log: the verifier key of the log to believe; without it, whatever the server names.
        roster: the keys that may be in a session, as bytes; without it a server can fill a session
            with parties of its own.
        sessions: how many sessions may begin here, each with the whole budget of the policy; by
            default 1 where noise is asked for, and any number of exact ones.
        evaluation: whether the server may ask for evaluations, which it gets in the clear.
    """
    if sessions is None and not policy.exact_sums:
        sessions = 1
    known = None if roster is None else frozenset(roster)
    return GopaMod(policy, home, log, known, sessions, evaluation)


@dataclass(frozen=True)
class GopaMod:
    """The functions of a ClientApp, wrapped: see `gopa_mod`."""

    policy: LocalPolicy
    home: str | Path | None
    log: str | None
    roster: frozenset[bytes] | None
    sessions: int | None
    evaluation: bool

    def __call__(self, message: Message, context: Context, call_next: Next) -> Message:
        """Answer what a `VerifiableGrid` asks; let through what gives nothing away."""
        from flwr.app import Message

        category = message.metadata.message_type.partition(".")[0]
        asked = asked_in(message.content) if category == "train" else None
        if asked is None:
            self._require_harmless(category)
            return call_next(message, context)
        said = self._said(asked, message, context, call_next)
        return Message(put(said), reply_to=message)

    def _require_harmless(self, category: str) -> None:
        """Refuse to train or to evaluate in the clear: a server would only have to ask."""
        if category == "train":
            raise Refusal("this node trains in verified sessions only: use VerifiableGrid", "train")
        if category == "evaluate" and not self.evaluation:
            message = "evaluations are sent in the clear, and this node does not accept that"
            raise Refusal(message, "evaluation")

    def _said(self, asked: Asked, message: Message, context: Context, call_next: Next) -> Said:
        home = NodeHome(home_of(self.home, context.node_config))
        identity = home.identity()
        if not asked.ticket:
            return Said(key=identity.public.data)
        try:
            ticket = Ticket.from_json(asked.ticket)
        except GopaError as error:
            return Said(error=_words(error))
        states, guard = States(context), home.guard()
        training = NodeTraining(message, context, call_next)
        try:
            said = self._answered(asked, ticket, home, states, training)
        except GopaError as error:
            _warn(error)
            said = Said(error=_words(error))
            if last_mark(guard, str(StatePlace(ticket.session, identity.public.data)))[1] is None:
                home.spare(ticket.session)
        if asked.last:  # nothing of the rounds that are over can be opened any more
            states.drop(ticket.session)
            home.forget(ticket.session)
        return said

    def _answered(
        self,
        asked: Asked,
        ticket: Ticket,
        home: NodeHome,
        states: States,
        training: NodeTraining,
    ) -> Said:
        """What the party says in this session."""
        self._require_log(ticket)
        layout = ModelLayout.from_json(asked.layout) if asked.layout else None
        title = ModelLayout.title(asked.layout) if asked.layout else None
        training.layout, guard = layout, home.guard()
        party = TunnelParty(
            ticket,
            home.identity(),
            KnownRoster.of(self.policy, self.roster, title),
            secret=home.seal(ticket.session, self.sessions),
            guard=guard,
            max_weight=layout.max_weight if layout else None,
            sums=False,
        )
        try:
            state = states.get(ticket.session)
            _require_last(state, StatePlace(ticket.session, party.key), guard)
            state, reply = _clipped(party, state, asked.request, training)
        except _LOST as error:
            _warn(error)
            if not asked.anew:
                return Said(error=_words(error), lost=True)
            state = party.begin(lost=True)
            reply = party.position(state)
        states.put(ticket.session, state)
        return Said(reply=reply)

    def _require_log(self, ticket: Ticket) -> None:
        if self.log is not None and str(ticket.log) != self.log:
            raise Refusal(f"the log of this session is {ticket.log}, you trust another", "log")


class States:
    """The sealed state of a party in the context of its node, for one run at a time."""

    def __init__(self, context: Context) -> None:
        self._run, self._records = context.run_id, context.state

    def get(self, session: bytes) -> bytes:
        """The last state, empty if there is none."""
        found = self._records.config_records.get(_place(session))
        return b"" if found is None else bytes(found["state"])

    def put(self, session: bytes, state: bytes) -> None:
        """Keep this state; those of other runs, which nobody goes on with, are dropped."""
        from flwr.app import ConfigRecord

        for name, found in list(self._records.config_records.items()):
            if name.startswith(f"{RECORD}.") and found["run"] != self._run:
                del self._records[name]
        self._records[_place(session)] = ConfigRecord({"run": self._run, "state": state})

    def drop(self, session: bytes) -> None:
        """Keep nothing of this session."""
        if _place(session) in self._records:
            del self._records[_place(session)]


class NodeTraining:
    """The app's training, once when a round asks for a value, and how it was clipped."""

    def __init__(self, message: Message, context: Context, call_next: Next) -> None:
        self._message, self._context, self._next = message, context, call_next
        self.layout: ModelLayout | None = None
        self._value: TunnelInput | None = None

    def value(self, _: int) -> TunnelInput | None:
        """The value for the round; None where the server has sent nothing to train with."""
        if self._value is None and self.layout is not None:
            try:
                self._value = self._trained(self.layout)
            except Exception as error:
                # Flower tells the server what an app raises, and shapes in it tell a private count.
                _LOG.exception("this node has failed to train")
                raise UsageError("the app has failed", "reply") from error
        return self._value

    def clipped(self, error: OutOfRange) -> bool:
        """Whether the value may be moved into its range, as it will be from now on."""
        if self._value is None or self.layout is None or not self.layout.clip:
            return False
        _LOG.warning("the update of this node is clipped: it %s", visible(str(error)))
        self._value = TunnelInput(self._value.value, self._value.weight, clip=True)
        return True

    def _trained(self, layout: ModelLayout) -> TunnelInput:
        content = self._message.content
        self._message.content = _without(content)
        reply = self._next(self._message, self._context)
        if not reply.has_content():
            raise UsageError("the app has replied with an error", "reply")
        model = _arrays(_only(content.array_records, "arrays"))
        trained = _arrays(_only(reply.content.array_records, "arrays"))
        metrics = _only(reply.content.metric_records, "metrics")
        return TunnelInput(layout.vector(model, trained, metrics), layout.weight(metrics))


def _clipped(
    party: TunnelParty, state: bytes, request: bytes, training: NodeTraining
) -> tuple[bytes, bytes]:
    """The next state and the reply; a value out of range is clipped if that is asked for."""
    try:
        return party.answer(state, request, training.value)
    except OutOfRange as error:
        if not training.clipped(error):
            raise
        return party.answer(state, request, training.value)


def _require_last(state: bytes, place: StatePlace, guard: Guard) -> None:
    """Require that the state is the one that left last: no app is to train for another one.

    A context may be put back, or be that of another worker who answered at the same time.
    """
    mark, counter = last_mark(guard, str(place))[1], counter_of(state, place)
    if counter is not None and (mark is None or counter != mark.counter):
        raise StateReplayed("the context of this node is not the one of its last answer")


def _warn(error: GopaError) -> None:
    _LOG.warning("this node says nothing in the round: %s", visible(str(error)))


def _words(error: GopaError) -> str:
    """What the server is told: of an error that may be about the value its name alone."""
    told = isinstance(error, (Refusal, ProtocolError, *_LOST))  # others name paths of this node
    return f"{type(error).__name__}: {error if told else _OWN_FAULT}"


def _place(session: bytes) -> str:
    return f"{RECORD}.{session.hex()}"


def _without(content: RecordDict) -> RecordDict:
    from flwr.app import RecordDict

    return RecordDict({name: each for name, each in content.items() if name != RECORD})


def _only(records: Any, field: str) -> Any:
    """The one record of a kind, which strategies of Flower ask for too."""
    if len(records) != 1:
        raise UsageError(f"exactly one record, not {len(records)}", field)
    return next(iter(records.values()))


def _arrays(record: Any) -> dict[str, Any]:
    return {name: each.numpy() for name, each in record.items()}
