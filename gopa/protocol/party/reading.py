"""Reads what others posted: lists in closes (04-C5), entries of neighbours (04-E1 to 04-E4).

Lists are decoded once and checked for length and order. Many parties of one process read the same
closes, so what follows from the bytes of a close alone is kept and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from bulletin_board import Entry
from gopa.contract.cutting import COMMIT_HEAD, PROVE_HEAD, CommitHead, ProveHead, head_end, is_head
from gopa.contract.framing import Assembler, Message, Posted, party_id
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Roster
from gopa.contract.organiser import (
    CLOSE,
    RESULT,
    Close,
    Coins,
    Members,
    ResultMessage,
    Roll,
    unpack_members,
)
from gopa.contract.party import JOIN, Join
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.contract.rows import ROW_JOIN, RowJoin
from gopa.protocol.party.chain import whole
from gopa.protocol.party.events import Fetch
from gopa.rounds.context import RoundContext
from wire.errors import MalformedMessage, UsageError

_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class DecodedRoll:
    """Holds the roll of a round: authors and ids by position, positions by author."""

    roll: Roll
    authors: tuple[bytes, ...]
    ids: tuple[bytes, ...]
    positions: Mapping[bytes, int]

    def __len__(self) -> int:
        return len(self.authors)


@dataclass(frozen=True, slots=True)
class Closed:
    """Holds a close as it was posted."""

    close: Close
    body: bytes
    leaf: bytes

    @property
    def cut(self) -> int:
        return self.close.cut

    @property
    def final(self) -> bool:
        """Whether the close says that its list is the last one."""
        return isinstance(self.close.content, Members) and self.close.content.final


@lru_cache(maxsize=_KEPT)
def decode_close(body: bytes) -> Close:
    """Decode strictly; `MalformedMessage` for anything else."""
    return CLOSE.decode(body)


@lru_cache(maxsize=4)
def decode_result(body: bytes) -> ResultMessage:
    """Decode strictly; `MalformedMessage` for anything else."""
    return RESULT.decode(body)


def read_roll(body: bytes, manifest: Manifest) -> DecodedRoll:
    """Reads the roll of a close of join (04-J6): increasing authors, each with a key of its own.

    Only parties of the roster count, and not the organiser: else an organiser could put keys of
    its own around a party.
    """
    enrolment = read_enrolment(body)
    roll = enrolment.roll
    size = 32 if isinstance(manifest.beacon, CommitReveal) else 0
    if any(len(party.nonce_hash) != size for party in roll.parties):
        raise MalformedMessage(f"hashes of nonces have {size} bytes", "parties.nonce_hash")
    if (roll.beacon_round > 0) != isinstance(manifest.beacon, DrandBeacon):
        raise MalformedMessage("a round of the beacon exactly if there is one", "beacon_round")
    if manifest.organiser in enrolment.positions:
        raise MalformedMessage("the organiser is no party", "parties")
    if not manifest.terms.survivors <= len(enrolment) <= manifest.terms.parties:
        raise MalformedMessage("as many parties as the terms allow", "parties")
    admission = manifest.admission
    if isinstance(admission, Roster) and not enrolment.positions.keys() <= _roster(admission.keys):
        raise MalformedMessage("only parties of the roster", "parties")
    return enrolment


def read_coins(close: Close, manifest: Manifest, parties: int) -> tuple[Coins, tuple[int, ...]]:
    """The coins with the positions of their members, of the sizes of the beacon."""
    coins = close.content
    if close.phase is not Phase.COINS or not isinstance(coins, Coins):
        raise MalformedMessage("a close of coins lists coins", "content")
    members = unpack_members(coins.members, parties)
    nonces = len(members) if isinstance(manifest.beacon, CommitReveal) else 0
    if len(coins.nonces) != nonces:
        raise MalformedMessage(f"{nonces} nonces", "content.nonces")
    if not nonces and len(members) != parties:
        raise MalformedMessage("without nonces everybody is a member", "content.members")
    if bool(coins.signature) != isinstance(manifest.beacon, DrandBeacon):
        raise MalformedMessage("a signature exactly if there is a beacon", "content.signature")
    return coins, members


def read_members(close: Close, phase: Phase, parties: int) -> tuple[tuple[int, ...], bool]:
    """The positions in a later list, and whether it is final."""
    content = close.content
    if close.phase is not phase or not isinstance(content, Members):
        raise MalformedMessage(f"a close of {phase.name.lower()} lists members", "content")
    return unpack_members(content.members, parties), content.final


@lru_cache(maxsize=_KEPT)
def read_enrolment(body: bytes) -> DecodedRoll:
    """The roll in a close of join, whatever manifest it is for; decoded once."""
    close = decode_close(body)
    if close.phase is not Phase.JOIN or not isinstance(close.content, Roll):
        raise MalformedMessage("a close of join lists a roll", "content")
    roll = close.content
    authors = tuple(party.author for party in roll.parties)
    if any(a >= b for a, b in pairwise(authors)):
        raise MalformedMessage("authors are distinct and in increasing order", "parties")
    if len({party.key for party in roll.parties}) != len(authors):
        raise MalformedMessage("every party has a key of its own", "parties")
    positions = MappingProxyType({author: i for i, author in enumerate(authors)})
    return DecodedRoll(roll, authors, tuple(map(party_id, authors)), positions)


@lru_cache(maxsize=_KEPT)
def _roster(keys: tuple[bytes, ...]) -> frozenset[bytes]:
    return frozenset(keys)


_T = TypeVar("_T")


def first_messages(
    entries: Iterable[Posted], session: bytes, wanted: Fetch
) -> Mapping[bytes, Message]:
    """The message of each author that was asked for, if it is whole below the cut, or its head.

    A second entry in a slot changes nothing, so that all readers take the same one (attacks
    `equivocate`, `second-message`). Raises `UsageError` for entries of anything else or out of
    order: the caller answers with what was asked for.
    """
    by_author = _by_author(entries, (session, wanted.round, wanted.phase), wanted.cut)
    kind = KIND_IN[wanted.phase]
    found = {author: _first(by_author.get(author, ())) for author in wanted.authors}
    return {
        author: message
        for author, message in found.items()
        if message is not None and message.kind == kind
    }


def decoded(message: Message | None, decode: Callable[[bytes], _T], acts_on: bytes) -> _T | None:
    """The content of a message that is well-formed and acts on the right close; else None.

    A message of an earlier round acts on another close (attack `replay-round`).
    """
    if message is None or not message.body.startswith(acts_on):
        return None
    try:
        return decode(message.body)
    except MalformedMessage:
        return None


def decoded_join(
    context: RoundContext, message: Message | None, acts_on: bytes
) -> Join | RowJoin | None:
    """A join that is well-formed for its session and acts on the right `open`; else None."""
    if context.in_rows:
        return decoded(message, ROW_JOIN.decode, acts_on)
    return decoded(message, JOIN.decode, acts_on)


@lru_cache(maxsize=1024)
def decode_commit_head(body: bytes) -> CommitHead:
    """Decode strictly what the body begins with, and once: neighbours of one process read alike."""
    return COMMIT_HEAD.decode(body[: head_end(Kind.COMMIT, body)])


def decode_prove_head(body: bytes) -> ProveHead:
    """The same of a prove message."""
    return PROVE_HEAD.decode(body[: head_end(Kind.PROVE, body)])


def _by_author(
    entries: Iterable[Posted], place: tuple[bytes, int, int], cut: int
) -> dict[bytes, list[Posted]]:
    """The entries below the cut, in the order of the log."""
    found: dict[bytes, list[Posted]] = {}
    last = -1
    for posted in entries:
        entry = posted.entry
        if (entry.session, entry.round, entry.phase) != place:
            raise UsageError("entries of the phase that was asked for", "entries")
        if posted.index <= last:
            raise UsageError("entries in the order of the log", "entries")
        last = posted.index
        if posted.index < cut:
            found.setdefault(entry.author.data, []).append(posted)
    return found


def _first(entries: Sequence[Posted]) -> Message | None:
    """The first whole message, if it begins with the author's first entry; or its head alone.

    A head that has an entry of its own is taken whatever follows it, so that readers who are shown
    more and readers who are shown less take the same (04-C5).
    """
    if entries and _is_first_and_whole(entries[0].entry):
        return whole((entries[0],))  # what follows can change nothing, and most have no more
    begins = next((each for each in entries if each.entry.seq == 0), None)
    if begins is not None and is_head(begins.entry):
        return whole((begins,))
    assembler = Assembler()
    for posted in entries:
        for item in assembler.observe(posted):
            if isinstance(item, Message):
                return item if item.seq == 0 else None
    return None


def _is_first_and_whole(entry: Entry) -> bool:
    return (entry.seq, entry.chunk, entry.chunks) == (0, 0, 1)
