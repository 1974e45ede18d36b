"""What the tree promises about itself."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.auditing.picture import SIZE

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PACKAGES = ("wire", "commitments", "zkp", "bulletin_board", "gopa")
SHORTER = {
    "federated_logistic": {
        "CLINICS, ROUNDS, PATIENTS = 40, 5,": "CLINICS, ROUNDS, PATIENTS = 40, 1,"
    },
    "federated_processes": {
        "CLINICS, ROUNDS, PATIENTS = 6, 3,": "CLINICS, ROUNDS, PATIENTS = 4, 1,"
    },
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


def test_further_readme_programs_run(tmp_path: Path) -> None:
    for program in README_PROGRAMS[1:]:
        run(["-c", program], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("people", [30, pytest.param(300, marks=pytest.mark.soak)])
def test_the_first_readme_program_convinces(people: int, tmp_path: Path) -> None:
    """The answer is near the truth, the cheater is named, and one bit makes it invalid."""
    program = README_PROGRAMS[0]
    assert program.count("n = 300 ") == 1
    assert program.count("else 60 ") == 1
    program = program.replace("n = 300 ", f"n = {people} ").replace("else 60 ", f"else {people} ")
    lines = run(["-c", program], tmp_path).splitlines()
    said = {line.split()[0]: line.split()[1:] for line in lines if line.split()}
    mean, error, truth = float(said["mean"][0]), float(said["mean"][2]), float(said["truth"][0])
    assert abs(mean - truth) < 6 * error
    assert 300 / people * 0.015 < error < 300 / people * 0.03
    assert said["parties"][:3] == [str(people - 2), "of", str(people)]
    assert people < 300 or "warning" not in said  # with few it may be known only roughly
    verdicts = [line.partition(":")[0] for line in lines if "VALID:" in line]
    assert verdicts == ["VALID", "INVALID"]
    (named,) = [line for line in lines if "04-K3" in line]
    assert named.startswith("party ")


EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if not path.stem.endswith(("tutorial", "__init__"))
]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    text = example.read_text()
    for whole, shorter in SHORTER.get(example.stem, {}).items():
        assert text.count(whole) == 1
        text = text.replace(whole, shorter)
    copy = tmp_path / example.name
    copy.write_text(text)
    run([str(copy)], tmp_path)


TUTORIAL, OF_LEARNING = (ROOT / "examples" / f"{each}tutorial.py" for each in ("", "learning_"))


@pytest.mark.parametrize("tutorial", [TUTORIAL, OF_LEARNING], ids=lambda path: path.stem)
def test_a_tutorial_is_a_notebook(tutorial: Path) -> None:
    """Cells of text are comments throughout, and every cell of code has some in front."""
    cells = re.split(r"^# %%", tutorial.read_text(), flags=re.MULTILINE)[1:]
    kinds = [cell.startswith(" [markdown]\n") for cell in cells]
    assert kinds[0]
    assert sum(kinds) > 10
    for cell, is_text in zip(cells, kinds, strict=True):
        lines = cell.strip().splitlines()[1:] if is_text else []
        assert all(line.startswith("#") for line in lines), lines


@pytest.mark.soak
def test_the_tutorial_runs(tmp_path: Path) -> None:
    """`make tutorial`, which continuous integration calls: it takes a dozen processes."""
    printed = run([str(TUTORIAL)], tmp_path)
    assert printed.count("\nVALID") == 2
    assert printed.count("\nINVALID") == 1
    assert "04-K3" in printed
    assert list(tmp_path.glob("tutorial/session-*/report.html"))


@pytest.mark.soak
def test_the_tutorial_of_learning_runs(tmp_path: Path) -> None:
    """`make tutorial`, too: half a minute."""
    printed = run([str(OF_LEARNING)], tmp_path)
    assert "1 of 1 rounds are in the logs" in printed
    assert "one more: privacy: " in printed
    assert (tmp_path / "tutorial" / "digits.gopa-outcome").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["dev.txt", "user.txt"])
def test_every_pinned_package_has_a_hash_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
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
    *(ROOT / name / "README.md" for name in ("native", "tests", "deploy")),
]


def test_the_readme_shows_what_comes_out_above_everything_else() -> None:
    """The picture of an audit is small, and lies before the first heading below the title."""
    head = (ROOT / "README.md").read_text().split("\n## ")[0]
    (shown,) = re.findall(r"!\[[^]]{20,}\]\(([^)]+)\)", head)
    data = (ROOT / shown).read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) < 120_000
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == SIZE
    assert "arxiv.org/abs/2006.07218" in head


def test_the_readme_uses_one_environment() -> None:
    page = (ROOT / "README.md").read_text()
    assert ". ~/gopa-env/bin/activate" in page
    assert ".venv/" not in page


def test_links_lead_somewhere() -> None:
    found = [(page, target) for page in PAGES for target in links(page)]
    assert len(found) > len(PAGES)
    for page, target in found:
        assert (page.parent / target).exists(), (page, target)
