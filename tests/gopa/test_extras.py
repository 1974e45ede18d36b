"""What is installed with the library is what it imports, and the rest can be absent."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from gopa.cli.doctor import PACKAGES
from gopa.support.extras import EXTRAS, NEEDED, missing, not_installed
from wire.errors import BackendError

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ONLY_FASTER: Final = {"uvloop"}
"""What is installed and imported by nothing of ours: uvicorn takes it where it is there."""

WHERE_THERE: Final = {"IPython", "pandas"}
"""What is imported only by who has it: by notebooks, and for a frame of pandas."""

ESTIMATORS: Final = {"estimator_base", "estimators"}
LATE: Final = {
    "gopa.contract.beacon.bls",
    "gopa.learning.estimators",
    "gopa.learning.pairwise.scorer",
    "gopa.learning.personalised.facade",
    "gopa.plugins.declearn",
    *(f"gopa.learning.federated.{name}" for name in ESTIMATORS),
}
"""Modules that import an extra at once: a function imports them, or whoever has the extra."""


def named(requirements: list[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9._-]+", each) for each in requirements)
    return {each.group() for each in found if each}


def test_the_tables_are_those_of_the_project() -> None:
    assert set(NEEDED) == named(PROJECT["dependencies"]) - ONLY_FASTER
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(extras)
    for name, extra in EXTRAS.items():
        assert named(extras[name]) == {extra.package}


def test_the_page_on_python_says_what_each_extra_adds() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    section = page.partition("## Extras")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| \S", section, re.MULTILINE) == sorted(EXTRAS)


class Running(ast.NodeTransformer):
    """Leaves out what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
        return self.generic_visit(node)


def imported(package: str) -> set[str]:
    """The packages that any module imports, at once or in a function."""
    found: set[str] = set()
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(Running().visit(ast.parse(file.read_text()))):
            if isinstance(node, ast.Import):
                found |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


@pytest.mark.slow
def test_everything_that_is_imported_is_installed_and_nothing_else() -> None:
    foreign = set[str]().union(*map(imported, PACKAGES)) - set(PACKAGES) - sys.stdlib_module_names
    ours = {*NEEDED.values(), *(each.module for each in EXTRAS.values())}
    assert foreign - WHERE_THERE == ours - {"httptools"}  # which uvicorn imports for us
    assert foreign >= WHERE_THERE


WITHOUT_EXTRAS: Final = f"""
import importlib, pkgutil, sys
from wire.errors import BackendError
for name in {sorted(each.module for each in EXTRAS.values())}:
    sys.modules[name] = None
late = []
for package in {PACKAGES}:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if found.name.endswith(("__main__", "_native")):
            continue
        try:
            importlib.import_module(found.name)
        except BackendError:
            late.append(found.name)
        except ModuleNotFoundError:
            if found.name.startswith("gopa.learning."):
                raise  # users import these by a name of their package: say what to install
            late.append(found.name)
print(*late)
"""


@pytest.mark.slow
def test_no_module_imports_an_extra_before_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == LATE


def test_a_missing_extra_is_one_line_that_names_the_command() -> None:
    for name in EXTRAS:
        said = missing(name)
        assert isinstance(said, BackendError)
        assert f"pip install '.[{name}]'" in str(said)
        assert "\n" not in str(said)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("module", "command", "code"),
    [
        ("urllib3", ("join", "ticket.json", "1"), 2),
        ("uvicorn", ("board", "serve", "."), 2),
        ("nacl", ("keygen", "key"), 2),
        ("numpy", ("audit", "session.gopa"), 5),
    ],
)
def test_a_package_that_is_missing_is_one_line(
    module: str, command: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """As after `pip install --no-deps`: an audit without libraries must not look like a verdict."""

    def run(before: str) -> subprocess.CompletedProcess[str]:
        program = f"import sys\n{before}\nfrom gopa.cli import main\nmain()"
        return subprocess.run(
            [sys.executable, "-c", program, *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    assert "not installed" not in run("").stderr
    done = run(f"sys.modules[{module!r}] = None")
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert "not installed" in done.stderr


def test_a_module_of_somebody_else_is_no_package_of_ours() -> None:
    assert not_installed(ModuleNotFoundError(name="urllib3.connection")) is not None
    assert not_installed(ModuleNotFoundError(name="theirs")) is None
    assert not_installed(ModuleNotFoundError("no name")) is None
