"""Makes files of evidence from a log that was read. `specs/11-audit.md`, section 6."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bulletin_board.tree import consistency_proof
from gopa.auditing.evidence import (
    LARGEST_FORK,
    MOST_ENTRIES,
    Evidence,
    FaultStatement,
    Fork,
    Messages,
    Placed,
    Prefix,
    TwoEntries,
)
from gopa.auditing.excerpts import (
    REPEATED,
    By,
    Cited,
    Excerpt,
    Excerpts,
    Kept,
    Kind,
    PhaseEntries,
    Reading,
    cites_two,
    stands_alone,
)
from gopa.auditing.forks import nodes_above
from gopa.auditing.judging import judge
from gopa.auditing.report import AuditFault, Culprit
from gopa.auditing.state import LogState
from gopa.rules import RoundFindings


def evidence_of(
    state: LogState, faults: Iterable[AuditFault], read: Reading
) -> Iterator[tuple[str, bytes]]:
    """For each proved fault of a party, organiser or board a name and a file that convicts.

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
    """From the smallest file to the largest."""
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
