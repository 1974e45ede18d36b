"""Where nothing can be written a command says which file, and leaves nothing of it behind."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gopa.cli import commands
from gopa.cli.exits import LATER_EXIT, exit_code
from tests.board.tools import log_key
from tests.cli.test_roster import KEYS
from wire.errors import UsageError

CREATE = f"--board http://127.0.0.1:9 --log-key {log_key()} --offline --roster roster.txt"


@contextmanager
def no_room() -> Iterator[None]:
    """Files of this process take no more bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("keygen mine", "mine"),
        ("session invite them --count 3", "them"),
        (f"session roster list.txt ada={KEYS[0].hex()}", "list.txt"),
        ("board init log --origin board.example/1", "log"),
        (f"session create may {CREATE} --epsilon 8 --delta 1e-5 --corrupt 1", "may"),
        ("demo -n 20 --out tried", "tried"),
    ],
    ids=lambda text: text.partition(" -")[0],
)
def test_the_same_command_works_when_there_is_room(
    line: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roster.txt").write_text("".join(f"{key.hex()}\n" for key in KEYS))
    before = set(tmp_path.iterdir())
    with no_room():
        refused = CliRunner().invoke(commands, line.split())
    assert refused.exception is not None
    said, code = refused.output, refused.exit_code
    if isinstance(refused.exception, UsageError):  # which `gopa` turns into its line and its code
        said, code = str(refused.exception), exit_code(refused.exception)
    assert code == LATER_EXIT, said
    assert made in said
    assert set(tmp_path.iterdir()) == before
    if not line.startswith("demo"):  # which takes long
        assert CliRunner().invoke(commands, line.split()).exit_code == 0
        assert (tmp_path / made).exists()
