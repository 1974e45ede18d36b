"""The close of join: who is on the roll ([J1] to [J7], [X5])."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gopa.messages.framing import Message, party_id
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Enrolled, Roll, Why
from gopa.messages.parameters import CommitReveal, DrandBeacon, OpenAdmission, Roster
from gopa.messages.party import JOIN, Join
from gopa.messages.phases import Phase
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import PossessionClaim
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.coins import CoinsStage
from gopa.rules.enrolment import Enrolment
from gopa.rules.made import Made
from gopa.rules.mailbox import Sorter
from gopa.rules.verdict import BreaksRule, Verdict, invalid
from wire.errors import MalformedMessage
from wire.packed import Rows

_HASH_SIZE = 32
_POINT_SIZE = 32


def read_join(message: Message, context: RoundContext) -> Join:
    """[J2]: sizes and points. Raises `MalformedMessage` or `BreaksRule`."""
    join = JOIN.decode(message.body)
    nonce = _HASH_SIZE if isinstance(context.manifest.beacon, CommitReveal) else 0
    point = _POINT_SIZE if context.full else 0
    sizes = ((join.nonce_hash, nonce), (join.input, point), (join.seed, point))
    if any(len(data) != size for data, size in sizes):
        raise BreaksRule("04-J2", "fields have the sizes of mode and beacon")
    points = [join.key, join.input, join.seed] if context.full else [join.key]
    context.group.decode_points(b"".join(points), len(points))
    return join


def sown(message: Message, context: RoundContext) -> bytes | None:
    """C_y (or A) of a join, if it is well-formed: it counts as used from then on ([J5])."""
    try:
        return read_join(message, context).seed or None
    except (MalformedMessage, BreaksRule):
        return None


@dataclass(slots=True)
class JoinStage:
    """From `open` to the close of join."""

    book: Book
    _sorter: Sorter[Join] = field(init=False)
    _proved: dict[bytes, bool] = field(default_factory=dict)
    phase: Phase = field(default=Phase.JOIN, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.JOIN,
            acts_on=book.opened.leaf,
            opened_at=book.opened.index,
            largest=largest_body(book.manifest, Phase.JOIN),
            rule="04-J2",
            missing="04-J1",
            read=lambda message: read_join(message, book.context),
        )

    def awaited(self) -> Iterable[bytes]:
        admission = self.book.manifest.admission
        if not isinstance(admission, Roster):
            return ()
        excluded = self.book.barred | {self.book.manifest.organiser}
        return (key for key in admission.keys if key not in excluded)

    def demand(self, cut: int, given: Given) -> Step:
        book = self.book
        sorted_ = self._sorter.sort(self._authors(cut), cut)
        verdicts, read = sorted_.out, sorted_.read
        for author in sorted(read.keys() & book.barred):
            verdicts[author] = invalid("04-X5", read.pop(author)[0].index)
        self._require_possession(read, verdicts)
        _require_own_keys(read, verdicts)
        self._require_fresh(read, verdicts)
        self._require_room(read, verdicts)
        removed, faults = book.removed(verdicts, Phase.JOIN), book.blamed(verdicts)
        if book.too_few(read):
            return fails(Why.TOO_FEW_JOINED, (), removed, faults, out=verdicts)
        number = given.beacon.round if given.beacon is not None else 0
        beacon_round = number if isinstance(book.manifest.beacon, DrandBeacon) else 0
        joins = [(author, read[author][1]) for author in sorted(read)]
        roll = Roll(
            tuple(Enrolled(author, join.key, join.nonce_hash) for author, join in joins),
            beacon_round,
        )

        def settle(message: Message) -> Stage:
            _enrol(book, roll, message, [join for _, join in joins], cut)
            return CoinsStage(book, message)

        return Step(roll, removed, settle, faults, out=verdicts)

    def _authors(self, cut: int) -> set[bytes]:
        first = self.book.mail.first(Phase.JOIN)
        return {
            author
            for author in first.keys() | self.book.mail.early_authors(Phase.JOIN)
            if author not in first or first[author].index < cut
        }

    def _require_possession(
        self, read: dict[bytes, tuple[Message, Join]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[J3]."""
        book, tools = self.book, self.book.tools
        new = [author for author in sorted(read) if read[author][0].leaf not in self._proved]

        def claim(author: bytes) -> PossessionClaim:
            join = read[author][1]
            opened = book.opened.leaf
            return PossessionClaim(
                book.context, opened, party_id(author), join.key, join.possession
            )

        claims = Made(claim, new)
        bad = tools.toolkit.proofs.bad_possessions(claims, tools.rng, tools.executor)
        for number, author in enumerate(new):
            self._proved[read[author][0].leaf] = number not in bad
        for author in sorted(read):
            message = read[author][0]
            if not self._proved[message.leaf]:
                del read[author]
                verdicts[author] = invalid("04-J3", message.index, "no proof of possession")

    def _require_fresh(
        self, read: dict[bytes, tuple[Message, Join]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[J5]."""
        memory = self.book.memory
        for author in sorted(read):
            message, join = read[author]
            first = memory.seeds.first(join.seed) if join.seed else None
            if not memory.inputs.allows(author, join.input):
                fault = "another input than in an earlier attempt"
            elif first is not None and first[0] != message.index:
                # Whoever delays an honest message could copy its seed in front of it.
                fault = "a seed of noise that it used before" if first[1] == author else ""
            else:
                continue
            del read[author]
            verdicts[author] = invalid("04-J5", message.index, fault)

    def _require_room(
        self, read: dict[bytes, tuple[Message, Join]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[J1] with open admission: those who came first."""
        admission = self.book.manifest.admission
        if not isinstance(admission, OpenAdmission):
            return
        in_order = sorted(read, key=lambda author: read[author][0].index)
        for author in in_order[admission.most :]:
            verdicts[author] = invalid("04-J1", read.pop(author)[0].index)


def _require_own_keys(
    read: dict[bytes, tuple[Message, Join]], verdicts: dict[bytes, Verdict]
) -> None:
    """[J4]."""
    holders = Counter(join.key for _, join in read.values())
    for author in sorted(read):
        message, join = read[author]
        if holders[join.key] > 1:
            del read[author]
            verdicts[author] = invalid("04-J4", message.index, "a key that another one has too")


def _enrol(book: Book, roll: Roll, message: Message, joins: list[Join], cut: int) -> None:
    book.enrolled, book.roll_leaf = Enrolment(roll), message.leaf
    if book.context.full:
        book.inputs = Rows.of(_POINT_SIZE, (join.input for join in joins))
        book.seeds = Rows.of(_POINT_SIZE, (join.seed for join in joins))
    for each, join in zip(roll.parties, joins, strict=True):
        book.memory.inputs.note(each.author, join.input)
    book.settle_list(Phase.JOIN, cut, message, tuple(range(len(joins))))
