"""Decides what a board lets into its log: entries that can count in a session that is going on.

Specification: 04-S4, 04-E1, 04-E2, 04-C1 and 04-C2;
`specs/05-bulletin-board.md`, section 4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, fields
from threading import Lock
from typing import Final, NoReturn

from bulletin_board import Entry, RefusalReason, Refused
from bulletin_board.admission import FetchEntry
from bulletin_board.entry import LARGEST_BODY
from gopa.contract.cutting import full_size, least_size
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, Close, Open, ResultMessage, read_control
from gopa.contract.parameters import OpenAdmission
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.admission.places import Beginning, OpenSessions, Pending
from gopa.protocol.admission.tracker import (
    MessageProgress,
    NeededEntries,
    TrackedRound,
    TrackedSession,
    close_phase,
    manifest_of,
    read_indexes,
)
from gopa.support.version import VERSION
from wire.errors import MalformedMessage, UsageError

LARGEST_MANIFEST: Final = 4_000_000
"""Bytes: a roster of more than 100,000 keys."""

MOST_SESSIONS: Final = 1_000
MOST_PENDING: Final = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """Who may begin sessions, and how many there are.

    `organisers` are Ed25519 keys, None for anybody; `sessions` are ids, None for any. A log
    that lets strangers begin sessions grows with what strangers want. `most_sessions` are
    open at once, and `most_pending` manifests are on their way.
    """

    organisers: frozenset[bytes] | None = None
    sessions: frozenset[bytes] | None = None
    most_sessions: int = MOST_SESSIONS
    most_pending: int = MOST_PENDING

    @classmethod
    def of(
        cls,
        organisers: Collection[bytes] | None = None,
        sessions: Collection[bytes] | None = None,
        most_sessions: int = MOST_SESSIONS,
        most_pending: int = MOST_PENDING,
    ) -> Limits:
        """Limits from any collections."""
        return cls(
            None if organisers is None else frozenset(organisers),
            None if sessions is None else frozenset(sessions),
            most_sessions,
            most_pending,
        )

    def objection(self, session: bytes, author: bytes) -> str:
        """Why this author may not begin this session, or the empty string."""
        if self.sessions is not None and session not in self.sessions:
            return "ask the operator to register it"
        if self.organisers is not None and author not in self.organisers:
            return "its organiser has not begun it, or may not"
        return ""


class ProtocolAdmission:
    """Admission to logs that have sessions, as many as `limits` allows.

    It follows the organisers' messages and takes them at their word; no proof is checked.
    Whoever may post in the open phase has one message there (in rollback one for each
    step, of accusations two for each neighbour), of the size that the manifest allows:
    so the log of a session stays bounded, whatever anybody sends. Who may begin one is
    asked again when the log is replayed: a session of somebody who may not any more, takes
    nothing more. `sessions` may be read by another thread under `lock`.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._pending = Pending(self._limits.most_pending)
        self._open = OpenSessions(self._limits.most_sessions)
        self._size = 0
        self._needed = NeededEntries()
        self.sessions: dict[bytes, TrackedSession] = {}
        self.lock = Lock()

    def admit(self, entry: Entry) -> None:
        """Return to let the entry into the log; see `bulletin_board.AdmissionPolicy`."""
        session = self.sessions.get(entry.session)
        if session is None:
            self._admit_manifest(entry)
        elif entry.author.data == session.manifest.organiser:
            _admit_control(session, entry, self._size)
        else:
            _admit_party(session, entry)

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        """The entry is in the log; evidence, which takes a slot again, changes nothing.

        What gave way is not known any more, so evidence in its first slot would look like a
        beginning: an organiser would have its session back by saying two things at once.
        """
        with self.lock:
            self._size = index + 1
            if not evidence:
                self._take(entry)
                self._remember(index, entry)

    def _take(self, entry: Entry) -> None:
        session = self.sessions.get(entry.session)
        if session is None:
            self._begin(entry)
        elif entry.author.data != session.manifest.organiser:
            session.take_party(entry)
        elif entry.phase == Phase.ORGANISER:
            session.take_control(entry)
            if session.over:
                self._open.end(entry.session)
            elif session.round is not None:
                self._open.go_on(entry.session)

    def _remember(self, index: int, entry: Entry) -> None:
        for given_up in (*self._pending.given_up(), *self._open.given_up()):
            self.sessions.pop(given_up, None)
            self._needed.forget(given_up)
        session = self.sessions.get(entry.session)
        if session is None and entry.session not in self._pending.known:
            self._needed.forget(entry.session)
        else:
            self._needed.note(index, entry, session)

    def is_barrier(self, entry: Entry) -> bool:
        """Closes and what ends a round, in sessions whose closes need witnesses (04-C4)."""
        session = self.sessions.get(entry.session)
        control = entry.phase == Phase.ORGANISER and entry.kind != Kind.MANIFEST
        return session is not None and control and session.manifest.quorum is not None

    def identity(self) -> bytes:
        """This version of the code, under these limits."""
        limits = [getattr(self._limits, each.name) for each in fields(self._limits)]
        listed = [sorted(each) if isinstance(each, frozenset) else each for each in limits]
        digest = hashlib.sha256(repr(listed).encode()).hexdigest()
        return f"sessions/3 {VERSION} {digest}".encode()

    def save(self) -> bytes:
        """Which entries say all that counts now; see `bulletin_board.admission.Resumable`."""
        with self.lock:
            return self._needed.save()

    def restore(self, state: bytes, size: int, fetch: FetchEntry) -> None:
        """Observe these entries again, and no others."""
        for index in read_indexes(state, size):
            self.observe(index, fetch(index))
        self._size = size

    def _admit_manifest(self, entry: Entry) -> None:
        limits, author = self._limits, entry.author.data
        objection = limits.objection(entry.session, author)
        if objection:
            _refuse(RefusalReason.SESSION, objection)
        if (entry.phase, entry.round, entry.kind) != (Phase.ORGANISER, 0, Kind.MANIFEST):
            _refuse(
                RefusalReason.SESSION,
                "its manifest is not in the log, or was given up for others before its first"
                " round opened: create another session, and open its first round at once",
            )
        if self._open.full:
            _refuse(
                RefusalReason.FULL,
                f"{limits.most_sessions} sessions are open, as many as this board takes:"
                " wait until one is over, or ask the operator",
            )
        beginning = self._pending.known.get(entry.session, Beginning(author))
        if beginning.author != author:
            _refuse(RefusalReason.SESSION, "somebody else is posting its manifest")
        if entry.seq and not beginning.progress.next_seq:
            _refuse(
                RefusalReason.SEQUENCE,
                "the beginning of its manifest is not in the log, or was given up for others:"
                " create another session",
            )
        _require_place(beginning.progress, entry)
        if entry.chunks * LARGEST_BODY > LARGEST_MANIFEST + LARGEST_BODY:
            _refuse(RefusalReason.TOO_LARGE, f"a manifest has at most {LARGEST_MANIFEST} bytes")
        if entry.chunk + 1 == entry.chunks:
            try:
                TrackedSession.of(manifest_of(entry.session, author, beginning.body(entry)))
            except (MalformedMessage, UsageError) as error:
                _refuse(RefusalReason.MALFORMED, str(error))

    def _begin(self, entry: Entry) -> None:
        """Note an entry of the log, if `admit` would let it in: a log may be older than its policy.

        So operators free a board that strangers have filled by naming organisers.
        """
        author = entry.author.data
        if self._limits.objection(entry.session, author):
            return
        beginning = self._pending.known.get(entry.session, Beginning(author))
        manifest_place = (entry.phase, entry.round, entry.kind)
        expected = (Phase.ORGANISER, 0, Kind.MANIFEST)
        if manifest_place != expected or beginning.author != author:
            return
        if not beginning.progress.continues(entry):
            return
        body = beginning.progress.take(entry, keep=True)
        if body is None:
            self._pending.keep(entry.session, beginning)
            return
        self._pending.forget(entry.session)
        try:
            self.sessions[entry.session] = TrackedSession.of(
                manifest_of(entry.session, author, body)
            )
        except (MalformedMessage, UsageError):
            return
        self._open.begin(entry.session)


def _admit_control(session: TrackedSession, entry: Entry, size: int) -> None:
    if entry.phase != Phase.ORGANISER:
        _refuse(RefusalReason.UNREGISTERED, "the organiser takes part under another key")
    if session.broken or entry.round != session.due_round:
        _refuse(RefusalReason.PHASE, f"round {session.due_round} is due")
    new_round = session.round is None or entry.round != session.round.number
    progress = session.controls
    if new_round and not progress.chunk:
        progress = MessageProgress()
    _require_place(progress, entry)
    _require_size(progress, entry, session.largest[Phase.ORGANISER])
    if entry.chunk + 1 < entry.chunks:
        return
    try:
        message = read_control(entry.kind, b"".join(progress.bodies) + entry.body)
    except MalformedMessage as error:
        _refuse(RefusalReason.MALFORMED, str(error))
    first = size - entry.chunk
    _require_turn(session, message, new_round=new_round, first=first)


def _require_turn(
    session: TrackedSession,
    message: Open | Close | ResultMessage | Abort,
    *,
    new_round: bool,
    first: int,
) -> None:
    """Require the organiser's next message in its turn (04-C1, 04-C2)."""
    if isinstance(message, Open) != new_round:
        _refuse(RefusalReason.PHASE, "a round goes from its open to its result or abort")
    if isinstance(message, Open):
        if session.over:
            _refuse(RefusalReason.PHASE, "the session is over: its last round has ended")
        return
    if message.cut > first:
        _refuse(RefusalReason.MALFORMED, f"a cut of at most {first}, the size of the log")
    found = session.round
    if isinstance(message, Close) and found is not None:
        _require_close(session.manifest, found, message)


def _require_close(manifest: Manifest, found: TrackedRound, close: Close) -> None:
    trial = copy(found)
    trial.lists = list(found.lists)
    try:
        close_phase(manifest, trial, close)
    except MalformedMessage as error:
        _refuse(RefusalReason.PHASE, str(error))


def _admit_party(session: TrackedSession, entry: Entry) -> None:
    author, found = entry.author.data, session.round
    if not session.admits(author):
        _refuse(RefusalReason.UNREGISTERED, "the author is not on the roster of the session")
    if entry.phase not in KIND_IN or entry.kind != KIND_IN[Phase(entry.phase)]:
        _refuse(RefusalReason.MALFORMED, "another kind of message than the phase's")
    phase = Phase(entry.phase)
    if found is None or entry.round != found.number or not found.is_open(phase):
        _refuse(RefusalReason.PHASE, "")
    if not found.may_post(author, phase):
        _refuse(RefusalReason.UNREGISTERED, "the author is not in the round any more")
    _require_room(session, author, phase)
    progress = session.progress(author, phase)
    if not progress.chunk and progress.whole >= _allowance(session, author, phase):
        _refuse(RefusalReason.SEQUENCE, "the author has said all that it may say in this phase")
    _require_place(progress, entry)
    _require_size(progress, entry, session.largest[phase])


def _require_room(session: TrackedSession, author: bytes, phase: Phase) -> None:
    """04-J1 with open admission: more joins than can count are not taken."""
    admission, found = session.manifest.admission, session.round
    if phase is not Phase.JOIN or not isinstance(admission, OpenAdmission) or found is None:
        return
    if author not in found.joining and len(found.joining) >= 2 * admission.most:
        _refuse(RefusalReason.FULL, "as many have joined the session as can count")


def _allowance(session: TrackedSession, author: bytes, phase: Phase) -> int:
    """How many messages of one author the phase takes."""
    if phase is Phase.ACCUSE:
        return session.most_accusations
    if phase is Phase.ROLLBACK and session.round is not None:
        return session.round.floors.get(author, 0) + 1
    return 1


def _require_place(progress: MessageProgress, entry: Entry) -> None:
    """Require the author's next entry in its place (04-E1, 04-E2)."""
    if not progress.continues(entry):
        _refuse(RefusalReason.SEQUENCE, f"entry {progress.next_seq} of this author is due")
    full = full_size(entry.chunk, progress.cut_at(entry))
    if len(entry.body) > full or (entry.chunk + 1 < entry.chunks and len(entry.body) != full):
        _refuse(RefusalReason.MALFORMED, f"all chunks but the last are full: {full} bytes")


def _require_size(progress: MessageProgress, entry: Entry, largest: int) -> None:
    """Refuse a message above the largest size of its phase (04-S4)."""
    rest = entry.chunks - entry.chunk - 1
    to_come = least_size(rest, progress.cut_at(entry)) + 1 if rest else 0
    if progress.size + len(entry.body) + to_come > largest:
        _refuse(RefusalReason.TOO_LARGE, f"such a message has at most {largest} bytes")


def _refuse(reason: RefusalReason, message: str) -> NoReturn:
    raise Refused(reason, message)
