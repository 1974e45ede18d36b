"""Checkpoints that are not shown to belong together: kept, never believed, nobody accused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from bulletin_board.client.forks import (
    UNPROVEN_PAIR,
    StaleMirror,
    UnprovenHistory,
    UnprovenPair,
    open_pair,
    verify_fork,
)
from bulletin_board.client.http import NetworkError, Response
from bulletin_board.client.state import DirectoryState, MemoryState
from bulletin_board.reader import MissingResource
from tests.board.live import client
from tests.board.tools import append, log_key, memory_log, signer, submission, submissions
from tests.board.transports import Files, Plays, Shows
from wire.errors import FaultyBoard, InvalidSignature, MalformedMessage


def histories() -> tuple[Files, Files, Files]:
    """A log of 5 entries, the same with 9, and one with 9 that differs in the fifth."""
    log, files = memory_log(5)
    five = dict(files)
    append(log, submissions(4, 5))
    other, forked = memory_log(4)
    append(other, [submission(4, body=b"other")])
    append(other, submissions(4, 5))
    return five, dict(files), dict(forked)


def withheld(files: Files, state: MemoryState | DirectoryState) -> tuple[Shows, UnprovenHistory]:
    """A client has seen 5 entries; now it is shown a checkpoint whose tiles are withheld."""
    five, _, _ = histories()
    transport = Shows(five)
    board = client("http://x", state=state, transport=transport)
    assert board.update().size == 5
    transport.files, transport.hidden = files, "tile/"
    with pytest.raises(UnprovenHistory) as caught:
        board.update()
    assert not isinstance(caught.value, StaleMirror | FaultyBoard)
    assert board.seen is not None
    assert board.seen.size == 5
    return transport, caught.value


@pytest.mark.parametrize("which", [1, 2])
def test_withheld_tiles_leave_both_checkpoints_and_accuse_nobody(which: int) -> None:
    """Honest or forked: without the tiles nobody can tell, and so it is not said."""
    five, files = histories()[0], histories()[which]
    state = MemoryState()
    _, error = withheld(files, state)
    assert (error.older, error.newer) == (five["checkpoint"], files["checkpoint"])
    assert error.request == "http://x/tile/0/000.p/9"
    assert state.pairs == [error.evidence]
    older, newer = open_pair(state.pairs[0], log_key())
    assert (older.size, newer.size) == (5, 9)
    assert state.evidence == []
    with pytest.raises(InvalidSignature):
        open_pair(state.pairs[0], signer("other.example").verifier)


@pytest.mark.parametrize("status", [404, 503])
def test_a_client_with_an_unproven_pair_does_not_post(status: int) -> None:
    _, nine, _ = histories()
    log, _ = memory_log(9)
    transport, _ = withheld(nine, state := MemoryState())
    transport.status = status
    transport.receipt = log.receipt(8)
    board = client("http://x", state=state, transport=transport)
    with pytest.raises(UnprovenHistory):
        board.submit(submissions(1, 8)[0].raw)
    with pytest.raises(UnprovenHistory):
        list(board.entries())
    assert transport.posts == 0
    transport.hidden = "\0"
    assert board.submit(submissions(1, 8)[0].raw).index == 8
    assert transport.posts == 1
    assert state.unproven() is None


def test_tiles_that_come_later_clear_an_honest_log(tmp_path: Path) -> None:
    _, nine, _ = histories()
    transport, error = withheld(nine, DirectoryState(tmp_path, log_key()))
    (kept,) = tmp_path.glob("*/unproven-*.evidence")
    assert kept.read_bytes() == error.evidence
    state = DirectoryState(tmp_path, log_key())
    assert state.unproven() == error.evidence
    transport.hidden = "\0"
    board = client("http://x", state=state, transport=transport)
    assert board.update().size == 9
    assert state.unproven() is None
    assert not kept.exists(), "nobody has to look at what was cleared"
    assert client("http://x", state=state, transport=transport).update().size == 9


def test_tiles_that_come_later_convict_a_forked_log(tmp_path: Path) -> None:
    """Also in a later run, and although the board meanwhile shows the older history again."""
    five, _, forked = histories()
    transport, _ = withheld(forked, DirectoryState(tmp_path, log_key()))
    transport.files, transport.hidden = five, "\0"
    again = client("http://x", state=DirectoryState(tmp_path, log_key()), transport=transport)
    with pytest.raises(StaleMirror):
        again.update()
    transport.files = forked
    with pytest.raises(FaultyBoard) as caught:
        again.update()
    older, newer = verify_fork(caught.value.evidence, log_key())
    assert (older.root, newer.size) == (again.seen.root if again.seen else b"", 9)


def test_a_larger_log_settles_what_was_withheld() -> None:
    """A copy has the tiles of its newest checkpoint only: those show both older ones."""
    _, nine, _ = histories()
    transport, _ = withheld(nine, state := MemoryState())
    transport.files, transport.hidden = dict(memory_log(20)[1]), "\0"
    board = client("http://x", state=state, transport=transport)
    assert board.update().size == 20
    assert state.unproven() is None


def test_a_receipt_of_a_size_that_a_copy_never_shows() -> None:
    """The board has grown by the time its tiles can be read."""
    five, nine, _ = histories()
    log, _ = memory_log(9)
    transport = Shows(five, receipt=log.receipt(8))
    board = client("http://x", transport=transport)
    assert board.update().size == 5

    def grow(_: float) -> None:
        transport.files = dict(memory_log(20)[1])

    board._sleep = grow
    assert "tile/0/000.p/9" in nine
    assert board.submit(submissions(1, 8)[0].raw).index == 8
    assert board.seen is not None
    assert board.seen.size == 20


def test_two_sizes_alike_need_no_tiles() -> None:
    """Two roots at one size are a proof by themselves."""
    _, nine, forked = histories()
    transport = Shows(nine)
    board = client("http://x", transport=transport)
    board.update()
    transport.files, transport.hidden = forked, "tile/"
    with pytest.raises(FaultyBoard) as caught:
        board.update()
    verify_fork(caught.value.evidence, log_key())


@pytest.mark.parametrize("damage", ["short", "other"])
def test_wrong_tiles_accuse_nobody(damage: str) -> None:
    """Tiles are not signed: whoever carries them may have changed them."""
    five, nine, _ = histories()
    transport = Shows(five)
    board = client("http://x", transport=transport)
    board.update()
    tile = nine["tile/0/000.p/9"]
    bad = tile[:-1] if damage == "short" else tile[:-1] + bytes([tile[-1] ^ 1])
    transport.files = nine | {"tile/0/000.p/9": bad}
    with pytest.raises(UnprovenHistory) as caught:
        board.update()
    assert caught.value.__cause__ is not None
    transport.files = nine
    assert board.update().size == 9


def test_no_network_accuses_nobody() -> None:
    five, nine, _ = histories()

    def dying(method: str, path: str, body: bytes) -> Response:
        if path.startswith("tile/"):
            raise NetworkError("gone")
        return Shows(nine).shown(method, path, body)

    state = MemoryState()
    assert client("http://x", state=state, transport=Shows(five)).update().size == 5
    with pytest.raises(UnprovenHistory):
        client("http://x", state=state, transport=Plays(dying)).update()


# Copies that lag behind


def test_a_copy_that_lags_behind_is_called_that(tmp_path: Path) -> None:
    five, nine, _ = histories()
    state = DirectoryState(tmp_path, log_key())
    board = Shows(nine)
    assert client("http://x", state=state, transport=board).update().size == 9
    mirror = Shows(five)
    with pytest.raises(StaleMirror) as caught:
        client("http://x", state=state, transport=mirror).update()
    assert (caught.value.older, caught.value.newer) == (five["checkpoint"], nine["checkpoint"])
    assert not list(tmp_path.glob("*/fork-*"))
    mirror.files = nine
    assert client("http://x", state=state, transport=mirror).update().size == 9
    assert client("http://x", state=state, transport=board).update().size == 9


def test_a_copy_that_catches_up_in_time_is_no_error() -> None:
    five, nine, _ = histories()
    state = MemoryState()
    assert client("http://x", state=state, transport=Shows(nine)).update().size == 9
    mirror = Shows(five)
    board = client("http://x", state=state, transport=mirror)

    def catch_up(_: float) -> None:
        mirror.files = nine

    board._sleep = catch_up
    assert board.update().size == 9
    assert state.pairs == []


def test_a_forked_copy_that_lags_behind_is_convicted_by_the_board() -> None:
    """The pair that could not be compared is kept, so it is compared when it can be."""
    log, other = memory_log(4)
    append(log, [submission(4, body=b"other")])
    _, nine, _ = histories()
    state = MemoryState()
    assert client("http://x", state=state, transport=Shows(nine)).update().size == 9
    with pytest.raises(StaleMirror):
        client("http://x", state=state, transport=Shows(other)).update()
    with pytest.raises(FaultyBoard):
        client("http://x", state=state, transport=Shows(nine)).update()


# What is kept


def test_a_stored_pair_that_the_log_did_not_sign_is_not_believed() -> None:
    five, nine, _ = histories()
    state = MemoryState()
    assert client("http://x", state=state, transport=Shows(five)).update().size == 5
    pair = UnprovenPair(five["checkpoint"], nine["checkpoint"], b"")
    state.keep_unproven(UNPROVEN_PAIR.encode(pair))
    client("http://x", state=state, transport=Shows(nine))
    for bad, error in (
        (b"junk", MalformedMessage),
        (
            UNPROVEN_PAIR.encode(
                UnprovenPair(
                    five["checkpoint"], nine["checkpoint"].replace(b"\n9\n", b"\n8\n"), b""
                )
            ),
            InvalidSignature,
        ),
    ):
        state.keep_unproven(bad)
        with pytest.raises(error):
            client("http://x", state=state, transport=Shows(nine))


def test_the_errors_survive_pickling() -> None:
    for kind in (UnprovenHistory, StaleMirror):
        found = pickle.loads(pickle.dumps(kind("why", b"a", b"b", "c")))  # noqa: S301 - our own
        assert type(found) is kind
        assert (found.message, found.older, found.newer, found.request) == ("why", b"a", b"b", "c")
        assert found.evidence == kind("why", b"a", b"b", "c").evidence


def test_a_long_request_is_kept_cut() -> None:
    error = UnprovenHistory("why", b"a", b"b", "\u00e9" * 5_000)
    assert len(UNPROVEN_PAIR.decode(error.evidence).request) == 1_024


# Boards that answer now and then


def unsteady(files: Files, failing: int, status: int, prefix: str) -> Plays:
    """Fails some requests before it answers."""
    left, board = [failing], Shows(files)

    def answer(method: str, path: str, body: bytes) -> Response:
        if path.startswith(prefix) and left[0]:
            left[0] -= 1
            return Response(status, {}, b"")
        return board.shown(method, path, body)

    return Plays(answer)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("prefix", ["checkpoint", "tile/0", "tile/entries"])
def test_a_busy_board_is_asked_again(status: int, prefix: str) -> None:
    _, nine, _ = histories()
    waits: list[float] = []
    board = client("http://x", transport=unsteady(nine, 2, status, prefix))
    board._sleep = waits.append
    assert len(list(board.entries())) == 9
    assert len(waits) == 2
    lasting = client("http://x", transport=unsteady(nine, 100, status, prefix), attempts=3)
    with pytest.raises(NetworkError):
        list(lasting.entries())


def test_a_wrong_address_is_said_at_once() -> None:
    transport = unsteady(histories()[1], 1, 404, "checkpoint")
    board = client("http://x", transport=transport)
    with pytest.raises(MissingResource) as caught:
        board.update()
    assert caught.value.path == "checkpoint"
    assert transport.asked == ["checkpoint"]
    assert board.update().size == 9


def test_tiles_that_never_come_end_the_patience_of_a_reader() -> None:
    _, nine, _ = histories()
    waits: list[float] = []
    board = client("http://x", transport=Shows(nine, hidden="tile/"), attempts=3)
    board._sleep = waits.append
    with pytest.raises(MissingResource):
        board.reader()
    assert len(waits) == 2


def test_what_another_process_has_kept_stays(tmp_path: Path) -> None:
    """Two commands with one memory: what one has seen proved says nothing of the other's pair."""
    one, two = (DirectoryState(tmp_path, log_key()) for _ in range(2))
    one.keep_unproven(b"proved later")
    other = Path(two.keep_unproven(b"a fork"))
    one.clear_unproven()
    assert other.read_bytes() == b"a fork"
    assert two.unproven() == b"a fork"
    two.clear_unproven()
    assert two.unproven() is None
    assert not list(tmp_path.rglob("*.evidence"))
