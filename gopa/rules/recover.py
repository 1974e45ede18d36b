"""The last phase, with recovery: shares of missing self-masks ([U3], [U4])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from gopa.masks import SelfMask, Share, check_share, decode_share, recover
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import RECOVER, Recover
from gopa.messages.phases import Phase
from gopa.rules.accusations import dealt_commitments, share_point
from gopa.rules.book import Book, Given, Step, fails
from gopa.rules.findings import Fault
from gopa.rules.mailbox import Sorter
from gopa.rules.sums import summed
from gopa.rules.verdict import BreaksRule
from wire.errors import InvalidProof, MalformedMessage


@dataclass(slots=True)
class RecoverStage:
    """From the close of unmask to the result."""

    book: Book
    opened: Message
    dealers: Mapping[int, tuple[int, ...]] = field(init=False)
    """For each party that may give shares, whose."""
    _missing: tuple[int, ...] = field(init=False)
    _sorter: Sorter[Recover] = field(init=False)
    _fits: dict[tuple[bytes, int], Share | None] = field(default_factory=dict)
    phase: Phase = field(default=Phase.RECOVER, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._missing = tuple(u for u in book.final or () if u not in book.unmasked)
        missing = frozenset(self._missing)
        self.dealers = {
            place: dealers
            for place in book.confirmed
            if (dealers := tuple(u for u in book.neighbours(place) if u in missing))
        }
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.RECOVER,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.RECOVER),
            rule="04-U3",
            missing="04-U3",
            read=self._read,
            strikes=False,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(sorted(self.dealers))

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        found = self._sorter.sort(self.awaited(), cut)
        shares: dict[int, dict[int, Share]] = {dealer: {} for dealer in self._missing}
        wrong: list[Fault] = []
        for author in sorted(found.read):
            message, content = found.read[author]
            place = book.places[author]
            for each in content.shares:
                share = self._share(message, place, each.dealer, each.share)
                if share is None:
                    what = f"a share that does not fit the coefficients of party {each.dealer}"
                    wrong.append(book.fault(author, "04-U3", what, message.index))
                else:
                    shares[each.dealer][share_point(place)] = share
        faults = (*book.blamed(found.out), *wrong)
        masks = {dealer: self._mask(dealer, shares[dealer]) for dealer in self._missing}
        lost = tuple(dealer for dealer, mask in masks.items() if mask is None)
        if lost:
            return fails(Why.NOT_UNMASKED, lost, (), faults, out=found.out)
        recovered = {dealer: mask for dealer, mask in masks.items() if mask is not None}
        return summed(book, dict(book.unmasked), recovered, faults)

    def _read(self, message: Message) -> Recover:
        content = RECOVER.decode(message.body)
        owed = self.dealers.get(self.book.places[message.author], ())
        named = [share.dealer for share in content.shares]
        increasing = all(one < other for one, other in pairwise(named))
        if not increasing or not set(named) <= set(owed):
            raise BreaksRule("04-U3", "shares of missing neighbours, in increasing position")
        return content

    def _share(self, message: Message, place: int, dealer: int, data: bytes) -> Share | None:
        """The share if it fits."""
        known = message.leaf, dealer
        if known not in self._fits:
            self._fits[known] = self._checked(place, dealer, data)
        return self._fits[known]

    def _checked(self, place: int, dealer: int, data: bytes) -> Share | None:
        try:
            share = decode_share(self.book.group, data)
            check_share(dealt_commitments(self.book, dealer), share_point(place), share)
        except (MalformedMessage, InvalidProof):
            return None
        return share

    def _mask(self, dealer: int, shares: dict[int, Share]) -> SelfMask | None:
        """[U4]; None with too few shares."""
        commitments = dealt_commitments(self.book, dealer)
        return recover(commitments, shares) if len(shares) >= len(commitments) else None
