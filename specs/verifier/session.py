"""A session by the rules of 04: manifest, the organiser's messages, rounds and attempts."""

from __future__ import annotations

import codec
from codec import Broken, Malformed, Record, decode, require
from log import LARGEST_BODY, Assembler
from manifest import ACCUSE, JOIN, PUBLISH, RECOVER, ROLLBACK, Manifest, session_id
from manifest import ORGANISER as CONTROL
from rounds import (
    CONVICTED, LOST, NOT_UNMASKED, ORGANISER, REPEATABLE, ROLLBACKS, STRUCK, TOO_FEW_JOINED,
    TOO_FEW_LEFT, UNCONFIRMED, WITHHELD, Failure, Fault, Outside, Step,
)  # fmt: skip
from rules import Round

OPEN, CLOSE, RESULT, ABORT = range(2, 6)
FORMS = {OPEN: codec.OPEN, CLOSE: codec.CLOSE, RESULT: codec.RESULT, ABORT: codec.ABORT}
RULE_OF = {TOO_FEW_JOINED: "04-J6", WITHHELD: "04-L3", TOO_FEW_LEFT: "04-L3",
           ROLLBACKS: "04-O4", UNCONFIRMED: "04-F2", NOT_UNMASKED: "04-U4"}  # fmt: skip

MOST_TRIED = 8
"""[S1]: authors whose entries are tried until one of them is the manifest."""


def _alone(entry: Record) -> Record:
    """An entry that is part of nothing that is read."""
    return Record(**{**vars(entry), "body": b"", "chunk": 0, "chunks": 1})


class Session:
    """Follows the entries of one session in the order of the log."""

    def __init__(self, session: bytes) -> None:
        self.session, self.body = session, b""
        self.manifest: Manifest | None = None
        self.assembler, self.faults, self.failed = Assembler(), set[Fault](), False
        self.rounds: list[Round] = []
        self.leaf, self.seq, self.cut = b"", 0, 0
        self.seeds: dict[bytes, tuple[int, bytes]] = {}
        self.inputs: dict[bytes, bytes] = {}
        self.retry, self.forever, self.equivocators = set[bytes](), set[bytes](), set[bytes]()
        self.early: dict[int, dict[tuple[int, bytes], int]] = {}
        self.struck: dict[int, dict[bytes, int]] = {}
        self.views: list[tuple[int, bytes, int]] = []
        self.tried = set[bytes]()
        self.outside = ""

    def observe(self, entry: Record) -> None:
        """The next entry."""
        if entry.seen_size:
            self.views.append((entry.seen_size, entry.seen_root, entry.index))
        if self.manifest is None:  # [S1]: other entries do not count, but take their slots
            begins = (entry.phase, entry.round) == (CONTROL, 0)
            if begins and len(self.tried) < MOST_TRIED:
                self.tried.add(entry.author)
            if not (begins and entry.author in self.tried):
                entry = _alone(entry)
            for item in self.assembler.take(entry):
                self._begin(item)
            return
        said = self.manifest.said
        own, number = entry.author == said.organiser, len(self.rounds)
        admitted = own or said.admission.tag == "open" or entry.author in said.admission.keys
        known = (entry.phase == CONTROL) == own and entry.phase <= RECOVER
        read = known and admitted and (own or entry.round == number)
        if read and entry.chunks > self.manifest.most_chunks(entry.phase):  # [S4]
            self._blame("04-S4", entry, entry.index)
            entry = Record(**{**vars(entry), "chunk": 1, "chunks": 2})  # of no message
        elif not read:  # [E2]
            entry = _alone(entry)
        for item in self.assembler.take(entry) if admitted else ():
            if own:
                self._organiser(item)
            else:
                self._party(item, number)

    def finish(self) -> None:
        """No more entries: what came too late in the last round still convicts."""
        for book in self.rounds[-1:]:
            self.faults |= {*book.faults, *book.too_late()[1]}

    @property
    def complete(self) -> bool:
        """Whether all logical rounds came to their end by the rules."""
        return not self.failed and self.rounds[-1:] != [] and self._current() is None is self._due()

    def _blame(self, rule: str, entry: Record, *entries: int) -> None:
        own = self.manifest is None or entry.author == self.manifest.said.organiser
        role = "organiser" if own else "party"
        self.faults.add(Fault(entry.round, entries, rule, role, entry.author))

    def _begin(self, item: Record) -> None:
        """[S1], [S2]."""
        place = item.phase, item.round, item.seq, item.kind
        first = item.what == "message" and place == (CONTROL, 0, 0, 1)
        if first and not self.failed and session_id(item.body) == self.session:
            self.body, self.leaf = item.body, item.leaf
            try:
                self.manifest = Manifest(item.body, item.author)
            except Malformed:
                self._blame("04-S2", item, item.index)
                self.failed = True

    def _organiser(self, item: Record) -> None:
        rule = ""
        if item.what == "twice":  # [E3]: the first stands
            self._blame("04-E3", item, item.first, item.index)
        if item.what == "broken":
            rule, self.failed = "04-E1", True
        elif item.what == "message" and item.phase != CONTROL:
            rule = "04-J1"
        elif item.what == "message" and not self.failed:
            try:
                self._control(item)
            except Broken as error:
                rule, self.failed = error.rule, True
            except Outside as error:
                self.outside, self.failed = str(error), True
        if rule:
            self._blame(rule, item, item.index)

    def _party(self, item: Record, number: int) -> None:
        if item.what == "twice":  # [E3], [X5]
            self._blame("04-E3", item, item.first, item.index)
            self.equivocators.add(item.author)
            if item.round >= number:
                self.struck.setdefault(item.round, {}).setdefault(item.author, item.index)
        elif item.what == "broken":
            return
        elif not CONTROL < item.phase <= RECOVER:
            self._blame("04-E2", item, item.index)
        elif item.round > number:  # [E4]: it takes its slot
            if item.phase not in REPEATABLE:
                early = self.early.setdefault(item.round, {})
                early.setdefault((item.phase, item.author), item.index)
        elif self.rounds and item.round == number:
            self.rounds[-1].route(item)

    # Rounds: [X3] to [X5]

    def _current(self) -> Round | None:
        """The round that goes on."""
        return next((book for book in self.rounds[-1:] if not book.over), None)

    def _due(self) -> tuple[int, int] | None:
        """The logical round and the attempt that are next."""
        if not self.rounds or self.manifest is None:
            return 0, 0
        last, terms = self.rounds[-1], self.manifest.terms
        used = last.attempt + 1 >= terms.attempts or last.releases > terms.charged
        if last.abort is not None and not used:
            return last.logical, last.attempt + 1
        return None if last.logical + 1 >= terms.rounds else (last.logical + 1, 0)

    def _open(self, message: Record, logical: int, attempt: int) -> None:
        for book in self.rounds[-1:]:
            self._learn(book)
        if not attempt:
            self.inputs.clear()
            self.retry.clear()
        number = len(self.rounds) + 1
        released = self.rounds[-1].releases if attempt else 0
        early, struck = self.early.setdefault(number, {}), self.struck.setdefault(number, {})
        barred = self.retry | self.forever | self.equivocators
        world = Record(
            manifest=self.manifest, session=self.session, seeds=self.seeds, inputs=self.inputs
        )
        self.rounds.append(
            Round(world, number, logical, attempt, released, message, barred, early, struck)
        )
        self.cut = message.first

    def _learn(self, book: Round) -> None:
        """[X5]."""
        convicted, faults = book.too_late()
        self.faults |= {*book.faults, *faults}
        for author, (phase, verdict) in book.removed.items():
            if verdict.cause in {STRUCK, CONVICTED} or verdict.rule in {"04-J3", "04-K3"}:
                self.forever.add(author)
            if phase in {PUBLISH, ROLLBACK} and verdict.cause != LOST:
                self.retry.add(author)
        self.retry |= book.laggards
        self.forever |= convicted.keys()

    # The organiser's messages: sections 2 and 12

    def _control(self, message: Record) -> None:
        book = self._current()
        due = None if book else self._due()
        require(book or due, "04-X3")
        place = (len(self.rounds), self.seq) if book else (len(self.rounds) + 1, 0)
        require((message.round, message.seq) == place, "04-C1")
        require(message.body[:32] == self.leaf, "04-E4")
        try:
            require(message.kind in FORMS, "04-C1")
            said: Record = decode(FORMS[message.kind], message.body)
        except Malformed:
            raise Broken("04-C1") from None
        if due:
            require(message.kind == OPEN and (said.logical, said.attempt) == due, "04-X3")
            self._open(message, *due)
        elif book:
            require(message.kind != OPEN, "04-C1")
            self._proceed(book, message, said)
        self.leaf = message.leaf
        self.seq = message.seq + max(1, -(-len(message.body) // LARGEST_BODY))

    def _proceed(self, book: Round, message: Record, said: Record) -> None:
        if message.kind == CLOSE:
            listed = {JOIN: "roll", JOIN + 1: "coins", CONTROL: "", ACCUSE: ""}
            require(said.content.tag == listed.get(said.phase, "members"), "04-C1")
        require(self.cut <= said.cut <= message.first, "04-C2")
        step = Step(Failure(ORGANISER, []), {})  # [X1]
        if message.kind != ABORT or said.reason != ORGANISER:
            step = book.demand(said.cut, said)
        if isinstance(step.said, Record):
            self._check_given(book, message, said)
        self._compare(book, message, said, step.said)
        self._apply(book, message, said, step)

    def _check_given(self, book: Round, message: Record, said: Record) -> None:
        """[C4], [J7]: what a close may hold beyond what the rules compute."""
        content = said.content if message.kind == CLOSE else Record()
        named = book.phase != JOIN or book.manifest.beacon != "drand"
        require(named or getattr(content, "beacon_round", 0), "04-J7")
        checkpoint = said.checkpoint if message.kind == CLOSE else b""
        if book.phase == JOIN or book.manifest.quorum is None:
            require(not checkpoint, "04-C4")
            return
        try:
            found = book.manifest.quorum.open(checkpoint)
        except (Malformed, Broken):
            raise Broken("04-C4") from None
        require(found.size > book.closed_at, "04-C4")
        self.views.append((found.size, found.root, message.index))

    @staticmethod
    def _compare(
        book: Round, message: Record, said: Record, want: Record | list[int] | Failure
    ) -> None:
        """[C3], [Z1], [Z3], [X1] to [X4]: the rule that another message breaks."""
        if isinstance(want, Failure):
            require(message.kind == ABORT, RULE_OF.get(want.reason, "04-X1"))
            require(said.released == (book.final is not None), "04-X2")
            require((said.reason, said.culprits) == (want.reason, want.culprits), "04-X1")
            return
        require(message.kind != ABORT, "04-X1")
        if isinstance(want, list):
            require(message.kind == RESULT, "04-U2")
            require(said.sums == want, "04-Z1")
            require(said.removed == book.removals(), "04-Z3")
            require(said.attempt == book.attempt, "04-X3")
            require(said.releases == book.releases, "04-X4")
            return
        require(message.kind == CLOSE and said.phase == book.phase, "04-C1")
        content = said.content
        require(getattr(content, "parties", 0) == getattr(want, "parties", 0), "04-J6")
        require(content.tag == "roll" or content.members == want.members, "04-C3")
        require(getattr(content, "nonces", 0) == getattr(want, "nonces", 0), "04-C3")
        last = {"roll": "04-J7", "coins": "04-V4"}
        require(content == want, last.get(want.tag, "04-P3" if book.phase == PUBLISH else "04-O3"))

    def _apply(self, book: Round, message: Record, said: Record, step: Step) -> None:
        """The message is accepted: what it says counts from now on."""
        phase = book.phase or CONTROL
        book.faults += [*step.faults, *book.blamed(step.out)]
        if phase <= ROLLBACK:
            book.removed |= {author: (phase, verdict) for author, verdict in step.out.items()}
        elif phase < RECOVER:
            book.laggards |= step.out.keys()
        step.settle(message)
        if phase == PUBLISH:  # [A5]: what was not heard is judged for later rounds
            own = isinstance(step.said, Failure) and step.said.reason == ORGANISER
            book.late += [each for each in book.many[ACCUSE] if own or each.index >= said.cut]
        book.many = {ACCUSE: [], ROLLBACK: []}
        self.cut = said.cut
        if message.kind != CLOSE:
            book.over, book.phase = True, None
            book.sums = said.sums if message.kind == RESULT else None
            book.abort = said.reason if message.kind == ABORT else None
