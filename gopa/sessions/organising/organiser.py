"""An organiser that survives its process and repeats its very words (`specs/12-sessions.md`, 5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, TypeAlias

from bulletin_board import Slot, Submission
from gopa.contract.beacon import earliest_round
from gopa.contract.framing import Posted
from gopa.contract.manifest import DrandBeacon, Manifest, OpenAdmission
from gopa.contract.organiser import Abort
from gopa.contract.phases import Phase
from gopa.protocol.organiser import (
    Cosigned,
    GiveUp,
    Organiser,
    OrganiserEvent,
    OrganiserOutput,
    PhaseOver,
    Seen,
    SendMessage,
    WantBeacon,
    WantCheckpoint,
)
from gopa.protocol.rules import BeaconValue, RoundPicture, SessionState
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.following.follower import Horizon
from gopa.sessions.organising.schedule import Schedule
from gopa.sessions.organising.storage import (
    RECORD,
    STANDING,
    Covered,
    JournalStart,
    PhaseStart,
    Record,
    StoredMessage,
)
from gopa.sessions.vault.interface import Vault
from wire.ed25519 import SigningKey
from wire.errors import Unattributed, UsageError
from wire.randomness import Rng
from wire.secret import Guarded

_MILLI: Final = 1000
_ANSWERS: Final = 4
"""A phase asks for a checkpoint and a beacon at most, before its close can be said."""


@dataclass(frozen=True, slots=True)
class Send:
    """The request to post stored bytes in this order, before anything else."""

    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The request to wait until this time, or until the log has grown."""

    until: float | None


@dataclass(frozen=True, slots=True)
class AskBeacon:
    """The request for the value of this round of the beacon, for `supply`; it is due at `due`."""

    round: int
    due: int


@dataclass(frozen=True, slots=True)
class Over:
    """The news that this organiser opens no more rounds."""


Act: TypeAlias = Send | WaitUntil | AskBeacon | Over


class LogIsShorter(Unattributed):
    """A log that lacks what the organiser has seen in it before: it stops."""


class DurableOrganiser(Guarded):
    """The pure organiser with a memory and a clock: when phases end, and what to post.

    Stores every message before it hands it out, and hands out the same bytes until the log
    has them (12-O1). The caller reads the log to a verified checkpoint (`take`, then
    `reached`), asks what to do (`act`) and does it, again and again. One thread at a time.
    `clock` is the time of day in seconds since 1970.
    """

    def __init__(  # noqa: PLR0913 - everything it is built from
        self,
        vault: Vault,
        manifest: Manifest,
        key: SigningKey,
        schedule: Schedule,
        *,
        rng: Rng,
        clock: Callable[[], float] = time.time,
        toolkit: Toolkit | None = None,
        executor: Executor | None = None,
    ) -> None:
        """`rng` only weighs equations that are checked together.

        Raises `UsageError` for another key than the manifest's, and `MalformedMessage` for a
        vault that does not hold what an organiser keeps.
        """
        self._machine = Organiser(manifest, key, rng=rng, toolkit=toolkit, executor=executor)
        self._vault, self._manifest, self._schedule, self._clock = vault, manifest, schedule, clock
        self._organiser = manifest.organiser
        self._horizon: Horizon | None = None
        self._checkpoint = b""
        self._unsent: dict[Slot, tuple[bytes, bytes]] = {}
        self._opened: PhaseStart | None = None
        self._covered: Covered | None = None
        self._closing = False
        self._looked = b""
        self._why = ""
        memory = vault.memory()
        self._standing = self._begin(0) if memory is None else STANDING.decode(memory)
        for data in vault.journal():
            self._recall(RECORD.decode(data))

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    @property
    def state(self) -> SessionState:
        """Where the session stands, by the rules."""
        return self._machine.state

    @property
    def size(self) -> int:
        """How much of the log was read."""
        return 0 if self._horizon is None else self._horizon.size

    @property
    def ends(self) -> float | None:
        """When the open phase is over at the latest; None while none is open."""
        current = self.state.round
        if current is None or current.opens is None or self._opened is None:
            return None
        return self._ends(current, current.opens, self._opened)

    @property
    def unheard(self) -> bool:
        """Whether nothing but the manifest was said: it is the same, whatever the log has."""
        return not self._standing.ended and self._opened is None and self.state.round is None

    @property
    def gave_up(self) -> str:
        """Why it aborted a round for which no rule demanded that; empty if it did not."""
        return self._why

    def close(self) -> None:
        """End the round that is running, and open no more."""
        self._closing = True

    def take(self, entries: Iterable[Posted]) -> None:
        """Take the next entries of the session, in the order of the log and without a gap.

        Raises `UsageError` if the key has signed something else in the place of a stored
        message: then another process uses it, and this one says nothing more.
        """
        for posted in entries:
            if posted.entry.author.data == self._organiser:
                self._landed(posted)
            self._machine.step(posted)

    def reached(self, horizon: Horizon, checkpoint: bytes) -> None:
        """Say that all entries below the horizon were taken (12-O3); `checkpoint` shows it."""
        if horizon.size:
            self._machine.step(Seen(horizon.size, horizon.root))
        self._horizon, self._checkpoint = horizon, checkpoint
        self._keep_time()

    def supply(self, value: BeaconValue) -> None:
        """Take a value of the beacon, which the caller has verified."""
        self._machine.step(value)

    def excuse(self, seconds: float) -> None:
        """Let the open phase last so much longer, because nobody could reach the board."""
        if self._opened is not None and seconds > 0 and not self._unsent:
            later = self._opened.since + int(seconds * _MILLI)
            self._note(PhaseStart(self._opened.leaf, min(later, self._now())))

    def act(self) -> Act:
        """What to do now.

        Raises `LogIsShorter` if rounds are missing in the log that this organiser has ended.
        """
        if self._horizon is None:
            return WaitUntil(None)
        if self._unsent:
            return Send(tuple(raw for _, raw in self._unsent.values()))
        state = self._machine.state
        # A board that shows an old log would have it say other words in the same places (attacks
        # `truncated-after-restart`, `restored-backup`).
        if state.rounds_ended < self._standing.ended:
            message = f"{self._standing.ended} rounds have ended, the log shows fewer"
            raise LogIsShorter(message)
        current = state.round
        if current is not None and current.ended is None and not state.over:
            return self._within(current)
        return self._between(state)

    # Between and within rounds

    def _between(self, state: SessionState) -> Act:
        """Post the manifest, or open the next round once it is time for it."""
        if self._closing or state.over:
            return Over()
        if state.manifest is None:
            return self._said(self._machine.start()[0])
        current, again = state.round, _is_retry(state, self._manifest)
        done = 0 if current is None else current.logical + (not again)
        if self._schedule.rounds is not None and done >= self._schedule.rounds:
            return Over()
        if current is not None and not again:
            begins = self._standing.since / _MILLI + self._schedule.pause
            if self._clock() < begins:
                return WaitUntil(begins)
        self._why = ""
        return self._end()

    def _within(self, current: RoundPicture) -> Act:
        """End the phase when it is over (12-O2); while closing, post only a result that is due."""
        if self._closing and current.opens is not None:
            if self._machine.carries_on(self.size):
                return self._end()
            return self._give_up("the session was closed")
        if self._opened is None:
            return WaitUntil(None)
        if current.opens is not None and not self._complete(current):
            ends = self._ends(current, current.opens, self._opened)
            if self._clock() < ends:
                return WaitUntil(ends)
        return WaitUntil(None) if self._reads_again(current) else self._end()

    def _reads_again(self, current: RoundPicture) -> bool:
        """Whether an abort is due: the log is read once more before it is signed (12-O5).

        Working it out takes time, in which others post what would have carried the round on.
        """
        if self._looked == current.acts_on or not self._machine.fails(self.size):
            return False
        self._looked = current.acts_on
        return True

    def _complete(self, current: RoundPicture) -> bool:
        """Whether nobody is expected any more. With open admission that is never sure."""
        admission = self._manifest.admission
        if current.opens is Phase.JOIN and isinstance(admission, OpenAdmission):
            return current.posted >= admission.most
        return not current.expected

    def _ends(self, current: RoundPicture, phase: Phase, opened: PhaseStart) -> float:
        begun = opened.since / _MILLI
        beacon = self._manifest.beacon
        if phase is Phase.COINS and isinstance(beacon, DrandBeacon) and current.beacon_round:
            begun = max(begun, beacon.chain.time_of(current.beacon_round))
        return begun + self._schedule.deadlines.of(phase)

    def _end(self) -> Act:
        """Post what the rules demand, once the checkpoint and the beacon's value are there."""
        for _ in range(_ANSWERS):
            try:
                outputs = self._step(PhaseOver(self.size))
            except UsageError as error:
                if error.field not in {"checkpoint", "beacon"}:
                    raise
                return self._give_up(f"the close of coins is not possible: {error.message}")
            wanted = outputs[0] if outputs else None
            if isinstance(wanted, SendMessage):
                return self._said(wanted)
            if isinstance(wanted, WantCheckpoint) and self._cosigned(wanted.size):
                continue
            if isinstance(wanted, WantBeacon):
                if wanted.round:
                    return self._await_beacon(wanted.round)
                self._name_beacon()
                continue
            break
        return WaitUntil(None)

    def _give_up(self, why: str) -> Act:
        self._why = why
        outputs = self._step(GiveUp(self.size))
        return self._said(outputs[0]) if outputs else WaitUntil(None)

    def _step(self, event: OrganiserEvent) -> tuple[OrganiserOutput, ...]:
        return self._machine.step(event)

    # Checkpoints and beacons

    def _cosigned(self, needed: int) -> bool:
        """Give a checkpoint that covers so many entries: the first such one with drand."""
        current = self.state.round
        in_coins = current is not None and current.opens is Phase.COINS
        coins = in_coins and isinstance(self._manifest.beacon, DrandBeacon)
        if coins and self._covered is not None and self._covered.size >= needed:
            self._machine.step(Cosigned(self._covered.checkpoint, self._covered.size))
            return True
        if not self._checkpoint or self.size < needed:
            return False
        if coins:
            self._note(Covered(self.size, self._checkpoint))
        self._machine.step(Cosigned(self._checkpoint, self.size))
        return True

    def _name_beacon(self) -> None:
        """Name a round whose value comes once witnesses have seen the close of join (04-J7)."""
        beacon = self._manifest.beacon
        if isinstance(beacon, DrandBeacon):
            latest = int(self._clock() + self._schedule.beacon_margin)
            self._machine.step(BeaconValue(earliest_round(beacon.chain, latest)))

    def _await_beacon(self, number: int) -> Act:
        beacon, current = self._manifest.beacon, self.state.round
        if not isinstance(beacon, DrandBeacon) or current is None or self._opened is None:
            return WaitUntil(None)
        if self._clock() >= self._ends(current, Phase.COINS, self._opened):
            return self._give_up(f"the value of round {number} of the beacon did not come")
        return AskBeacon(number, beacon.chain.time_of(number))

    # Memory

    def _said(self, output: OrganiserOutput) -> Act:
        """Store what was signed: only then may it leave the process."""
        if isinstance(output, SendMessage):
            self._note(StoredMessage(output.kind, output.round, output.entries))
        return Send(tuple(raw for _, raw in self._unsent.values()))

    def _note(self, item: Record) -> None:
        self._vault.append(RECORD.encode(item))
        self._recall(item)

    def _recall(self, item: Record) -> None:
        if isinstance(item, StoredMessage):
            for raw in item.entries:
                submission = Submission.decode(raw)
                self._unsent[submission.entry.slot] = submission.leaf, raw
        elif isinstance(item, PhaseStart):
            self._opened = item
        else:
            self._covered = item

    def _landed(self, posted: Posted) -> None:
        waiting = self._unsent.get(posted.entry.slot)
        if waiting is None:
            return
        # Sending the stored bytes now would only prove that the key signed two messages.
        if waiting[0] != posted.leaf:
            message = (
                "the log has another message in the place of one that is stored here: an organiser"
                " runs from one directory, in one process"
            )
            raise UsageError(message, "vault")
        del self._unsent[posted.entry.slot]

    def _keep_time(self) -> None:
        """Remember when the phase opened, or when the round ended."""
        state = self._machine.state
        current = state.round
        if self._unsent or current is None:
            return
        if current.ended is not None:
            if self._standing.ended < state.rounds_ended:
                self._standing = self._begin(state.rounds_ended)
            return
        opened = self._opened
        # A clock that was set back begins the phase again: it would not end for long otherwise.
        if opened is None or opened.leaf != current.acts_on or opened.since > self._now():
            self._note(PhaseStart(current.acts_on, self._now()))

    def _begin(self, ended: int) -> JournalStart:
        standing = JournalStart(ended, self._now())
        self._vault.begin(STANDING.encode(standing))
        self._opened = self._covered = None
        return standing

    def _now(self) -> int:
        return max(0, int(self._clock() * _MILLI))


def _is_retry(state: SessionState, manifest: Manifest) -> bool:
    """Whether the next round is another attempt of the same logical round (04-X3, 04-X4)."""
    current, terms = state.round, manifest.terms
    if current is None or not isinstance(current.ended, Abort):
        return False
    return current.attempt + 1 < terms.attempts and state.releases <= terms.charged
