"""The judge of the coverage is no rubber stamp."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tests.uncovered import REASONS, reasons, verdict

ROOT = Path(__file__).parents[1]


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
    assert all((ROOT / where.partition("::")[0]).is_file() for where in known)
    assert all(len(why) > 20 for why in known.values())
