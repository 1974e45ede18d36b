"""A roster made of answers to invitations: `gopa session invite`, `gopa enrol`, `create`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gopa.cli import commands
from gopa.contract.manifest import Roster
from gopa.sessions.organising.storage import OrganiserPlace
from tests.board.tools import log_key
from wire.errors import UsageError

AWAY = "http://127.0.0.1:9"
COUNT = 10


def gopa(*arguments: object, said: str = "") -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments], input=said)


def refused(*arguments: object) -> UsageError:
    result = gopa(*arguments)
    assert isinstance(result.exception, UsageError), (result.exception, result.output)
    return result.exception


class People:
    """Some that were invited, each with a key and a way to answer."""

    def __init__(self, root: Path) -> None:
        self.root, self.invitations = root, root / "invitations"
        self.enrolments = root / "enrolments"
        assert gopa("session", "invite", self.invitations, "--count", COUNT).exit_code == 0
        self.tokens = self.invitations.read_text().splitlines()
        self.keys: list[str] = []
        for number in range(COUNT):
            assert gopa("keygen", root / f"key-{number}").exit_code == 0
        self.answers = [self.answer(number, token) for number, token in enumerate(self.tokens)]
        self.enrolments.write_text("".join(self.answers))

    def answer(self, number: int, token: str) -> str:
        """What somebody prints who reads the invitation from standard input."""
        key = self.root / f"key-{number}"
        line = token if number % 2 else token.partition("#")[0].strip()
        result = gopa("enrol", "--identity", key, "--invitation", "-", said=f"{line}\nmore\n")
        assert result.exit_code == 0, result.output
        return result.stdout

    def create(self, name: str, *who: object) -> tuple[object, ...]:
        board = ("--board", AWAY, "--log-key", log_key(), "--offline", "--mode", "signed")
        plan = ("--epsilon", "100", "--delta", "0.01")
        return ("session", "create", self.root / name, *board, *plan, *who)

    @property
    def both(self) -> tuple[object, ...]:
        return ("--invitations", self.invitations, "--enrolments", self.enrolments)


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path)


def test_who_was_invited_and_answered_is_on_the_roster(people: People) -> None:
    assert stat.S_IMODE(people.invitations.stat().st_mode) == 0o600
    assert len({each.split()[0] for each in people.tokens}) == COUNT
    assert gopa(*people.create("mine", *people.both)).exit_code == 0
    place = OrganiserPlace(people.root / "mine")
    admission = place.manifest(place.ticket()).admission
    assert isinstance(admission, Roster)
    keys = sorted(line.split()[2] for line in people.answers)
    assert sorted(key.hex() for key in admission.keys) == keys


def test_invitations_are_not_written_over_anything(people: People) -> None:
    before = people.invitations.read_bytes()
    result = gopa("session", "invite", people.invitations, "--count", COUNT)
    assert result.exit_code != 0
    assert people.invitations.read_bytes() == before


def test_an_invitation_is_read_from_a_file_too(people: People) -> None:
    path, key = people.root / "mine", people.root / "key-0"
    path.write_text(people.tokens[0].split()[0] + "\n")
    arguments = ("enrol", "--identity", key, "--invitation", path)
    assert gopa(*arguments).stdout == people.answers[0]
    path.write_bytes(b"\xff\xfe\n")
    refused(*arguments)
    path.unlink()
    refused(*arguments)


def test_both_files_are_needed_and_each_line_has_to_be_an_answer(people: People) -> None:
    both = people.both
    assert gopa(*people.create("first", *both)).exit_code == 0
    for half in (both[:2], both[2:]):
        refused(*people.create("no", *half))
    refused(*people.create("no", "--roster", people.enrolments, *both))
    for wrong in ("", "# nobody\n", "".join(people.answers) + "nonsense\n", people.tokens[0]):
        people.enrolments.write_text(wrong)
        refused(*people.create("no", *both))
    people.enrolments.unlink()
    refused(*people.create("no", *both))
    assert not (people.root / "no").exists()


def test_an_exchanged_key_does_not_get_on_the_roster(people: People) -> None:
    assert gopa(*people.create("first", *people.both)).exit_code == 0
    words = [line.split() for line in people.answers]
    words[0][2], words[1][2] = words[1][2], words[0][2]
    people.enrolments.write_text("".join(" ".join(each) + "\n" for each in words))
    refused(*people.create("no", *people.both))
    assert not (people.root / "no").exists()
