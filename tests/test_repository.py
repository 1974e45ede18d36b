"""What the tree promises about itself."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PACKAGES = ("wire", "commitments", "zkp", "bulletin_board", "gopa")
SHORTER = {
    "federated_logistic": {"CLINICS, ROUNDS, LENGTH = 40, 5,": "CLINICS, ROUNDS, LENGTH = 40, 1,"}
}
"""Examples that take long run with fewer rounds; `make demo` runs them as they are."""

README_PROGRAMS = FENCE.findall((ROOT / "README.md").read_text())


def test_the_readme_has_a_program() -> None:
    assert README_PROGRAMS


def run(arguments: list[str], where: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=where
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def printed_by(program: str, where: Path) -> str:
    """What a program of the README prints; each is run once."""
    return run(["-c", program], where)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all programs of the README run."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.parametrize("program", README_PROGRAMS)
def test_readme_programs_run(program: str, folder: Path) -> None:
    printed_by(program, folder)


def test_the_first_readme_program_clears_the_honest_and_names_the_cheater(folder: Path) -> None:
    printed = printed_by(README_PROGRAMS[0], folder)
    assert printed.count("nobody cheated") == 1
    assert printed.count("04-K3") == 1


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    text = example.read_text()
    for whole, shorter in SHORTER.get(example.stem, {}).items():
        assert text.count(whole) == 1
        text = text.replace(whole, shorter)
    copy = tmp_path / example.name
    copy.write_text(text)
    run([str(copy)], tmp_path)


def test_every_pinned_package_has_a_hash_and_no_address() -> None:
    text = (ROOT / "requirements" / "dev.txt").read_text()
    pins = re.findall(r"^[a-z0-9][^\s=]*==", text, re.MULTILINE)
    assert len(pins) > 20
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)
    assert "://" not in text


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_what_stands_beside_the_code_is_packaged() -> None:
    """A wheel holds only what is named: without its template no page could be written."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]
    assert len(files_beside("gopa")) > 2
    for package in PACKAGES:
        for path in files_beside(package):
            module = ".".join(path.relative_to(ROOT).parent.parts)
            patterns = [*data["*"], *data.get(module, [])]
            assert any(path.match(pattern) for pattern in patterns), path


def files_beside(package: str) -> list[Path]:
    made = {".py", ".pyc", ".so"}
    return [
        each for each in (ROOT / package).rglob("*") if each.is_file() and each.suffix not in made
    ]


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())


PAGES = [
    ROOT / "CHANGELOG.md",
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "specs").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        assert (page.parent / target).exists(), target
