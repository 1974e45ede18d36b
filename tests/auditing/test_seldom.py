"""What an audit makes of arguments, copies and installations that lack something."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from bulletin_board import ArchiveReader, LogReader
from bulletin_board.archive import write_mirror
from bulletin_board.reader import COSIGNED, DirectorySource
from gopa.auditing import Anchors, Report, Verdict, audit
from gopa.auditing.auditor import options_of, read_log
from gopa.auditing.composing import compose
from gopa.auditing.options import LARGEST_SAVED
from gopa.auditing.reading import LogState, trace
from gopa.auditing.report import Status
from gopa.auditing.sources import open_transcript
from gopa.protocol.rules import LogCheck
from tests.auditing.logs import archived, clean, ends, note_of, played
from tests.auditing.test_following import shown
from tests.auditing.test_reading import served
from tests.auditing.test_witnesses import anchors as watched
from tests.auditing.test_witnesses import cosigned
from tests.auditing.transcripts import path_of
from tests.vectors.transcripts.worlds import World
from wire.errors import BackendError, UsageError

LENGTH = len(clean().entries)


def written(path: Path, size: int = LENGTH, note: bytes | None = None) -> Path:
    """The archive of the first entries."""
    log = clean()
    entries = log.entries[:size]
    data = archived(entries, note or note_of(entries, log.signer), log.manifest.session)
    path.write_bytes(data)
    return path


def reader(tmp_path: Path) -> LogReader:
    policy = clean().anchors.policy
    assert policy is not None
    with written(tmp_path / "whole.gopa").open("rb") as stream:
        write_mirror(ArchiveReader(stream, policy), tmp_path / "mirror")
    return LogReader.open(DirectorySource(tmp_path / "mirror"), policy)


def test_arguments_are_refused_by_name(tmp_path: Path) -> None:
    log, path, state = clean(), written(tmp_path / "log.gopa"), tmp_path / "state"
    state.write_bytes(log.note)
    good: dict[str, Any] = {"session": log.manifest.session, "since": state, "jobs": 1}
    assert audit(path, anchors=log.anchors, **good).verdict is Verdict.VALID
    large = tmp_path / "large"
    large.write_bytes(log.note + b"\n" * LARGEST_SAVED)
    for field, wrong in (
        ("session", log.manifest.session[:-1]),
        ("since", tmp_path / "nowhere"),
        ("since", large),
        ("receipts", [tmp_path / "nowhere"]),
        ("jobs", 0),
        ("jobs", True),
    ):
        with pytest.raises(UsageError) as failure:
            audit(path, anchors=log.anchors, **(good | {field: wrong}))
        assert failure.value.field == field


def test_a_log_that_cannot_be_read_is_not_compared_with_what_was_seen(tmp_path: Path) -> None:
    log, path = clean(), written(tmp_path / "log.gopa")
    whole = audit(path, anchors=log.anchors, since=log.note)
    assert ends(whole)["1.5"] is Status.PASS
    path.write_bytes(path.read_bytes()[:-1])
    cut = audit(path, anchors=log.anchors, since=log.note)
    assert cut.verdict is Verdict.INVALID
    assert ends(cut)["1.5"] is Status.SKIPPED


def test_a_receipt_for_what_a_copy_does_not_have_asks_for_a_newer_copy(tmp_path: Path) -> None:
    receipt, whole = reader(tmp_path).receipt(20).to_bytes(), tmp_path / "whole.gopa"
    report = audit(whole, anchors=clean().anchors, receipts=[receipt])
    assert ends(report)["1.5"] is Status.PASS
    for size, status in ((21, Status.MISSING), (20, Status.MISSING), (10, Status.MISSING)):
        older = written(tmp_path / "older.gopa", size)
        report = audit(older, anchors=clean().anchors, receipts=[receipt])
        assert ends(report)["1.5"] is status, size
        assert report.verdict is Verdict.INCOMPLETE
        assert report.faults == ()


@pytest.mark.parametrize("ball", [False, True], ids=["box", "ball"])
def test_a_weighted_mean_is_estimated_as_by_the_parties(ball: bool, tmp_path: Path) -> None:
    weights = np.array([10.0, 0.0, 3.5, 7.0, 1.0, 9.99, 4.0, 2.0, 8.0, 6.0])
    values = np.linspace([0.1, 0.9], [0.7, -0.2 if ball else 0.2], 10)
    options: dict[str, Any] = {"mode": "signed", "range": (0, 1)}
    if ball:
        values *= 0.9
        options |= {"range": (-1, 1), "norm": 1, "noise": "irwin-hall"}
    result = gopa.average(
        list(values),
        weights=list(weights),
        max_weight=10,
        epsilon=100,
        delta=0.01,
        corrupt=1,
        **options,
    )
    path = result.transcript.archive(tmp_path / "session.gopa")
    (found,) = audit(path, trust_embedded=True).rounds
    assert np.array(found.mean, dtype=float) == pytest.approx(result.mean, rel=1e-9)
    assert np.array(found.stderr, dtype=float) == pytest.approx(result.stderr, rel=1e-6)
    assert found.total == ()


def test_a_live_board_is_audited_under_the_newest_note_that_its_witnesses_have_seen(
    tmp_path: Path,
) -> None:
    shown(tmp_path, clean().entries)
    seen, kept = cosigned(clean().entries, "a"), tmp_path / COSIGNED
    kept.parent.mkdir(parents=True)
    with served(tmp_path) as url:
        for note, cosigned_one, status in (
            (seen, None, Status.PASS),
            (clean().note, seen, Status.PASS),
            (clean().note, None, Status.MISSING),
            (clean().note, clean().note, Status.MISSING),
            (clean().note, b"nonsense", Status.MISSING),
        ):
            (tmp_path / "checkpoint").write_bytes(note)
            kept.unlink(missing_ok=True)
            if cosigned_one is not None:
                kept.write_bytes(cosigned_one)
            report = audit(url, anchors=watched())
            assert ends(report)["1.2"] is status
            good = status is Status.PASS
            assert report.verdict is (Verdict.VALID if good else Verdict.INCOMPLETE)
    for note, status in ((seen, Status.PASS), (clean().note, Status.MISSING)):
        (tmp_path / "checkpoint").write_bytes(note)
        kept.write_bytes(seen)
        assert ends(audit(tmp_path, anchors=watched()))["1.2"] is status


def test_an_open_log_without_witnesses_does_not_satisfy_who_asks_for_them(tmp_path: Path) -> None:
    log = reader(tmp_path)
    assert audit(log, anchors=clean().anchors).verdict is Verdict.VALID
    report = audit(log, anchors=watched())
    assert report.verdict is Verdict.INCOMPLETE
    assert ends(report)["1.2"] is Status.MISSING


def test_a_log_without_a_manifest_is_incomplete(tmp_path: Path) -> None:
    log, path = clean(), tmp_path / "log.gopa"
    for entries, whole in ((log.entries, True), (log.entries[1:4], False)):
        path.write_bytes(archived(entries, note_of(entries, log.signer), bytes(32)))
        report = audit(path, anchors=log.anchors)
        assert (ends(report)["2.1"] is Status.PASS) == whole
        assert report.verdict is (Verdict.VALID if whole else Verdict.INCOMPLETE)
        nobody = audit(path)
        assert nobody.verdict is Verdict.INCOMPLETE
        assert (ends(nobody)["1.1"] is Status.MISSING) == (not whole)
        policy = audit(path, anchors=Anchors(log.anchors.policy))
        assert (ends(policy)["2.1"] is Status.MISSING) == (not whole)
        assert nobody.faults == policy.faults == ()


def test_what_this_installation_cannot_compute_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "log.gopa")
    assert audit(path, anchors=clean().anchors).verdict is Verdict.VALID
    judged = 0

    def lacking(*_: object) -> None:
        nonlocal judged
        judged += 1
        raise BackendError("pairings need a package that is not here")

    monkeypatch.setattr(LogCheck, "judge", lacking)
    report = audit(path, anchors=clean().anchors)
    assert report.verdict not in {Verdict.VALID, Verdict.INVALID, Verdict.SIGNED_ONLY}
    assert ends(report)["4.4"] is Status.NOT_IMPLEMENTED
    assert (report.faults, report.rounds, judged) == ((), (), 1)


def read(path: Path, prefix: str) -> tuple[Report, LogState]:
    options = options_of(trust_embedded=True, trace=prefix)
    with ExitStack() as opened:
        state = read_log(open_transcript(path, opened), options, None)
        return compose(state), state


def test_what_is_kept_of_a_log_is_bounded_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = importlib.import_module("gopa.auditing.reading")
    log, path = clean(), tmp_path / "log.gopa"
    forged = [each[:-1] + bytes([each[-1] ^ 1]) for each in log.entries[3:7]]
    entries = (*log.entries, *forged)
    path.write_bytes(archived(entries, note_of(entries, log.signer), log.manifest.session))
    author = log.manifest.organiser.hex()
    report, state = read(path, author)
    said = len(state.reading.traced)
    assert (len(state.reading.bad), state.reading.bad_count) == (4, 4)
    assert said > 3
    assert "05-F7" not in {each.rule for each in report.remarks}
    monkeypatch.setattr(reading, "MOST_BAD", 1)
    monkeypatch.setattr(reading, "MOST_TRACED", 3)
    report, state = read(path, author)
    assert (len(state.reading.bad), state.reading.bad_count) == (1, 4)
    assert len(state.reading.traced) == 3
    assert [each.count for each in report.remarks if each.rule == "05-F7"] == [3]


def test_a_trace_is_of_one_author_and_names_what_it_belongs_to(tmp_path: Path) -> None:
    log, other, path = clean(), played(World(seed="another session")), tmp_path / "log.gopa"
    entries = (*log.entries, *other.entries)
    path.write_bytes(archived(entries, note_of(entries, log.signer), log.manifest.session))
    report, state = read(path, log.manifest.organiser.hex())
    assert trace(report, state.reading.traced).author == log.manifest.organiser
    every = [str(digit) for digit in "0123456789abcdef"]
    several = [state for _, state in (read(path, digit) for digit in every)]
    counts = [len({each.entry.author.data for each in state.reading.traced}) for state in several]
    assert max(counts) > 1
    with pytest.raises(UsageError) as failure:
        trace(report, several[counts.index(max(counts))].reading.traced)
    assert failure.value.field == "trace"
    _, state = read(path, other.manifest.organiser.hex())
    steps = trace(report, state.reading.traced).steps
    assert len(steps) > 1
    assert {each.verdicts for each in steps} == {
        ("of another session, or of none that was audited",)
    }


@pytest.mark.parametrize(
    ("name", "fates"),
    [
        ("clean_full", {"in the final list"}),
        ("dropout_before_publish", {"in the final list", "out since publish"}),
        ("abort_by_the_organiser", {"on the roll"}),
    ],
)
def test_a_trace_says_where_each_round_left_somebody(name: str, fates: set[str]) -> None:
    report, state = read(path_of(name), "")
    assert report.rounds
    found = set()
    for author in report.rounds[0].joined:
        _, state = read(path_of(name), author.hex())
        (fate,) = trace(report, state.reading.traced).fates
        found.add(fate.partition(": ")[2])
    assert {each for each in fates if any(fate.startswith(each) for fate in found)} == fates
    assert report.session is not None
    _, state = read(path_of(name), report.session.organiser.hex())
    (fate,) = trace(report, state.reading.traced).fates
    assert fate.endswith("not on the roll")


def test_the_vector_that_certifies_a_graph_follows_from_the_log() -> None:
    stream = importlib.import_module("gopa.auditing.session_checks")._stream

    def drawn(path: Path, number: int) -> list[bytes]:
        _, state = read(path, "")
        draw = stream(state, number)
        return [draw(32), draw(32)]

    first = drawn(path_of("clean_full"), 1)
    assert first == drawn(path_of("clean_full"), 1)
    assert first[0] != first[1]
    others = [drawn(path_of("clean_full"), 2), drawn(path_of("clean_signed"), 1)]
    assert not {*first} & {each for other in others for each in other}


def test_a_manifest_that_is_announced_is_not_taken_for_another(tmp_path: Path) -> None:
    path = written(tmp_path / "log.gopa")
    assert audit(path, anchors=clean().anchors).verdict is Verdict.VALID
    other = replace(clean().anchors, manifest=bytes(32))
    assert audit(path, anchors=other).verdict is Verdict.INVALID
