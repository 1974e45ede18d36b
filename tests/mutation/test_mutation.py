"""The run that takes checks out: what it takes for a check, and what it says about one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutation import run
from tests.mutation.sites import (
    PACKAGES,
    ROOT,
    SWAPS,
    Site,
    all_sites,
    drawn,
    sites_in,
    without,
)

SOURCE = '''
def kept(value: str) -> int:
    """Größe."""
    if not value:
        raise ValueError("ü")
    if value == "long":
        return 1
    if value == "rule":
        return fault("04-E4")
    require_short(
        value, 3
    )
    found = require_short(value, 3)
    if value:
        raise ValueError
    else:
        return found
'''


def written(tmp_path: Path) -> list[Site]:
    file = tmp_path / "a.py"
    file.write_text(SOURCE)
    return sites_in(file, tmp_path)


def test_what_is_a_check(tmp_path: Path) -> None:
    assert [(site.line, site.text) for site in sorted(written(tmp_path))] == [
        (4, "if not value:"),
        (8, 'if value == "rule":'),
        (10, "require_short("),
    ]


def test_one_check_is_gone_and_nothing_else(tmp_path: Path) -> None:
    first, second, third = sorted(written(tmp_path))
    assert without(SOURCE, first) == SOURCE.replace("if not value:", "if False:")
    assert without(SOURCE, second) == SOURCE.replace('if value == "rule":', "if False:")
    assert without(SOURCE, third) == SOURCE.replace(
        "    require_short(\n        value, 3\n    )", "    pass"
    )


def test_checks_are_drawn_from_all_packages() -> None:
    sites = all_sites()
    found = drawn(sites, run.COUNT, run.SEED)
    assert found == drawn(sites, run.COUNT, run.SEED)
    assert found != drawn(sites, run.COUNT, "another seed")
    assert len(set(found)) == run.COUNT
    for package in PACKAGES:
        assert sum(site.path.startswith(package) for site in found) >= run.COUNT // 3
    for site in found:
        compile(without((ROOT / site.path).read_text(), site), site.path, "exec")


def test_swaps_are_tried_each_time() -> None:
    """Sensitivities, noise and clocks: each stands where it is looked for, and still compiles."""
    for word in ("sensitivity doubled", "noise halved", "round-robin"):
        assert any(word in each.about for each in SWAPS)
    for each in SWAPS:
        source = (ROOT / each.path).read_text()
        changed = without(source, each)
        assert changed != source
        compile(changed, each.path, "exec")
        with pytest.raises(ValueError, match="not one place"):
            without(source + source, each)


@pytest.mark.slow
def test_the_nearest_tests_come_first_and_the_check_comes_back(tmp_path: Path) -> None:
    site = next(site for site in all_sites() if site.path == "gopa/protocol/rules/closes.py")
    file = tmp_path / site.path
    file.parent.mkdir(parents=True)
    source = (ROOT / site.path).read_text()
    file.write_text(source)
    asked: list[Sequence[str]] = []

    def suite(answers: dict[bool, str | None], tests: Sequence[str]) -> str | None:
        asked.append(tests)
        if file.read_text() == source:
            return None
        assert file.read_text() == without(source, site)
        return answers[tests == ["tests"]]

    answers = {False: None, True: "x::y"}
    far = run.try_without(site, tmp_path, lambda _, tests: suite(answers, tests))
    assert (far.caught, far.by, far.near) == (True, "x::y", False)
    assert asked[0][0] == "tests/protocol/rules/test_closes.py"
    assert asked[1:] == [["tests"], ["x::y"]]
    near = run.try_without(site, tmp_path, lambda _, tests: suite({False: "y", True: None}, tests))
    assert (near.caught, near.by, near.near) == (True, "y", True)
    asked.clear()
    test = tmp_path / "tests/protocol/rules/test_far.py"
    test.parent.mkdir(parents=True)
    test.touch()
    last = run.try_without(
        site,
        tmp_path,
        lambda _, tests: asked.append(tests),
        noticed_by="tests/protocol/rules/test_far.py::x",
    )
    assert not last.caught
    assert asked[0] == ["tests/protocol/rules/test_far.py"]
    missed = run.try_without(site, tmp_path, lambda *_: None)
    assert (missed.caught, missed.whole) == (False, True)
    partly = run.try_without(site, tmp_path, lambda *_: None, nearest_only=True)
    assert (partly.caught, partly.whole) == (False, False)
    anyway = run.try_without(site, tmp_path, lambda *_: "x::y")
    assert (anyway.caught, anyway.whole) == (False, False)
    assert file.read_text() == source
    run.note({site.name: near}, tmp_path / "notes.json")
    assert run.noted(tmp_path / "notes.json") == {site.name: near}
