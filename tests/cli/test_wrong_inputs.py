"""Every wrong input of every command ends with one line that says what to change."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from bulletin_board.note import KeyKind, NoteSigner
from gopa.cli import COMMANDS, commands
from gopa.cli.entry import run
from gopa.sessions.vault import identity
from wire.errors import UsageError
from wire.secret import SecretBytes

CREATE = "session create new --board https://board.example --epsilon 1 --delta 1e-6 --offline"
PLAN = "plan --epsilon 1 --delta 1e-6"
SIMULATE = "simulate --epsilon 1 --delta 1e-6"
KEY = NoteSigner("log.example", KeyKind.LOG, SecretBytes(bytes(32))).verifier

WRONG = f"""
audit
audit nothing.gopa
audit words.txt
audit words.txt --trust-embedded
audit folder
audit ftp://board.example --trust-embedded
audit http://127.0.0.1:9 --trust-embedded
audit words.txt --anchors nothing
audit words.txt --anchors words.txt
audit words.txt --anchors folder
audit words.txt --session 12
audit words.txt --jobs 0
audit words.txt --trace xyz
audit words.txt --since words.txt
audit words.txt --receipt nothing
audit words.txt --html folder
audit words.txt --json --details
audit --evidence words.txt
audit --evidence nothing
audit words.txt --no-such-option
board nothing
board init folder
board init new --origin
board evidence words.txt --log {KEY}
board export folder new.gopa --log {KEY}
board export nothing new.gopa
board fsck folder --log words
board fsck nothing
board import words.txt new
board import nothing new --log {KEY}
board proof folder x
board proof folder 3 --policy words.txt
board reindex folder
board serve nothing
board serve folder
board serve folder --port 99999999
board serve folder --roster words.txt
board serve folder --tls-cert nothing
board tail folder
board tail http://127.0.0.1:9 --log words
board witness new
board witness new --name w/with+plus
demo -n 2
demo -n many
demo --out words.txt
demo twice
enrol
enrol --identity words.txt --invitation words.txt
enrol --identity nothing --invitation nothing
join
join nothing.json --identity words.txt --value 1
join words.txt --identity words.txt --value 1
join words.txt --identity nothing --value 1
join words.txt --identity words.txt
join words.txt --identity words.txt --value half
join words.txt --identity words.txt --file numbers.txt
join words.txt --identity words.txt --file wrong.json
join words.txt --identity words.txt --file wrong.npy
join words.txt --identity words.txt --value 1 --epsilon much
join words.txt --identity words.txt --value 1 --corrupt-share 1/0
join words.txt --identity words.txt --value 1 --patience nan
join words.txt --config nothing
join words.txt --config words.txt
board serve folder --config wrong.json
session open folder --config folder
session roster words.txt
session roster new ada
session roster new ada=12
keygen folder
keygen words.txt
keygen new --passphrase-file nothing
keygen new --key-file words.txt
{PLAN}
{PLAN} -n 1
{PLAN} -n many
{PLAN} -n 3000000
{PLAN} -n 100 --corrupt 100
{PLAN} -n 100 --dropout 1
{PLAN} -n 100 --low 1 --high 0
{PLAN} -n 100 --recovery half
{PLAN} -n 100 --mask none
{PLAN} -n 100 --plot picture.pdf
plan -n 100 --epsilon -1 --delta 1e-6
plan -n 100 --epsilon 1 --delta 2
plan -n 100 --epsilon one --delta 1e-6
{CREATE}
{CREATE} --roster nothing --log-key {KEY}
{CREATE} --roster words.txt --log-key {KEY}
{CREATE} --anyone --log-key words
{CREATE} --invitations words.txt --enrolments words.txt --log-key {KEY}
session open nothing
session open folder
session close folder
session status nothing
session status words.txt
session invite words.txt --count 3
session invite new --count 0
{SIMULATE}
{SIMULATE} -n 2
{SIMULATE} -n 10 --values nothing
{SIMULATE} --values words.txt
{SIMULATE} -n 10 --values numbers.txt
{SIMULATE} -n 10 --dropouts 2
{SIMULATE} -n 10 --out folder --mode off
attack
attack nothing-of-that-name
attack all --load nothing.py
attack privacy --plan words.txt
attack privacy --draws 0
attack privacy --confidence 1
demo -n 2
demo --out words.txt
demo --out folder/some/place
doctor --no-such-option
no-such-command
""".strip().splitlines()


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: object
    out: str
    err: str


def end(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ended:
    monkeypatch.setattr(sys, "argv", ["gopa", *line.split()])
    with pytest.raises(SystemExit) as ended:
        run(commands)
    return Ended(ended.value.code, *capsys.readouterr())


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with files that hold something else than is asked for."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "some").write_text("thing")
    (tmp_path / "words.txt").write_text("a few words\n")
    (tmp_path / "numbers.txt").write_text("0.5 0.25\n0.5 o.25\n")
    (tmp_path / "wrong.json").write_text('{\n"a": \n}')
    (tmp_path / "wrong.npy").write_bytes(b"no array")
    for path in tmp_path.glob("*.txt"):
        path.chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line in WRONG} - {"no-such-command"} == set(COMMANDS)
    assert len(WRONG) >= 60


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_input_is_one_line_that_says_what_to_change(
    line: str,
    files: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = sorted(files.rglob("*"))
    ended = end(line, capsys, monkeypatch)
    said = (ended.err or ended.out).splitlines()
    assert ended.code in {1, 2, 3}
    assert len(said) == 1, said
    assert not (ended.out and ended.err)
    assert len(said[0]) > 20
    assert "Error" not in said[0]
    assert "Traceback" not in said[0]
    assert ended.code == 2 or line.startswith(("audit", "board"))
    assert sorted(files.rglob("*")) == before


@pytest.mark.usefixtures("files")
def test_a_word_that_is_no_number_is_named_by_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values are private: the word itself is not repeated."""
    line = "join words.txt --identity words.txt --file numbers.txt"
    said = end(line, capsys, monkeypatch).err
    assert "line 2: word 2" in said
    assert "o.25" not in said


@pytest.mark.usefixtures("files")
def test_a_word_that_is_no_key_is_named_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = end("board serve folder --roster words.txt", capsys, monkeypatch).err
    assert "words.txt, line 1: 'a few words'" in said


@pytest.mark.parametrize(
    ("typed", "meant"), [("verify", "audit"), ("adit", "audit"), ("simulat", "simulate")]
)
def test_a_command_that_there_is_not_leads_to_the_one_that_is_meant(
    typed: str,
    meant: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = end(f"{typed} words.txt", capsys, monkeypatch)
    assert (ended.code, f"did you mean {meant}?" in ended.err) == (2, True)
    assert "did you mean" not in end("qqqqqqq words.txt", capsys, monkeypatch).err


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_public_half_of_a_key_is_called_so_and_the_other_one_named(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["gopa", "keygen", "ada"])
    with pytest.raises(SystemExit) as ended:
        run(commands)
    assert ended.value.code == 0
    assert identity.public_key(files / "ada").data.hex() in (files / "ada.pub").read_text()
    (files / "ada.pub").chmod(mode)
    with pytest.raises(UsageError) as failure:
        identity.load(Path("ada.pub"))
    assert failure.value.field == "identity"
    capsys.readouterr()
    said = end("join words.txt --identity ada.pub --value 1", capsys, monkeypatch)
    assert (said.code, said.err.split()[-1], "chmod" in said.err) == (2, "ada", False)


@pytest.mark.usefixtures("files")
def test_an_endless_epsilon_leads_to_the_exact_sum(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert end("plan -n 20 --epsilon none --delta 1e-6", capsys, monkeypatch).code == 0
    for word in ("inf", "Infinity"):
        said = end(f"plan -n 20 --epsilon {word} --delta 1e-6", capsys, monkeypatch)
        assert (said.code, "--epsilon none" in said.err) == (2, True)


@pytest.mark.usefixtures("files")
def test_a_part_may_be_given_in_percent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "plan -n 200 --epsilon 1 --delta 1e-6 --json --corrupt"
    parts = [end(f"{line} {part}", capsys, monkeypatch) for part in ("0.2", "20%")]
    assert parts[0].code == 0
    assert parts[0] == parts[1]
    for wrong in ("%", "a%", "20%%", "200%", "nan%"):
        assert end(f"{line} {wrong}", capsys, monkeypatch).code == 2
