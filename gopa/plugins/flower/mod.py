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
from gopa.aggregation.errors import InvalidValue, InvalidWeight, OutOfRange
from gopa.messages.manifest import Manifest, Roster
from gopa.party import LocalPolicy, Refusal
from gopa.plugins.flower.home import NodeHome, home_of
from gopa.plugins.flower.layout import ModelLayout
from gopa.plugins.flower.records import RECORD, Asked, Said, asked_in, put
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import StateLost, StateReplayed, TunnelInput, TunnelParty
from gopa.sessions.vault import VaultDamaged
from wire.errors import GopaError, MalformedMessage, UsageError

if TYPE_CHECKING:
    from flwr.app import Context, Message, RecordDict

_LOG: Final = logging.getLogger("gopa.plugins")
_TOLD: Final = (Refusal, MalformedMessage)
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
    """Wraps the functions of a ClientApp: see `gopa_mod`."""

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
        states = States(context)
        try:
            ticket = Ticket.from_json(asked.ticket)
            self._require_log(ticket)
            party = TunnelParty(
                ticket,
                identity,
                KnownRoster.of(self.policy, self.roster),
                secret=home.seal(ticket.session, self.sessions),
                guard=home.guard(),
                max_weight=_layout(asked).max_weight if asked.layout else None,
            )
            training = Training(message, context, call_next, asked)
            said = _answered(party, states, asked, training)
        except (StateReplayed, StateLost, VaultDamaged) as error:
            return Said(error=_words(error), lost=True)
        except GopaError as error:
            _LOG.warning("this node says nothing in the round: %s", visible(str(error)))
            return Said(error=_words(error))
        if asked.last:  # nothing of the rounds that are over can be opened any more
            states.drop(ticket.session)
            home.forget(ticket.session)
        return said

    def _require_log(self, ticket: Ticket) -> None:
        if self.log is not None and str(ticket.log) != self.log:
            raise Refusal(f"the log of this session is {ticket.log}, you trust another", "log")


@dataclass(frozen=True, slots=True)
class KnownRoster(LocalPolicy):
    """Asks besides that nobody is on the roster but `known` parties, if that is not None.

    Else a server could fill the session with parties of its own and subtract their values.
    """

    known: frozenset[bytes] | None = None

    @classmethod
    def of(cls, policy: LocalPolicy, known: frozenset[bytes] | None) -> KnownRoster:
        """This policy, and the roster."""
        given = {name: getattr(policy, name) for name in LocalPolicy.__dataclass_fields__}
        return cls(**given, known=known)

    def require(self, manifest: Manifest, author: bytes) -> None:
        """As for every policy; then the roster."""
        LocalPolicy.require(self, manifest, author)
        if self.known is None:
            return
        keys = manifest.admission.keys if isinstance(manifest.admission, Roster) else ()
        strangers = sorted(set(keys) - self.known - {author})
        if strangers or not keys:
            first = strangers[0].hex() if strangers else "anybody"
            raise Refusal(f"a party that you do not know is on the roster: {first}", "roster")


class States:
    """Keeps the sealed state of a party in the context of its node, for one run at a time."""

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


class Training:
    """Has the app train when a round asks for a value, once; says how it was clipped."""

    def __init__(self, message: Message, context: Context, call_next: Next, asked: Asked) -> None:
        self._message, self._context, self._next = message, context, call_next
        self._asked = asked
        self._value: TunnelInput | None = None
        self.may_clip = asked.layout != "" and _layout(asked).clip

    def value(self, _: int) -> TunnelInput | None:
        """The value for the round; None where the server has sent nothing to train with."""
        if self._value is None and self._asked.layout:
            self._value = self._trained(_layout(self._asked))
        return self._value

    def clip(self, error: OutOfRange) -> None:
        """Let the value be moved into its range."""
        if self._value is None:
            raise error
        _LOG.warning("the update of this node is clipped: it %s", visible(str(error)))
        self._value = TunnelInput(self._value.value, self._value.weight, clip=True)

    def _trained(self, layout: ModelLayout) -> TunnelInput:
        sent = self._message.content
        self._message.content = _without(sent)
        reply = self._next(self._message, self._context)
        if not reply.has_content():
            raise UsageError("the app has replied with an error", "reply")
        model, (trained, metrics) = _only(sent.array_records, "arrays"), _parts(reply.content)
        vector = layout.vector(_arrays(model), _arrays(trained), metrics)
        return TunnelInput(vector, layout.weight(metrics))


def _answered(party: TunnelParty, states: States, asked: Asked, training: Training) -> Said:
    """Answer a request; a party that has lost its state begins again if it is told to."""
    session = Ticket.from_json(asked.ticket).session
    try:
        state, reply = _reply(party, states.get(session), asked.request, training)
    except (StateReplayed, StateLost, VaultDamaged):
        if not asked.anew:
            raise
        state = party.begin(lost=True)
        reply = party.position(state)
    states.put(session, state)
    return Said(reply=reply)


def _reply(
    party: TunnelParty, state: bytes, request: bytes, training: Training
) -> tuple[bytes, bytes]:
    try:
        return party.answer(state, request, training.value)
    except OutOfRange as error:
        if not training.may_clip:
            raise
        training.clip(error)
        return party.answer(state, request, training.value)


def _words(error: GopaError) -> str:
    """What the server is told: of errors about the value their name alone."""
    name = type(error).__name__
    if isinstance(error, (InvalidValue, InvalidWeight, OutOfRange)) or not isinstance(
        error, (*_TOLD, StateReplayed, StateLost, VaultDamaged)
    ):
        return f"{name}: {_OWN_FAULT}"
    return f"{name}: {error}"


def _layout(asked: Asked) -> ModelLayout:
    return ModelLayout.from_json(asked.layout)


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


def _parts(content: RecordDict) -> tuple[Any, Any]:
    return _only(content.array_records, "arrays"), _only(content.metric_records, "metrics")


def _arrays(record: Any) -> dict[str, Any]:
    return {name: each.numpy() for name, each in record.items()}
