"""The close of coins: who revealed, the joint coin, the graph ([V1] to [V5], [L3])."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from gopa.beacon import drand_coins, joint_coins, reveal_hash, simulation_coins, verify_round
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.members import pack_members
from gopa.messages.organiser import Coins, Why
from gopa.messages.parameters import CommitReveal, DrandBeacon
from gopa.messages.party import REVEAL, Reveal
from gopa.messages.phases import Phase
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.commit import CommitStage
from gopa.rules.mailbox import Sorter
from gopa.rules.verdict import BreaksRule, Verdict
from wire.errors import InvalidProof


@dataclass(slots=True)
class CoinsStage:
    """From the close of join to that of coins."""

    book: Book
    opened: Message
    _sorter: Sorter[Reveal] = field(init=False)
    phase: Phase = field(default=Phase.COINS, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.COINS,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.COINS),
            rule="04-V1",
            missing="04-V1",
            read=self._read,
        )

    def awaited(self) -> Iterable[bytes]:
        if not isinstance(self.book.manifest.beacon, CommitReveal):
            return ()
        return self.book.places.keys()

    def demand(self, cut: int, given: Given) -> Step:
        if isinstance(self.book.manifest.beacon, CommitReveal):
            return self._revealed(cut)
        everybody = tuple(range(len(self.book.enrolled)))
        coins = Coins(pack_members(everybody, len(everybody)), (), b"", b"")
        if isinstance(self.book.manifest.beacon, DrandBeacon):
            value = given.beacon
            if value is None:
                raise InvalidProof("the close of coins needs the beacon's value", "04-V4")
            coins = Coins(coins.members, (), value.signature, value.previous)
            joint = self._drand(self.book.manifest.beacon, coins)
        else:
            context = self.book.context
            joint = simulation_coins(context.session, context.round, self.book.roll_leaf)
        return self._step(cut, everybody, coins, joint, {})

    def _read(self, message: Message) -> Reveal:
        book, reveal = self.book, REVEAL.decode(message.body)
        place = book.places[message.author]
        expected = reveal_hash(book.context.session, book.number, book.ids[place], reveal.nonce)
        if expected != book.enrolled.nonce_hash(place):
            raise BreaksRule("04-V1", "a nonce that does not fit its hash")
        return reveal

    def _revealed(self, cut: int) -> Step:
        """[V1], [V3]."""
        book, parties = self.book, len(self.book.enrolled)
        found = self._sorter.sort(book.places, cut)
        members = tuple(place for author, place in book.places.items() if author in found.read)
        removed, faults = book.removed(found.out, Phase.COINS), book.blamed(found.out)
        culprits = book.culprits(found.out)
        if parties - len(members) > book.manifest.terms.loss:
            return fails(Why.TOO_MANY_WITHHELD, culprits, removed, faults, out=found.out)
        if book.too_few(members):
            return fails(Why.TOO_FEW_LEFT, culprits, removed, faults, out=found.out)
        nonces = tuple(found.read[author][1].nonce for author in book.authors(members))
        joint = joint_coins(book.context.session, book.number, book.roll_leaf, nonces)
        coins = Coins(pack_members(members, parties), nonces, b"", b"")
        return self._step(cut, members, coins, joint, found.out)

    def _drand(self, beacon: DrandBeacon, coins: Coins) -> bytes:
        """[V4]; raises `InvalidProof` if the beacon did not sign this."""
        book = self.book
        number = book.enrolled.beacon_round
        value = _value(beacon, number, coins.signature, coins.previous)
        return drand_coins(book.context.session, book.number, book.roll_leaf, value)

    def _step(
        self,
        cut: int,
        members: tuple[int, ...],
        coins: Coins,
        joint: bytes,
        out: dict[bytes, Verdict],
    ) -> Step:
        book = self.book

        def settle(message: Message) -> Stage:
            book.joint, book.withheld = joint, len(book.enrolled) - len(members)
            roll = book.enrolled.roll()
            book.graph = book.tools.toolkit.graph(
                book.context, roll, book.roll_leaf, members, coins, joint
            )
            book.settle_list(Phase.COINS, cut, message, members)
            return CommitStage(book, message)

        return Step(coins, book.removed(out, Phase.COINS), settle, book.blamed(out), out=out)


@lru_cache(maxsize=64)
def _value(beacon: DrandBeacon, number: int, signature: bytes, previous: bytes) -> bytes:
    """Kept, because checking a signature of the beacon takes long."""
    return verify_round(beacon.chain, number, signature, previous or None)
