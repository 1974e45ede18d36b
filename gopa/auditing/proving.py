"""Making files of evidence from a log that was read. `specs/11-audit.md`, section 6."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bulletin_board import Submission
from bulletin_board.tree import consistency_proof
from gopa.auditing.evidence import (
    LARGEST_FORK,
    MOST_ENTRIES,
    Evidence,
    Fork,
    Messages,
    Placed,
    Prefix,
    Statement,
    TwoEntries,
)
from gopa.auditing.forks import nodes_above
from gopa.auditing.judging import SELF_CONTAINED, judge
from gopa.auditing.report import AuditFault, Culprit
from gopa.auditing.state import LogState
from gopa.messages.phases import Phase
from gopa.rules import RoundFindings

_OF_PARTIES = (Phase.JOIN, Phase.COINS)
"""The phases whose messages a close repeats."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A signed entry of the session at its place."""

    index: int
    submission: Submission

    @property
    def placed(self) -> Placed:
        return Placed(self.index, self.submission.raw)


def evidence_of(
    state: LogState, faults: Iterable[AuditFault], entries: Iterable[bytes]
) -> Iterator[tuple[str, bytes]]:
    """For each proved fault of a party, organiser or board a name and a file that convicts.

    `entries` are all of the log, again. A fault of which no file convicts is passed over:
    a log that is too long to be copied into one, and what only the audit of a whole log
    shows.
    """
    raws = list(entries)
    for number, fork in enumerate(state.forks):
        if len(fork) <= LARGEST_FORK:
            statement = Statement(bytes(32), b"05-C4", 0)
            yield f"board-fork-{number + 1}", Evidence(statement, Fork(fork)).to_bytes()
    named = [each for each in faults if each.proved and each.author and each.entries]
    for number, fault in enumerate(named):
        for candidate in _candidates(state, fault, raws):
            data = candidate.to_bytes()
            if judge(data, toolkit=state.options.toolkit).convicts:
                who = "organiser" if fault.culprit is Culprit.ORGANISER else fault.author.hex()[:16]
                yield f"{who}-{fault.rule}-{number + 1}", data
                break


def _candidates(state: LogState, fault: AuditFault, raws: Sequence[bytes]) -> Iterator[Evidence]:
    """From the smallest file to the largest."""
    statement = Statement(fault.author, fault.rule.encode(), fault.round)
    indexes = [each.index for each in fault.entries]
    if fault.rule == "04-E3" and len(indexes) == 2:
        yield Evidence(statement, TwoEntries(raws[indexes[0]], raws[indexes[1]]))
        return
    if fault.rule in SELF_CONTAINED and fault.culprit is Culprit.PARTY:
        for shown in _reductions(state, fault, raws):
            if shown.entries and len(shown.entries) <= MOST_ENTRIES:
                yield Evidence(statement, shown)
    for size in _sizes(state, fault):
        if size <= MOST_ENTRIES:
            yield Evidence(statement, _prefix(state, raws, size))


def _reductions(state: LogState, fault: AuditFault, raws: Sequence[bytes]) -> Iterator[Messages]:
    """The organiser's messages and the author's own; then also those that closes repeat."""
    last = max(each.index for each in fault.entries)
    session, manifest = state.reading.choice.chosen, state.manifest
    if manifest is None:
        return
    own: list[_Entry] = []
    listed: dict[int, list[_Entry]] = {phase: [] for phase in _OF_PARTIES}
    for index, raw in enumerate(raws[: last + 1]):
        submission = Submission.decode(raw)
        entry = submission.entry
        if entry.session != session:
            continue
        if entry.author.data in {manifest.organiser, fault.author}:
            own.append(_Entry(index, submission))
        elif entry.phase in listed and entry.round == fault.round:
            listed[entry.phase].append(_Entry(index, submission))
    yield Messages(tuple(each.placed for each in own))
    for phase in _OF_PARTIES:
        own = sorted((*own, *listed[phase]), key=lambda each: each.index)
        yield Messages(tuple(each.placed for each in own))


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


def _prefix(state: LogState, raws: Sequence[bytes], size: int) -> Prefix:
    proof: Sequence[bytes] = ()
    if size < state.reading.size:
        nodes = nodes_above(state.reading.check.leaf)
        proof = consistency_proof(size, state.reading.size, nodes)
    return Prefix(state.note, tuple(proof), tuple(raws[:size]))
