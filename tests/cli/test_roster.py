"""Rosters with names, the files that `gopa keygen` writes, and names in what people read."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from click.testing import CliRunner, Result

from gopa.cli import commands
from gopa.cli.roster import Names, RosterLine, read_roster
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
