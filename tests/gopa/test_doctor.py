from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from commitments.backends import CHOICES, backend_status, ristretto255
from gopa.cli import commands
from gopa.cli.doctor import PACKAGES, Finding, diagnose
from gopa.support.extras import EXTRAS
from gopa.support.siblings import SIBLINGS
from gopa.support.version import VERSION
from wire.errors import BackendError


def test_version() -> None:
    result = CliRunner().invoke(commands, ["--version"])
    assert result.exit_code == 0
    assert VERSION in result.output


def test_a_sound_installation_has_no_problem() -> None:
    result = CliRunner().invoke(commands, ["doctor", "--json"])
    assert result.exit_code == 0
    findings = {item["topic"]: item for item in json.loads(result.output)["findings"]}
    assert findings["backend"]["value"] in CHOICES
    assert findings["backend"]["hint"]
    assert not any(item["problem"] for item in findings.values())


def test_the_table_names_the_backend() -> None:
    result = CliRunner().invoke(commands, ["doctor"])
    assert result.exit_code == 0
    assert ristretto255().backend in result.output


def test_a_dependency_that_is_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gopa.cli.doctor.NEEDED", ("click", "no-such-distribution"))
    found = {finding.topic: finding for finding in diagnose()}
    assert not found["click"].problem
    assert found["no-such-distribution"].problem
    assert found["no-such-distribution"].hint


def test_extras_are_listed_with_what_they_give_and_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That one is not installed is no problem."""
    nowhere = replace(EXTRAS["plot"], package="no-such-distribution")
    monkeypatch.setattr("gopa.cli.doctor.EXTRAS", EXTRAS | {"plot": nowhere})
    found = {finding.topic: finding for finding in diagnose()}
    for name, extra in EXTRAS.items():
        assert extra.gives in found[f"extra {name}"].hint
        assert not found[f"extra {name}"].problem
    assert nowhere.command in found["extra plot"].hint
    assert EXTRAS["ray"].command not in found["extra ray"].hint


@pytest.mark.parametrize("missing", [None, "no module of that name"])
def test_a_faster_backend_is_recommended_where_there_is_one(
    missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = replace(backend_status(), details="", native_error=missing)
    monkeypatch.setattr("gopa.cli.doctor.backend_status", lambda: status)
    found = {finding.topic: finding for finding in diagnose()}
    assert found["backend"].value == status.active
    assert "backend details" not in found
    hints = [each.hint for topic, each in found.items() if topic == "faster backend"]
    assert hints == ([] if missing is None else [status.hint])
    assert not any(each.problem for each in found.values())


@pytest.mark.thirds
@pytest.mark.parametrize("name", PACKAGES)
def test_a_foreign_package_of_our_name_is_noticed(tmp_path: Path, name: str) -> None:
    before = {finding.topic: finding for finding in diagnose([str(tmp_path)])}
    assert not before[f"package {name}"].problem
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    after = {finding.topic: finding for finding in diagnose([str(tmp_path)])}
    assert after[f"package {name}"].problem
    assert str(tmp_path) in after[f"package {name}"].value


IMPORT = """
try:
    import gopa.cli
except ImportError as error:
    print(error.name, error.path)
else:
    print("imported")
"""


@pytest.mark.thirds
@pytest.mark.parametrize("name", SIBLINGS)
@pytest.mark.parametrize("form", ["package", "module"])
def test_a_foreign_package_in_front_of_ours_is_named(tmp_path: Path, name: str, form: str) -> None:
    """Here the doctor cannot run either: the import has to say what is wrong."""

    def answer() -> str:
        done = subprocess.run(
            [sys.executable, "-c", IMPORT],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,  # where Python looks first
        )
        return done.stdout.strip()

    assert answer() == "imported"
    origin = tmp_path / name / "__init__.py" if form == "package" else tmp_path / f"{name}.py"
    origin.parent.mkdir(exist_ok=True)
    origin.write_text("")
    assert answer() == f"{name} {origin}"


def test_a_package_of_ours_that_is_missing_is_named() -> None:
    """Half an installation, as a broken upgrade leaves it."""
    name = SIBLINGS[-1]

    def answer(before: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", before + IMPORT], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert answer("") == "imported"
    assert answer(f"import sys\nsys.modules[{name!r}] = None\n") == f"{name} None"


def test_a_bare_folder_of_our_name_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "wire").mkdir()
    findings = {finding.topic: finding for finding in diagnose([str(tmp_path)])}
    assert not findings["package wire"].problem


def test_an_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ristretto255("reference").backend == "reference"
    with pytest.raises(BackendError):
        ristretto255("fastest")
    monkeypatch.setenv("GOPA_BACKEND", "fastest")
    with pytest.raises(BackendError):
        ristretto255()
    result = CliRunner().invoke(commands, ["doctor"])
    assert result.exit_code == 1


HIDE_NATIVE = """
import sys
sys.modules["commitments._native"] = None
from commitments.backends import backend_status, ristretto255
from wire.errors import BackendError
status = backend_status()
print(status.active, "|", status.reason, "|", status.hint)
print(ristretto255().backend)
try:
    ristretto255("native")
except BackendError as error:
    print("refused:", error)
"""


LEFT_OVER = HIDE_NATIVE.replace("= None", "= type(sys)('commitments._native')")


@pytest.mark.parametrize("program", [HIDE_NATIVE, LEFT_OVER], ids=["missing", "left over"])
def test_without_the_native_core_the_reference_runs_and_says_so(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )
    status, active, refused = done.stdout.strip().splitlines()
    assert status.startswith("reference | the native core is not installed")
    assert "Rust" in status
    assert active == "reference"
    assert refused.startswith("refused:")
    assert done.stderr.count("constant") == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_long_paths_are_folded_for_terminals_only_and_never_inside_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    path = "/a/rather/long/path" * 20
    findings = [Finding("package gopa", path), Finding("hint", "none", "some words " * 30)]
    monkeypatch.setattr("gopa.cli.doctor.diagnose", lambda: findings)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    commands.main(["doctor"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert any(path in line for line in lines)
    assert (len(lines) == 3) == (not terminal)
