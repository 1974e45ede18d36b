"""The close of commit: whose commitments and proofs hold, and which edges mask ([K1] to [K6])."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from commitments.group import Group, PointVec
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import COMMIT, Commit
from gopa.messages.phases import Phase
from gopa.rounds.proofs import NoiseClaim
from gopa.rules.ahead import CheckedAhead
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.commits import Commits, Dealt
from gopa.rules.edges import good_points
from gopa.rules.mailbox import Sorter
from gopa.rules.matching import Matching
from gopa.rules.publish import PublishStage
from gopa.rules.verdict import BreaksRule, Verdict, invalid

_SIZE = 32
_NO_MASK = bytes(_SIZE)

_AT_ONCE = 1 << 14
"""So many points are decoded together."""


@dataclass(frozen=True, slots=True)
class Pledge:
    """What counts of a well-formed commit, besides its edges and proofs."""

    self_mask: bytes
    output: bytes
    dealt: Dealt


@dataclass(slots=True)
class CommitStage:
    """From the close of coins to that of commit."""

    book: Book
    opened: Message
    _sorter: Sorter[Pledge] = field(init=False)
    _edges: Matching = field(init=False)
    _proofs: CheckedAhead[NoiseClaim] = field(init=False)
    phase: Phase = field(default=Phase.COMMIT, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._edges = Matching(book.drawn)
        tools, proofs = book.tools, book.tools.toolkit.proofs
        self._proofs = CheckedAhead(
            lambda claims: proofs.bad_noises(claims, tools.rng, tools.executor),
            background=tools.executor is not None,
        )
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.COMMIT,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.COMMIT),
            rule="04-K1",
            missing="04-K4",
            read=self._read,
            then=self._proofs.go_on,
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
            culprits = book.culprits(verdicts)
            return fails(Why.TOO_FEW_LEFT, culprits, removed, faults, out=verdicts)

        def settle(message: Message) -> Stage:
            self._settle({place: read[place] for place in members})
            book.commit_leaf = message.leaf
            book.settle_list(Phase.COMMIT, cut, message, members)
            return PublishStage(book, message)

        return Step(book.packed(members), removed, settle, faults, out=verdicts)

    def _read(self, message: Message) -> Pledge:
        commit, book = COMMIT.decode(message.body), self.book
        self._require_sizes(commit, book.drawn.neighbours(book.places[message.author]).size)
        points = [commit.self_mask, commit.output] if book.context.full else []
        if not all(good_points(book.group, [*points, *commit.coefficients])):
            raise BreaksRule("04-K2", "a point that is not valid")
        if book.context.full:
            self._proofs.add(message.leaf, self._claim(message.author, commit))
        elif book.curious and commit.self_mask != _NO_MASK:
            raise BreaksRule("04-K1", "there are no self-masks: 32 zeros")
        self._edges.post(book.places[message.author], b"".join(commit.edges))
        dealt = Dealt(b"".join(commit.coefficients), b"".join(commit.shares), message.index)
        return Pledge(commit.self_mask, commit.output, dealt)

    def _require_sizes(self, commit: Commit, degree: int) -> None:
        """[K1], [K6]."""
        book, full = self.book, self.book.context.full
        shared = degree if book.recovers else 0
        if len(commit.edges) != degree:
            raise BreaksRule("04-K1", f"{degree} neighbours and {len(commit.edges)} edges")
        coefficients = book.manifest.coefficients(degree)
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
        bad = self._proofs.bad()
        for author in sorted(read):
            message = read[author][0]
            if message.leaf in bad:
                del read[author]
                fault = "no proof of an input in range with its noise"
                verdicts[author] = invalid("04-K3", message.index, fault)

    def _claim(self, author: bytes, commit: Commit) -> NoiseClaim:
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

    def _settle(self, commits: dict[int, Pledge]) -> None:
        """Keep what later phases need: which edges mask, what published values open, dealings."""
        book = self.book
        group = book.group if book.context.full else None
        book.edges, masks = self._edges.settle(list(commits), book.ids, group)
        book.committed = Commits(len(book.enrolled))
        for place, commit in commits.items():
            book.committed.add(place, commit.self_mask, commit.dealt)
        book.inputs = book.seeds = ()
        if group is not None and masks is not None:
            book.pledged = masks + _own_points(group, commits, len(book.enrolled))


def _own_points(group: Group, commits: dict[int, Pledge], parties: int) -> PointVec:
    """D_u + B_u for each party that is listed; nothing for others."""
    nobody, found = group.points([group.identity]), group.points([])
    for at in range(0, parties, _AT_ONCE):
        places = range(at, min(at + _AT_ONCE, parties))
        listed = [commits[place] for place in places if place in commits]
        outputs = group.decode_points(b"".join(each.output for each in listed), len(listed))
        selves = group.decode_points(b"".join(each.self_mask for each in listed), len(listed))
        row = iter(range(len(listed)))
        rows = [next(row) if place in commits else len(listed) for place in places]
        found = found.concat((outputs + selves).concat(nobody).gather(rows))
    return found
