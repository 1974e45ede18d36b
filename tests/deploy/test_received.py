"""Somebody received a `.gopa` file, and has the page about it: its commands, and what they say."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.auditing.transcripts import path_of, stated
from tests.board.waiting import LONG
from tests.deploy.test_readme import ROOT, blocks, environment

PAGE: Final = (ROOT / "docs" / "audit" / "README.md").read_text()
GOOD: Final = "clean_full"
BAD: Final = "organiser_wrong_roll"
LINES: Final = ("Result", "Who", "Privacy", "Not said")

pytestmark = pytest.mark.soak


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
