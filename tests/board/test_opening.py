"""A board whose storage comes from a backup signs nothing: its witnesses know better."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.note import KeyKind, SignedNote, VerifierKey, cosign, encode_base64
from bulletin_board.policy import KnownServer, TrustPolicy, WitnessGroup
from bulletin_board.server import run as start_module
from bulletin_board.storage import Overtaken, StorageError, Unconfirmed
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.witness import asking as standing_module
from bulletin_board.witness.opening import address_warnings
from tests.board.asking import ask
from tests.board.live import (
    answering_witness,
    client,
    live_board,
    live_witness,
    logged,
    starts_not,
    witnessed,
)
from tests.board.tools import copy_of, entry_bytes, log_key, new_board, open_log, signer, trust
from tests.board.waiting import LONG, until
from wire.errors import UsageError


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_module, "_OPENING_SECONDS", LONG)
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 0.01)


def locked(place: BoardDirectory) -> tuple[bytes, bytes]:
    """The checkpoints in the lock and in public."""
    log = open_log(place)
    found = log.signed.to_bytes(), (place.public / "checkpoint").read_bytes()
    log.close()
    return found


def backup_behind_two_witnesses(place: BoardDirectory, trusted: TrustPolicy) -> BoardDirectory:
    """A backup after one entry, of a log whose second entry both of its witnesses cosigned."""
    logged(place.root, entry_bytes(0), policy=trusted)
    backup = copy_of(place, place.root.with_name("backup"))
    with live_board(place.root, policy=trusted) as url:
        client(url).submit(entry_bytes(1))
        assert until(lambda: len(trusted.cosignatures(client(url).update())) == 2)
    return backup


def test_a_restored_backup_is_not_served(tmp_path: Path) -> None:
    """Everything comes from one backup, so all parts of it agree."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one, live_witness(tmp_path, 2) as two:
        trusted = witnessed(2, one, two)
        backup = backup_behind_two_witnesses(place, trusted)
        before = locked(backup)
        starts_not(Overtaken, backup.root, policy=trusted)
        assert locked(backup) == before
        assert len(list(backup.evidence.glob("witness-refusal-*.evidence"))) > 0
        logged(place.root, entry_bytes(2), policy=trusted)


def test_a_backup_is_not_served_while_those_that_know_better_are_silent(tmp_path: Path) -> None:
    """Whoever brings back an old storage may keep the witnesses from answering, too."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one, live_witness(tmp_path, 2) as two:
        trusted = witnessed(1, one, two)
        backup = backup_behind_two_witnesses(place, trusted)
    before = locked(backup)
    starts_not(Unconfirmed, backup.root, policy=trusted)
    assert locked(backup) == before
    assert logged(backup.root, entry_bytes(2), policy=trusted, risk_fork=True) == [1]


def test_a_log_opens_again_when_a_quorum_has_cosigned_what_it_has(tmp_path: Path) -> None:
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one:
        with answering_witness(2, 503, b"") as (two, _):
            trusted, all_of_them = witnessed(1, one, two), witnessed(2, one, two)
            for number in range(3):
                assert logged(place.root, entry_bytes(number), policy=trusted) == [number]
            starts_not(Unconfirmed, place.root, policy=all_of_them)
        with live_witness(tmp_path, 2) as two:
            assert logged(place.root, entry_bytes(3), policy=witnessed(2, one, two)) == [3]


@pytest.mark.parametrize(
    ("status", "body"), [(200, b""), (200, b"no line"), (422, b""), (503, b"")]
)
def test_only_a_cosignature_says_that_nobody_is_ahead(
    tmp_path: Path, status: int, body: bytes
) -> None:
    """Whoever stands between a board and its witnesses can say anything but that."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one:
        trusted = witnessed(1, one)
        for number in range(2):
            assert logged(place.root, entry_bytes(number), policy=trusted) == [number]
    with answering_witness(1, status, body) as (other, _):
        starts_not(Unconfirmed, place.root, policy=witnessed(1, other))


def test_a_backup_does_not_open_on_a_cosignature_of_then(tmp_path: Path) -> None:
    """Those of its checkpoint are public: whoever is on the way to a witness has them."""
    place, now = new_board(tmp_path / "log"), [time.time() - 3_600]
    with live_witness(tmp_path, 1, lambda: now[0]) as one:
        trusted = witnessed(1, one)
        with live_board(place.root, policy=trusted) as url:
            client(url).submit(entry_bytes(0))
            assert until(lambda: len(trusted.cosignatures(client(url).update())) == 1)
            old = SignedNote.parse((place.public / "checkpoint").read_bytes())
        backup = copy_of(place, tmp_path / "backup")
        now[0] = time.time()
        logged(place.root, entry_bytes(1), policy=trusted)  # the witness says it again, of now
    before, key = locked(backup), trusted.witnesses["w1"].key
    (line,) = [each for each in old.signatures if each.key_id == key.key_id]
    with answering_witness(1, 200, str(line).encode()) as (between, _):
        starts_not(Unconfirmed, backup.root, policy=witnessed(1, between))
    assert locked(backup) == before


@pytest.mark.parametrize("seconds", [0, -30, 30, -90, 90, -(10**6), 10**9])
def test_a_cosignature_counts_if_its_time_is_that_of_the_answer(
    tmp_path: Path, seconds: int
) -> None:
    """One of the future was made by a clock that was ahead: nobody knows when."""
    place = new_board(tmp_path / "log")
    logged(place.root, entry_bytes(0))
    text = SignedNote.parse((place.public / "checkpoint").read_bytes()).text
    key = signer("witness.example/1", KeyKind.WITNESS)
    line = str(cosign(text, key, int(time.time()) + seconds)).encode()
    with answering_witness(1, 200, line) as (one, _):
        if abs(seconds) <= 30:
            assert logged(place.root, entry_bytes(1), policy=witnessed(1, one)) == [1]
        else:
            starts_not(Unconfirmed, place.root, policy=witnessed(1, one))


def test_a_log_without_entries_waits_for_nobody(tmp_path: Path) -> None:
    with answering_witness(1, 503, b"") as (silent, _):
        assert logged(tmp_path / "log", entry_bytes(0), policy=witnessed(1, silent)) == [0]
        starts_not(Unconfirmed, tmp_path / "log", policy=witnessed(1, silent))


def test_the_risk_of_a_fork_is_taken_only_where_nobody_is_ahead(tmp_path: Path) -> None:
    with answering_witness(1, 503, b"") as (silent, _):
        trusted = witnessed(1, silent)
        logged(tmp_path / "log", entry_bytes(0), policy=trusted)
        assert logged(tmp_path / "log", entry_bytes(1), policy=trusted, risk_fork=True) == [1]
    with answering_witness(1, 409, b"999999\n") as (ahead, _):
        starts_not(Overtaken, tmp_path / "log", policy=witnessed(1, ahead), risk_fork=True)


def test_the_risk_of_a_fork_is_taken_once(tmp_path: Path) -> None:
    """After a failed write nobody says again that the storage is the newest one."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one, answering_witness(1, 503, b"") as (silent, _):

        def after_a_failed_write(policy: TrustPolicy, number: int, attempts: int) -> int:
            with live_board(place.root, policy=policy, risk_fork=True) as url:
                client(url).submit(entry_bytes(number))
                place.scratch.rmdir()
                with pytest.raises(Refused):
                    client(url, attempts=1).submit(entry_bytes(number + 1))
                place.scratch.mkdir(0o700)
                return client(url, attempts=attempts).submit(entry_bytes(number + 1)).index

        assert after_a_failed_write(witnessed(1, one), 0, 300) == 1
        with pytest.raises(Refused) as caught:
            after_a_failed_write(witnessed(1, silent), 2, 30)
        assert caught.value.reason is RefusalReason.UNAVAILABLE


def test_those_that_are_ahead_and_not_needed_stop_nothing(tmp_path: Path) -> None:
    with live_witness(tmp_path, 1) as one, answering_witness(2, 409, b"999999\n") as (liar, _):
        logged(tmp_path / "log", entry_bytes(0), policy=witnessed(1, one, liar))
        starts_not(Overtaken, tmp_path / "log", policy=witnessed(2, one, liar))


def test_one_that_was_silent_at_first_stops_the_log_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_module, "_OPENING_SECONDS", 0.1)
    place = new_board(tmp_path / "log")
    with answering_witness(1, 409, b"999999\n") as (late, instead):
        instead.append(503)
        with live_board(place.root, policy=witnessed(1, late)) as url:
            client(url).submit(entry_bytes(0))
            instead.clear()

            def refused() -> bool:
                try:
                    client(url, attempts=1).submit(entry_bytes(0))
                except Refused as error:
                    return error.reason is RefusalReason.UNAVAILABLE
                return False

            assert until(refused)
            before = (place.public / "checkpoint").read_bytes()
            with pytest.raises(Refused):
                client(url, attempts=2).submit(entry_bytes(1))
        assert locked(place) == (before, before)


def test_a_witness_that_has_cosigned_since_the_start_cannot_stop_the_log(tmp_path: Path) -> None:
    """It stops barriers, as any witness that the quorum needs."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as one:
        trusted = witnessed(1, one)
        with live_board(place.root, policy=trusted) as url:
            client(url).submit(entry_bytes(0))
            assert until(lambda: len(trusted.cosignatures(client(url).update())) == 1)
            claim = f"{log_key().name}\n999\n{encode_base64(bytes(32))}\n".encode()
            memory = one.service._store._database
            memory.execute("UPDATE cosigned SET text = CAST(? AS TEXT)", (claim,))
            client(url).submit(entry_bytes(1))

            def health() -> bytes:
                return ask(url, "GET", "/healthz").body

            assert until(lambda: b"excluded" in health())
            assert client(url).submit(entry_bytes(2)).index == 2


def located(threshold: int, *urls: str) -> TrustPolicy:
    """A policy with a witness for each address; an empty one is none."""
    found = {f"w{n}": KnownServer(_witness_key(n), url) for n, url in enumerate(urls)}
    everybody = {"all": WitnessGroup(threshold, tuple(found))}
    return TrustPolicy(KnownServer(log_key()), found, everybody, "all")


def _witness_key(number: int) -> VerifierKey:
    return signer(f"witness.example/{number}", KeyKind.WITNESS).verifier


@pytest.mark.parametrize(
    ("policy", "count"),
    [
        (TrustPolicy.single_log(log_key()), 0),
        (located(1, "https://w.example"), 0),
        (located(1, "http://127.0.0.1:1"), 0),
        (located(1, "http://[::1]:1/w", "http://localhost"), 0),
        (located(1, "", "https://w.example"), 0),
        (located(1, ""), 1),
        (located(2, "", "https://w.example"), 1),
        (located(1, "http://w.example"), 1),
        (located(1, "http://127.0.0.1.example", "http://10.0.0.1"), 2),
        (located(1, "http://127.0.0.1@w.example"), 1),
        (located(1, "http://[1"), 1),
    ],
)
def test_addresses_that_cannot_help_are_named(policy: TrustPolicy, count: int) -> None:
    assert len(list(address_warnings(policy))) == count


def test_a_board_that_could_not_be_opened_again_says_so_at_its_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = located(1, "")
    (warning,) = address_warnings(policy)
    with (
        caplog.at_level(logging.WARNING, "gopa.board"),
        live_board(tmp_path / "log", policy=policy) as url,
    ):
        assert warning in {record.getMessage() for record in caplog.records}
        client(url).submit(entry_bytes(0))
    starts_not(Unconfirmed, tmp_path / "log", policy=policy)


def test_a_log_that_had_witnesses_is_not_served_without_them(tmp_path: Path) -> None:
    """A copied directory, whose policy file stayed behind, would fork the log unseen."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as first:
        trusted = witnessed(1, first)
        logged(place.root, entry_bytes(0), policy=trusted)
        copied = copy_of(place, tmp_path / "copy")
        none = replace(trusted, quorum="none")
        for policy in (trust(), none):
            before = locked(copied)
            assert starts_not(UsageError, copied.root, policy=policy).field == "--policy"
            assert locked(copied) == before
        with live_witness(tmp_path, 2) as second:  # which remembers nothing
            others = witnessed(1, second)
            starts_not(UsageError, copied.root, policy=others)
            both = witnessed(2, first, second)
            with live_board(copied.root, policy=both) as url:
                assert client(url, policy=trusted).update().size == 1
            with live_board(copied.root, policy=others) as url:
                assert client(url, policy=others).update().size == 1
    logged(copied.root, entry_bytes(1), risk_fork=True)
    with live_board(copied.root) as url:  # said once, for good
        assert client(url).update().size == 2


def test_a_log_whose_policy_was_not_copied_still_shows_its_witnesses(tmp_path: Path) -> None:
    """The checkpoint is public, and names who cosigned it."""
    place = new_board(tmp_path / "log")
    with live_witness(tmp_path, 1) as first:
        trusted = witnessed(1, first)
        with live_board(place.root, policy=trusted) as url:
            client(url).submit(entry_bytes(0))
            cosigned = place.public / "checkpoint"
            assert until(lambda: len(SignedNote.parse(cosigned.read_bytes()).signatures) == 2)
        place.policy_path.unlink()
        assert starts_not(UsageError, place.root).field == "--policy"
        assert not place.policy_path.exists()
        with live_board(place.root, policy=trusted):
            pass
        place.policy_path.unlink()
    with live_board(place.root, risk_fork=True):  # and nothing is written
        pass
    with live_board(place.root) as url:
        assert client(url).update().size == 1


def test_a_log_without_witnesses_keeps_no_policy(tmp_path: Path) -> None:
    place = new_board(tmp_path / "log")
    with live_board(place.root):
        assert not place.policy_path.exists()
    place.policy_path.write_bytes(b"no policy\n")
    starts_not(StorageError, place.root)
