"""Parties that an organiser invents, in the places of members who stay away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bulletin_board import Submission
from gopa.adversary.deeds.organising import close_of
from gopa.adversary.malicious import Deed
from gopa.contract.beacon import reveal_hash
from gopa.contract.framing import MessageSlot, party_id, sign_message
from gopa.contract.organiser import CLOSE, Close, Coins, Roll, RollEntry, pack_members
from gopa.contract.party import REVEAL
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import OrganiserAccess, PartyAccess, body_of
from gopa.protocol.simulation.script import Drop

_TWICE = bytes.fromhex("6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919")
_NONCE = bytes(range(32))


@dataclass(slots=True)
class Puppeteer:
    """A party that did not join, enrolled with a key and a nonce of the organiser's.

    `absent` is what happens to the party in whose place the puppet is: it is not heard. One
    object is of use in one session.
    """

    _access: OrganiserAccess | None = field(default=None, repr=False)
    _author: bytes = b""
    _roll: SendMessage | None = None

    def absent(self) -> Deed:
        """Is gone from before this phase to the end of the round, and a puppet has its place."""
        return lambda phase, rounds: _Replaced(phase, True, rounds, self)

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not Phase.JOIN or not self._author:
            return [control]
        self._access = access
        self._roll = access.altered(control, CLOSE, self._with_puppet)
        return [self._roll]

    def replaces(self, author: bytes) -> None:
        """This party is not heard in the round."""
        self._author = author

    def closes_coins(self) -> Sequence[Post]:
        """The close of coins over what was revealed, and the puppet's nonce."""
        if self._access is None or self._roll is None:
            return []
        access, submission = self._access, Submission.decode(self._roll.entries[-1])
        content = CLOSE.decode(body_of(self._roll.entries)).content
        nonces = {self._author: _NONCE, **_revealed(access, self._roll.round)}
        if not isinstance(content, Roll) or not {p.author for p in content.parties} <= set(nonces):
            return []
        members = pack_members(range(len(content.parties)), len(content.parties))
        listed = tuple(nonces[party.author] for party in content.parties)
        coins = Coins(members, listed, b"", b"")
        size, root = access.board.size, access.board.root
        body = CLOSE.encode(Close(submission.leaf, size, root, Phase.COINS, b"", coins))
        seq = submission.entry.seq + 1
        place = MessageSlot(
            access.session, Phase.ORGANISER, Kind.CLOSE, self._roll.round, seq, submission.leaf
        )
        return [Post(Phase.ORGANISER, place.round, sign_message(body, place, access.key).entries)]

    def _with_puppet(self, close: Close) -> Close:
        content, access = close.content, self._access
        if not isinstance(content, Roll) or access is None:
            return close
        place = access.session, 1, party_id(self._author)
        nonce_hash = reveal_hash(*place, _NONCE)
        puppet = RollEntry(self._author, _TWICE, nonce_hash)
        parties = sorted((*content.parties, puppet), key=lambda party: party.author)
        return replace(close, content=replace(content, parties=tuple(parties)))


@dataclass(frozen=True, slots=True)
class _Replaced(Drop):
    """Behind the close of join everybody reveals; then its organiser goes on."""

    organiser: Puppeteer = field(default_factory=Puppeteer)

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        self.organiser.replaces(access.key.public.data)
        return Drop.says(self, access, post)

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        del access
        return self.organiser.closes_coins() if phase is self.phase else []


def _revealed(access: OrganiserAccess, number: int) -> dict[bytes, bytes]:
    """The nonces that parties revealed, by author."""
    return {
        posted.entry.author.data: REVEAL.decode(posted.entry.body).nonce
        for posted in access.board.entries
        if (posted.entry.phase, posted.entry.round) == (Phase.COINS, number)
    }
