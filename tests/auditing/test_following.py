"""A board that is followed while its log grows: nothing is passed over, nothing counts twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from bulletin_board.tree import RightEdge, bundles, encode_bundle, leaf_hash
from gopa.auditing import Anchors, Verdict, audit
from gopa.auditing.auditor import LogFollower, options_of
from gopa.auditing.report import Culprit, Report, Status
from tests.auditing.logs import clean, ends, note_of, played
from tests.vectors.transcripts.worlds import World
from wire.errors import UsageError


def shown(root: Path, entries: Sequence[bytes]) -> None:
    """The public files of a log with these entries; partial files of smaller ones stay."""
    edge, files = RightEdge(), dict[str, bytes]()
    for bundle in bundles(len(entries)):
        part = entries[bundle.number * 256 : bundle.number * 256 + bundle.width]
        files[bundle.path] = encode_bundle(part)
        for content in edge.extend(map(leaf_hash, part)):
            files[content.tile.path] = content.data
    files |= {content.tile.path: content.data for content in edge.partial()}
    files["checkpoint"] = note_of(entries, clean().signer)
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


class Followed:
    def __init__(self, root: Path, since: bytes | None = None) -> None:
        self.saved: list[bytes] = []
        self._opened = ExitStack()
        options = options_of(anchors=clean().anchors, since=since)
        self.follower = LogFollower(str(root), options, None, self._opened, self.saved.append)

    def poll(self) -> Report | None:
        return self.follower.poll()


def test_a_session_is_incomplete_until_it_is_over(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:1])
    followed = Followed(tmp_path)
    for size in range(1, len(entries) + 1):
        shown(tmp_path, entries[:size])
        report = followed.poll()
        assert report is not None
        whole = size == len(entries)
        assert report.verdict is (Verdict.VALID if whole else Verdict.INCOMPLETE)
        assert report.complete == whole
        assert followed.saved[-1] == note_of(entries[:size], clean().signer)
        assert followed.poll() is None


def test_steps_of_any_size_lead_to_the_same_report(tmp_path: Path) -> None:
    entries = clean().entries
    archive = tmp_path / "log.gopa"
    archive.write_bytes(clean().archive())
    plain = audit(archive, anchors=clean().anchors)
    assert plain.verdict is Verdict.VALID
    for step in (1, 5, len(entries)):
        root = tmp_path / str(step)
        root.mkdir()
        shown(root, entries[:1])
        followed, last = Followed(root), None
        for size in [*range(step, len(entries), step), len(entries)]:
            shown(root, entries[:size])
            last = followed.poll()
        assert last is not None
        assert last.log is not None
        assert plain.log is not None
        text = last.to_json().replace(last.log.input.encode(), plain.log.input.encode())
        assert text == plain.to_json()


@pytest.mark.parametrize("killed", [1, 7, 20, 31])
def test_who_is_killed_begins_again_without_a_gap(tmp_path: Path, killed: int) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:killed])
    first = Followed(tmp_path)
    assert first.poll() is not None
    shown(tmp_path, entries)
    second = Followed(tmp_path, since=first.saved[-1])
    report = second.poll()
    assert report is not None
    assert report.verdict is Verdict.VALID
    assert ends(report)["1.5"] is Status.PASS
    assert second.follower.state.reading.size == len(entries)


def test_another_history_is_a_fork_with_evidence(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:9])
    followed = Followed(tmp_path)
    report = followed.poll()
    assert report is not None
    assert report.faults == ()
    shown(tmp_path, (*entries[:4], *entries[5:20]))
    report = followed.poll()
    assert report is not None
    assert report.verdict is Verdict.INVALID
    fault = next(each for each in report.faults if each.check == "1.5")
    assert (fault.culprit, fault.proved) == (Culprit.BOARD, True)
    assert len(followed.follower.state.forks) == 1
    assert len(followed.saved) == 1


def test_who_saved_one_history_notices_another(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, (*entries[:4], *entries[5:20]))
    report = Followed(tmp_path, since=note_of(entries[:9], clean().signer)).poll()
    assert report is not None
    assert report.verdict is Verdict.INVALID
    assert ends(report)["1.5"] is Status.FAIL


def test_what_is_out_of_reach_or_unsigned_is_asked_for_again(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:6])
    followed = Followed(tmp_path)
    assert followed.poll() is not None
    shown(tmp_path, entries)
    bundle = tmp_path / "tile" / "entries" / "000.p" / "32"
    kept = bundle.read_bytes()
    bundle.unlink()
    assert followed.poll() is None
    bundle.write_bytes(kept)
    (tmp_path / "checkpoint").write_bytes(b"nonsense")
    assert followed.poll() is None
    shown(tmp_path, entries)
    report = followed.poll()
    assert report is not None
    assert report.verdict is Verdict.VALID


def test_a_copy_older_than_what_was_saved_is_not_saved(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:9])
    fresh = Followed(tmp_path)
    assert fresh.poll() is not None
    assert len(fresh.saved) == 1
    stale = Followed(tmp_path, since=note_of(entries[:12], clean().signer))
    report = stale.poll()
    assert report is not None
    assert ends(report)["1.5"] is Status.MISSING
    assert stale.saved == []
    shown(tmp_path, entries)
    assert stale.poll() is not None
    assert stale.saved == [clean().note]


def test_several_sessions_have_to_be_told_apart(tmp_path: Path) -> None:
    log, other = clean(), played(World(seed="another session"))
    both = (*log.entries, *other.entries)
    shown(tmp_path, both)
    policy = Anchors(log.anchors.policy)
    for anchors, ends_well in ((log.anchors, True), (policy, False)):
        options = options_of(anchors=anchors, trust_embedded=True)
        with ExitStack() as opened:
            follower = LogFollower(str(tmp_path), options, None, opened, lambda _: None)
            if ends_well:
                report = follower.poll()
                assert report is not None
                assert report.complete
            else:
                with pytest.raises(UsageError):
                    follower.poll()


def test_a_note_that_was_nonsense_once_is_forgotten(tmp_path: Path) -> None:
    shown(tmp_path, clean().entries)
    (tmp_path / "checkpoint").write_bytes(b"nonsense")
    options = options_of(trust_embedded=True)
    with ExitStack() as opened:
        follower = LogFollower(str(tmp_path), options, None, opened, lambda _: None)
        assert follower.poll() is None
        shown(tmp_path, clean().entries)
        report = follower.poll()
    assert report is not None
    assert report.verdict is Verdict.VALID


def test_an_older_copy_is_passed_over(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries)
    followed = Followed(tmp_path)
    assert followed.poll() is not None
    shown(tmp_path, entries[:9])
    assert followed.poll() is None


def test_an_archive_cannot_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.gopa"
    path.write_bytes(clean().archive())
    assert audit(path, anchors=clean().anchors).verdict is Verdict.VALID
    with pytest.raises(UsageError):
        Followed(path)


def test_a_file_that_does_not_fit_the_note_ends_in_a_verdict(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:6])
    followed = Followed(tmp_path)
    assert followed.poll() is not None
    shown(tmp_path, entries)
    bundle = tmp_path / "tile" / "entries" / "000.p" / str(len(entries))
    data = bytearray(bundle.read_bytes())
    data[-1] ^= 1
    bundle.write_bytes(data)
    report = followed.poll()
    assert report is not None
    assert report.verdict is Verdict.INVALID
    assert ends(report)["1.3"] is Status.FAIL
    assert {each.culprit for each in report.faults} == {Culprit.UNATTRIBUTABLE}
    assert len(followed.saved) == 1


def test_a_board_that_is_away_is_asked_again(tmp_path: Path) -> None:
    entries = clean().entries
    shown(tmp_path, entries[:6])
    followed = Followed(tmp_path)
    assert followed.poll() is not None
    (tmp_path / "checkpoint").unlink()
    assert followed.poll() is None
    assert followed.follower.waiting != "the log has not grown"
    shown(tmp_path, entries)
    report = followed.poll()
    assert report is not None
    assert report.verdict is Verdict.VALID
