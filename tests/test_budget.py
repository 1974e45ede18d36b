"""Rooms that grow past their budget are noticed, whatever grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.budget import Sizes, exceeded, measured, table
from tests.class_names import ROOT, duplicates

TARGET = "class Target(TypedDict):\n    epsilon: float\n    delta: float\n"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    room = tmp_path / "gopa" / "planning"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text(
        'from gopa.planning.planner import plan\n\n__all__ = ["plan"]\n'
    )
    (room / "planner.py").write_text("from gopa.planning.noise import law\ndef plan(n): ...\n")
    (room / "target.py").write_text(TARGET)
    (room / "noise.py").write_text("law = 1\n")
    return tmp_path


def test_sizes_are_those_of_the_files(house: Path) -> None:
    found = measured(house)
    expected: Sizes = {"files": 4, "lines": 9, "floors": 3, "names": 1}
    assert found["gopa.planning"] == expected
    assert found["gopa.plan"] == {"options": 3}
    assert table(found)["gopa.planning"] == {**expected, "lines": 100}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("gopa/planning/more.py", "x = 1\n"),
        ("gopa/planning/noise.py", "law = 1\n" * 101),
        ("gopa/planning/noise.py", "from gopa.planning.deeper import law\n"),
        ("gopa/planning/__init__.py", '__all__ = ["law", "plan"]\n'),
        ("gopa/planning/target.py", f"{TARGET}    more: int\n"),
        ("gopa/attic/__init__.py", ""),
        ("gopa/planning/noise.py", "from gopa.planning.planner import plan\nlaw = plan\n"),
    ],
    ids=["files", "lines", "floors", "names", "options", "rooms", "circles"],
)
def test_whatever_grows_is_named(house: Path, file: str, text: str) -> None:
    (house / "gopa/planning/deeper.py").write_text("law = 1\n")
    (house / "gopa/planning/deepest.py").write_text("law = 1\n")
    allowed = table(measured(house))
    assert not list(exceeded(measured(house), allowed))
    (house / file).parent.mkdir(exist_ok=True)
    (house / file).write_text(text)
    assert list(exceeded(measured(house), allowed))


def test_a_room_that_is_gone_leaves_the_table(house: Path) -> None:
    allowed = table(measured(house))
    assert list(exceeded(measured(house), allowed | {"gopa.attic": {"files": 1}}))


def module(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_every_public_class_name_exists_once() -> None:
    assert duplicates(ROOT) == {}


def test_the_packages_are_where_the_count_looks(tmp_path: Path) -> None:
    module(tmp_path, "gopa/one.py", "class Row:\n    pass\n")
    assert duplicates(tmp_path) == {}
    module(tmp_path, "zkp/deep/two.py", "class Row:\n    pass\n")
    assert duplicates(tmp_path) == {"Row": ["gopa/one.py", "zkp/deep/two.py"]}


def test_private_and_inner_classes_may_share_a_name(tmp_path: Path) -> None:
    module(tmp_path, "gopa/one.py", "class _Row:\n    class Inner:\n        pass\n")
    module(tmp_path, "zkp/two.py", "class _Row:\n    class Inner:\n        pass\n")
    assert duplicates(tmp_path) == {}
