"""The plugin of pytest: other people's tests, run under attack."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PIPELINE = """
from gopa.adversary.ground import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms) as aggregator:
        result = aggregator.average([1, 0, 1, 0.5])
    assert result.count >= 3

def test_other_things():
    pass
"""

OFF = """
from gopa.adversary.ground import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms, mode="off") as aggregator:
        aggregator.average([1, 0, 1, 0.5])
"""

ONE_ROUND_OF_TWO = """
from dataclasses import replace
from gopa.adversary.ground import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(replace(SMALL.terms, rounds=2)) as aggregator:
        aggregator.average([1, 0, 1, 0.5])
"""

STRICT = """
from gopa.adversary.ground import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms) as aggregator:
        assert aggregator.average([1, 0, 1, 0.5]).count == 4
"""

NO_PROOFS = """
import pytest
from gopa.rounds.real_proofs import RealProofs

@pytest.fixture(autouse=True)
def careless(monkeypatch):
    monkeypatch.setattr(RealProofs, "bad_noises", lambda *_, **__: frozenset())
"""

OWN_SCRIPT = """
from gopa.adversary.ground import SMALL

def test_mean(gopa_aggregator):
    gopa_aggregator(SMALL.terms, script={0: "join"})
"""

FAMILY = ("out-of-range-input", "spoiled-value")


def run(place: Path, test: str, *options: str, conftest: str = "") -> tuple[int, str]:
    """Exit code and output of pytest on somebody's test."""
    (place / "test_theirs.py").write_text(test)
    (place / "conftest.py").write_text(conftest)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rs"]
    done = subprocess.run(
        [*command, "-v", *options], cwd=place, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_without_the_option_everybody_is_honest(tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE)
    assert code == 0, out
    assert "test_mean[honest] PASSED" in out
    assert "2 passed" in out


def test_with_it_every_attack_has_a_run(tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE, f"--gopa-attacks={','.join(FAMILY)}")
    assert code == 0, out
    for name in ("honest", *FAMILY):
        assert f"test_mean[{name}] PASSED" in out
    assert "4 passed" in out


def test_a_weakened_library_does_not_get_through(tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE, "--gopa-attacks=out-of-range-input", conftest=NO_PROOFS)
    assert code == 1, out
    assert "test_mean[honest] PASSED" in out
    assert "test_mean[out-of-range-input] FAILED" in out
    assert "a wrong sum was accepted" in out


def test_assertions_of_the_test_hold_under_attack_or_fail(tmp_path: Path) -> None:
    code, out = run(tmp_path, STRICT, "--gopa-attacks=out-of-range-input")
    assert code == 1, out
    assert "test_mean[honest] PASSED" in out
    assert "under attack: out-of-range-input" in out


@pytest.mark.parametrize(
    ("test", "name", "why"),
    [
        (OFF, "out-of-range-input", "mode off has no session"),
        (ONE_ROUND_OF_TWO, "replay-round", "found no occasion"),
    ],
    ids=["mode off", "one round"],
)
def test_what_does_not_apply_is_skipped_and_says_so(
    test: str, name: str, why: str, tmp_path: Path
) -> None:
    code, out = run(tmp_path, test, f"--gopa-attacks={name}")
    assert code == 0, out
    assert "test_mean[honest] PASSED" in out
    assert f"test_mean[{name}] SKIPPED" in out
    assert why in out


def test_wrong_names_and_scripts_are_usage_errors(tmp_path: Path) -> None:
    assert run(tmp_path, PIPELINE, "--gopa-attacks=out-of-range-input")[0] == 0
    code, out = run(tmp_path, PIPELINE, "--gopa-attacks=zero-nose")
    assert code != 0
    assert re.search(r"did you mean zero-noise", out)
    code, out = run(tmp_path, OWN_SCRIPT)
    assert code == 1
    assert "the attack says who misbehaves" in out
