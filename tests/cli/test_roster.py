"""Rosters with names, the files that `gopa keygen` writes, and names in what people read."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gopa.cli import commands
from gopa.cli.roster import Names, RosterLine, read_roster
from gopa.contract.manifest import Roster
from gopa.sessions.organising.storage import OrganiserPlace
from tests.board.tools import log_key
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import UsageError

KEYS = [SigningKey.generate(seeded(f"roster {number}")).public.data for number in range(3)]


def gopa(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments])


def test_keys_become_a_roster(tmp_path: Path) -> None:
    for name in ("ada", "ben"):
        made = gopa("keygen", tmp_path / "new" / "keys" / name)
        assert made.exit_code == 0, made.output
    keys = tmp_path / "new" / "keys"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    path = tmp_path / "roster.txt"
    made = gopa("session", "roster", path, keys / "ada.pub")
    assert made.exit_code == 0, made.output
    more = gopa("session", "roster", path, keys / "ben.pub", f"cem={KEYS[0].hex()}", "--json")
    found = json.loads(more.stdout)["parties"]
    assert [each["name"] for each in found] == ["ada", "ben", "cem"]
    assert [each.key.hex() for each in read_roster(path)] == [each["key"] for each in found]
    shown = gopa("session", "roster", path).stdout.split()
    assert shown[:3] == ["1", "ada", found[0]["key"]]


def test_a_party_stands_on_a_roster_once(tmp_path: Path) -> None:
    path = tmp_path / "roster.txt"
    assert gopa("session", "roster", path, f"ada={KEYS[0].hex()}").exit_code == 0
    before = path.read_bytes()
    for wrong in (
        f"eve={KEYS[0].hex()}",
        f"ada={KEYS[1].hex()}",
        f"={KEYS[1].hex()}",
        f"a#b={KEYS[1].hex()}",
        "eve=12",
        "eve",
        tmp_path / "nowhere.pub",
        f"Ada={KEYS[1].hex()}",
        f"\uff41da={KEYS[1].hex()}",
    ):
        refused = gopa("session", "roster", path, wrong)
        assert isinstance(refused.exception, UsageError), wrong
        assert path.read_bytes() == before
    assert isinstance(gopa("session", "roster", tmp_path / "none").exception, UsageError)
    assert gopa("session", "roster", path, f"eve={KEYS[1].hex()}").exit_code == 0


def test_the_file_of_a_party_holds_one_key(tmp_path: Path) -> None:
    path, sent = tmp_path / "roster.txt", tmp_path / "eve.pub"
    sent.write_text(f"{KEYS[0].hex()}  # eve\n")
    assert gopa("session", "roster", path, sent).exit_code == 0
    sent.write_text(f"{KEYS[1].hex()}  # mallory\n{KEYS[2].hex()}  # trudy\n")
    assert isinstance(gopa("session", "roster", path, sent).exception, UsageError)
    assert [each.key for each in read_roster(path)] == [KEYS[0]]


def test_keygen_writes_over_no_public_key(tmp_path: Path) -> None:
    (tmp_path / "me.pub").write_text("mine\n")
    assert isinstance(gopa("keygen", tmp_path / "me").exception, UsageError)
    assert not (tmp_path / "me").exists()
    assert gopa("keygen", tmp_path / "you").exit_code == 0


def test_names_stand_in_front_of_keys() -> None:
    names = Names.of([RosterLine(KEYS[0], "ada"), RosterLine(KEYS[1], "")])
    short = KEYS[0].hex()[:16]
    assert names.shown(KEYS[0]) == f"ada ({short})"
    assert names.shown(KEYS[1]) == KEYS[1].hex()[:16]
    assert names.put_in(f"party {short}: late") == f"party ada ({short}): late"
    assert names.put_in(KEYS[0].hex()) == f"ada ({KEYS[0].hex()})"
    others = f"{KEYS[1].hex()} {short}00 {short[:-1]} {short}{KEYS[1].hex()[16:]}"
    assert names.put_in(others) == others


def test_names_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "roster.txt"
    path.write_text(f"{KEYS[0].hex()}  # \x1b[2Jada\n")
    assert "\x1b" not in read_roster(path)[0].name
    assert "\x1b" not in gopa("session", "roster", path).output


AWAY = "http://127.0.0.1:9"


COUNT = 10


def gopa_invitations(*arguments: object, said: str = "") -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments], input=said)


def refused(*arguments: object) -> UsageError:
    result = gopa_invitations(*arguments)
    assert isinstance(result.exception, UsageError), (result.exception, result.output)
    return result.exception


class People:
    """Some that were invited, each with a key and a way to answer."""

    def __init__(self, root: Path) -> None:
        self.root, self.invitations = root, root / "invitations"
        self.enrolments = root / "enrolments"
        assert (
            gopa_invitations("session", "invite", self.invitations, "--count", COUNT).exit_code == 0
        )
        self.tokens = self.invitations.read_text().splitlines()
        self.keys: list[str] = []
        for number in range(COUNT):
            assert gopa_invitations("keygen", root / f"key-{number}").exit_code == 0
        self.answers = [self.answer(number, token) for number, token in enumerate(self.tokens)]
        self.enrolments.write_text("".join(self.answers))

    def answer(self, number: int, token: str) -> str:
        """What somebody prints who reads the invitation from standard input."""
        key = self.root / f"key-{number}"
        line = token if number % 2 else token.partition("#")[0].strip()
        result = gopa_invitations(
            "enrol", "--identity", key, "--invitation", "-", said=f"{line}\nmore\n"
        )
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
    assert gopa_invitations(*people.create("mine", *people.both)).exit_code == 0
    place = OrganiserPlace(people.root / "mine")
    admission = place.manifest(place.ticket()).admission
    assert isinstance(admission, Roster)
    keys = sorted(line.split()[2] for line in people.answers)
    assert sorted(key.hex() for key in admission.keys) == keys


def test_invitations_are_not_written_over_anything(people: People) -> None:
    before = people.invitations.read_bytes()
    result = gopa_invitations("session", "invite", people.invitations, "--count", COUNT)
    assert result.exit_code != 0
    assert people.invitations.read_bytes() == before


def test_an_invitation_is_read_from_a_file_too(people: People) -> None:
    path, key = people.root / "mine", people.root / "key-0"
    path.write_text(people.tokens[0].split()[0] + "\n")
    arguments = ("enrol", "--identity", key, "--invitation", path)
    assert gopa_invitations(*arguments).stdout == people.answers[0]
    path.write_bytes(b"\xff\xfe\n")
    refused(*arguments)
    path.unlink()
    refused(*arguments)


def test_both_files_are_needed_and_each_line_has_to_be_an_answer(people: People) -> None:
    both = people.both
    assert gopa_invitations(*people.create("first", *both)).exit_code == 0
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
    assert gopa_invitations(*people.create("first", *people.both)).exit_code == 0
    words = [line.split() for line in people.answers]
    words[0][2], words[1][2] = words[1][2], words[0][2]
    people.enrolments.write_text("".join(" ".join(each) + "\n" for each in words))
    refused(*people.create("no", *people.both))
    assert not (people.root / "no").exists()
