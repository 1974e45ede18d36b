"""Files of evidence, which convict, made from a log that was read.

A file of evidence has a limit (11-E6), a log and the number of its faults
have none: the log is read once to see how much each fault takes, and once for each group of
faults that together take no more than a bound.

Specification: `specs/11-audit.md`, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bulletin_board import Submission
from bulletin_board.tree import consistency_proof
from gopa.auditing.evidence import (
    LARGEST_EVIDENCE,
    LARGEST_FORK,
    MOST_ENTRIES,
    Evidence,
    FaultStatement,
    Fork,
    Messages,
    Placed,
    Prefix,
    TwoEntries,
    nodes_above,
)
from gopa.auditing.judging import SELF_CONTAINED, judge
from gopa.auditing.reading import LogState
from gopa.auditing.report import AuditFault, Culprit
from gopa.contract.phases import Phase
from gopa.protocol.rules import RoundFindings

Reading: TypeAlias = Callable[[], Iterable[bytes]]
"""Reads all entries of the log, from the first on; may be called again and again."""

REPEATED: Final = (Phase.JOIN, Phase.COINS)
"""The phases whose messages a close repeats."""

GROUP_BYTES: Final = 2 * LARGEST_EVIDENCE
"""Of entries that are held for a group of faults, unless one of them takes more."""

_TWO: Final = 2


@dataclass(frozen=True, slots=True)
class Cited:
    """The entry at an index."""

    index: int


@dataclass(frozen=True, slots=True)
class By:
    """All entries of an author in the session."""

    author: bytes


@dataclass(frozen=True, slots=True)
class PhaseEntries:
    """All entries of the session in a phase of a round."""

    round: int
    phase: int


Kind: TypeAlias = Cited | By | PhaseEntries


@dataclass(slots=True)
class Kept:
    """The first entries of a kind, as many as a file of evidence can hold."""

    placed: list[Placed] = field(default_factory=list)
    _bytes: int = 0
    _full_at: int | None = None

    def add(self, index: int, raw: bytes) -> None:
        """Keep it, unless there is no more room."""
        if self._full_at is not None:
            return
        if self._bytes + len(raw) > LARGEST_EVIDENCE or len(self.placed) == MOST_ENTRIES:
            self._full_at = index
            return
        self.placed.append(Placed(index, raw))
        self._bytes += len(raw)

    def until(self, last: int) -> list[Placed] | None:
        """All up to an index; None if there are more than were kept."""
        if self._full_at is not None and self._full_at <= last:
            return None
        return [each for each in self.placed if each.index <= last]


Excerpt: TypeAlias = dict[Kind, Kept]
"""What was kept of each kind; a kind of which the log has nothing is there, too."""


def cites_two(fault: AuditFault) -> bool:
    """Whether the two entries themselves convict."""
    return fault.rule == "04-E3" and len(fault.entries) == _TWO


def stands_alone(fault: AuditFault) -> bool:
    """Whether some messages convict, without the rest of the log."""
    return fault.rule in SELF_CONTAINED and fault.culprit is Culprit.PARTY


@dataclass(slots=True)
class Excerpts:
    """A log read for the faults of one session; `organiser` is its key, empty without any.

    `head` has the first entries of the log as soon as there is a group.
    """

    session: bytes
    organiser: bytes
    read: Reading
    head: Kept = field(default_factory=Kept)

    def groups(self, faults: Sequence[AuditFault]) -> Iterator[tuple[list[AuditFault], Excerpt]]:
        """The faults in their order, some at a time, with what may be evidence of them.

        Without faults nothing is read.
        """
        if not faults:
            return
        sizes = self._measured({kind for fault in faults for kind in self._kinds(fault)})
        group: list[AuditFault] = []
        needed: set[Kind] = set()
        total = 0
        for fault in faults:
            kinds = self._kinds(fault)
            more = sum(sizes[kind] for kind in kinds - needed)
            if group and more and total + more > GROUP_BYTES:
                yield group, self._excerpt(needed)
                group, needed, total = [], set(), 0
                more = sum(sizes[kind] for kind in kinds)
            group.append(fault)
            needed |= kinds
            total += more
        if group:
            yield group, self._excerpt(needed)

    def _kinds(self, fault: AuditFault) -> set[Kind]:
        if cites_two(fault):
            return {Cited(each.index) for each in fault.entries}
        if not stands_alone(fault):
            return set()
        said: set[Kind] = {PhaseEntries(fault.round, phase) for phase in REPEATED}
        return said | {By(fault.author), By(self.organiser)}

    def _measured(self, kinds: Collection[Kind]) -> dict[Kind, int]:
        """How many bytes are kept of each kind. Fills `head` on the way."""
        self.head = Kept()
        sizes = dict.fromkeys(kinds, 0)
        for index, raw in enumerate(self.read()):
            self.head.add(index, raw)
            for kind in self._kinds_of(index, raw) if sizes else ():
                if kind in sizes:
                    sizes[kind] = min(sizes[kind] + len(raw), LARGEST_EVIDENCE)
        return sizes

    def _excerpt(self, kinds: Collection[Kind]) -> Excerpt:
        kept = {kind: Kept() for kind in kinds}
        if not kept:
            return kept
        for index, raw in enumerate(self.read()):
            for kind in self._kinds_of(index, raw):
                if kind in kept:
                    kept[kind].add(index, raw)
        return kept

    def _kinds_of(self, index: int, raw: bytes) -> tuple[Kind, ...]:
        entry = Submission.decode(raw).entry
        if entry.session != self.session:
            return (Cited(index),)
        return Cited(index), By(entry.author.data), PhaseEntries(entry.round, entry.phase)


def evidence_of(
    state: LogState, faults: Iterable[AuditFault], read: Reading
) -> Iterator[tuple[str, bytes]]:
    """Gives a name and a file that convicts, for each proved fault of a party, organiser or board.

    `read` reads all entries of the log, again, and is called more than once: what is held of
    them has a bound. A fault of which no file convicts is passed over: a log that is too long
    to be copied into one, and what only the audit of a whole log shows.
    """
    for number, fork in enumerate(state.forks):
        if len(fork) <= LARGEST_FORK:
            statement = FaultStatement(bytes(32), b"05-C4", 0)
            yield f"board-fork-{number + 1}", Evidence(statement, Fork(fork)).to_bytes()
    named = [each for each in faults if each.proved and each.author and each.entries]
    organiser = b"" if state.manifest is None else state.manifest.organiser
    excerpts = Excerpts(state.reading.choice.chosen or b"", organiser, read)
    number = 0
    for group, excerpt in excerpts.groups(named):
        for fault in group:
            number += 1
            found = _convicting(state, _candidates(state, fault, excerpts.head, excerpt))
            if found is not None:
                yield f"{_name(fault)}-{fault.rule}-{number}", found


def _name(fault: AuditFault) -> str:
    return "organiser" if fault.culprit is Culprit.ORGANISER else fault.author.hex()[:16]


def _convicting(state: LogState, candidates: Iterable[Evidence]) -> bytes | None:
    """The first file that convicts."""
    for candidate in candidates:
        data = candidate.to_bytes()
        if judge(data, toolkit=state.options.toolkit).convicts:
            return data
    return None


def _candidates(
    state: LogState, fault: AuditFault, head: Kept, excerpt: Excerpt
) -> Iterator[Evidence]:
    """Files of evidence, from the smallest to the largest."""
    statement = FaultStatement(fault.author, fault.rule.encode(), fault.round)
    if cites_two(fault):
        first, second = (excerpt[Cited(each.index)].placed[0].raw for each in fault.entries)
        yield Evidence(statement, TwoEntries(first, second))
        return
    if stands_alone(fault) and state.manifest is not None:
        for shown in _reductions(state.manifest.organiser, fault, excerpt):
            if shown.entries and len(shown.entries) <= MOST_ENTRIES:
                yield Evidence(statement, shown)
    for size in _sizes(state, fault):
        begun = head.until(size - 1)
        if begun is not None:
            yield Evidence(statement, _prefix(state, [each.raw for each in begun], size))


def _reductions(organiser: bytes, fault: AuditFault, excerpt: Excerpt) -> Iterator[Messages]:
    """The organiser's messages and the author's own; then also those that closes repeat."""
    last = max(each.index for each in fault.entries)
    chosen: dict[int, Placed] = {}
    steps: list[tuple[Kind, ...]] = [(By(organiser), By(fault.author))]
    steps += [(PhaseEntries(fault.round, phase),) for phase in REPEATED]
    for kinds in steps:
        for kind in kinds:
            found = excerpt[kind].until(last)
            if found is None:
                return
            chosen.update((each.index, each) for each in found)
        yield Messages(tuple(chosen[index] for index in sorted(chosen)))


def _sizes(state: LogState, fault: AuditFault) -> Iterator[int]:
    """Where the log may be cut so that the rules have decided about the fault."""
    last = max(each.index for each in fault.entries)
    whole = state.reading.size
    found = (last + 1, _end_of(state.reading.check.findings().rounds, fault.round), whole)
    yield from sorted({size for size in found if last < size <= whole})


def _end_of(rounds: Iterable[RoundFindings], number: int) -> int:
    """Behind the message that ended the round."""
    ends = [each.ended_at for each in rounds if each.number == number]
    return next((end + 1 for end in ends if end is not None), 0)


def _prefix(state: LogState, entries: Sequence[bytes], size: int) -> Prefix:
    proof: Sequence[bytes] = ()
    if size < state.reading.size:
        nodes = nodes_above(state.reading.check.leaf)
        proof = consistency_proof(size, state.reading.size, nodes)
    return Prefix(state.note, tuple(proof), tuple(entries))
