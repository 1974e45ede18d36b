"""A session as a page shows it: three terminals, from keys to an audited result."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.auditing.transcripts import path_of, stated
from tests.board.live import free_port
from tests.board.waiting import LONG, until

ROOT: Final = Path(__file__).resolve().parent.parent.parent


PARTIES: Final = 6


def section(page: Path, title: str) -> str:
    """What stands under a heading."""
    return page.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str = "sh") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """As in a terminal where the commands of this installation are found."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path}


class Terminal:
    """A block that runs, with what it logs in a file."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process, self._log = process, log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def logs(self, text: str) -> bool:
        """Wait until it has logged this, or ends."""
        return until(lambda: text in self.log or self.process.poll() is not None)

    def ends(self, seconds: float = LONG) -> str:
        """What it printed, when it has ended well."""
        out, _ = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, (out, self.log)
        return out


@contextmanager
def terminal(block: str, place: Path, name: str) -> Iterator[Terminal]:
    """Somebody pastes a block into a terminal of its own."""
    log = place / f"{name}.err"
    with log.open("w") as errors:
        process = subprocess.Popen(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            cwd=place,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            yield Terminal(process, log)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=LONG)


def answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310 - http
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.mark.soak
def test_three_terminals(tmp_path: Path) -> None:
    board, organiser, parties = blocks(section(ROOT / "docs" / "deploy.md", "On one machine"))
    port = free_port()
    usual, address = "http://127.0.0.1:8765", f"http://127.0.0.1:{port}"
    served = board.rstrip().replace("--sessions", f"--sessions --port {port}")
    assert served != board.rstrip()
    with terminal(f"{served} & trap 'kill $!' TERM; wait || wait", tmp_path, "one") as first:
        assert until(lambda: answers(address))
        assert (tmp_path / "board" / "log.vkey").read_text().startswith("board.example/2026+")
        with terminal(organiser.replace(usual, address), tmp_path, "two") as second:
            assert second.logs("round 1: joining")
            with terminal(parties.replace(usual, address), tmp_path, "three") as third:
                out = third.ends()
            second.ends()
        first.process.send_signal(signal.SIGTERM)
        first.ends()
    asked, *answered = out.split("yours is among them")
    assert "Do you agree?" in asked  # before anybody answers
    assert len(answered) == PARTIES
    assert "VALID" in answered[-1]
    assert (tmp_path / "report.html").read_text().startswith("<!")
    assert f"over {PARTIES} parties" in second.log
    assert "listening at" in first.log
    assert "stopped: " in first.log
    assert oct((tmp_path / "keys" / "ada").stat().st_mode & 0o777) == "0o600"


PAGE: Final = (ROOT / "docs" / "audit" / "README.md").read_text()


GOOD: Final = "clean_full"


BAD: Final = "organiser_wrong_roll"


LINES: Final = ("Result", "Who", "Privacy", "Not said")


@dataclass(frozen=True)
class Auditor:
    """Has a directory with a file in it, and knows nothing else."""

    place: Path

    def does(self, command: str, code: int) -> str:
        """Runs a command of the page; what it prints, if it ends with this code."""
        done = subprocess.run(
            shlex.split(command),
            cwd=self.place,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )
        assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    def is_told(self, manifest: str, log: str) -> None:
        """Somebody believable says both; they are written down as the page shows."""
        (example,) = [each for each in blocks(PAGE, "") if each.startswith("manifest ")]
        text = re.sub(r"^manifest .*$", f"manifest {manifest}", example, flags=re.MULTILINE)
        text = re.sub(r"^log .*$", f"log {log}", text, flags=re.MULTILINE)
        (self.place / "anchors.txt").write_text(text)


def received(name: str, place: Path) -> Auditor:
    place.mkdir()
    (place / "session.gopa").write_bytes(path_of(name).read_bytes())
    return Auditor(place)


def command(*words: str) -> str:
    """The one command of the page with these words."""
    fenced = re.findall(r"^ *```sh\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL)
    lines: list[str] = [line.strip() for block in fenced for line in block.splitlines()]
    (found,) = [line for line in lines if all(word in line for word in words)]
    return found


def row(code: int) -> str:
    """What the page says about an exit code."""
    (found,) = re.findall(rf"^\| .* \| {code} \| .*$", PAGE, re.MULTILINE)
    return str(found)


@pytest.mark.soak
def test_without_trust_nothing_is_established_and_the_way_to_it_is_shown(tmp_path: Path) -> None:
    auditor = received(GOOD, tmp_path / "a place with blanks")
    usual, alone = command("--html"), command("--trust-embedded")
    without = usual.replace(" --anchors anchors.txt", "")
    said = auditor.does(without, 3)
    assert said.startswith("INCOMPLETE (exit code 3)")
    assert "anchor is missing" in row(3)
    advice = [line for line in said.splitlines() if "->" in line]
    assert len([line for line in advice if "--anchors" in line]) == 2  # log and manifest
    said = auditor.does(alone, 8)
    said_of = said.partition("(exit code 8): ")[2].lower()
    assert said_of.startswith("self-consistent; keys not anchored.")
    assert "not anchored" in " ".join((auditor.place / "report.html").read_text().split())


@pytest.mark.soak
def test_with_anchors_from_elsewhere_the_result_stands(tmp_path: Path) -> None:
    auditor, usual, known = received(GOOD, tmp_path / "in"), command("--html"), stated(GOOD)
    manifest, log = known["anchors"]["manifest_sha256"], known["anchors"]["log"]
    auditor.is_told(manifest, log)
    said = auditor.does(usual, 0)
    assert said.startswith("VALID (exit code 0)")
    begins = [line.split("  ")[0] for line in said.splitlines()[1:]]
    assert [line for line in begins if line in LINES] == list(LINES)
    page = (auditor.place / "report.html").read_text()
    assert manifest in page  # to be read to somebody over the telephone
    facts = json.loads(auditor.does("gopa audit session.gopa --anchors anchors.txt --json", 0))
    assert facts["anchors"] == {"log": "outside", "manifest": "outside"}

    (auditor.place / "anchors.txt").write_text(f"manifest {manifest}\n")
    assert auditor.does(usual, 3).count("->") == 1
    auditor.is_told("00" * 32, log)
    assert auditor.does(usual, 1).startswith("INVALID")


@pytest.mark.soak
def test_what_is_not_valid_convicts_somebody_before_anybody(tmp_path: Path) -> None:
    auditor, known = received(BAD, tmp_path / "in"), stated(BAD)
    auditor.is_told(known["anchors"]["manifest_sha256"], known["anchors"]["log"])
    said = auditor.does(command("--evidence-dir"), 1)
    assert said.startswith("INVALID (exit code 1)")
    (file, *_) = sorted((auditor.place / "evidence").iterdir())
    judge = command("--evidence ").replace("FILE.evidence", shlex.quote(file.name))
    (auditor.place / "session.gopa").unlink()  # a third person has the file alone
    assert auditor.does(judge, 0).startswith("CONVICTS organiser")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    auditor.does(judge, 1)


PAGE_WITNESSES: Final = ROOT / "docs" / "board" / "two-witnesses.md"


SCRIPT: Final = ROOT / "deploy" / "two-witnesses.sh"


DONE: Final = re.compile(r"gopa (?:board (?:init|witness|serve)|keygen)")


def test_the_page_has_the_steps_of_the_script_in_their_order() -> None:
    steps = re.findall(r"^\| \d \|.*$", section(PAGE_WITNESSES, "On three machines"), re.MULTILINE)
    shown = [command for step in steps for command in DONE.findall(step)]
    done = [command for line in SCRIPT.read_text().splitlines() for command in DONE.findall(line)]
    assert shown == done
    assert len(shown) == 4
    numbers = re.findall(r'^echo "(\d)\. ', SCRIPT.read_text(), re.MULTILINE)
    assert numbers == [step[2] for step in steps][: len(numbers)]


@pytest.mark.soak
def test_a_newcomer_sets_up_all_of_it(tmp_path: Path) -> None:
    (start, ask) = blocks(section(PAGE_WITNESSES, "On one machine"))
    port = free_port()
    start = start.replace("deploy/", f"{ROOT}/deploy/").replace(" trial", f" trial {port}")
    with terminal(f"exec {start}", tmp_path, "servers") as servers:
        place = tmp_path / "trial"
        log = place / "log" / "board"
        assert until(lambda: log.exists() and "listening at" in log.read_text())
        with terminal(ask.replace("8765", str(port)), place, "people") as people:
            out = people.ends(10 * LONG)
        assert "Do you agree?" not in out  # nobody was asked: the answers are on the line
        assert "VALID (exit code 0)" in out
        assert "too few witnesses" not in people.log
        for number in (1, 2):
            assert (place / f"witness-{number}" / "witness.vkey").exists()
        with pytest.raises(OSError):  # noqa: PT011 - whatever the system says of that
            urlopen(f"http://localhost:{port}/healthz", timeout=LONG)  # it speaks TLS alone
        servers.process.send_signal(signal.SIGTERM)
        servers.ends()
    for name in ("board", "witness-1", "witness-2"):
        assert "stopped: " in (place / "log" / name).read_text()


NAMES: Final = ("ada", "ben", "cem", "dan", "eve", "fay")


PYTHON: Final = "fay"


KILLED: Final = "ben"


PAGE_MACHINES: Final = (ROOT / "docs" / "deploy.md").read_text()


class Machines:
    """Everything below one directory, with a place of its own for each party."""

    def __init__(self, root: Path) -> None:
        self.root, self.port, self.figures = root, free_port(), free_port()
        for name in ("etc", "srv/session", *(f"srv/{name}" for name in NAMES)):
            (root / name).mkdir(parents=True)
        for name in ("board.toml", "session.toml"):
            text = (ROOT / "deploy" / name).read_text()
            (root / "etc" / name).write_text(self.placed(text))
        text = (ROOT / "deploy" / "party.toml").read_text()
        for name in NAMES:
            mine = text.replace("9102", str(free_port()))
            (root / "etc" / f"{name}.toml").write_text(self.placed(mine, name))
        (block, *_) = blocks(section(ROOT / "docs" / "deploy.md", "On several machines"))
        self.lines = [line for line in block.splitlines() if line and not line.startswith("#")]

    def placed(self, text: str, party: str = "ada") -> str:
        """The text with paths and addresses of this machine."""
        for wanted, here in (
            ("/srv/party", f"{self.root}/srv/{party}"),
            ("/srv/", f"{self.root}/srv/"),
            ("/etc/gopa/party.toml", f"{self.root}/etc/{party}.toml"),
            ("/etc/gopa", f"{self.root}/etc"),
            ("https://board.example", f"http://127.0.0.1:{self.port}"),
            ("8765", str(self.port)),
            ("9101", str(self.figures)),
            ("anchors anchors.txt", f"anchors {self.root}/srv/session/may/anchors.txt"),
        ):
            text = re.sub(rf"(?<!{re.escape(str(self.root))}){re.escape(wanted)}", here, text)
        return text

    def command(self, begins: str, party: str = "ada") -> list[str]:
        """The line of the page that begins so, as it is on this machine."""
        (line,) = [each for each in self.lines if each.startswith(begins)]
        return shlex.split(self.placed(line, party))

    def run(self, begins: str, party: str = "ada") -> str:
        return self.give(self.command(begins, party))

    def give(self, command: list[str]) -> str:
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False, timeout=LONG
        )
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    @contextmanager
    def serving(self, begins: str, party: str = "ada") -> Iterator[subprocess.Popen[str]]:
        with self.started(self.command(begins, party)) as process:
            yield process

    @contextmanager
    def started(
        self, command: list[str], log: Path | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        with ExitStack() as opened:
            errors = None if log is None else opened.enter_context(log.open("a"))
            process = subprocess.Popen(
                command, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
            )
            try:
                yield process
            finally:
                process.kill()
                process.communicate(timeout=LONG)


@pytest.mark.soak
def test_the_page_leads_to_an_audited_result(tmp_path: Path) -> None:
    here = Machines(tmp_path)
    here.run("gopa board init")
    (here.root / "srv" / "session" / "log.vkey").write_bytes(
        (here.root / "srv" / "board" / "log.vkey").read_bytes()
    )
    keys = []
    for name in NAMES:
        here.run("gopa keygen", name)
        public = here.root / "srv" / name / "key.pub"
        keys.append(f"{name}={public.read_text().split()[0]}")
    made = here.command("gopa session roster")
    here.give([*made[: made.index("roster") + 2], *keys])
    with here.serving("gopa board serve") as board:
        assert until(lambda: answers(f"http://127.0.0.1:{here.port}"))
        here.run("gopa session create")
        ticket = here.root / "srv" / "session" / "may" / "ticket.json"
        for name in NAMES:
            (here.root / "srv" / name / "ticket.json").write_bytes(ticket.read_bytes())
            (here.root / "srv" / name / "value.txt").write_text("1\n")
        with here.serving("gopa session open") as organiser:
            outs = _everybody_answers(here)
            assert organiser.wait(LONG) == 0
        report = here.root / "report.html"
        audit = here.command("gopa audit")
        said = here.give([*audit[: audit.index("--html")], "--html", str(report)])
        board.send_signal(signal.SIGTERM)
        assert board.wait(LONG) == 0
    assert all("yours is among them" in out for out in outs), outs
    assert said.startswith("VALID (exit code 0)")
    assert f"{len(NAMES)} of {len(NAMES)} parties" in said
    assert report.exists()


def _everybody_answers(here: Machines) -> list[str]:
    """One is killed in the middle of the round and started again, one is the page's Python."""
    with ExitStack() as running:
        log = here.root / "ben.log"
        first = running.enter_context(here.started(here.command("gopa join", KILLED), log))
        assert until(lambda: log.exists() and "round 1: joining" in log.read_text())
        with urlopen(f"http://127.0.0.1:{here.figures}/metrics", timeout=9) as page:
            assert "gopa_organiser_round 1\n" in page.read().decode()
        first.kill()
        first.wait(LONG)
        again = [
            running.enter_context(here.started(here.command("gopa join", name)))
            for name in NAMES
            if name != PYTHON
        ]
        python = running.enter_context(here.started(_python(here)))
        outs = [each.communicate(timeout=LONG)[0] for each in again]
        shown = python.communicate(timeout=LONG)[0]
    assert "mean" in shown, shown
    return outs


def _python(here: Machines) -> list[str]:
    """The page's program, in a directory that looks like that of the session on one machine."""
    (program,) = blocks(PAGE_MACHINES, "python")
    place = here.root / "readme"
    (place / "keys").mkdir(parents=True)
    (place / "may").symlink_to(here.root / "srv" / "session" / "may")
    (place / "keys" / PYTHON).symlink_to(here.root / "srv" / PYTHON / "key")
    return [sys.executable, "-c", f"import os; os.chdir({os.fspath(place)!r})\n{program}"]
