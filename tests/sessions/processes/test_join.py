"""What `gopa join` answers when something has to be changed, and when it is stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.cli.exits import FAILED_EXIT, INTERRUPTED_EXIT, LATER_EXIT, USAGE_EXIT
from tests.board.live import free_port
from tests.sessions.processes.running import Ended, Running
from tests.sessions.processes.worlds import World, world

pytestmark = pytest.mark.together("join")

HALF = ("--value", "0.5")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A session that waits for its parties."""
    with world(tmp_path_factory.mktemp("join"), 8) as made:
        made.prepare()
        made.open().awaited("phase", phase="join")
        yield made


def joined(party: Running) -> Running:
    """It has joined, and waits for the others: with these options it is accepted."""
    party.awaited("phase", phase="join")
    return party


def accepted(place: World, number: int) -> None:
    """The same party takes part if nothing is wrong; it is tried once."""
    tried = [each for each in place.started if each.name == f"p{number}"]
    if any(each.said("phase", phase="join") for each in tried):
        return
    party = joined(place.join(number, *HALF))
    party.interrupt()
    assert party.wait() == INTERRUPTED_EXIT


def one_line(party: Running | Ended) -> str:
    """What a person reads: one line that begins with the program's name."""
    lines = party.complaint.splitlines()
    assert len(lines) == 1, party.complaint
    assert lines[0].startswith("gopa: ")
    return lines[0]


def other_ticket(place: World, **changes: object) -> Path:
    path = place.root / f"ticket-{len(list(place.root.glob('ticket-*')))}.json"
    replace(place.ticket, **changes).write(path)  # type: ignore[arg-type]
    return path


@pytest.mark.slow
def test_without_a_board_it_says_so_and_gives_up_in_time(place: World) -> None:
    accepted(place, 1)
    ticket = other_ticket(place, board=f"http://127.0.0.1:{free_port()}")
    party = place.join(1, *HALF, "--patience", "1", ticket=ticket)
    assert party.wait() == LATER_EXIT
    assert party.said("board-lost") is not None
    one_line(party)


@pytest.mark.slow
def test_a_session_that_is_not_there_is_waited_for(place: World) -> None:
    """It may be opened tomorrow."""
    accepted(place, 1)
    party = place.join(1, *HALF, ticket=other_ticket(place, session=bytes(32)))
    party.awaited("standing")
    assert "until the session is open" in party.awaited("standing")["now"]
    assert party.alive
    party.interrupt()
    assert party.wait() == INTERRUPTED_EXIT
    assert party.said("joined") is None


@pytest.mark.slow
def test_a_ticket_that_trusts_something_else_is_not_believed(place: World) -> None:
    accepted(place, 1)
    policy = f"log {place.log_key}\nquorum none\n".encode()
    party = place.answer(1, *HALF, ticket=other_ticket(place, policy=policy))
    assert party.code == FAILED_EXIT
    assert party.said("joined") is None
    one_line(party)


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--corrupt-share", "--witnesses"])
def test_a_refusal_names_the_option_that_accepts(place: World, option: str) -> None:
    accepted(place, 1)
    strict = {
        "--epsilon": ("--epsilon", "1"),
        "--delta": ("--delta", "1e-9"),
        "--corrupt-share": ("--corrupt-share", "0.5"),
        "--witnesses": ("--witnesses",),
    }
    party = place.answer(1, *HALF, *strict[option])
    assert party.code == USAGE_EXIT
    assert option in one_line(party)


@pytest.mark.parametrize("value", ["1.5", "nan", "one", ""])
def test_a_value_that_does_not_fit_is_not_repeated(place: World, value: str) -> None:
    accepted(place, 1)
    party = place.answer(1, "--value", "-", stdin=f"{value}\n")
    assert party.code == USAGE_EXIT
    line = one_line(party)
    assert not value or value not in line.split()


@pytest.mark.soak
def test_a_value_out_of_range_may_be_clipped(place: World) -> None:
    accepted(place, 1)
    party = place.answer(3, "--value", "1.5")
    assert party.code == USAGE_EXIT
    assert "--clip" in one_line(party)
    joined(place.join(3, "--value", "1.5", "--clip")).kill()


@pytest.mark.soak
def test_one_process_at_a_time_uses_a_state_directory(place: World) -> None:
    first = joined(place.join(4, *HALF))
    second = place.answer(4, *HALF)
    assert second.code == USAGE_EXIT
    one_line(second)
    assert first.alive
    first.kill()
    joined(place.join(4, *HALF)).kill()


@pytest.mark.slow
def test_a_passphrase_seals_the_key_and_the_state(place: World) -> None:
    sealed = place.root / "sealed"
    passphrase = {"GOPA_PASSPHRASE": "correct horse"}
    place_of_words = place.root / "words.txt"
    place_of_words.write_text("correct horse\n")
    place.facts("sealing", "keygen", sealed, "--passphrase-file", place_of_words)
    how = (*HALF, "--identity", sealed, "--state", place.root / "sealed-state")
    wrong = place.answer(5, *how, env={"GOPA_PASSPHRASE": "wrong"})
    assert wrong.code == USAGE_EXIT
    assert "wrong" not in one_line(wrong).replace("wrong passphrase", "")
    nothing = place.answer(5, *how)
    assert nothing.code == USAGE_EXIT
    assert "--passphrase-file" in one_line(nothing)
    stranger = place.answer(5, *how, env=passphrase)
    assert stranger.code == USAGE_EXIT
    assert "roster" in one_line(stranger)


@pytest.mark.slow
def test_ctrl_c_and_again(place: World) -> None:
    party = joined(place.join(6, *HALF))
    party.interrupt()
    assert party.wait() == INTERRUPTED_EXIT
    assert "the same command goes on" in one_line(party)
    again = joined(place.join(6, *HALF))
    again.interrupt()
    assert again.wait() == INTERRUPTED_EXIT
    other = place.answer(6, "--value", "0.9")
    assert other.code == USAGE_EXIT
    one_line(other)


@pytest.mark.soak
def test_ctrl_c_does_not_wait_for_a_board_that_hangs(place: World) -> None:
    party = joined(place.join(7, *HALF))
    place.board.process.send_signal(signal.SIGSTOP)
    try:
        party.interrupt()
        assert party.wait() == INTERRUPTED_EXIT
        one_line(party)
    finally:
        place.board.process.send_signal(signal.SIGCONT)
    joined(place.join(7, *HALF)).kill()
