""""""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import ArchiveReader, Submission, TrustPolicy
from gopa.adversary.deeds import other_seed
from gopa.auditing import proving
from gopa.auditing.auditor import options_of, run
from gopa.auditing.evidence import (
    Evidence,
    FaultStatement,
    Fork,
    Messages,
    Placed,
    Prefix,
    TwoEntries,
)
from gopa.auditing.judging import judge
from gopa.auditing.proving import Excerpts, Kept, evidence_of
from gopa.auditing.report import Culprit
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import Skip
from tests.auditing.logs import Log, archived, clean, note_of, played
from tests.auditing.negatives import board_named
from tests.auditing.transcripts import NAMES, anchors_of, path_of
from tests.lies import lying
from tests.vectors.transcripts.worlds import SIGNED_SEEDS, World
from wire.errors import MalformedMessage, UsageError


def evidence(name: str) -> Evidence:
    anchors = anchors_of(name)
    report, state = run(path_of(name), options_of(anchors=anchors), None)
    assert state is not None
    assert anchors.policy is not None
    with path_of(name).open("rb") as stream:
        entries = list(ArchiveReader(stream, anchors.policy).entries())
    ((_, data),) = evidence_of(state, report.faults, lambda: entries)
    assert judge(data).convicts
    return Evidence.parse(data)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_two_entries_convict_only_whom_they_show() -> None:
    found = evidence("equivocation_commit")
    shown = found.shown
    assert isinstance(shown, TwoEntries)
    for wrong in (
        replace(shown, second=shown.first),
        replace(shown, second=flipped(shown.second, len(shown.second) - 1)),
        replace(shown, second=clean().entries[0]),
    ):
        assert not judge(replace(found, shown=wrong).to_bytes()).convicts
    for statement in (
        replace(found.statement, author=bytes(32)),
        replace(found.statement, rule=b"04-K3"),
    ):
        assert not judge(replace(found, statement=statement).to_bytes()).convicts


def test_another_signature_over_the_same_statement_convicts_nobody() -> None:
    """Ed25519 is deterministic, but nothing forces a signer to be."""
    found = evidence("equivocation_commit")
    assert isinstance(found.shown, TwoEntries)
    same = TwoEntries(found.shown.first, found.shown.first)
    judgement = judge(Evidence(found.statement, same).to_bytes())
    assert not judgement.convicts
    assert judgement.culprit is Culprit.UNATTRIBUTABLE


@pytest.mark.parametrize(
    "name", ["join_key_without_possession", "commit_flipped_proof", "coins_wrong_nonce"]
)
def test_messages_convict_nobody_without_each_of_their_parts(name: str) -> None:
    found = evidence(name)
    assert isinstance(found.shown, Messages)
    entries = found.shown.entries
    for gone in range(len(entries)):
        shown = Messages(entries[:gone] + entries[gone + 1 :])
        assert not judge(replace(found, shown=shown).to_bytes()).convicts
    for at in range(len(entries)):
        bad = replace(entries[at], raw=flipped(entries[at].raw, len(entries[at].raw) - 1))
        shown = Messages((*entries[:at], bad, *entries[at + 1 :]))
        assert not judge(replace(found, shown=shown).to_bytes()).convicts
    shown = Messages(tuple(reversed(entries)))
    assert not judge(replace(found, shown=shown).to_bytes()).convicts


@pytest.mark.slow
def test_messages_of_an_honest_session_convict_nobody() -> None:
    log = clean()
    entries = tuple(Placed(index, raw) for index, raw in enumerate(log.entries))
    for size in range(1, len(entries) + 1):
        author = Submission.decode(log.entries[size - 1]).entry.author.data
        for rule in (b"04-J3", b"04-K3", b"04-V1", b"04-S4", b"04-K2"):
            statement = FaultStatement(author, rule, 1)
            data = Evidence(statement, Messages(entries[:size])).to_bytes()
            assert not judge(data).convicts


def test_rules_about_several_parties_are_not_judged_by_chosen_messages() -> None:
    """Which of a neighbour's two commits came first decides about a masked value."""
    found = evidence("publish_wrong_value")
    assert isinstance(found.shown, Prefix)
    entries = tuple(Placed(index, raw) for index, raw in enumerate(found.shown.entries))
    assert not judge(replace(found, shown=Messages(entries)).to_bytes()).convicts


@pytest.mark.parametrize("name", ["recover_another_seed", "recover_another_seed_signed"])
def test_who_dealt_another_seed_is_convicted_by_the_log_and_its_helpers_are_not(name: str) -> None:
    found = evidence(name)
    assert isinstance(found.shown, Prefix)
    assert found.statement.rule == b"04-U5"
    authors = {Submission.decode(raw).entry.author.data for raw in found.shown.entries}
    assert len(authors) == 6
    for author in authors - {found.statement.author}:
        statement = replace(found.statement, author=author)
        assert not judge(replace(found, statement=statement).to_bytes()).convicts


def test_whose_own_seed_is_recovered_is_not_convicted_of_another() -> None:
    gone = Script().misbehave(1, Skip(Phase.UNMASK))
    liars = gone.misbehave(1, lying("commit", other_seed()))
    assert len(dealers_of_another_seed(played(SIGNED_SEEDS, liars))) == 1
    assert not dealers_of_another_seed(played(SIGNED_SEEDS, gone))


def dealers_of_another_seed(log: Log) -> set[bytes]:
    """Whom all of the log convicts of it in the first round."""
    note, found = note_of(log.entries, log.signer), set()
    for author in {Submission.decode(raw).entry.author.data for raw in log.entries}:
        shown = Prefix(note, (), tuple(log.entries))
        if judge(Evidence(FaultStatement(author, b"04-U5", 1), shown).to_bytes()).convicts:
            found.add(author)
    return found


def test_a_prefix_has_to_be_that_of_the_signed_log() -> None:
    found = evidence("organiser_wrong_roll")
    shown = found.shown
    assert isinstance(shown, Prefix)
    assert len(shown.proof) > 0
    for wrong in (
        replace(shown, entries=shown.entries[:-1]),
        replace(shown, entries=(*shown.entries[:-2], shown.entries[-1])),
        replace(shown, proof=shown.proof[:-1]),
        replace(shown, note=note_of(shown.entries, clean().signer)),
        replace(shown, note=b"nonsense"),
    ):
        judgement = judge(replace(found, shown=wrong).to_bytes())
        signs_itself = wrong.note == note_of(wrong.entries, clean().signer)
        assert judgement.convicts == (signs_itself and not wrong.proof)


def test_a_prefix_convicts_in_the_log_that_its_reader_trusts() -> None:
    found = evidence("organiser_wrong_roll")
    assert isinstance(found.shown, Prefix)
    trusted = anchors_of("organiser_wrong_roll").policy
    assert judge(found.to_bytes(), policy=trusted).convicts
    other = TrustPolicy.single_log(board_named("another log").verifier)
    assert not judge(found.to_bytes(), policy=other).convicts


def test_a_prefix_may_hold_another_session_and_is_no_longer_than_its_log() -> None:
    """Both logs have the same key."""
    found, signer = evidence("organiser_wrong_roll"), clean().signer
    other = played(World(seed="another session")).entries[0]
    assert isinstance(found.shown, Prefix)
    entries = (*found.shown.entries, other)

    def judged(note: bytes, shown: tuple[bytes, ...]) -> bool:
        return judge(replace(found, shown=Prefix(note, (), shown)).to_bytes()).convicts

    assert judged(note_of(entries, signer), entries)
    assert not judged(note_of(entries[:-1], signer), entries)
    assert not judged(note_of(entries[1:], signer), entries[1:])


def test_a_foreign_root_convicts_who_has_seen_the_log() -> None:
    """Whoever says that it has seen nothing may have been shown another log."""
    convicting = evidence("organiser_foreign_root")
    assert judge(convicting.to_bytes()).culprit is Culprit.ORGANISER
    assert isinstance(convicting.shown, Prefix)
    name = "organiser_root_of_another_size"
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    assert [(each.rule, each.culprit) for each in report.faults] == [
        ("04-C7", Culprit.UNATTRIBUTABLE)
    ]
    with path_of(name).open("rb") as stream:
        entries = tuple(ArchiveReader(stream, log_policy(name)).entries())
    shown = replace(convicting.shown, note=state.note, proof=(), entries=entries)
    assert not judge(Evidence(convicting.statement, shown).to_bytes()).convicts


def log_policy(name: str) -> TrustPolicy:
    policy = anchors_of(name).policy
    assert policy is not None
    return policy


def test_two_roots_of_one_size_convict_the_board(tmp_path: Path) -> None:
    log, path = clean(), tmp_path / "log.gopa"
    path.write_bytes(log.archive())
    other = (*log.entries[:-2], log.entries[-1], log.entries[-2])
    for entries, forks in ((log.entries, 0), (other, 1)):
        options = options_of(anchors=log.anchors, since=note_of(entries, log.signer))
        report, state = run(path, options, None)
        assert state is not None
        found = [data for _, data in evidence_of(state, report.faults, lambda: log.entries)]
        assert len(found) == forks
    (data,) = found
    judgement = judge(data, policy=log.anchors.policy)
    assert (judgement.convicts, judgement.culprit) == (True, Culprit.BOARD)


def test_a_log_of_the_accuser_convicts_no_organiser() -> None:
    """Who signs the log decides what came before a close, so only its own board may."""
    found = evidence("organiser_wrong_roll")
    shown = found.shown
    assert isinstance(shown, Prefix)
    accuser = board_named("accuser")
    signed = Prefix(note_of(shown.entries, accuser), (), shown.entries)
    assert not judge(replace(found, shown=signed).to_bytes()).convicts
    log = clean()
    entries = (*log.entries[:3], *log.entries[4:7])
    statement = FaultStatement(log.manifest.organiser, b"04-J6", 1)
    without_a_join = Prefix(note_of(entries, accuser), (), entries)
    assert not judge(Evidence(statement, without_a_join).to_bytes()).convicts


def test_a_fork_convicts_the_board(tmp_path: Path) -> None:
    log = clean()
    path = tmp_path / "log.gopa"
    path.write_bytes(log.archive())
    forked = (*log.entries[:5], *log.entries[6:9])
    for size in (len(forked), 4):
        since = note_of(forked[:size], log.signer)
        report, state = run(path, options_of(anchors=log.anchors, since=since), None)
        assert state is not None
        found = list(evidence_of(state, report.faults, lambda: log.entries))
        assert len(found) == (size > 5)
        for _, data in found:
            assert judge(data, policy=log.anchors.policy).culprit is Culprit.BOARD
            with pytest.raises(UsageError):
                judge(data)
            shown = Evidence.parse(data).shown
            assert isinstance(shown, Fork)


def test_what_is_no_evidence_is_refused() -> None:
    good = evidence("equivocation_join").to_bytes()
    assert judge(good).convicts
    for bad in (b"", good[:-1], good + b"\0", b"x" + good):
        with pytest.raises(MalformedMessage):
            judge(bad)


def test_other_sessions_of_a_log_are_no_part_of_the_evidence(tmp_path: Path) -> None:
    """The log has the same key as that of the transcripts."""
    name, log = "commit_flipped_proof", played(World(seed="another session"))
    anchors, path = anchors_of(name), tmp_path / "log.gopa"
    assert anchors.policy is not None
    with path_of(name).open("rb") as stream:
        own = list(ArchiveReader(stream, anchors.policy).entries())
    alone = evidence(name)
    assert isinstance(alone.shown, Messages)
    both = [*own, *log.entries]
    path.write_bytes(archived(both, note_of(both, clean().signer), bytes(32)))
    report, state = run(path, options_of(anchors=anchors), None)
    assert state is not None
    ((_, data),) = evidence_of(state, report.faults, lambda: both)
    assert Evidence.parse(data) == alone


LIMIT = 1_000


def read_of(name: str) -> list[bytes]:
    policy = anchors_of(name).policy
    assert policy is not None
    with path_of(name).open("rb") as stream:
        return list(ArchiveReader(stream, policy).entries())


@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES[::4])
def test_one_fault_at_a_time_gives_the_same_files(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    entries = read_of(name)
    expected = list(evidence_of(state, report.faults, lambda: entries))
    monkeypatch.setattr(proving, "GROUP_BYTES", 0)
    assert list(evidence_of(state, report.faults, lambda: entries)) == expected


def test_no_more_is_kept_than_a_file_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "LARGEST_EVIDENCE", LIMIT)
    kept = Kept()
    for index in range(0, 40, 2):
        kept.add(index, bytes(LIMIT // 4))
    assert [each.index for each in kept.until(7) or ()] == [0, 2, 4, 6]
    assert [each.index for each in kept.until(3) or ()] == [0, 2]
    assert kept.until(8) is None
    assert len(kept.placed) == 4


def test_nothing_behind_what_was_left_out_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap in the middle would be evidence with something missing."""
    monkeypatch.setattr(proving, "LARGEST_EVIDENCE", LIMIT)
    kept = Kept()
    kept.add(0, bytes(LIMIT))
    kept.add(1, b"x")
    kept.add(2, b"")
    assert [each.index for each in kept.placed] == [0]
    assert kept.until(2) is None
    monkeypatch.setattr(proving, "MOST_ENTRIES", 1)
    kept = Kept()
    kept.add(0, b"x")
    kept.add(1, b"x")
    assert kept.until(0) is not None
    assert kept.until(1) is None


@pytest.mark.parametrize(("bound", "groups"), [(proving.GROUP_BYTES, 1), (0, 2)])
def test_a_log_is_read_once_for_many_faults_and_again_where_too_much_would_be_held(
    bound: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "GROUP_BYTES", bound)
    name = "commit_flipped_proof"
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    assert state.manifest is not None
    entries = read_of(name)
    first = next(fault for fault in report.faults if proving.stands_alone(fault))
    authors = {Submission.decode(raw).entry.author.data for raw in entries}
    other = min(authors - {first.author, state.manifest.organiser})
    faults = [first] * 50 + [replace(first, author=other)] * 50
    readings = 0

    def read() -> Iterator[bytes]:
        nonlocal readings
        readings += 1
        return iter(entries)

    session = Submission.decode(entries[0]).entry.session
    found = list(Excerpts(session, state.manifest.organiser, read).groups(faults))
    assert len(found) == groups
    assert readings == groups + 1
    assert [fault for group, _ in found for fault in group] == faults
    held = [sum(len(each.placed) for each in excerpt.values()) for _, excerpt in found]
    assert all(0 < each <= len(entries) for each in held)


def test_without_faults_nothing_is_read() -> None:
    def read() -> list[bytes]:
        raise AssertionError("the log is read")

    assert list(Excerpts(bytes(32), b"", read).groups([])) == []
