"""The close of commit: whose commitments and proofs hold, and which edges mask ([K1] to [K6])."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import COMMIT, Commit
from gopa.messages.phases import Phase
from gopa.rounds.proofs import NoiseClaim
from gopa.rules.book import Book, Committed, Given, Stage, Step, fails
from gopa.rules.edges import good_points, match_edges
from gopa.rules.findings import Listed
from gopa.rules.mailbox import Sorter
from gopa.rules.publish import PublishStage
from gopa.rules.verdict import BreaksRule, Verdict, invalid

_SIZE = 32
_NO_MASK = bytes(_SIZE)


@dataclass(frozen=True, slots=True)
class Pledge:
    """What counts of a well-formed commit; `edges` are its commitments one after the other."""

    edges: bytes
    self_mask: bytes
    output: bytes
    proof: bytes
    weighing: bytes
    coefficients: tuple[bytes, ...]
    shares: tuple[bytes, ...]


@dataclass(slots=True)
class CommitStage:
    """From the close of coins to that of commit."""

    book: Book
    opened: Message
    _sorter: Sorter[Pledge] = field(init=False)
    _proved: dict[bytes, bool] = field(default_factory=dict)
    phase: Phase = field(default=Phase.COMMIT, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.COMMIT,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.COMMIT),
            rule="04-K1",
            missing="04-K4",
            read=self._read,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(self.book.members)

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        self._require_proofs(found.read, verdicts)
        read = {book.places[author]: content for author, (_, content) in found.read.items()}
        members = book.shortened(sorted(read), verdicts)
        removed, faults = book.removed(verdicts, Phase.COMMIT), book.blamed(verdicts)
        if book.too_few(members):
            return fails(Why.TOO_FEW_LEFT, book.culprits(verdicts), removed, faults)

        def settle(message: Message) -> Stage:
            _settle(book, {place: read[place] for place in members})
            self._sorter.forget()
            book.commit_leaf = message.leaf
            book.lists.append(Listed(Phase.COMMIT, 0, cut, message.index, members))
            return PublishStage(book, message)

        return Step(book.packed(members), removed, settle, faults)

    def _read(self, message: Message) -> Pledge:
        commit, book = COMMIT.decode(message.body), self.book
        self._require_sizes(commit, book.drawn.neighbours(book.places[message.author]).size)
        if book.context.full:
            points = [commit.self_mask, commit.output, *commit.coefficients]
            if not all(good_points(book.group, points)):
                raise BreaksRule("04-K2", "a point that is not valid")
        elif book.curious and commit.self_mask != _NO_MASK:
            raise BreaksRule("04-K1", "there are no self-masks: 32 zeros")
        return Pledge(
            edges=b"".join(commit.edges),
            self_mask=commit.self_mask,
            output=commit.output,
            proof=commit.proof,
            weighing=commit.weighing,
            coefficients=commit.coefficients,
            shares=commit.shares,
        )

    def _require_sizes(self, commit: Commit, degree: int) -> None:
        """[K1], [K6]."""
        book, full = self.book, self.book.context.full
        shared = degree if book.recovers else 0
        needed = book.manifest.terms.shares_needed(degree) if book.recovers else None
        if len(commit.edges) != degree:
            raise BreaksRule("04-K1", f"{degree} neighbours and {len(commit.edges)} edges")
        coefficients = 0 if needed is None else needed - 1
        if len(commit.coefficients) != coefficients or len(commit.shares) != shared:
            raise BreaksRule("04-K1", f"{coefficients} coefficients and {shared} shares")
        if len(commit.output) != (_SIZE if full else 0) or bool(commit.proof) != full:
            raise BreaksRule("04-K1", "output and proof in full mode, and only there")
        if bool(commit.weighing) != (full and book.manifest.weighted):
            raise BreaksRule("04-K6", "a proof of weighing with weights, and only then")

    def _require_proofs(
        self, read: dict[bytes, tuple[Message, Pledge]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[K3]."""
        book, tools = self.book, self.book.tools
        if not book.context.full:
            return
        new = [author for author in sorted(read) if read[author][0].leaf not in self._proved]
        claims = [self._claim(author, read[author][1]) for author in new]
        bad = tools.toolkit.proofs.bad_noises(claims, tools.rng, tools.executor)
        for number, author in enumerate(new):
            self._proved[read[author][0].leaf] = number not in bad
        for author in sorted(read):
            message = read[author][0]
            if not self._proved[message.leaf]:
                del read[author]
                fault = "no proof of an input in range with its noise"
                verdicts[author] = invalid("04-K3", message.index, fault)

    def _claim(self, author: bytes, commit: Pledge) -> NoiseClaim:
        book = self.book
        place = book.places[author]
        return NoiseClaim(
            context=book.context,
            acts_on=self.opened.leaf,
            party=book.ids[place],
            joint=book.joint,
            given=book.inputs[place],
            seed=book.seeds[place],
            output=commit.output,
            proof=commit.proof,
            weighing=commit.weighing,
        )


def _settle(book: Book, commits: dict[int, Pledge]) -> None:
    """Keep what later phases need: the points, what was dealt, which edges mask."""
    group, full = book.group, book.context.full
    if full:
        outputs = b"".join(commit.output for commit in commits.values())
        selves = b"".join(commit.self_mask for commit in commits.values())
        book.outputs = group.decode_points(outputs, len(commits))
        book.self_masks = group.decode_points(selves, len(commits))
    book.committed = {
        place: Committed(row, commit.self_mask, commit.coefficients, commit.shares)
        for row, (place, commit) in enumerate(commits.items())
    }
    posted = {place: commit.edges for place, commit in commits.items()}
    book.edges = match_edges(book.drawn, posted, book.ids, group if full else None)
