"""Board, organiser and a dealer work together; whoever told the truth elsewhere is not convicted.

The dealer shows one neighbour a wrong share, and the neighbour accuses it. In another log, which
the same board signs, the same dealer has dealt a right one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import Submission
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.adversary.deeds import accuse, wrong_share
from gopa.auditing.auditor import options_of, run
from gopa.auditing.evidence import Evidence, FaultStatement, Prefix
from gopa.auditing.judging import judge
from gopa.auditing.proving import evidence_of
from gopa.auditing.report import Culprit
from gopa.contract.framing import MessageSlot, Posted, sign_message
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.rules import Ledger
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.simulation import Script
from gopa.rounds.toolkit import Toolkit
from tests.auditing.logs import Log, note_of, played
from tests.lies import lying
from tests.randomness import seeded
from tests.vectors.transcripts.worlds import RECOVERY

DEALER = 1


def at(log: Log, phase: Phase, author: bytes | None = None) -> int:
    """The first entry of a phase, or that of an author."""
    found = (Submission.decode(raw).entry for raw in log.entries)
    return next(
        index
        for index, entry in enumerate(found)
        if entry.phase == phase and author in {None, entry.author.data}
    )


def closed(log: Log, entries: tuple[bytes, ...]) -> Log:
    """With the close that the rules demand behind these entries."""
    ledger = Ledger(Toolkit(), rng=seeded("framing"))
    for index, raw in enumerate(entries):
        submission = Submission.decode(raw)
        ledger.observe(Posted(index, submission.leaf, submission.entry))
    edge = RightEdge()
    edge.extend(map(leaf_hash, entries))
    control = ledger.next_control(len(entries), root=edge.root())
    assert control is not None
    place = MessageSlot(
        log.manifest.session,
        Phase.ORGANISER,
        control.kind,
        control.round,
        control.seq,
        control.previous,
    )
    signed = sign_message(control.body, place, log.organiser)
    return replace(log, entries=(*entries, *signed.entries))


def accused(log: Log, place: Path) -> tuple[set[bytes], list[Evidence]]:
    """Whom the audit blames by rules of accusations, and all files of evidence that it makes."""
    path = place / "log.gopa"
    path.write_bytes(log.archive())
    report, state = run(path, options_of(anchors=log.anchors), None)
    assert state is not None
    blamed = {
        fault.author
        for fault in report.faults
        if fault.rule.startswith("04-A") and fault.culprit is Culprit.PARTY
    }
    files = [data for _, data in evidence_of(state, report.faults, lambda: log.entries)]
    assert all(judge(data).convicts for data in files)
    return blamed, [Evidence.parse(data) for data in files]


@pytest.mark.parametrize("compared", [True, False], ids=["roots", "any roots"])
def test_who_accused_truly_is_not_convicted_in_another_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: bool
) -> None:
    """Whether or not the close between shows that the organiser saw the first log."""
    if not compared:
        monkeypatch.setattr(RoundSequence, "_require_root", lambda *_: None)
    true = played(RECOVERY, Script().misbehave(DEALER, lying("commit", wrong_share())))
    honest = played(RECOVERY)
    accuser = Submission.decode(true.entries[at(true, Phase.ACCUSE)]).entry.author.data
    dealer = next(
        Submission.decode(mine).entry.author.data
        for mine, other in zip(true.entries, honest.entries, strict=False)
        if mine != other
    )
    blamed, (evidence,) = accused(true, tmp_path)
    assert blamed == {evidence.statement.author} == {dealer}

    commit, close = at(true, Phase.COMMIT, dealer), at(true, Phase.PUBLISH) + RECOVERY.terms.parties
    entries = (*true.entries[:commit], honest.entries[commit], *true.entries[commit + 1 : close])
    forked = closed(true, entries)
    blamed, files = accused(forked, tmp_path)
    assert blamed == set()
    assert all(each.statement.author != accuser for each in files)
    note = note_of(forked.entries, forked.signer)
    for rule in (b"04-A1", b"04-A5"):
        statement = FaultStatement(accuser, rule, 1)
        assert not judge(Evidence(statement, Prefix(note, (), forked.entries)).to_bytes()).convicts


def test_who_accuses_falsely_in_the_log_it_saw_is_convicted(tmp_path: Path) -> None:
    script = Script().misbehave(DEALER, lying("accuse", accuse(about=About.SHARE)))
    blamed, (evidence,) = accused(played(RECOVERY, script), tmp_path)
    assert blamed == {evidence.statement.author}
    assert evidence.statement.rule == b"04-A5"
