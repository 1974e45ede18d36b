"""What others posted: lists in closes (04-C5), entries of neighbours (04-E1 to 04-E4), the graph.

Lists are decoded once and checked for length and order. Many parties of one process read the same
closes, so what follows from the bytes of a close alone is kept and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from bulletin_board import Entry
from gopa.contract.beacon import (
    drand_coins,
    joint_coins,
    reveal_hash,
    simulation_coins,
    verify_round,
)
from gopa.contract.cutting import COMMIT_HEAD, PROVE_HEAD, CommitHead, ProveHead, head_end, is_head
from gopa.contract.framing import Assembler, Message, Posted, party_id, whole
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Roster
from gopa.contract.organiser import (
    CLOSE,
    RESULT,
    Close,
    Coins,
    Members,
    ResultMessage,
    Roll,
    pack_members,
    unpack_members,
)
from gopa.contract.party import JOIN, Join
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.contract.rows import ROW_JOIN, RowJoin
from gopa.graph import Graph
from gopa.protocol.party.events import Fetch
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import losses
from gopa.rounds.toolkit import GraphOfRound
from wire.errors import InvalidProof, MalformedMessage, UsageError

_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class DecodedRoll:
    """The roll of a round: authors and ids by position, positions by author."""

    roll: Roll
    authors: tuple[bytes, ...]
    ids: tuple[bytes, ...]
    positions: Mapping[bytes, int]

    def __len__(self) -> int:
        return len(self.authors)


@dataclass(frozen=True, slots=True)
class Closed:
    """A close as it was posted."""

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


@dataclass(frozen=True, slots=True, eq=False)
class RoundView:
    """The public side of a round as one party sees it from `position`.

    `members` are those on the roll whose nonce, if there are nonces, was revealed.
    """

    context: RoundContext
    enrolment: DecodedRoll
    members: frozenset[int]
    joint: bytes
    graph: Graph
    position: int
    neighbours: tuple[int, ...]

    @property
    def withheld(self) -> int:
        """t, the parties on the roll whose nonce is missing (04-L1)."""
        return len(self.enrolment) - len(self.members)

    @property
    def own_id(self) -> bytes:
        return self.enrolment.ids[self.position]

    def id_of(self, position: int) -> bytes:
        return self.enrolment.ids[position]

    def authors(self, positions: Collection[int]) -> tuple[bytes, ...]:
        """The Ed25519 keys of the parties at these positions."""
        return tuple(self.enrolment.authors[position] for position in positions)

    def neighbours_of(self, position: int) -> tuple[int, ...]:
        """The neighbours of anybody on the roll, in increasing position."""
        return tuple(self.graph.neighbours(position).tolist())

    def lost(self, inside: Collection[int]) -> int:
        """How many neighbours and nonces this party lost (lost_u), for a list (04-L1)."""
        return self.withheld + sum(v not in inside for v in self.neighbours)

    def lost_of(self, position: int, inside: Collection[int]) -> int:
        """How many anybody on the roll lost, for a list."""
        return self.withheld + sum(v not in inside for v in self.neighbours_of(position))

    def most_lost(self, among: Collection[int], inside: Collection[int]) -> int:
        """The largest lost_u of the parties `among`, for the list `inside` (04-L1)."""
        size = len(self.enrolment)
        listed = pack_members(among, size), pack_members(inside, size)
        return _most_lost(self.graph, *listed, self.withheld)


def joint_of(context: RoundContext, roll: Roll, roll_leaf: bytes, coins: Coins) -> bytes:
    """R, the joint coin of the round (04-V3, 04-V4, 04-V5).

    Raises `InvalidProof` if the beacon did not sign what the close of coins says it did.
    """
    session, number, beacon = context.session, context.round, context.manifest.beacon
    if isinstance(beacon, CommitReveal):
        return joint_coins(session, number, roll_leaf, coins.nonces)
    if isinstance(beacon, DrandBeacon):
        value = _value(beacon, roll.beacon_round, coins.signature, coins.previous)
        return drand_coins(session, number, roll_leaf, value)
    return simulation_coins(session, number, roll_leaf)


@lru_cache(maxsize=64)
def _value(beacon: DrandBeacon, number: int, signature: bytes, previous: bytes) -> bytes:
    return verify_round(beacon.chain, number, signature, previous or None)


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that a graph follows from."""

    context: RoundContext
    enrolment: DecodedRoll
    roll_leaf: bytes
    coins: Coins
    members: tuple[int, ...]
    joint: bytes


def view_of(draw: GraphOfRound, drawing: Drawing, position: int) -> RoundView:
    """The view of the party at `position`.

    Raises `InvalidProof` if a nonce in the list is not the one whose hash is on the roll.
    """
    graph, members = _drawn(draw, drawing)
    return RoundView(
        context=drawing.context,
        enrolment=drawing.enrolment,
        members=members,
        joint=drawing.joint,
        graph=graph,
        position=position,
        neighbours=tuple(graph.neighbours(position).tolist()),
    )


@lru_cache(maxsize=16)
def _most_lost(graph: Graph, among: bytes, inside: bytes, withheld: int) -> int:
    """Shared by all parties of a process that read the same confirmations."""
    lost = losses(graph, unpack_members(inside, graph.parties), withheld)
    return int(lost[list(unpack_members(among, graph.parties))].max())


@lru_cache(maxsize=16)
def _drawn(draw: GraphOfRound, drawing: Drawing) -> tuple[Graph, frozenset[int]]:
    """Shared by all parties of a process that read the same closes."""
    given = drawing
    roll = given.enrolment.roll
    _require_revealed(given)
    graph = draw(given.context, roll, given.roll_leaf, given.members, given.coins, given.joint)
    return graph, frozenset(given.members)


def _require_revealed(drawing: Drawing) -> None:
    """Require that everybody's nonce was fixed before anybody's was known (04-V1).

    An organiser that could list other nonces for parties it colludes with could surround
    a victim with them (attack `exchanged-nonce`).
    """
    context, ids = drawing.context, drawing.enrolment.ids
    if not drawing.coins.nonces:
        return
    for position, nonce in zip(drawing.members, drawing.coins.nonces, strict=True):
        expected = drawing.enrolment.roll.parties[position].nonce_hash
        if reveal_hash(context.session, context.round, ids[position], nonce) != expected:
            raise InvalidProof("a nonce does not fit its hash on the roll", "04-V1", (position,))
