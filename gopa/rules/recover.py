"""The last phase, with recovery: shares of missing self-masks ([U3], [U4], [U5])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from gopa.masks import Share, check_share, decode_share, recover, recover_seed
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import RECOVER, Recover
from gopa.messages.phases import Phase
from gopa.rules.accusations import dealt_commitments, share_point
from gopa.rules.book import Book, Given, Step, fails
from gopa.rules.findings import Fault
from gopa.rules.mailbox import Sorter
from gopa.rules.seeds import wrong_seeds
from gopa.rules.sums import Recovered, summed
from gopa.rules.verdict import BreaksRule
from wire.errors import InvalidProof, MalformedMessage
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class _Right:
    """A right share, and the index of the message that gave it."""

    share: Share
    entry: int


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
        # Nobody waits for those who may give nothing; what they post all the same is judged.
        found = self._sorter.sort(book.authors(book.final or ()), cut)
        given_out, wrong = self._given_out(found.read)
        masks = {dealer: self._mask(dealer, given_out[dealer]) for dealer in self._missing}
        others = self._of_another_seed(masks)
        convicted = [self._conviction(dealer, given_out[dealer]) for dealer in others]
        faults = (*book.blamed(found.out), *wrong, *convicted)
        recovered = {dealer: mask for dealer, mask in masks.items() if mask is not None}
        lost = [dealer for dealer in self._missing if dealer in others or masks[dealer] is None]
        if lost:
            failed = fails(Why.NOT_UNMASKED, tuple(lost), (), faults, out=found.out)
            return replace(failed, convicted=frozenset(book.authors(others)))
        return summed(book, dict(book.unmasked), recovered, faults)

    def _given_out(
        self, read: Mapping[bytes, tuple[Message, Recover]]
    ) -> tuple[dict[int, dict[int, _Right]], list[Fault]]:
        """The right shares of each missing dealer by their points, and who gave wrong ones."""
        book = self.book
        shares: dict[int, dict[int, _Right]] = {dealer: {} for dealer in self._missing}
        wrong: list[Fault] = []
        for author in sorted(read):
            message, content = read[author]
            place = book.places[author]
            for each in content.shares:
                share = self._share(message, place, each.dealer, each.share)
                if share is None:
                    what = f"a share that does not fit the coefficients of party {each.dealer}"
                    wrong.append(book.fault(author, "04-U3", what, message.index))
                else:
                    shares[each.dealer][share_point(place)] = _Right(share, message.index)
        return shares, wrong

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

    def _mask(self, dealer: int, given_out: Mapping[int, _Right]) -> Recovered | None:
        """[U4]; None with too few shares. A seed is not compared with the self-mask yet."""
        if len(given_out) < self._needed(dealer):
            return None
        commitments = dealt_commitments(self.book, dealer)
        shares = {at: each.share for at, each in given_out.items()}
        if self.book.manifest.deals_seeds:
            return recover_seed(commitments, shares)
        return recover(commitments, shares)

    def _of_another_seed(self, masks: Mapping[int, Recovered | None]) -> tuple[int, ...]:
        """[U5]: the dealers whose shares make a seed that does not make their self-mask."""
        seeds = [(u, mask) for u, mask in masks.items() if isinstance(mask, SecretBytes)]
        wrong = wrong_seeds(self.book, seeds)
        return tuple(seeds[number][0] for number in sorted(wrong))

    def _conviction(self, dealer: int, given_out: Mapping[int, _Right]) -> Fault:
        """[U5]: by the dealer's commit and the messages that its seed was recovered from."""
        book = self.book
        used = sorted(given_out)[: self._needed(dealer)]
        entries = book.committed.dealt(dealer).entry, *(given_out[at].entry for at in used)
        what = "it dealt shares of another seed than that of its self-mask"
        return book.fault(book.author(dealer), "04-U5", what, *entries)

    def _needed(self, dealer: int) -> int:
        """T_u."""
        return self.book.manifest.terms.shares_needed(len(self.book.neighbours(dealer))) or 1
