"""What runs by default, in which order, and which tests are near a change."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests import near, pace
from tests.inner_pytest import run_inside

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
