"""What strangers can make a board write: by network address, in a day, and by what its disk has."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.committer import Committer, CommitterLimits
from bulletin_board.entry import Submission
from bulletin_board.server import quotas
from bulletin_board.server.quotas import DAY, DiskUsage, WritingLimits, WritingQuota
from bulletin_board.server.run import _watching
from bulletin_board.server.service import ServerLimits
from bulletin_board.storage import DiskFull, StorageError
from bulletin_board.storage.files import OsFiles
from bulletin_board.storage.sqlite import Database
from gopa.cli import commands
from gopa.contract.limits import largest_body
from gopa.contract.manifest import MANIFEST
from gopa.contract.phases import Phase
from tests.board.asking import Answer, ask
from tests.board.live import client, live_board
from tests.board.tools import entry_bytes, new_board, open_log, submission
from tests.board.waiting import LONG, until
from tests.protocol.simulation.row_worlds import ROWS, simulate_rows
from wire.domains import ENTRY_PAYLOAD_TYPE

GIB = 2**30
ROOMY = DiskUsage(200 * GIB, 150 * GIB)
A, B = "192.0.2.1", "192.0.2.2"


def post_from(url: str, address: str, raw: bytes) -> Answer:
    """As a proxy passes it on."""
    headers = {"Content-Type": ENTRY_PAYLOAD_TYPE, "X-Forwarded-For": address}
    return ask(url, "POST", "/v1/entries", raw, headers)


def metric(url: str, name: str) -> float:
    lines = ask(url, "GET", "/metrics").body.decode().splitlines()
    (found,) = [line.rpartition(" ")[2] for line in lines if line.rpartition(" ")[0] == name]
    return float(found)


SIZE = len(entry_bytes(0, body=bytes(1_000)))


def posts(author: int, count: int) -> list[bytes]:
    return [entry_bytes(seq, author=author, body=bytes(1_000)) for seq in range(count)]


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[str]:
    """A board behind a proxy, which takes two entries of one address and five in all."""
    limits = ServerLimits(writing=WritingLimits(address_bytes=2 * SIZE + 9, all_bytes=5 * SIZE + 9))
    with live_board(tmp_path / "log", limits=limits, proxy="127.0.0.1") as url:
        yield url


def test_an_address_has_a_quota_whatever_keys_it_uses(
    limited: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert [post_from(limited, A, raw).status for raw in posts(0, 2)] == [201, 201]
    refused = post_from(limited, A, posts(1, 1)[0])
    assert (refused.status, refused.problem) == (429, "address")
    # A day has so many seconds, and half of the quota is one entry.
    assert DAY / 2.1 < int(refused.headers["retry-after"]) < DAY
    assert post_from(limited, B, posts(1, 1)[0]).status == 201
    assert post_from(limited, A, posts(0, 1)[0]).status == 429, "it would be a repetition"
    assert metric(limited, 'gopa_board_posts_total{outcome="address"}') == 2
    assert metric(limited, "gopa_board_written_bytes_total") == 3 * SIZE
    assert any(record.name == "gopa.board" and A in record.message for record in caplog.records)


def test_all_addresses_together_have_one(limited: str) -> None:
    for number in range(5):
        assert post_from(limited, f"192.0.2.{number}", posts(number, 1)[0]).status == 201
    assert metric(limited, "gopa_board_quota_left_bytes") < SIZE
    refused = post_from(limited, "192.0.2.9", posts(9, 1)[0])
    assert (refused.status, refused.problem) == (507, "storage")
    assert int(refused.headers["retry-after"]) > 0


def test_what_is_not_written_does_not_count(limited: str) -> None:
    one, two = posts(0, 2)
    flipped = bytes([two[-1] ^ 1])
    assert post_from(limited, A, one).status == 201
    for _ in range(4):
        assert post_from(limited, A, one).status == 200
        assert post_from(limited, A, two[:-1] + flipped).status == 401
    assert metric(limited, "gopa_board_written_bytes_total") == SIZE
    assert post_from(limited, A, two).status == 201


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("2001:db8:1:1::1", "2001:db8:1:1:ffff::2", True),
        ("2001:db8:1:1::1", "2001:db8:1:2::1", False),
        ("2001:db8:1:1::1", "2001:db8:2:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_networks_of_version_6_count_as_an_address(first: str, second: str, shared: bool) -> None:
    quota = WritingQuota(WritingLimits(address_bytes=10), lambda: ROOMY, lambda: 0.0)
    quota.take(first, 10)
    if not shared:
        quota.take(second, 10)
    with pytest.raises(Refused) as caught:
        quota.take(second, 1)
    assert caught.value.reason is RefusalReason.ADDRESS
    assert caught.value.retry_after is not None


def test_a_site_has_two_shares_however_many_networks() -> None:
    quota = WritingQuota(WritingLimits(address_bytes=10, all_bytes=99), lambda: ROOMY, lambda: 0.0)
    for number in (1, 2):
        quota.take(f"2001:db8:1:{number}::1", 10)
    with pytest.raises(Refused):
        quota.take("2001:db8:1:3::1", 1)
    assert quota.left == 79, "what one limit refuses counts for none"


def test_a_quota_comes_back_in_a_day() -> None:
    now = [0.0]
    quota = WritingQuota(WritingLimits(address_bytes=DAY), lambda: ROOMY, lambda: now[0])
    quota.take(A, DAY)
    with pytest.raises(Refused) as caught:
        quota.take(A, 600)
    assert caught.value.retry_after in {600, 601}
    now[0] += 601
    quota.take(A, 600)


def test_posts_of_an_address_have_a_rate_before_anything_is_checked(tmp_path: Path) -> None:
    writing = WritingLimits(posts_per_second=0.01, burst=3)
    with live_board(
        tmp_path / "log", limits=ServerLimits(writing=writing), proxy="127.0.0.1"
    ) as url:
        assert [post_from(url, A, b"junk").status for _ in range(4)] == [422, 422, 422, 429]
        assert post_from(url, B, b"junk").status == 422


def test_a_header_is_believed_of_the_proxy_only(tmp_path: Path) -> None:
    """Whoever may write it would choose whose quota is used up."""
    limits = ServerLimits(writing=WritingLimits(address_bytes=SIZE))
    for proxy, statuses in ((None, [201, 201]), ("192.0.2.77", [201, 201])):
        with live_board(tmp_path / str(proxy), limits=limits, proxy=proxy) as url:
            assert [post_from(url, A, raw).status for raw in posts(0, 2)] == statuses
    with live_board(tmp_path / "believed", limits=limits, proxy="127.0.0.1") as url:
        last = [post_from(url, f"{B}, {A}", raw).status for raw in posts(0, 2)]
        assert last == [201, 429], "what the proxy has added, and not what it was sent"
        assert post_from(url, B, posts(1, 1)[0]).status == 201


def test_a_disk_that_is_nearly_full_takes_nothing_until_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [10 * GIB]
    monkeypatch.setattr(quotas, "usage_of", lambda _: DiskUsage(100 * GIB, free[0]))
    monkeypatch.setattr(
        "bulletin_board.server.run.usage_of", lambda _: DiskUsage(100 * GIB, free[0])
    )
    monkeypatch.setattr(quotas, "_LOOK_SECONDS", 0.0)
    with live_board(tmp_path / "log") as url:
        first, second = posts(0, 2)
        assert post_from(url, A, first).status == 201
        assert metric(url, "gopa_board_disk_kept_free_bytes") == GIB
        free[0] = GIB
        refused = post_from(url, A, second)
        assert (refused.status, refused.problem) == (507, "storage")
        assert metric(url, "gopa_board_disk_free_bytes") == GIB
        assert ask(url, "GET", "/healthz").status == 503, "it takes nothing"
        free[0] = 2 * GIB
        assert post_from(url, A, second).status == 201
        assert ask(url, "GET", "/healthz").status == 200


def test_a_disk_that_does_not_answer_is_as_it_was() -> None:
    """The writer meets what is wrong with it, and says so; posts do not end in errors."""
    now, broken = [0.0], [False]

    def look() -> DiskUsage:
        if broken[0]:
            raise OSError(5, os.strerror(5))
        return ROOMY

    quota = WritingQuota(WritingLimits(least_free=GIB), look, lambda: now[0])
    quota.take(A, 1)
    broken[0], now[0] = True, 99.0
    quota.take(A, 1)
    assert (quota.disk, quota.problem, quota.written) == (ROOMY, "", 2)


def test_a_board_that_takes_no_more_today_says_so() -> None:
    quota = WritingQuota(WritingLimits(all_bytes=2**20), lambda: ROOMY, lambda: 0.0)
    assert not quota.problem
    quota.take(A, 2**20 - 99)
    assert quota.problem


@pytest.mark.parametrize("name", ["unknown", "_hidden", "192.0.2.300"])
def test_what_is_no_address_has_one_quota(name: str) -> None:
    """Whoever made a proxy send such a name would have none at all."""
    quota = WritingQuota(WritingLimits(address_bytes=10), lambda: ROOMY, lambda: 0.0)
    quota.take(name, 10)
    quota.take(A, 10)
    with pytest.raises(Refused) as caught:
        quota.take(f"{name}-2", 1)
    assert caught.value.reason is RefusalReason.ADDRESS


def test_clients_wait_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party behind a crowded address is late, and its entry is in the log."""
    monkeypatch.setattr(quotas, "DAY", 0.2)
    limits = ServerLimits(writing=WritingLimits(all_bytes=SIZE))
    with live_board(tmp_path / "log", limits=limits) as url:
        board = client(url, attempts=50)
        assert [board.submit(raw).index for raw in posts(0, 3)] == [0, 1, 2]
        assert metric(url, 'gopa_board_posts_total{outcome="storage"}') > 0


def test_large_sessions_fit() -> None:
    """A thousand parties with a million numbers each, behind one address, some of which retry."""
    first = next(iter(simulate_rows(ROWS).log().entries()))
    manifest = MANIFEST.decode(Submission.decode(first).entry.body)
    manifest = replace(manifest, terms=replace(manifest.terms, dimension=10**6))
    party = sum(largest_body(manifest, phase) for phase in Phase if phase is not Phase.ORGANISER)
    assert party > 2_000_000
    limits = WritingLimits.of_disk(ROOMY)
    assert limits.address_bytes is not None
    assert limits.all_bytes is not None
    assert 3 * 1_000 * party < limits.address_bytes < limits.all_bytes < ROOMY.free // 3
    assert limits.burst >= 5 * 1_000
    small = WritingLimits.of_disk(DiskUsage(10 * GIB, 8 * GIB))
    assert (small.address_bytes, small.all_bytes) == (GIB // 2, 2 * GIB)
    assert small.least_free == GIB // 2
    full = WritingLimits.of_disk(DiskUsage(100 * GIB, 0))
    assert (full.address_bytes, full.all_bytes) == (5 * GIB // 4, 5 * GIB), "it may be cleared"


@pytest.mark.parametrize("who", ["anyone", "sessions", "organisers", "roster"])
def test_the_command_bounds_what_strangers_write(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[ServerLimits] = []

    def started(*arguments: object, **_: object) -> None:
        found.extend(each for each in arguments if isinstance(each, ServerLimits))
        raise StorageError("far enough")

    monkeypatch.setattr("bulletin_board.server.run.start_board", started)
    new_board(tmp_path / "log")
    keys = tmp_path / "keys"
    keys.write_text(f"{submission(0).entry.author.data.hex()}\n")
    options = {
        "anyone": ["--anyone"],
        "sessions": ["--sessions"],
        "organisers": ["--sessions", "--organisers", str(keys)],
        "roster": ["--roster", str(keys)],
    }[who]
    line = ["board", "serve", str(tmp_path / "log"), "--port", "0", *options]
    for more in ([], ["--daily-mb-per-address", "7", "--daily-mb", "0", "--keep-free-mb", "3"]):
        CliRunner().invoke(commands, [*line, *more])
    default, chosen = (each.writing for each in found)
    strangers = who in {"anyone", "sessions"}
    assert (default.address_bytes is not None) is (default.all_bytes is not None) is strangers
    assert default.least_free > 0
    assert (chosen.address_bytes, chosen.all_bytes, chosen.least_free) == (
        7_000_000,
        None,
        3_000_000,
    )


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "", "10.0.0.1/8"])
def test_a_proxy_is_an_address(proxy: str, tmp_path: Path) -> None:
    new_board(tmp_path / "log")
    line = ["board", "serve", str(tmp_path / "log"), "--anyone", "--port", "0", "--proxy", proxy]
    assert CliRunner().invoke(commands, line).exit_code == 2


# Full disks


def test_a_full_disk_is_called_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is no reason to start anything: when there is room the log opens again by itself."""
    board = new_board(tmp_path / "log")
    written = OsFiles.write

    def no_room(self: OsFiles, handle: int, data: bytes | memoryview) -> int:
        del self, handle, data
        raise OSError(28, os.strerror(28))

    limits = CommitterLimits(pulse_seconds=0.05, retry_seconds=0)
    committer = Committer(lambda: open_log(board), limits)
    monkeypatch.setattr(OsFiles, "write", no_room)
    outcome = committer.submit(submission(0)).result(LONG)
    assert isinstance(outcome, Refused)
    assert outcome.reason is RefusalReason.STORAGE
    assert outcome.retry_after is not None
    why: Exception | None = committer.closed_by
    assert isinstance(why, DiskFull)
    monkeypatch.setattr(OsFiles, "write", written)
    assert until(lambda: committer.sequencer is not None)
    assert committer.closed_by is None
    assert not isinstance(committer.submit(submission(0)).result(LONG), Refused)
    committer.close()


@pytest.mark.parametrize(
    ("code", "free", "full"),
    [(13, GIB, True), (10, 0, True), (4618, 0, True), (14, 0, True), (10, GIB, False)],
    ids=["FULL", "IOERR", "IOERR_SHMOPEN", "CANTOPEN", "a broken disk"],
)
def test_databases_tell_a_full_disk_from_a_broken_one(
    code: int, free: int, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(tmp_path / "file.sqlite", ())
    error = type("Broken", (database._connection.OperationalError,), {"sqlite_errorcode": code})
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert (type(database._failure(error("disk I/O error"))) is DiskFull) is full

    def broken(_: Path) -> DiskUsage:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr("shutil.disk_usage", broken)
    assert type(database._failure(error("disk I/O error"))) is (
        DiskFull if code == 13 else StorageError
    )
    database.close()


# What operators see


def test_requests_connections_and_commits_are_counted(tmp_path: Path) -> None:
    with live_board(tmp_path / "log", connections=50) as url:
        assert post_from(url, A, posts(0, 1)[0]).status == 201
        bundle = ask(url, "GET", "/tile/entries/000.p/1").body
        ask(url, "GET", "/tile/entries/000.p/1")
        ask(url, "GET", "/nothing")
        assert metric(url, 'gopa_board_requests_total{kind="bundle",status="200"}') == 2
        assert metric(url, 'gopa_board_requests_total{kind="other",status="404"}') == 1
        assert metric(url, 'gopa_board_sent_bytes_total{kind="bundle"}') == 2 * len(bundle)
        assert metric(url, "gopa_board_connections") >= 1
        assert metric(url, "gopa_board_connections_most") == 50
        assert metric(url, "gopa_board_commits_total") == 1
        assert metric(url, "gopa_board_commit_seconds_total") > 0
        assert 0 <= metric(url, "gopa_board_checkpoint_age_seconds") < LONG
        assert metric(url, "gopa_board_disk_free_bytes") > 0
        assert metric(url, "gopa_board_exposed") == 0


@pytest.mark.parametrize("asked", [True, False])
def test_an_access_log_is_one_line_for_each_request(
    asked: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gopa")
    with live_board(tmp_path / "log", access_log=asked) as url:
        ask(url, "GET", "/checkpoint?token=secret", headers={"Authorization": "secret"})
        ask(url, "GET", "/%0a2026-01-01%1b[31m")
    lines = [each for each in caplog.records if each.name == "gopa.access"]
    if not asked:
        assert lines == []
        return
    facts = [vars(line)["facts"] for line in lines]
    assert [(each["path"], each["status"]) for each in facts] == [
        ("/checkpoint", 200),
        ("/%0a2026-01-01%1b[31m", 404),
    ]
    assert {each["address"] for each in facts} == {"127.0.0.1"}
    said = json.dumps(facts) + "".join(line.message for line in lines)
    assert "secret" not in said
    assert all(line.message.isprintable() for line in lines)


def exposing(root: Path) -> list[Callable[[], None]]:
    return [
        lambda: (root / "state").chmod(0o755),
        lambda: (root / "state" / "index.sqlite").chmod(0o666),
        lambda: (root / "state" / "key").chmod(0o640),
        lambda: (root / "public" / "checkpoint").chmod(0o666),
        lambda: (root / "public" / "tile").chmod(0o777),
        lambda: root.chmod(0o777),
    ]


@pytest.mark.parametrize("which", range(6))
def test_files_that_others_may_use_are_noticed_while_it_runs(which: int, tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        assert post_from(url, A, posts(0, 1)[0]).status == 201
        assert ask(url, "GET", "/healthz").status == 200
        exposing(tmp_path / "log")[which]()
        answer = ask(url, "GET", "/healthz")
        assert answer.status == 503
        assert str(tmp_path).encode() in answer.body
        assert metric(url, "gopa_board_exposed") == 1


def test_what_others_may_use_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "gopa")
    board = new_board(tmp_path / "log")
    limits = CommitterLimits(pulse_seconds=0.02, retry_seconds=0)
    committer = Committer(lambda: open_log(board), limits, watch=_watching(board))
    mode = board.key_path.stat().st_mode
    for changed, lines in ((0o644, 1), (mode, 2)):
        board.key_path.chmod(changed)
        assert until(lambda lines=lines: len(caplog.records) == lines)  # type: ignore[misc]
    committer.close()
    assert len(caplog.records) == 2
    assert str(board.key_path) in caplog.records[0].message
