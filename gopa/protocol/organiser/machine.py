"""Runs the organiser: it posts what the rules demand when a phase is over, and decides nothing.

Specification: `specs/04-protocol.md`.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeAlias

from bulletin_board import Slot, Submission
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.manifest import DrandBeacon, Manifest
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import BeaconValue, Control, Findings, Ledger, SessionState
from gopa.rounds.toolkit import Toolkit
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded


@dataclass(frozen=True, slots=True)
class PhaseOver:
    """Tells the organiser that the open phase ends now; between rounds, that the next one opens.

    `size` is how many entries the log has for certain: what is below it counts.
    """

    size: int


@dataclass(frozen=True, slots=True)
class Idle:
    """Tells that nothing is on its way: a phase ends in which nobody is expected any more."""

    size: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Asks to abort the round, for no reason that a rule gives (04-X1).

    Where that would be a veto of a result (04-X7) the phase ends instead, as with `PhaseOver`.
    """

    size: int


@dataclass(frozen=True, slots=True)
class Cosigned:
    """Hands over a checkpoint with the cosignatures that the manifest's policy asks for (04-C4)."""

    checkpoint: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Tells the newest checkpoint the caller has verified, named in what is signed next (04-E6).

    An organiser that was shown another log than an auditor is not convicted by what it lists.
    Before a phase ends it has to be told: a close carries the root at its cut (04-C7).
    """

    size: int
    root: bytes


OrganiserEvent: TypeAlias = Posted | PhaseOver | Idle | GiveUp | Cosigned | Seen | BeaconValue


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Asks to store one message's signed entries durably and then to post them in order (04-E5)."""

    kind: Kind
    round: int
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class WantCheckpoint:
    """Asks for a cosigned checkpoint that covers so many entries; the phase cannot end before."""

    size: int


@dataclass(frozen=True, slots=True)
class WantBeacon:
    """Asks which beacon round to name, or for its value; the phase cannot end before.

    `round` is 0 where one is to be named: late enough for witnesses to cosign the close of
    join two periods before it is due.
    """

    round: int


OrganiserOutput: TypeAlias = SendMessage | WantCheckpoint | WantBeacon


class Organiser(Guarded):
    """Posts what the rules demand, when the phase is over.

    No clock, no files, no network. It follows the log with the same evaluation as every
    auditor. The caller delivers every entry of the session in the order of the log. A phase
    ends when `PhaseOver` says so, or on `Idle` when nobody is expected any more.
    """

    def __init__(
        self,
        manifest: Manifest,
        key: SigningKey,
        *,
        rng: Rng,
        toolkit: Toolkit | None = None,
        executor: Executor | None = None,
    ) -> None:
        if key.public.data != manifest.organiser:
            raise UsageError("the manifest names another organiser", "organiser")
        self._manifest = manifest
        self._session = manifest.session
        self._key = key
        self._roots = dict[int, bytes]()
        self._ledger = Ledger(
            toolkit or Toolkit(), rng=rng, executor=executor, root_at=self._roots.get
        )
        self._unseen: tuple[bytes, ...] = ()
        self._slots: frozenset[Slot] = frozenset()
        self._checkpoint = Cosigned(b"", 0)
        self._seen = Seen(0, NO_LEAF)
        self._beacon: BeaconValue | None = None
        self._size = 0

    @property
    def state(self) -> SessionState:
        """Where the session stands, by the rules."""
        return self._ledger.state

    def fails(self, size: int) -> bool:
        """Whether the rules demand an abort, if so many entries count; a caller reads on first."""
        current = self.state.round
        return current is not None and current.ended is None and self._ledger.fails(size)

    def carries_on(self, size: int) -> bool:
        """Whether an abort would be a veto of what the log has (04-X7) if so many entries count."""
        return self.state.manifest is not None and self._ledger.carries_on(size)

    def findings(self) -> Findings:
        """Everything the rules found so far."""
        return self._ledger.findings()

    def start(self) -> tuple[OrganiserOutput, ...]:
        """The manifest, which begins the session."""
        place = MessageSlot(self._session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
        return (self._sign(self._manifest.to_bytes(), place),)

    def step(self, event: OrganiserEvent) -> tuple[OrganiserOutput, ...]:
        """What follows from one event.

        Raises:
            UsageError: an entry of another session, or a checkpoint older than the last.
        """
        if isinstance(event, Posted):
            self._observe(event)
        elif isinstance(event, Seen):
            self._witnessed(event)
        elif isinstance(event, Cosigned):
            self._checkpoint = event
        elif isinstance(event, BeaconValue):
            self._beacon = event
        elif not self._unseen:  # before its last message is in the log there is no next one
            return self._ended(event)
        return ()

    def _observe(self, posted: Posted) -> None:
        if posted.entry.session != self._session:
            raise UsageError("only entries of the session", "posted")
        self._ledger.observe(posted)
        self._size = max(self._size, posted.index + 1)
        replaced = posted.leaf not in self._unseen and posted.entry.slot in self._slots
        # Its own key has signed something else there: what it waits for is never in the log.
        left = () if replaced else self._unseen
        self._unseen = tuple(leaf for leaf in left if leaf != posted.leaf)

    def _witnessed(self, event: Seen) -> None:
        if event.size < self._seen.size or len(event.root) != len(NO_LEAF):
            raise UsageError("checkpoints grow, and their roots have 32 bytes", "size")
        self._seen = event if event.size else Seen(0, NO_LEAF)
        self._roots.clear()  # only the last one counts: it stands in the next close
        self._roots[event.size] = event.root

    def _ended(self, event: PhaseOver | Idle | GiveUp) -> tuple[OrganiserOutput, ...]:
        self._size = max(self._size, event.size)
        if self._seen.size > self._size:  # it would say itself that its cut leaves something out
            raise UsageError("the entries below the newest checkpoint are missing", "size")
        if isinstance(event, GiveUp) and not self.carries_on(self._size):
            return self._publish(self._ledger.abort(self._size))
        if isinstance(event, Idle):
            current = self.state.round
            if current is None or current.opens is None or current.expected:
                return ()
        return self._next_message()

    def _next_message(self) -> tuple[OrganiserOutput, ...]:
        """Sign what the rules demand, or ask for what it needs besides the log."""
        missing = self._missing()
        if missing is not None:
            return (missing,)
        control = self._ledger.next_control(
            self._size,
            root=self._seen.root,
            checkpoint=self._current_checkpoint(),
            beacon=self._beacon,
        )
        if control is not None and control.kind is Kind.CLOSE and self._seen.size != self._size:
            raise UsageError("a close carries the root of the newest checkpoint: tell it", "size")
        return self._publish(control)

    def _missing(self) -> OrganiserOutput | None:
        """What the next close needs besides the log (04-C4, 04-J7, 04-V4)."""
        current = self.state.round
        if current is None or current.opens is None:
            return None
        drand = isinstance(self._manifest.beacon, DrandBeacon)
        if current.opens is Phase.JOIN:
            return WantBeacon(0) if drand and self._beacon is None else None
        if self._manifest.quorum is not None and self._checkpoint.size <= current.opened_at:
            return WantCheckpoint(current.opened_at + 1)
        if drand and current.opens is Phase.COINS and not self._has_value(current.beacon_round):
            return WantBeacon(current.beacon_round)
        return None

    def _has_value(self, number: int) -> bool:
        found = self._beacon
        return found is not None and found.round == number and bool(found.signature)

    def _current_checkpoint(self) -> bytes:
        current = self.state.round
        joining = current is None or current.opens in {None, Phase.JOIN}
        return b"" if self._manifest.quorum is None or joining else self._checkpoint.checkpoint

    def _publish(self, control: Control | None) -> tuple[OrganiserOutput, ...]:
        if control is None:
            return ()
        place = MessageSlot(
            self._session,
            Phase.ORGANISER,
            control.kind,
            control.round,
            control.seq,
            control.previous,
            self._seen.size,
            self._seen.root,
        )
        if control.kind in {Kind.RESULT, Kind.ABORT}:
            self._beacon = None
        return (self._sign(control.body, place),)

    def _sign(self, body: bytes, place: MessageSlot) -> SendMessage:
        signed = sign_message(body, place, self._key)
        self._unseen = tuple(map(leaf_hash, signed.entries))
        self._slots = frozenset(Submission.decode(raw).entry.slot for raw in signed.entries)
        return SendMessage(place.kind, place.round, signed.entries)
