"""A witness that cosigned both histories of a log is named beside the board, and no other is."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from bulletin_board import NoteSigner, Submission, TrustPolicy
from bulletin_board.client.forks import FORK_EVIDENCE
from bulletin_board.note import KeyKind, SignatureLine, SignedNote, cosign
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.adversary.deeds import accuse, wrong_share
from gopa.auditing import Anchors, Verdict, audit
from gopa.auditing.auditor import LogFollower, options_of, run
from gopa.auditing.evidence import Evidence, FaultStatement, Fork, Prefix
from gopa.auditing.judging import judge
from gopa.auditing.proving import evidence_of
from gopa.auditing.report import Culprit, Report
from gopa.cli.audit_screen import judged_screen
from gopa.contract.framing import MessageSlot, Posted, sign_message
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.rules import Ledger
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.simulation import Script
from gopa.rounds.toolkit import Toolkit
from tests.auditing.logs import Log, archived, clean, note_of, played
from tests.auditing.schema import problems
from tests.auditing.test_following import shown
from tests.lies import lying
from tests.randomness import seeded
from tests.vectors.transcripts.worlds import RECOVERY
from tests.verifier.answers import program
from tests.verifier.answers import report as report_of
from wire.secret import SecretBytes

NAMES: Final = ("a.example", "b.example", "c.example")


FORKED: Final = (*clean().entries[:5], *clean().entries[6:9])


def witness(name: str) -> NoteSigner:
    return NoteSigner(name, KeyKind.WITNESS, SecretBytes(seeded(f"witness: {name}")(32)))


def anchors(quorum: str = "any") -> Anchors:
    lines = [f"log {clean().signer.verifier}"]
    lines += [f"witness w{at} {witness(name).verifier}" for at, name in enumerate(NAMES)]
    members = " ".join(f"w{at}" for at in range(len(NAMES)))
    lines += [f"group all-of-them {quorum} {members}", "quorum all-of-them", ""]
    return replace(clean().anchors, policy=TrustPolicy.parse("\n".join(lines).encode()))


def cosigned(entries: Sequence[bytes], names: str) -> bytes:
    """The note of a log with these entries and the cosignatures of the witnesses a, b or c."""
    note = SignedNote.parse(note_of(entries, clean().signer))
    lines = [cosign(note.text, witness(f"{each}.example"), 1_000 + len(entries)) for each in names]
    return note.with_signatures(lines).to_bytes()


def broken(note: bytes) -> bytes:
    """The note with its last line spoilt."""
    found = SignedNote.parse(note)
    *good, last = found.signatures
    spoilt = last.signature[:-1] + bytes([last.signature[-1] ^ 1])
    return SignedNote(found.text, (*good, replace(last, signature=spoilt))).to_bytes()


def audited(
    tmp_path: Path, names: str, since: bytes, *, trust: Anchors | None = None
) -> tuple[Report, list[bytes]]:
    path = tmp_path / "log.gopa"
    note = cosigned(clean().entries, names)
    path.write_bytes(archived(clean().entries, note, clean().manifest.session))
    report, state = run(path, options_of(anchors=trust or anchors(), since=since), None)
    assert state is not None
    return report, [data for _, data in evidence_of(state, report.faults, lambda: clean().entries)]


def named(report: Report) -> list[tuple[Culprit, bytes, str]]:
    return [(each.culprit, each.author, each.rule) for each in report.faults]


def key_of(name: str) -> bytes:
    return witness(f"{name}.example").verifier.key.data


BOARD: Final = (Culprit.BOARD, b"", "05-C4")


def test_a_witness_of_both_histories_is_named_and_one_of_either_is_not(tmp_path: Path) -> None:
    honest, _ = audited(tmp_path, "ab", cosigned(clean().entries[:8], "bc"))
    assert honest.verdict is Verdict.VALID
    assert honest.faults == ()
    report, files = audited(tmp_path, "ab", cosigned(FORKED, "bc"))
    assert report.verdict is Verdict.INVALID
    assert named(report) == [BOARD, (Culprit.WITNESS, key_of("b"), "05-W1")]
    assert all(fault.proved and fault.check == "1.5" for fault in report.faults)
    assert problems(json.loads(report.to_json())) == []
    (data,) = files
    judgement = judge(data, policy=anchors().policy)
    assert judgement.convicts
    assert (judgement.culprit, judgement.witnesses) == (
        Culprit.BOARD,
        (str(witness("b.example").verifier),),
    )
    assert str(witness("b.example").verifier) in judged_screen(judgement, None)


@pytest.mark.parametrize(("before", "now"), [("", "abc"), ("abc", ""), ("a", "bc"), ("", "")])
def test_a_fork_that_no_witness_saw_whole_is_the_boards_alone(
    before: str, now: str, tmp_path: Path
) -> None:
    report, files = audited(tmp_path, now, cosigned(FORKED, before))
    assert named(report) == [BOARD]
    judgement = judge(files[0], policy=anchors().policy)
    assert (judgement.convicts, judgement.witnesses) == (True, ())


def test_a_witness_of_nobodys_policy_is_not_named(tmp_path: Path) -> None:
    alone = clean().anchors
    report, files = audited(tmp_path, "ab", cosigned(FORKED, "bc"), trust=alone)
    assert named(report) == [BOARD]
    assert judge(files[0], policy=alone.policy).witnesses == ()
    assert len(judge(files[0], policy=anchors().policy).witnesses) == 1


def test_the_same_history_at_two_sizes_or_times_convicts_nobody(tmp_path: Path) -> None:
    for size in (1, 8, len(clean().entries)):
        report, files = audited(tmp_path, "abc", cosigned(clean().entries[:size], "abc"))
        assert (report.verdict, named(report), files) == (Verdict.VALID, [], [])


def test_a_broken_line_of_a_witness_neither_convicts_nor_clears(tmp_path: Path) -> None:
    """A board can put any bytes under the name of a witness."""
    _, (data,) = audited(tmp_path, "b", cosigned(FORKED, "b"))
    shown_fork = Evidence.parse(data).shown
    assert isinstance(shown_fork, Fork)
    fork = FORK_EVIDENCE.decode(shown_fork.evidence)

    def with_older(older: SignedNote) -> bytes:
        changed = replace(fork, older=older.to_bytes())
        evidence = Evidence.parse(data)
        return replace(evidence, shown=Fork(FORK_EVIDENCE.encode(changed))).to_bytes()

    note = SignedNote.parse(fork.older)
    log_line, good = note.signatures
    bad = replace(good, signature=bytes([good.signature[0] ^ 1]) + good.signature[1:])
    assert isinstance(bad, SignatureLine)
    for lines, count in (((good,), 1), ((bad,), 0), ((bad, good), 1), ((), 0)):
        changed = with_older(SignedNote(note.text, (log_line, *lines)))
        judgement = judge(changed, policy=anchors().policy)
        assert (judgement.convicts, len(judgement.witnesses)) == (True, count)


def test_a_fork_convicts_only_if_that_is_what_is_said(tmp_path: Path) -> None:
    _, (data,) = audited(tmp_path, "b", cosigned(FORKED, "b"))
    evidence = Evidence.parse(data)
    assert judge(data, policy=anchors().policy).convicts
    for statement in (
        FaultStatement(key_of("b"), b"05-C4", 0),
        FaultStatement(bytes(32), b"04-K3", 0),
        FaultStatement(bytes(32), b"05-C4", 1),
    ):
        other = replace(evidence, statement=statement).to_bytes()
        assert not judge(other, policy=anchors().policy).convicts


def test_the_second_verifier_names_the_same(tmp_path: Path) -> None:
    text = anchors().to_bytes()
    for names, since in (
        ("ab", cosigned(clean().entries[:8], "bc")),
        ("ab", cosigned(FORKED, "bc")),
        ("abc", cosigned(FORKED, "abc")),
        ("a", cosigned(FORKED, "b")),
        ("a", cosigned((*clean().entries, clean().entries[0]), "a")),
        ("ab", broken(cosigned(clean().entries[:8], "ab"))),
        ("ab", broken(cosigned(FORKED, "ab"))),
        ("a", None),
    ):
        path = tmp_path / "log.gopa"
        note = cosigned(clean().entries, names)
        data = archived(clean().entries, note, clean().manifest.session)
        path.write_bytes(data)
        first = audit(path, anchors=text, since=since)
        second = report_of(data, text, since=since)
        assert first.code == second["code"]
        found = [(each["role"], each["author"], each["rule"]) for each in second["faults"]]
        same = [(who.value, key.hex(), rule) for who, key, rule in named(first)]
        assert sorted(found) == sorted(same)


def test_the_second_verifier_refuses_a_state_of_another_log(tmp_path: Path) -> None:
    archive, keys, since = tmp_path / "s.gopa", tmp_path / "keys", tmp_path / "since"
    archive.write_bytes(clean().archive())
    keys.write_bytes(clean().anchors.to_bytes())
    since.write_bytes(clean().note)
    assert program()
    verify = importlib.import_module("verify")
    arguments = [str(archive), "--anchors", str(keys), "--since", str(since)]
    assert verify.run(arguments) == 0
    for damaged in (b"nonsense", b"", broken(clean().note)):
        since.write_bytes(damaged)
        assert verify.run(arguments) == 2


def test_who_follows_a_board_names_them_too(tmp_path: Path) -> None:
    entries = clean().entries

    def show(some: Sequence[bytes], names: str) -> None:
        shown(tmp_path, some)
        (tmp_path / "checkpoint").write_bytes(cosigned(some, names))

    with ExitStack() as opened:
        show(entries[:9], "ab")
        options = options_of(anchors=anchors())
        follower = LogFollower(str(tmp_path), options, None, opened, lambda _: None)
        report = follower.poll()
        assert report is not None
        assert report.faults == ()
        show((*entries[:4], *entries[5:20]), "bc")
        report = follower.poll()
        assert report is not None
        found = [each for each in named(report) if each[0] is not Culprit.UNATTRIBUTABLE]
        assert found == [BOARD, (Culprit.WITNESS, key_of("b"), "05-W1")]
        (fork,) = follower.state.forks
        data = Evidence(FaultStatement(bytes(32), b"05-C4", 0), Fork(fork)).to_bytes()
        assert len(judge(data, policy=anchors().policy).witnesses) == 1


@pytest.mark.parametrize(
    ("times", "quorum", "seen"),
    [
        ((1_700_000_000,), "any", "2023-11-14 22:13 UTC"),
        ((1_700_000_000, 1_700_000_600), "all", "2023-11-14 22:23 UTC"),
        ((1_700_000_600, 1_700_000_000), "any", "2023-11-14 22:13 UTC"),
        ((1_700_000_000, 2**63 - 1), "any", "2023-11-14 22:13 UTC"),
        ((2**63 - 1,), "any", ""),
    ],
)
def test_a_report_says_when_a_quorum_had_seen_the_log(
    tmp_path: Path, times: tuple[int, ...], quorum: str, seen: str
) -> None:
    path, names = tmp_path / "log.gopa", NAMES[: len(times)]
    note = SignedNote.parse(clean().note)
    seals = [cosign(note.text, witness(each), at) for each, at in zip(names, times, strict=True)]
    data = note.with_signatures(seals).to_bytes()
    lines = [f"log {clean().signer.verifier}"]
    lines += [f"witness w{at} {witness(name).verifier}" for at, name in enumerate(names)]
    members = " ".join(f"w{at}" for at in range(len(names)))
    lines += [f"group g {quorum} {members}", "quorum g", ""]
    policy = TrustPolicy.parse("\n".join(lines).encode())
    path.write_bytes(archived(clean().entries, data, clean().manifest.session))
    alone = audit(path, anchors=clean().anchors)
    assert alone.verdict is Verdict.VALID
    assert alone.log is not None
    assert alone.log.seen == ""
    report = audit(path, anchors=Anchors(policy, clean().anchors.manifest))
    assert report.verdict is Verdict.VALID
    assert report.log is not None
    assert report.log.seen == seen
    assert not problems(json.loads(report.to_json()))
    assert any(seen in line for line in report.limits if "took place" in line) or not seen
    assert set(report.limits) != set(alone.limits)


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
