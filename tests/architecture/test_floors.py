"""The picture of the architecture is the one that the imports give, and a circle has none."""

from __future__ import annotations

import re
import tomllib
from graphlib import CycleError
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.draw import picture
from tests.architecture.floors import ROOT, floors, imports, rests_on

PAGE: Final = (ROOT / "docs" / "architecture.md").read_text().partition("\n## Specifications")[0]
"""What the floors are; the table behind it leads from packages to their specifications."""

PICTURE: Final = ROOT / "docs" / "architecture.svg"
"""`python -m tests.architecture.draw > docs/architecture.svg` makes it anew."""

PUBLIC: Final = {"accounting", "adversary", "graph", "noise", "sessions", "twoparty"}
"""Packages that learning may import, and nothing inside of them."""

SUPPORTING: Final = {"__init__", "arrays", "draws", "extras", "progress", "version"}
"""Modules of `gopa.support` that learning may import."""


def module(root: Path, name: str, text: str = "") -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Four units, of which `gopa.top` leads over `gopa.middle` to `wire`."""
    module(tmp_path, "wire/__init__.py")
    module(tmp_path, "zkp/deep/proof.py", "from wire.errors import Wrong\n")
    module(tmp_path, "gopa/middle/__init__.py", "import wire.errors\nimport numpy\n")
    module(tmp_path, "gopa/top.py", "from gopa import middle\nfrom wire import errors\n")
    return tmp_path


@pytest.mark.slow
def test_the_picture_is_that_of_the_imports() -> None:
    assert PICTURE.read_text() == picture(imports())


@pytest.mark.slow
def test_the_page_says_what_every_unit_is_for() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| \S", PAGE, re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == set(imports())


@pytest.mark.slow
def test_the_page_goes_from_the_lowest_floor_upwards() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| \S", PAGE, re.MULTILINE)
    found, seen = imports(), set[str]()
    for unit in rows:
        assert found[unit] <= seen, unit
        seen.add(unit)


@pytest.mark.slow
def test_learning_is_kept_from_all_that_is_private() -> None:
    """A package that is new, or made public, has to be told to the linter, too."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (each for each in settings["contracts"] if each["name"].startswith("Learning"))
    units = {unit.removeprefix("gopa.") for unit in imports() if unit.startswith("gopa.")}
    private = {f"gopa.{unit}" for unit in units - PUBLIC - {"learning", "support"}}
    support = {file.stem for file in (ROOT / "gopa" / "support").glob("*.py")}
    private |= {f"gopa.support.{name}" for name in support - SUPPORTING}
    inside = {f"gopa.{unit}.*" for unit in PUBLIC}
    assert {"gopa.planning", "gopa.support.wording"} <= private
    assert private | inside <= set(contract["forbidden_modules"])


def test_a_unit_stands_above_what_it_imports(tree: Path) -> None:
    found = imports(tree)
    assert floors(found) == [["wire"], ["gopa.middle", "zkp"], ["gopa.top"]]
    assert found["gopa.top"] == {"gopa.middle", "wire"}
    assert rests_on(found)["gopa.top"] == {"gopa.middle"}


@pytest.mark.parametrize(
    "text",
    [
        "def late():\n    from gopa.top import name\n",
        "if TYPE_CHECKING:\n    from gopa.top import Name\n",
        "from gopa import top\n",
        "import gopa.top\n",
    ],
    ids=["inside a function", "for types", "out of gopa", "by its name"],
)
def test_a_circle_has_no_floors(tree: Path, text: str) -> None:
    assert len(floors(imports(tree))) == 3
    module(tree, "gopa/middle/later.py", text)
    with pytest.raises(CycleError):
        floors(imports(tree))


def test_another_import_is_another_picture(tree: Path) -> None:
    before = picture(imports(tree))
    assert before == picture(imports(tree))
    module(tree, "zkp/deep/more.py", "from gopa.middle import something\n")
    assert picture(imports(tree)) != before


def test_names_of_users_are_no_units(tree: Path) -> None:
    before = imports(tree)
    module(tree, "gopa/top.py", "from gopa import middle, average\nfrom wire import errors\n")
    assert imports(tree) == before


def test_a_unit_without_code_is_left_out(tree: Path) -> None:
    before = imports(tree)
    module(tree, "gopa/planned/__init__.py", '"""Nothing yet."""\n')
    assert imports(tree) == before
