"""What runs by default, in which order, and which tests are near a change."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import near, pace
from tests.external import VARIABLE, vectors
from tests.inner_pytest import run_inside
from tests.uncovered import REASONS, reasons, verdict

ROOT = Path(__file__).resolve().parents[1]


def test_a_third_of_every_function_is_drawn() -> None:
    cases = [(name, f"tests/test_a.py::test_{name}[{at}]") for name in "xyz" for at in range(10)]
    drawn = pace.drawn_third(cases)
    assert drawn == pace.drawn_third(reversed(cases))
    for name in "xyz":
        assert sum(f"test_{name}[" in each for each in drawn) == 4
    assert pace.drawn_third([("b", "tests/test_a.py::test_b")]) == {"tests/test_a.py::test_b"}
    ninth = pace.drawn_third(cases, 9)
    assert ninth < drawn
    assert len(ninth) == 6
    places = {name: {each[-2] for each in drawn if f"test_{name}[" in each} for name in "xyz"}
    assert len(set(map(frozenset, places.values()))) > 1


def collected(folder: Path, *options: str) -> set[str]:
    """The names of tests that pytest would run in a folder."""
    code, out = run_inside(folder, "--collect-only", "-q", *options)
    assert code == 0, out
    return {line for line in out.splitlines() if "::" in line}


def test_what_was_not_drawn_is_a_soak(tmp_path: Path) -> None:
    """So nothing is lost: a run without soaks and a run of them have every case once."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_many.py").write_text(
        "import pytest\n@pytest.mark.thirds\n@pytest.mark.parametrize('n', range(7))\n"
        "def test_n(n):\n    pass\n"
        "@pytest.mark.thirds(9)\n@pytest.mark.parametrize('n', range(10))\n"
        "def test_ninth(n):\n    pass\n"
        "@pytest.mark.thirds\n@pytest.mark.parametrize('how', 'ab')\n"
        "@pytest.mark.parametrize('part', range(3))\ndef test_part(how, part):\n    pass\n"
    )

    names = partial(collected, tmp_path)
    default, soaked = names(), names("-m", "soak")
    assert (len(default), len(soaked)) == (7, 16)
    for how in "ab":
        assert sum(f"-{how}]" in each for each in default) == 1
    assert not default & soaked
    asked = min(soaked)
    assert names(asked) == {asked}
    assert len(names("-k", "test_part")) == 6


def test_slow_tests_run_when_asked_for(tmp_path: Path) -> None:
    """By marker, by name and under soaks, and never twice in the two runs of the integration."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_many.py").write_text(
        "import pytest\ndef test_quick():\n    pass\n"
        "@pytest.mark.slow\ndef test_slow():\n    pass\n"
        "@pytest.mark.slow\n@pytest.mark.thirds\n@pytest.mark.parametrize('n', range(6))\n"
        "def test_drawn(n):\n    pass\n"
        "@pytest.mark.soak\ndef test_soak():\n    pass\n"
    )

    def names(*options: str) -> set[str]:
        return {each.split("::")[1] for each in collected(tmp_path, *options)}

    assert names() == {"test_quick"}
    slow = names("-m", "slow")
    assert ("test_slow" in slow, len(slow)) == (True, 3)
    assert names("-m", "not soak") == slow | {"test_quick"}
    assert len(names("-m", "soak or slow")) == 8
    assert names("test_many.py::test_slow") == {"test_slow"} == names("-k", "test_slow")


def test_all_random_examples_are_tried_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pace.ALL_EXAMPLES, raising=False)
    assert [pace.examples(number) for number in (1, 20, 60)] == [1, 4, 12]
    monkeypatch.setenv(pace.ALL_EXAMPLES, "1")
    assert pace.examples(60) == 60


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_slow_tests_are_dealt_out_to_the_heads(workers: int) -> None:
    tests = [pace.Planned(f"t{at}", at) for at in range(30)]
    order = pace.in_order(tests, {"t7": 9.0, "t20": 5.0, "t3": 7.0, "gone": 1.0}, workers)
    assert sorted(order) == list(range(30))
    heads = [order.index(at) for at in (7, 3, 20)]
    size = -(-30 // workers)
    assert [head // size for head in heads] == [[0, 0, 0], [0, 1, 1], [0, 1, 2]][workers - 1]
    assert all(head % size <= 3 for head in heads)


def test_tests_that_share_processes_stay_with_one_worker() -> None:
    tests = [pace.Planned(f"t{at}", at, "shared" if at % 7 == 0 else "") for at in range(30)]
    alone = pace.in_order(tests, {}, 3)
    assert sorted(alone) == list(range(30))
    assert alone[:5] == [0, 7, 14, 21, 28]
    order = pace.in_order(tests, {"t0": 2.0, "t14": 2.0, "t5": 3.0}, 3)
    assert sorted(order) == list(range(30))
    assert order[:5] == [0, 7, 14, 21, 28]
    assert order[10] == 5


def test_durations_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    assert pace.recorded(path) == pace.Durations()
    pace.record({"tests/a.py::x": 2.04, "tests/a.py::y": 0.5, "tests/b.py::z": 3.0}, path)
    found = pace.recorded(path)
    assert list(found.tests.items()) == [("tests/b.py::z", 3.0), ("tests/a.py::x", 2.0)]
    assert found.files == {"tests/b.py": 3.0, "tests/a.py": 2.5}


def test_most_durations_are_those_of_files_that_exist() -> None:
    """Whoever moves many files calls `make durations`."""
    files = pace.recorded().files
    assert sum((ROOT / test).exists() for test in files) > 0.8 * len(files) > 0


@pytest.mark.slow
def test_tests_near_a_change() -> None:
    found = near.ranked(["gopa/protocol/rules/closes.py"])
    assert found[0] == "tests/protocol/rules/test_closes.py"
    assert {test for test in found if test.startswith("tests/protocol/rules/")} >= {
        "tests/protocol/rules/test_coins.py",
        "tests/protocol/rules/test_publish.py",
    }
    board = near.ranked(["bulletin_board/fsck.py"])
    assert board[0] == "tests/board/test_fsck.py"
    changed = near.ranked(["bulletin_board/fsck.py", "tests/board/test_tree.py"])
    assert changed[0] == "tests/board/test_tree.py"
    for attack in ("gopa/adversary/catalogue/noise.py", "gopa/adversary/catalogue/names.py"):
        assert "tests/adversary/test_catalogue.py" in near.within(near.ranked([attack]))
    assert near.ranked(["README.md"]) == []


@pytest.mark.slow
def test_every_module_has_tests_near_it() -> None:
    packages = ("wire", "commitments", "zkp", "bulletin_board", "gopa")
    files = [each for package in packages for each in (ROOT / package).rglob("*.py")]
    alone = {each.parent.name for each in files if not near.ranked([str(each.relative_to(ROOT))])}
    assert not alone


def test_no_more_are_named_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    known = pace.Durations(files={"a": 30.0, "b": 40.0, "c": 20.0})
    monkeypatch.setattr(pace, "recorded", lambda: known)
    assert near.within(["a", "b", "c", "new"], 60) == ["a", "c", "new"]


def test_a_file_that_exists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "vectors.json").write_text("[]")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert vectors("some/vectors.json").read_text() == "[]"


@pytest.mark.parametrize("name", ["other.json", "some"])
def test_a_missing_file_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    (tmp_path / "some").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception):
        vectors(name)


@pytest.mark.parametrize("value", [None, ""])
def test_no_folder_skips(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(pytest.skip.Exception):
        vectors("any.json")


@pytest.mark.slow
def test_what_was_skipped_is_written_down(tmp_path: Path) -> None:
    """Also modules that are skipped as a whole, of which workers tell one for each reason."""
    modules = ["test_one.py", "test_two.py"]
    for name in modules:
        (tmp_path / name).write_text("from tests.external import vectors\nvectors('any')\n")
    (tmp_path / "test_three.py").write_text("def test_nothing() -> None:\n    pass\n")
    bare = {name: each for name, each in os.environ.items() if not name.startswith("GOPA_")}
    options = ["-n2", "-q", "-p", "tests.conftest", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-o", f"cache_dir={tmp_path}", tmp_path],
        env=bare | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "d" / "skipped" / "tests.txt").read_text().splitlines() == modules


ROOT_UNCOVERED = Path(__file__).parents[1]


def measured() -> dict[str, Any]:
    """One file of each package, all of it reached."""
    summary = {
        "num_statements": 100,
        "covered_lines": 100,
        "num_branches": 50,
        "covered_branches": 50,
    }
    whole: dict[str, Any] = {"missing_lines": [], "missing_branches": []}
    files = {
        f"{package}/some.py": {"summary": dict(summary), "functions": {"act": dict(whole)}}
        for package in ("bulletin_board", "commitments", "gopa", "zkp", "wire")
    }
    return {"files": files}


def test_what_is_below_a_goal_is_found() -> None:
    good = measured()
    assert verdict(good, {}) == []
    for key, least in (("covered_lines", 95), ("covered_branches", 44)):
        for reached, wrong in ((least, 0), (least - 1, 1)):
            worse = copy.deepcopy(good)
            worse["files"]["zkp/some.py"]["summary"][key] = reached
            assert len(verdict(worse, {})) == wrong


def test_a_gap_needs_a_reason() -> None:
    for change in ({"missing_lines": [7]}, {"missing_branches": [[7, 9]]}):
        worse = measured()
        worse["files"]["gopa/some.py"]["functions"]["act"].update(change)
        assert len(verdict(worse, {})) == 1
        assert len(verdict(worse, {"gopa/some.py::other": "", "zkp/some.py": ""})) == 1
        assert verdict(worse, {"gopa/some.py::act": "why"}) == []
        assert verdict(worse, {"gopa/some.py": "why"}) == []


def test_every_reason_is_about_a_file_of_the_tree() -> None:
    known = reasons(REASONS.read_text())
    assert known
    assert all((ROOT_UNCOVERED / where.partition("::")[0]).is_file() for where in known)
    assert all(len(why) > 20 for why in known.values())
