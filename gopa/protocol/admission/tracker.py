"""The sessions of a log, followed lightly: far enough to say who may post what.

Nothing is proved here and no proof is checked: the rules do that (`gopa.protocol.rules`). The
tracker takes what the organiser says at its word, so a board that uses it keeps out what cannot
count and lets in everything that might. Specification: `specs/04-protocol.md`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import TypeAlias

from bulletin_board import Entry
from gopa.contract.cutting import PLAIN, Cut, cut_of
from gopa.contract.limits import largest_body
from gopa.contract.manifest import MANIFEST, Manifest, most_neighbours, session_id
from gopa.contract.organiser import (
    Abort,
    Close,
    Coins,
    Members,
    Open,
    OrganiserMessage,
    ResultMessage,
    Roll,
    read_control,
    unpack_members,
)
from gopa.contract.parameters import Roster
from gopa.contract.phases import TABLE, Phase, Turn, is_open
from wire.errors import MalformedMessage

Stream: TypeAlias = tuple[bytes, int, int]
"""Author, phase and round."""


@dataclass(slots=True)
class MessageProgress:
    """An author's entries in a phase: the next number, and a message on its way.

    `whole` counts the messages that are complete; `cut` says how the one on its way is cut.
    """

    next_seq: int = 0
    chunk: int = 0
    chunks: int = 0
    kind: int = 0
    size: int = 0
    cut: Cut = PLAIN
    whole: int = 0
    bodies: list[bytes] = field(default_factory=list)

    def continues(self, entry: Entry) -> bool:
        """Whether the entry is the next one: of the message on its way, or of a new one."""
        if entry.seq != self.next_seq:
            return False
        if not self.chunk:
            return entry.chunk == 0
        same = (entry.chunks, entry.kind) == (self.chunks, self.kind)
        return entry.chunk == self.chunk and same

    def cut_at(self, entry: Entry) -> Cut:
        """The cut of the message of which this entry would be the next chunk."""
        return self.cut if self.chunk else cut_of(entry.kind, entry.body, entry.chunks)

    def take(self, entry: Entry, *, keep: bool) -> bytes | None:
        """Count the entry; the body of the message that it completes, if bodies are kept."""
        self.next_seq += 1
        self.cut = self.cut_at(entry)
        self.kind, self.chunks, self.chunk = entry.kind, entry.chunks, entry.chunk + 1
        self.size += len(entry.body)
        if keep:
            self.bodies.append(entry.body)
        if self.chunk < self.chunks:
            return None
        body = b"".join(self.bodies)
        self.chunk, self.size, self.bodies = 0, 0, []
        self.whole += 1
        return body


@dataclass(slots=True)
class TrackedRound:
    """The current round, by the closes so far."""

    number: int
    logical: int
    attempt: int
    opens: Phase | None = Phase.JOIN
    step: int = 0
    roll: Roll | None = None
    roll_leaf: bytes = b""
    places: Mapping[bytes, int] = field(default_factory=dict)
    coins: Coins | None = None
    lists: list[tuple[Phase, frozenset[int]]] = field(default_factory=list)
    final: frozenset[int] | None = None
    ended: ResultMessage | Abort | None = None
    streams: dict[tuple[bytes, int], MessageProgress] = field(default_factory=dict)
    floors: dict[bytes, int] = field(default_factory=dict)
    joining: set[bytes] = field(default_factory=set)

    def may_post(self, author: bytes, phase: Phase) -> bool:
        """Whether the author is still in the round, as far as lists say."""
        if phase is Phase.JOIN or self.roll is None:
            return phase is Phase.JOIN
        place = self.places.get(author)
        if place is None:
            return False
        if self.final is not None:
            return place in self.final
        return not self.lists or place in self.lists[-1][1]

    def is_open(self, phase: Phase) -> bool:
        return is_open(phase, self.opens)


@dataclass(slots=True)
class TrackedSession:
    """One session of the log, from its manifest on."""

    manifest: Manifest
    largest: Mapping[Phase, int]
    roster: frozenset[bytes] | None
    controls: MessageProgress = field(default_factory=MessageProgress)
    round: TrackedRound | None = None
    broken: bool = False
    released: int = 0

    @classmethod
    def of(cls, manifest: Manifest) -> TrackedSession:
        """A session that has begun; `UsageError` for one in which nothing could be proved."""
        admission = manifest.admission
        roster = frozenset(admission.keys) if isinstance(admission, Roster) else None
        largest = {phase: largest_body(manifest, phase) for phase in Phase}
        return cls(manifest, largest, roster)

    @property
    def most_accusations(self) -> int:
        """One about the edge and one about the share of each neighbour."""
        return 2 * most_neighbours(self.manifest.terms)

    @property
    def due_round(self) -> int:
        """The round in which the organiser's next entry stands."""
        if self.round is None:
            return 1
        return self.round.number + (self.round.ended is not None)

    @property
    def over(self) -> bool:
        """Whether no round is to come any more (04-X4), or nobody would follow its organiser."""
        found, terms = self.round, self.manifest.terms
        if self.broken or found is None or found.ended is None:
            return self.broken
        used = found.attempt + 1 >= terms.attempts or self.released > terms.charged
        again = isinstance(found.ended, Abort) and not used
        return not again and found.logical + 1 >= terms.rounds

    def progress(self, author: bytes, phase: Phase) -> MessageProgress:
        """The author's entries in a phase of the current round."""
        if self.round is None:
            return MessageProgress()
        return self.round.streams.get((author, phase), MessageProgress())

    def admits(self, author: bytes) -> bool:
        """Whether the author is on the roster, or admission is open."""
        return author != self.manifest.organiser and (self.roster is None or author in self.roster)

    def take_party(self, entry: Entry) -> None:
        """An entry of a party is in the log."""
        found, author = self.round, entry.author.data
        if found is None or entry.round != found.number or not self.admits(author):
            return
        if entry.phase == Phase.JOIN:
            found.joining.add(author)
        progress = found.streams.setdefault((author, entry.phase), MessageProgress())
        if progress.continues(entry):
            progress.take(entry, keep=False)

    def take_control(self, entry: Entry) -> None:
        """An entry of the organiser is in the log."""
        if self.broken or entry.round != self.due_round:
            return
        if self.round is None or entry.round != self.round.number:
            self.controls = self.controls if self.controls.chunk else MessageProgress()
        if not self.controls.continues(entry):
            return
        body = self.controls.take(entry, keep=True)
        if body is None:
            return
        try:
            self._apply(read_control(entry.kind, body), entry.round)
        except MalformedMessage:
            self.broken = True

    def _apply(self, message: OrganiserMessage, number: int) -> None:
        if isinstance(message, Open):
            self.released = self.released if message.attempt else 0
            self.round = TrackedRound(number, message.logical, message.attempt)
        elif self.round is not None and isinstance(message, Close):
            close_phase(self.manifest, self.round, message)
        elif self.round is not None and isinstance(message, ResultMessage | Abort):
            self.round.ended, self.round.opens = message, None
            self.released += self.round.final is not None


def manifest_of(session: bytes, author: bytes, body: bytes) -> Manifest:
    """Reads the manifest if it is this session's and the author's; else `MalformedMessage`."""
    if session_id(body) != session:
        raise MalformedMessage("the manifest does not hash to the session's id", "session")
    manifest = MANIFEST.decode(body)
    if manifest.organiser != author:
        raise MalformedMessage("the manifest names another organiser", "organiser")
    return manifest


def close_phase(manifest: Manifest, found: TrackedRound, close: Close) -> None:
    """Applies what a close changes; `MalformedMessage` if it cannot be one of this phase."""
    if close.phase is not found.opens:
        raise MalformedMessage("the close of another phase than the open one", "phase")
    content = close.content
    if isinstance(content, Roll) and close.phase is Phase.JOIN:
        found.roll = content
        found.places = {each.author: place for place, each in enumerate(content.parties)}
    elif isinstance(content, Coins) and close.phase is Phase.COINS and found.roll is not None:
        found.roll_leaf, found.coins = close.acts_on, content
        _list(found, close.phase, content.members)
    elif isinstance(content, Members) and found.coins is not None:
        _list(found, close.phase, content.members)
    else:
        raise MalformedMessage("the content belongs to another phase", "content")
    _advance(manifest, found, close)


def _list(found: TrackedRound, phase: Phase, members: bytes) -> None:
    parties = 0 if found.roll is None else len(found.roll.parties)
    found.lists.append((phase, frozenset(unpack_members(members, parties))))


def _advance(manifest: Manifest, found: TrackedRound, close: Close) -> None:
    final = isinstance(close.content, Members) and close.content.final
    turn = manifest.turn_after(close.phase, final=final)
    if final and turn is Turn.UNPROVED:
        raise MalformedMessage("a phase of proofs stands before the final close", "content")
    found.opens = TABLE[close.phase].then.get(turn)
    if turn is Turn.CROSSED:
        found.step += 1
        found.floors = {
            author: progress.whole
            for (author, phase), progress in found.streams.items()
            if phase == Phase.ROLLBACK
        }
    elif turn in {Turn.FINAL, Turn.TRUSTED}:
        found.final = found.lists[-1][1]


_INDEX = Struct(">Q")


class _Needed:
    """The indexes of one session; `parties` are those of the round `round`."""

    __slots__ = ("organiser", "parties", "round")

    def __init__(self) -> None:
        self.organiser = array("Q")
        self.parties = array("Q")
        self.round: TrackedRound | None = None

    def note(self, index: int, entry: Entry, session: TrackedSession) -> None:
        if entry.phase == Phase.ORGANISER:
            self.organiser.append(index)
            found = session.round
            if found is not self.round or (found is not None and found.ended is not None):
                self.round, self.parties = found, array("Q")
        elif self.round is not None and self.round.ended is None:
            self.parties.append(index)


class NeededEntries:
    """Indexes of entries, by session."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, _Needed] = {}

    def note(self, index: int, entry: Entry, session: TrackedSession | None) -> None:
        """Take an entry that counts; `session` is None until its manifest is whole."""
        needed = self._sessions.setdefault(entry.session, _Needed())
        if session is None:
            needed.organiser.append(index)
        else:
            needed.note(index, entry, session)

    def forget(self, session: bytes) -> None:
        """Drop a session whose manifest was given up or counts for nothing.

        If its entries stayed, whoever had begun it first would own it again after a restart.
        """
        self._sessions.pop(session, None)

    def save(self) -> bytes:
        """Give all indexes, in the order of the log."""
        return b"".join(map(_INDEX.pack, sorted(self._indexes())))

    def _indexes(self) -> Iterator[int]:
        for each in self._sessions.values():
            yield from each.organiser
            yield from each.parties


def read_indexes(state: bytes, size: int) -> list[int]:
    """Reads what `save` said of a log of this size; `MalformedMessage` for anything else."""
    if len(state) % _INDEX.size:
        raise MalformedMessage("whole indexes", "state")
    found = [index for (index,) in _INDEX.iter_unpack(state)]
    if any(a >= b for a, b in pairwise([*found, size])):
        raise MalformedMessage("increasing indexes of entries of the log", "state")
    return found
