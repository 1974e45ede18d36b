"""Options of commands from TOML files."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gopa.cli import commands
from gopa.cli.config import TABLES, config_option, read_config
from tests.board.tools import log_key
from wire.errors import UsageError

GOOD = """
[board.serve]
sessions = true
most_sessions = 7

[session.create]
board = "http://127.0.0.1:9"
epsilon = 100
delta = 0.01
anyone = true
parties = 12
offline = true
mode = "signed"

[session.open]
join-seconds = 5
seconds = { commit = 10, publish = 2.5 }

[join]
identity = "ada"
epsilon = 0.5
yes = true
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gopa.toml"


def test_options_are_read_by_their_names(path: Path) -> None:
    path.write_text(GOOD)
    found = read_config(path)
    assert found["board.serve"] == {"sessions": True, "most_sessions": "7"}
    assert found["session.open"]["others"] == [("commit", "10"), ("publish", "2.5")]
    assert found["join"] == {"identity": "ada", "epsilon": "0.5", "yes": True}
    path.write_text("[session.open]\n")
    assert read_config(path) == {name: {} for name in TABLES}


def test_a_command_takes_its_table_and_the_line_counts_more(path: Path, tmp_path: Path) -> None:
    path.write_text(GOOD)
    line = ["session", "create", str(tmp_path / "may"), "--config", str(path)]
    line += ["--log-key", str(log_key()), "-n", "10", "--json"]
    made = CliRunner().invoke(commands, line)
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["parties"] == 10
    assert json.loads(made.stdout)["delta"] == "0.01"


def test_values_reach_the_command_as_from_the_line(path: Path) -> None:
    @click.command()
    @click.option("--seconds", "others", type=(str, float), multiple=True)
    @config_option("session.open")
    def taken(others: tuple[tuple[str, float], ...]) -> None:
        click.echo(json.dumps(others))

    path.write_text(GOOD)
    assert CliRunner().invoke(taken, ["--config", str(path)]).stdout == (
        '[["commit", 10.0], ["publish", 2.5]]\n'
    )
    more = CliRunner().invoke(taken, ["--config", str(path), "--seconds", "unmask", "1"])
    assert more.stdout == '[["unmask", 1.0]]\n'


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("[board.serve]\nsesions = true", "sessions"),
        ("[session.open]\njoin-second = 1", "join-seconds"),
        ("[session.opens]\n", "[session.open]"),
        ("[boards.serve]\nsessions = true", "[board.serve]"),
        ("sessions = true", ""),
        ("[session.open]\nconfig = 'x'", ""),
        ("[session.open]\ndirectory = 'x'", ""),
        ("[board]\nsessions = true", "[board.serve]"),
        ("[join]\nidentiti = 'x'", "identity"),
        ("[join]\nticket = 'x'", ""),
        ("[joins]\nidentity = 'x'", "[join]"),
        ("[join.serve]\nidentity = 'x'", ""),
        ("join = true", "[join]"),
        ("[board.serve]\nsessions = 1", "true or false"),
        ("[board.serve]\nport = true", "number"),
        ("[board.serve]\nport = [1, 2]", "number"),
        ("[board.serve]\nport = 1979-05-27", "number"),
        ("[session.open]\nseconds = 5", "table"),
        ("[session.open]\nseconds = { commit = [1] }", "number"),
        ("[session.open", "is no TOML"),
        ("[session.open]\nseconds = " + 100_000 * "[", "is no TOML"),
        ("[[board.serve]]\nport = 1", "write [board.serve]"),
        ('[board.serve]\norganisers = "a\\u0000b"', "shown"),
        ("[board.serve]\nlog-level = 'info'\nlog_level = 'error'", "twice"),
        ("[session.open]\npause = 1\npause = 2", "is no TOML"),
    ],
)
def test_everything_else_is_one_line_that_says_what_to_change(
    path: Path, text: str, near: str
) -> None:
    path.write_text(GOOD)
    read_config(path)
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_config(path)
    assert refused.value.field == "--config"
    assert near in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_that_is_none_is_said(path: Path) -> None:
    for make in (lambda: None, lambda: path.write_bytes(b"\xff\xfe"), path.unlink):
        make()
        with pytest.raises(UsageError):
            read_config(path)


def test_a_value_that_the_option_refuses_is_wrong_usage(path: Path, tmp_path: Path) -> None:
    path.write_text("[board.serve]\nport = 'http'\n")
    line = ["board", "serve", str(tmp_path), "--config", str(path)]
    assert CliRunner().invoke(commands, line).exit_code == 2
