"""Traces everything that a log has about one author, and what the rules made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gopa.auditing.reading import Traced
from gopa.auditing.report import Report
from gopa.contract.phases import Kind, Phase
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Holds one entry of the author, with what it is and what became of it."""

    index: int
    what: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds an author's entries in order, and where each round left it."""

    author: bytes
    steps: tuple[TraceStep, ...]
    fates: tuple[str, ...]


def trace(report: Report, traced: list[Traced]) -> Trace:
    """Traces the one author whose entries were kept.

    Raises:
        UsageError: nobody, or several authors, have keys that begin so.
    """
    authors = sorted({each.entry.author.data for each in traced})
    if not authors:
        raise UsageError("nobody in this log has a key that begins so", "trace")
    if len(authors) > 1:
        listed = ", ".join(each.hex()[:16] for each in authors[:8])
        raise UsageError(f"several keys begin so: {listed}", "trace")
    author = authors[0]
    steps = [
        TraceStep(each.index, _described(each), tuple(_verdicts(report, author, each)))
        for each in traced
    ]
    return Trace(author, tuple(steps), tuple(_fates(report, author)))


def _described(traced: Traced) -> str:
    entry = traced.entry
    kind = Kind(entry.kind).name.lower() if entry.kind in set(Kind) else f"kind {entry.kind}"
    phase = Phase(entry.phase).name.lower() if entry.phase in set(Phase) else str(entry.phase)
    part = f", part {entry.chunk + 1} of {entry.chunks}" if entry.chunks > 1 else ""
    return f"round {entry.round}, phase {phase}: {kind}{part}, {traced.size} bytes"


def _verdicts(report: Report, author: bytes, traced: Traced) -> Iterator[str]:
    if report.session is None or traced.entry.session != report.session.session:
        yield "of another session, or of none that was audited"
        return
    found = False
    for fault in report.faults:
        if any(each.index == traced.index for each in fault.entries):
            found = True
            yield f"fault [{fault.rule}]: {fault.got}"
    for remark in report.remarks:
        if traced.index in remark.entries:
            found = True
            yield f"remark [{remark.rule}]: {remark.what}"
    for each in report.rounds:
        for gone in each.excluded:
            if gone.author == author and gone.entry == traced.index:
                found = True
                yield f"removed at {gone.phase} of round {each.number}: {gone.cause} [{gone.rule}]"
    if not found:
        yield "nothing is wrong with it"


def _fates(report: Report, author: bytes) -> Iterator[str]:
    for each in report.rounds:
        name = f"round {each.number}"
        if author in each.included:
            yield f"{name}: in the final list; the round ended with: {each.outcome}"
            continue
        gone = next((row for row in each.excluded if row.author == author), None)
        if gone is not None:
            yield f"{name}: out since {gone.phase}, {gone.cause} [{gone.rule}]"
        elif author in each.joined:
            yield f"{name}: on the roll; the round came to no final list"
        else:
            yield f"{name}: not on the roll"
