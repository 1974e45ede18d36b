"""What `make test-install` looks for, and what it installs from."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.installing import NATIVE, REFERENCE, Failed, Python, cases, programs, pythons

ROOT: Final = Path(__file__).resolve().parents[1]
MINOR: Final = sys.version_info.minor


def interpreter(folder: Path, minor: int, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / f"python3.{minor}"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_first_interpreter_that_answers_is_taken(tmp_path: Path) -> None:
    interpreter(tmp_path / "broken", MINOR, f"echo {MINOR} /broken; exit 127")
    interpreter(tmp_path / "right", MINOR, f"echo {MINOR} /where/it/stands")
    interpreter(tmp_path / "later", MINOR, f"echo {MINOR} /later")
    places = [tmp_path / each for each in ("nowhere", "broken", "right", "later")]
    assert pythons(places) == [Python(MINOR, Path("/where/it/stands"))]


def test_what_an_interpreter_says_of_itself_is_taken() -> None:
    (found,) = pythons([Path(sys.executable).parent])[-1:]
    assert found.path.exists()


def test_an_interpreter_of_another_version_is_not_taken(tmp_path: Path) -> None:
    other = 12 if MINOR != 12 else 13
    interpreter(tmp_path / "bin", other, f'exec {sys.executable} "$@"')
    assert pythons([tmp_path / "bin"]) == []


@pytest.mark.parametrize("cargo", ["/usr/bin/cargo", None])
def test_wheel_and_source_with_and_without_rust(
    cargo: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gopa-1-cp311-abi3-any.whl", "gopa-1.tar.gz"):
        (tmp_path / name).touch()
    monkeypatch.setattr("tests.installing.shutil.which", lambda _: cargo)
    found = [(each.file.suffix, each.rust, each.backend) for each in cases(PYTHONS, tmp_path)]
    without = [(".whl", False, NATIVE), (".gz", False, REFERENCE)]
    assert found == without + ([(".gz", True, NATIVE)] if cargo else [])


PYTHONS: Final = [Python(MINOR, Path(sys.executable))]


def test_source_is_built_with_the_oldest_and_the_newest_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gopa-1-cp311-abi3-any.whl", "gopa-1.tar.gz"):
        (tmp_path / name).touch()
    monkeypatch.setattr("tests.installing.shutil.which", lambda _: "/usr/bin/cargo")
    three = [Python(minor, Path(sys.executable)) for minor in (11, 12, 13)]
    found = [(each.python.minor, each.file.suffix) for each in cases(three, tmp_path)]
    assert [minor for minor, suffix in found if suffix == ".whl"] == [11, 12, 13]
    assert [minor for minor, suffix in found if suffix == ".gz"] == [11, 11, 13, 13]


def test_the_first_wheel_runs_what_the_page_says_and_elsewhere_fewer_vote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gopa-1-cp311-abi3-any.whl", "gopa-1.tar.gz"):
        (tmp_path / name).touch()
    monkeypatch.setattr("tests.installing.shutil.which", lambda _: "/usr/bin/cargo")
    two = [*PYTHONS, Python(MINOR + 1, Path(sys.executable))]
    found = [
        (each.python.minor - MINOR, each.backend) for each in cases(two, tmp_path) if each.whole
    ]
    assert found == [(0, NATIVE)]
    page = (ROOT / "README.md").read_text()
    whole, fewer = programs(page, whole=True), programs(page, whole=False)
    assert all(program in page for program in whole)
    assert fewer[1:] == whole[1:]
    assert fewer[0] == whole[0].replace("300", "30").replace("60", "16")


def test_a_program_that_does_not_say_how_many_vote_is_noticed() -> None:
    assert programs("```python\nn = 300\n```\n", whole=True) == ["n = 300\n"]
    with pytest.raises(Failed):
        programs("```python\nn = 300\n```\n", whole=False)


def pins(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    text = (ROOT / "requirements" / name).read_text()
    for package, version in re.findall(r"^([a-z0-9][^\s=]*)==(\S+)", text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found


def test_users_get_the_versions_that_are_tested_and_no_tools() -> None:
    user, dev = pins("user.txt"), pins("dev.txt")
    assert {name: dev[name] for name in user if name in dev} == {
        name: versions for name, versions in user.items() if name in dev
    }
    assert set(user) - set(dev) == {"build", "pyproject-hooks"}
    assert not set(user) & {"mypy", "ruff", "pytest", "hypothesis", "ray", "scikit-learn"}
