from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gopa
from bulletin_board import KeyKind, NoteSigner, TrustPolicy
from gopa.auditing import Anchors, Report, Verdict, audit
from gopa.auditing.composing import not_anchored
from gopa.auditing.options import read_anchors
from gopa.auditing.report import Anchor, Status
from tests.auditing.logs import clean, ends, played
from tests.auditing.transcripts import path_of
from tests.randomness import seeded
from tests.vectors.transcripts.worlds import WITNESSED
from wire.errors import UsageError
from wire.secret import SecretBytes

CLEAN = path_of("clean_full")


def test_anchors_survive_their_text() -> None:
    anchors = clean().anchors
    assert Anchors.parse(anchors.to_bytes()) == anchors
    for part in (replace(anchors, policy=None), replace(anchors, manifest=None), Anchors()):
        assert Anchors.parse(part.to_bytes()) == part
    assert Anchors.parse(b"# mine\n\n" + anchors.to_bytes()) == anchors


def test_what_editors_leave_in_a_text_changes_nothing() -> None:
    text, anchors = clean().anchors.to_bytes(), clean().anchors
    for same in (
        text.rstrip(b"\n"),
        text.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + text,
        b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n").rstrip(),
    ):
        assert Anchors.parse(same) == anchors


@pytest.mark.parametrize(
    "text",
    [
        b"manifest 12\n",
        b"manifest " + b"AB" * 32 + b"\n",
        b"log nonsense\nquorum none\n",
        b"quorum none\n",
        b"\x00",
        b"manifest " + b"ab" * 32 + b" extra\n",
        b"manifest " + b"ab" * 32 + b"\nmanifest " + b"ab" * 32 + b"\n",
        clean().anchors.to_bytes() + b"manifest " + b"ab" * 32 + b"\n",
        b"\xef\xbb\xbf\xef\xbb\xbf" + clean().anchors.to_bytes(),
        b"log " + str(clean().signer.verifier).encode() + b"\rquorum none\n",
    ],
)
def test_anchors_that_cannot_be_read_are_refused(text: bytes) -> None:
    assert Anchors.parse(clean().anchors.to_bytes()).policy is not None
    with pytest.raises(UsageError):
        Anchors.parse(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "anchors.txt"
    path.write_bytes(clean().anchors.to_bytes())
    assert read_anchors(path) == clean().anchors
    with pytest.raises(UsageError) as failure:
        read_anchors(tmp_path / "nowhere.txt")
    assert failure.value.field == "anchors"


def _audited(tmp_path: Path, **options: object) -> Report:
    path = tmp_path / "log.gopa"
    path.write_bytes(clean().archive())
    return audit(path, **options)  # type: ignore[arg-type]


def test_without_anchors_nothing_is_valid(tmp_path: Path) -> None:
    assert _audited(tmp_path, anchors=clean().anchors).verdict is Verdict.VALID
    report = _audited(tmp_path)
    assert report.verdict is Verdict.INCOMPLETE
    assert (ends(report)["0.2"], ends(report)["0.3"]) == (Status.MISSING, Status.MISSING)
    assert not report.anchored


def test_trust_in_what_is_embedded_is_said_everywhere(tmp_path: Path) -> None:
    report = _audited(tmp_path, trust_embedded=True)
    assert report.verdict is Verdict.VALID
    assert not report.anchored
    assert report.anchors.log is report.anchors.manifest is Anchor.EMBEDDED
    said = not_anchored(report.verdict)
    assert said in report.summary
    assert said.encode() in report.to_json()
    assert any(said in line for line in report.limits)
    assert said not in _audited(tmp_path, anchors=clean().anchors).summary


def test_what_does_not_hold_is_not_called_consistent(tmp_path: Path) -> None:
    path = tmp_path / "log.gopa"
    consistent = not_anchored(Verdict.VALID).encode()
    path.write_bytes(clean().archive())
    assert consistent in audit(path, trust_embedded=True).to_json()
    path.write_bytes(clean().archive()[:-1])
    report = audit(path, trust_embedded=True)
    assert report.verdict is Verdict.INVALID
    assert consistent not in report.to_json()


def test_half_of_the_anchors_is_not_all(tmp_path: Path) -> None:
    half = replace(clean().anchors, manifest=None)
    assert _audited(tmp_path, anchors=half).verdict is Verdict.INCOMPLETE
    report = _audited(tmp_path, anchors=half, trust_embedded=True)
    assert report.verdict is Verdict.VALID
    assert (report.anchors.log, report.anchors.manifest) == (Anchor.OUTSIDE, Anchor.EMBEDDED)
    assert not_anchored(report.verdict) in report.summary


def test_trust_does_not_overrule_an_anchor_that_does_not_match(tmp_path: Path) -> None:
    wrong = replace(clean().anchors, manifest=bytes(32))
    report = _audited(tmp_path, anchors=wrong, trust_embedded=True)
    assert report.verdict is Verdict.INVALID
    assert ends(report)["0.3"] is Status.FAIL
    other = NoteSigner(
        clean().signer.verifier.name, KeyKind.LOG, SecretBytes(seeded("auditing: x")(32))
    )
    wrong = replace(clean().anchors, policy=TrustPolicy.single_log(other.verifier))
    report = _audited(tmp_path, anchors=wrong, trust_embedded=True)
    assert report.verdict is Verdict.INVALID
    assert ends(report)["1.1"] is Status.FAIL
    assert report.rounds == ()
    assert report.session is None


def test_a_quorum_in_the_manifest_is_asked_for(tmp_path: Path) -> None:
    log = played(WITNESSED)
    path = tmp_path / "log.gopa"
    path.write_bytes(log.archive())
    assert audit(path, anchors=log.anchors).verdict is Verdict.VALID
    report = audit(path, trust_embedded=True)
    assert report.verdict is Verdict.INCOMPLETE
    assert ends(report)["1.2"] is Status.MISSING


def test_text_and_path_say_the_same(tmp_path: Path) -> None:
    keys = tmp_path / "anchors.txt"
    keys.write_bytes(clean().anchors.to_bytes())
    reports = [
        _audited(tmp_path, anchors=each)
        for each in (clean().anchors, keys, str(keys), keys.read_bytes())
    ]
    assert {report.to_json() for report in reports} == {reports[0].to_json()}
    assert reports[0].verdict is Verdict.VALID


def test_a_result_gives_the_anchors_of_its_log(tmp_path: Path) -> None:
    result = gopa.average([0.25, 0.5, 0.75, 1.0, 0.5, 0.5, 0.5, 0.5], epsilon=50, delta=0.1)
    path = result.transcript.archive(tmp_path / "log.gopa")
    keys = result.transcript.anchors(tmp_path / "anchors.txt")
    report = gopa.audit(path, anchors=keys)
    assert report.verdict is Verdict.VALID
    assert report.anchored
    assert float(report.rounds[0].mean[0]) == pytest.approx(result.mean)
    assert gopa.audit(path).verdict is Verdict.INCOMPLETE
