"""A session by the rules of 04: manifest, the organiser's messages, rounds and attempts."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from board import Assembler, Tree
from manifest import one_sum, read_manifest
from joining import Outside
from rounds import (
    KINDS, PHASES, REPEATABLE, Fault, accept, cut_off, due_abort, is_veto, late_by_cut, new_round,
    releases, route,
)  # fmt: skip
from summing import DUE, too_late
from worth import judged
from codec import Record, Wrong, decode, require

INSTEAD = {"too_few_joined": "04-J6", "too_many_withheld": "04-L3", "too_few_left": "04-L3",
           "too_many_rollbacks": "04-O4", "not_confirmed": "04-F2",
           "not_unmasked": "04-U4", "organiser": "04-X1"}  # fmt: skip
"""04-X1: what is broken by a message that is no abort."""
RULES = {"phase": "04-C1", "parties": "04-J6", "beacon_round": "04-J7", "members": "04-C3",
         "nonces": "04-C3", "signature": "04-V4", "previous": "04-V4", "final": "04-O3",
         "sums": "04-Z1", "removed": "04-Z3", "attempt": "04-X3", "releases": "04-X4",
         "released": "04-X2", "reason": "04-X1", "culprits": "04-X1"}  # fmt: skip
"""04-C3, 04-X1: what is broken by another value, in the order of the fields of what is due."""
FINAL = {"publish": "04-P3", "prove": "14-P8"}
"""Who says wrongly that a list is the last one."""
MOST_TRIED = 8
"""04-S1: authors whose entries are tried until one of them is the manifest."""


@lru_cache(maxsize=64)
def worth_of(body: bytes, author: bytes) -> tuple[Record, str]:
    """04-S2, 04-S3, 04-S5: a manifest, and whether its terms keep what they claim."""
    manifest = read_manifest(body, author)
    if not one_sum(manifest):
        return manifest, "more than one sum"
    terms = manifest.terms
    named = terms.changed(
        mask=("gaussian", "uniform")[terms.mask], beacon=("commit-reveal", "drand")[terms.beacon]
    )
    return manifest, judged(named, manifest.law)


class Session:
    """Follows the entries of one session in the order of the log."""

    def __init__(self, session: bytes, tree: Tree) -> None:
        self.session, self.tree, self.body = session, tree, b""
        self.manifest: Record | None = None
        self.assembler, self.faults, self.failed = Assembler(), set[Fault](), False
        self.rounds: list[Record] = []
        self.leaf, self.seq, self.cut = b"", 0, 0
        self.retry, self.forever, self.equivocators = set[bytes](), set[bytes](), set[bytes]()
        self.early: dict[tuple[int, str, bytes], int] = {}
        self.struck: dict[tuple[int, bytes], int] = {}
        self.views: list[tuple[int, bytes, int]] = []
        self.tried = set[bytes]()
        self.outside, self.worth = "", ""

    def observe(self, entry: Record) -> None:
        """The next entry."""
        if entry.seen_size:
            self.views.append((entry.seen_size, entry.seen_root, entry.index))
        own, manifest = self._is_own(entry), self.manifest
        if manifest is None:  # 04-S1: other entries do not count, but take their slots
            read = (entry.phase, entry.round) == (0, 0)
            if read and len(self.tried) < MOST_TRIED:
                self.tried.add(entry.author)
            read = read and entry.author in self.tried
        else:
            if not (own or entry.author in getattr(manifest.admission, "keys", [entry.author])):
                return
            known = (entry.phase == 0) == own and entry.phase < len(PHASES)
            read = known and (own or entry.round == len(self.rounds))
        if not read:  # 04-E2: part of nothing that is read
            entry = entry.changed(body=b"", chunk=0, chunks=1)
        elif manifest and entry.chunks > manifest.chunks[PHASES[entry.phase]]:  # 04-S4
            self._blame("04-S4", entry, entry.index)
            entry = entry.changed(body=b"", chunk=1, chunks=2)  # of no message
        item = self.assembler.take(entry)
        if item and manifest is None:
            self._begin(item)
        elif item:
            if item.what == "twice":  # 04-E3
                self._blame("04-E3", item, item.first, item.index)
            (self._organiser if own else self._party)(item)

    def finish(self) -> None:
        """No more entries: what came too late in the last round still convicts."""
        for book in self.rounds[-1:]:
            self.faults |= {*book.faults, *too_late(book)[1]}

    @property
    def complete(self) -> bool:
        """Whether all logical rounds came to their end by the rules."""
        return not self.failed and any(book.over for book in self.rounds[-1:]) and not self._due()

    def _is_own(self, entry: Record) -> bool:
        return self.manifest is None or bool(entry.author == self.manifest.organiser)

    def _blame(self, rule: str, entry: Record, *entries: int) -> None:
        role = "organiser" if self._is_own(entry) else "party"
        self.faults.add(Fault(entry.round, entries, rule, role, entry.author))

    def _begin(self, item: Record) -> None:
        """04-S1 to 04-S3, 04-S5."""
        place = item.what, item.phase, item.round, item.seq, item.kind
        first = place == ("message", 0, 0, 0, 1) and not self.failed
        own_id = sha256(b"gopa/v1/protocol/session" + item.body).digest()
        if first and own_id == self.session:
            self.body, self.leaf = item.body, item.leaf
            try:
                manifest, worth = worth_of(item.body, item.author)
            except Wrong:
                worth = "no manifest"
                self._blame("04-S2", item, item.index)
            if worth in {"broken", "more than one sum"}:
                self._blame("04-S3" if worth == "broken" else "04-S5", item, item.index)
            self.failed = worth in {"no manifest", "broken", "more than one sum"}
            if not self.failed:
                self.manifest, self.worth = manifest, worth

    def _organiser(self, item: Record) -> None:
        """04-E3: of two entries the first stands."""
        try:
            if item.what != "twice" and item.phase:  # 04-E2: it is no party
                self._blame("04-E2", item, item.index)
                return
            require(item.what != "broken", "04-E1")
            if item.what == "message" and not self.failed:
                self._control(item)
        except Wrong as error:
            self._blame(error.rule, item, item.index)
            self.failed = True
        except Outside as error:
            self.outside, self.failed = str(error), True

    def _party(self, item: Record) -> None:
        number = len(self.rounds)
        if item.what == "twice":  # 04-E3, 04-X5
            self.equivocators.add(item.author)
            if item.round >= number:
                self.struck.setdefault((item.round, item.author), item.index)
        elif item.what == "broken":
            return
        elif not 0 < item.phase < len(PHASES):
            self._blame("04-E2", item, item.index)
        elif item.round > number:  # 04-E4: it takes its slot
            if PHASES[item.phase] not in REPEATABLE:
                place = item.round, PHASES[item.phase], item.author
                self.early.setdefault(place, item.index)
        elif item.round == number > 0:
            route(self.rounds[-1], item)

    # Rounds: 04-X3 to 04-X5

    def _due(self) -> tuple[int, int] | None:
        """The logical round and the attempt that are next."""
        if not self.rounds or self.manifest is None:
            return 0, 0
        last, terms = self.rounds[-1], self.manifest.terms
        used = last.attempt + 1 >= terms.attempts or releases(last) > terms.charged
        if last.abort is not None and not used:
            return last.logical, last.attempt + 1
        return None if last.logical + 1 >= terms.rounds else (last.logical + 1, 0)

    def _open(self, message: Record, logical: int, attempt: int) -> None:
        """04-X5: what is known by now bars from the new round."""
        for book in self.rounds[-1:]:
            convicted, faults = too_late(book)
            self.faults |= {*book.faults, *faults}
            for author, (phase, verdict) in book.removed.items():
                if verdict.cause in {"struck", "convicted"} or verdict.rule in {
                    "04-J3",
                    "04-K3",
                    "14-P3",
                }:
                    self.forever.add(author)
                failed = verdict.cause != "lost" and author not in book.by_cut  # 04-C6
                if phase in {"publish", "prove", "rollback"} and failed:
                    self.retry.add(author)
            self.retry |= book.laggards
            self.forever |= convicted.keys() | book.convicted
        if not attempt:
            self.retry.clear()
        self.rounds.append(new_round(self, logical, attempt, message))
        self.cut = message.first

    def barred(self) -> set[bytes]:
        """04-X5."""
        return self.retry | self.forever | self.equivocators

    # The organiser's messages: sections 2 and 12

    def _control(self, message: Record) -> None:
        """04-C1, 04-E4, 04-X3, in the order of 04-C3."""
        book = next((book for book in self.rounds[-1:] if not book.over), None)
        due = None if book else self._due()
        require(book or due, "04-X3")
        place = (len(self.rounds), self.seq) if book else (len(self.rounds) + 1, 0)
        require((message.round, message.seq) == place, "04-C1")
        require(message.body[:32] == self.leaf, "04-E4")
        kind = KINDS.get(message.kind, "")
        require(kind in {"open", "close", "result", "abort"}, "04-C1")
        try:
            said: Record = decode(kind.capitalize(), message.body)
        except Wrong:
            raise Wrong("04-C1") from None
        if due:
            require(kind == "open" and (said.logical, said.attempt) == due, "04-X3")
            self._open(message, *due)
        elif book:
            require(kind != "open", "04-C1")
            self._proceed(book, message, said, kind)
        self.leaf = message.leaf
        self.seq = message.seq + message.chunks

    def _proceed(self, book: Record, message: Record, said: Record, kind: str) -> None:
        """04-C2, 04-C7, then what the rules make of the log below the cut."""
        if kind == "close":
            listed = {"join": "roll", "coins": "coins", "organiser": "", "accuse": ""}
            require(said.content.tag == listed.get(said.phase, "members"), "04-C1")
            said = said.changed(**vars(said.content))
        require(self.cut <= said.cut <= message.first, "04-C2")
        require(message.seen_size <= said.cut, "04-C2")
        if kind == "close":
            self._require_root(message, said)
        trial = book.changed()
        own = kind == "abort" and said.reason == "organiser"
        due = due_abort(trial, "organiser") if own else DUE[book.phase](trial, said.cut)  # 04-X1
        if due.kind == "close":
            self._require_seen(book, message, said)
        self._require_due(due, said, kind)
        late = self._late(book, trial, message, said, due)
        accept(trial, message, said, kind, late)
        self.rounds[-1], self.cut = trial, said.cut

    def _require_root(self, message: Record, said: Record) -> None:
        """04-C7, 04-E6."""
        if message.seen_size != said.cut:
            self.views.append((said.cut, said.root, message.index))
        require(said.root == self.tree.root(said.cut), "04-C7")

    @staticmethod
    def _late(
        book: Record, trial: Record, message: Record, said: Record, due: Record
    ) -> set[bytes]:
        """04-C6, 04-X1, 04-X7: who is late by the cut; of an abort, whom to blame."""
        own = due.kind == "abort" and due.reason == "organiser"
        if own and book.final is None:
            return set()
        probe = book.changed() if own else trial
        whole = DUE[book.phase](probe, said.cut) if own else due
        left, again = cut_off(book, said.cut, message.first), probe
        if left:
            again = book.changed()
            whole = DUE[book.phase](again, message.first)
        late = late_by_cut(probe, again, left)
        if due.kind == "abort":
            vetoed = is_veto(probe, whole, late)
            trial.to_blame = sorted(probe.to_blame & set(due.culprits)) if not vetoed else []
            trial.veto = [message.index, *sorted(late.values())] if vetoed else []
        return set() if own else set(late)

    def _require_seen(self, book: Record, message: Record, said: Record) -> None:
        """04-J7, 04-C4: what a close may hold beyond what the rules compute."""
        drand, checkpoint = book.manifest.beacon.tag == "drand", getattr(said, "checkpoint", b"")
        require(book.phase != "join" or not drand or getattr(said, "beacon_round", 0), "04-J7")
        if book.phase == "join" or book.manifest.quorum is None:
            require(not checkpoint, "04-C4")
            return
        try:
            found = book.manifest.quorum.open(checkpoint)
        except Wrong:
            raise Wrong("04-C4") from None
        require(found.enough and found.size > book.opened.index, "04-C4")
        self.views.append((found.size, found.root, message.index))

    @staticmethod
    def _require_due(due: Record, said: Record, kind: str) -> None:
        """04-C3, 04-Z1, 04-Z3, 04-X1 to 04-X4: the rule that another message breaks."""
        if due.kind == "abort":
            require(kind == "abort", INSTEAD[due.reason])
        require(kind != "abort" or due.kind == "abort", "04-X1")
        require(kind == due.kind, "04-U2" if due.kind == "result" else "04-C1")
        for name in list(vars(due))[1:]:
            rule = FINAL.get(said.phase, "04-O3") if name == "final" else RULES[name]
            require(getattr(said, name) == getattr(due, name), rule)
