""""""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import gopa
from bulletin_board import KeyKind, NoteSigner, Submission, TrustPolicy
from gopa.auditing import Anchors, Report, Verdict, audit
from gopa.auditing import sources as choosing
from gopa.auditing.composing import not_anchored
from gopa.auditing.options import read_anchors
from gopa.auditing.report import Anchor, OtherSession, Status
from gopa.auditing.sources import MOST_CANDIDATES, MOST_ENTRIES, SessionChoice
from gopa.cli.audit_screen import screen
from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from gopa.support.wording import OTHER_SESSION
from tests.auditing.conftest import Gopa
from tests.auditing.html_samples import by_kind, page, words
from tests.auditing.logs import Log, archived, clean, ends, key_named, note_of, played
from tests.auditing.negatives import board_named
from tests.auditing.schema import problems
from tests.auditing.transcripts import anchors_of, path_of
from tests.randomness import seeded
from tests.vectors.transcripts.worlds import PLAIN, WITNESSED, World
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


def posted(log: Log, start: int = 0) -> list[Posted]:
    submissions = [Submission.decode(raw) for raw in log.entries]
    return [
        Posted(start + number, each.leaf, each.entry) for number, each in enumerate(submissions)
    ]


def noise(number: int, count: int = 1) -> list[Posted]:
    """Entries of a session that never has a manifest."""
    key = key_named("noise")
    session = sha256(number.to_bytes(4)).digest()

    log = replace(clean(), organiser=key)
    raws = [log.entry(session=session, author=key.public, seq=seq) for seq in range(count)]
    return posted(replace(clean(), entries=tuple(raws)))


def taken(choice: SessionChoice, entries: list[Posted]) -> list[Posted]:
    return [each for entry in entries for each in choice.take(entry)]


def test_the_only_session_is_chosen_with_all_of_its_entries() -> None:
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == posted(clean())
    assert choice.chosen == clean().manifest.session
    assert not choice.ambiguous


def test_the_anchored_manifest_decides_among_several() -> None:
    other = played(World(seed="another session"))
    digest = sha256(other.manifest.to_bytes()).digest()
    entries = posted(clean()) + posted(other, 100)
    choice = SessionChoice(None, digest)
    assert taken(choice, entries) == posted(other, 100)
    assert choice.found == {
        clean().manifest.session: sha256(clean().manifest.to_bytes()).digest(),
        other.manifest.session: digest,
    }
    blind = SessionChoice(None, None)
    first = SessionChoice(None, None)
    taken(first, posted(clean()))
    first.require_one()
    taken(blind, entries)
    assert blind.ambiguous
    with pytest.raises(UsageError):
        blind.require_one()


@pytest.mark.parametrize("strangers", [7, 8])
def test_a_manifest_that_comes_too_late_makes_no_second_session(strangers: int) -> None:
    """The rules try eight authors; an id whose manifest they never take is nobody's choice."""
    other = played(World(seed="another session"))
    session = clean().manifest.session
    keys = [key_named(f"stranger {number}") for number in range(strangers)]
    log = [
        replace(clean(), organiser=key).entry(session=session, author=key.public, round=0)
        for key in keys
    ]
    before = posted(replace(clean(), entries=tuple(log)))
    choice = SessionChoice(None, None)
    taken(choice, before + posted(clean(), 100) + posted(other, 200))
    assert choice.ambiguous == (strangers < 8)
    assert choice.chosen == (session if strangers < 8 else other.manifest.session)


def test_a_named_session_is_followed_from_its_first_entry() -> None:
    choice = SessionChoice(clean().manifest.session, None)
    other = posted(played(World(seed="another session")))
    assert taken(choice, other + posted(clean(), 100)) == posted(clean(), 100)
    assert list(choice.found) == [clean().manifest.session]


def test_sessions_without_manifests_take_bounded_memory() -> None:
    choice = SessionChoice(None, None)
    for number in range(MOST_CANDIDATES + 5):
        assert taken(choice, noise(number)) == []
    assert len(choice._candidates) == MOST_CANDIDATES
    assert taken(choice, noise(0, MOST_ENTRIES + 5)) == []
    assert max(len(each.entries) for each in choice._candidates.values()) == MOST_ENTRIES
    assert choice.chosen is None


def test_bodies_are_kept_only_where_they_may_be_a_manifest() -> None:
    log, choice = clean(), SessionChoice(None, None)
    for phase, kept in ((Phase.COMMIT, 0), (Phase.ORGANISER, 1_000)):
        raw = log.entry(session=bytes(31) + b"\1", phase=int(phase), round=0, body=bytes(1_000))
        assert taken(choice, posted(replace(log, entries=(raw,)))) == []
        (candidate,) = choice._candidates.values()
        assert len(candidate.entries[-1].entry.body) == kept
        assert choice._held == kept


def test_what_may_be_manifests_has_a_size_that_nothing_exceeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = sum(len(each.entry.body) for each in posted(clean())[:1])
    monkeypatch.setattr(choosing, "MOST_BYTES", whole)
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == posted(clean())
    assert choice._held == 0
    monkeypatch.setattr(choosing, "MOST_BYTES", whole - 1)
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == []
    assert choice.found == {}


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
