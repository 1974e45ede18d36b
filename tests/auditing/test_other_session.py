"""Anchors of another session: said as such, and never a softer verdict or an excuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import TrustPolicy
from gopa.auditing import Anchors, Report, Verdict, audit
from gopa.auditing.report import OtherSession
from gopa.cli.audit_screen import screen
from gopa.support.wording import OTHER_SESSION
from tests.auditing.conftest import Gopa
from tests.auditing.html_reading import by_kind, page, words
from tests.auditing.logs import archived, clean, note_of, played
from tests.auditing.negatives import board_named
from tests.auditing.schema import problems
from tests.auditing.transcripts import anchors_of, path_of
from tests.vectors.transcripts.worlds import PLAIN

OWN = clean().anchors
OTHER = played(replace(PLAIN, seed="auditing: another session")).anchors
ANOTHER_LOG = TrustPolicy.single_log(board_named("another log").verifier)


def audited(
    tmp_path: Path, data: bytes, anchors: Anchors, *, trust_embedded: bool = False
) -> Report:
    path = tmp_path / "session.gopa"
    path.write_bytes(data)
    return audit(path, anchors=anchors, trust_embedded=trust_embedded)


@pytest.mark.parametrize(
    "anchors",
    [
        replace(OTHER, policy=ANOTHER_LOG),
        replace(OTHER, policy=OWN.policy),
        replace(OTHER, policy=None),
        Anchors(ANOTHER_LOG, None),
    ],
    ids=["both", "manifest-of-this-log", "manifest-alone", "log-alone"],
)
@pytest.mark.parametrize("embedded", [False, True])
def test_anchors_of_another_session_are_said_to_be_so(
    tmp_path: Path, anchors: Anchors, embedded: bool
) -> None:
    data = clean().archive()
    good = audited(tmp_path, data, OWN)
    assert (good.verdict, good.other_session) == (Verdict.VALID, None)
    report = audited(tmp_path, data, anchors, trust_embedded=embedded)
    assert (report.verdict, report.code) == (Verdict.INVALID, 1)
    assert OWN.manifest is not None
    found = report.other_session
    assert found == OtherSession(
        log="" if anchors.policy is None else str(anchors.policy.log.key),
        manifest=anchors.manifest or b"",
        found_log=str(clean().signer.verifier),
        found_manifest=OWN.manifest,
    )
    assert not problems(json.loads(report.to_json()))
    assert report.summary.startswith(str(found))
    assert str(found) in screen(report).splitlines()[0]
    assert "Fault" not in screen(report)
    shown = page(report)
    (verdict,) = by_kind(shown, "verdict")
    assert words(next(verdict.iter("h2"))) == OTHER_SESSION.headline
    assert str(found) in words(verdict)
    assert "bad" in verdict.get("class", "").split()


def test_a_session_in_a_log_of_another_key_is_no_other_session(tmp_path: Path) -> None:
    """The manifest is the anchored one: a copy in a foreign log, or a forged board."""
    assert audited(tmp_path, clean().archive(), OWN).verdict is Verdict.VALID
    report = audited(tmp_path, clean().archive(), replace(OWN, policy=ANOTHER_LOG))
    assert (report.verdict, report.other_session) == (Verdict.INVALID, None)


@pytest.mark.parametrize("policy", [OWN.policy, ANOTHER_LOG], ids=["same-log", "another-log"])
def test_what_is_damaged_or_forged_is_not_excused(tmp_path: Path, policy: TrustPolicy) -> None:
    wrong, log = replace(OTHER, policy=policy), clean()
    assert audited(tmp_path, log.archive(), wrong).other_session is not None
    last = log.archive().rindex(log.entries[-1])
    damaged = bytearray(log.archive())
    damaged[last + 200] ^= 1
    unsigned = (*log.entries[:-1], log.entries[-1][:-1] + bytes([log.entries[-1][-1] ^ 1]))
    forged = note_of(log.entries, board_named("forger"))
    for data in (
        bytes(damaged),
        archived(unsigned, note_of(unsigned, log.signer), log.manifest.session),
        archived(log.entries, forged, log.manifest.session),
    ):
        report = audited(tmp_path, data, wrong)
        assert (report.verdict, report.other_session) == (Verdict.INVALID, None)


def test_what_an_organiser_did_is_not_excused() -> None:
    name = "organiser_wrong_sum"
    own = anchors_of(name)
    assert "organiser" in {each.culprit.value for each in audit(path_of(name), anchors=own).faults}
    report = audit(path_of(name), anchors=replace(OTHER, policy=own.policy))
    assert (report.verdict, report.other_session) == (Verdict.INVALID, None)


def test_a_log_with_none_of_the_anchored_session_may_wait_for_it(tmp_path: Path) -> None:
    nobody = archived(clean().entries, clean().note, bytes(32))
    assert audited(tmp_path, nobody, OWN).verdict is Verdict.VALID
    report = audited(tmp_path, nobody, replace(OTHER, policy=OWN.policy))
    assert (report.verdict, report.other_session) == (Verdict.INCOMPLETE, None)


def vkey() -> bytes:
    return str(clean().signer.verifier).encode() + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# nothing yet\n",
        clean().archive(),
        vkey(),
        b"ab" * 32 + b"\n",
        b"ab" * 32 + b"  # ada\n",
        b"gopa-identity-1\nwhatever",
    ],
    ids=["empty", "comment", "transcript", "log-key", "key", "named-key", "secret"],
)
def test_files_that_people_mistake_for_anchors_are_called_what_they_are(
    gopa: Gopa, tmp_path: Path, data: bytes
) -> None:
    given, path = path_of("clean_full"), tmp_path / "anchors.txt"
    path.write_bytes(anchors_of("clean_full").to_bytes())
    assert gopa(given, "--anchors", path).code == 0
    path.write_bytes(data)
    answer = gopa(given, "--anchors", path)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert f"{path} is " in line
