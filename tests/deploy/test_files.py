"""The files in `deploy/`: read by what they are for, and with the same paths everywhere."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from bulletin_board.admission import RefusalReason
from bulletin_board.witness.asking import WitnessState
from gopa.cli.config import read_config
from tests.board.asking import ask
from tests.board.live import live_board, live_witness, witnessed
from tests.deploy.test_pages import ROOT, blocks, section

DEPLOY: Final = ROOT / "deploy"
UNITS: Final = sorted((DEPLOY / "systemd").glob("*.service"))
OWN: Final = {"/srv/board", "/srv/witness", "/srv/session", "/srv/party", "/etc/gopa", "/opt/gopa"}
PATH: Final = re.compile(r"(?<![\w./$}])/(?:srv|etc/gopa|opt)(?:/[\w.]+)*")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_units(unit: Path, tmp_path: Path) -> None:
    """As if the command were installed where they say."""
    analyse = shutil.which("systemd-analyze")
    if analyse is None:
        pytest.skip("systemd-analyze is not installed")

    def verify(text: str) -> subprocess.CompletedProcess[str]:
        copy = tmp_path / unit.name
        copy.write_text(text.replace("/opt/gopa/bin/gopa", sys.executable))
        command = [analyse, "verify", "--man=no", str(copy)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    right = verify(unit.read_text())
    assert (right.returncode, right.stderr) == (0, "")
    wrong = verify(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=perhaps"))
    assert "protect system" in wrong.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_can_write_their_own_directory_only(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    (writes,) = [line for line in lines if line.startswith("ReadWritePaths=")]
    place = writes.partition("=")[2]
    (command,) = [line for line in lines if line.startswith("ExecStart=")]
    assert place in command
    assert "ProtectSystem=strict" in lines
    assert "CapabilityBoundingSet=" in lines


def test_config_files_are_read() -> None:
    board, witness, session, party = (
        read_config(DEPLOY / f"{name}.toml") for name in ("board", "witness", "session", "party")
    )
    assert witness["board.witness"]["logs"] == ["/etc/gopa/log.vkey"]
    assert board["board.serve"]["sessions"] is True
    assert session["session.create"]["epsilon"] == party["join"]["epsilon"] == "1"
    assert session["session.open"]["others"] == [("confirm", "1800")]


def test_paths_are_the_same_everywhere() -> None:
    pages = [*DEPLOY.rglob("*"), ROOT / "docs" / "deploy.md"]
    found = {
        path: page.name
        for page in pages
        if page.is_file()
        for path in PATH.findall(page.read_text())
    }
    roots = {"/".join(path.split("/")[:3]) for path in found if path not in {"/srv", "/opt"}}
    assert roots == OWN, found


def test_container_and_service_run_the_same_command() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    inside = re.findall(r'"([^"]*)"', text.rpartition("\nCMD ")[2])
    unit = (DEPLOY / "systemd" / "gopa-board.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    assert shlex.split(line)[1:] == inside
    compose = (DEPLOY / "compose.yaml").read_text()
    assert f"[{', '.join(inside)}" in compose
    (page, *_) = blocks(section(ROOT / "docs" / "deploy.md", "On several machines"))
    assert f"gopa {shlex.join(inside)}" in page


RULE: Final = re.compile(
    r"      - alert: (?P<name>[A-Z]\w+)\n"
    r"        expr: (?P<expr>[^\n]+)\n"
    r"(?:        for: (?P<lasting>\d+[mhd])\n)?"
    r"        annotations:\n"
    r'          summary: "(?P<summary>[^"\\\n]+)"\n'
)


def read_rules(text: str) -> list[dict[str, str]]:
    """The rules of a file that has this form and no other: anything else stays over."""
    head = "groups:\n  - name: gopa-board\n    rules:\n"
    comments, found, rest = text.partition(head)
    assert found
    assert all(line.startswith("#") for line in comments.splitlines())
    rules = [match.groupdict() for match in RULE.finditer(rest)]
    assert RULE.sub("", rest) == ""
    return rules


def test_alerts_are_about_figures_that_a_board_has(tmp_path: Path) -> None:
    """A rule with a wrong name never wakes anybody."""
    rules = read_rules((DEPLOY / "alerts.yml").read_text())
    assert len({rule["name"] for rule in rules}) == len(rules) > 5
    assert "rule_files: [alerts.yml]\n" in (DEPLOY / "prometheus.yml").read_text()
    with live_witness(tmp_path, 1) as witness, ExitStack() as stack:
        url = stack.enter_context(live_board(tmp_path / "log", policy=witnessed(1, witness)))
        page = ask(url, "GET", "/metrics").body.decode()
    names = {re.split(r"[{ ]", line)[0] for line in page.splitlines() if line[0] != "#"}
    names |= set(re.findall(r"^# TYPE (\w+) ", page, re.MULTILINE))
    outcomes = {reason.code for reason in RefusalReason}
    states = {state.value for state in WitnessState}
    for rule in rules:
        expr = rule["expr"]
        used = set(re.findall(r"\b(?:gopa_\w+|up)\b", expr))
        assert used, rule
        assert used <= names | {"up"}, rule
        assert re.search(r"[<>=]=? ", expr), "without a bound it would always hold"
        assert set("".join(re.findall(r'outcome=~"([^"]*)"', expr)).split("|")) <= outcomes | {""}
        assert set(re.findall(r'state="([^"]*)"', expr)) <= states
        assert expr.count("(") == expr.count(")")


def test_prometheus_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    command = [promtool, "check", "config", str(DEPLOY / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
