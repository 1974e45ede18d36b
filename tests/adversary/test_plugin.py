"""The plugin of pytest: other people's tests, run under attack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gopa.adversary.attack import SessionAttack
from gopa.adversary.library import chosen
from tests.inner_pytest import run_inside

PIPELINE = """
from gopa.adversary.setup import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms) as aggregator:
        result = aggregator.average([1, 0, 1, 0.5])
    assert result.count >= 3

def test_other_things():
    pass
"""

OFF = """
from gopa.adversary.setup import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms, mode="off") as aggregator:
        aggregator.average([1, 0, 1, 0.5])
"""

ONE_ROUND_OF_TWO = """
from dataclasses import replace
from gopa.adversary.setup import SMALL

def test_mean(gopa_aggregator):
    with gopa_aggregator(replace(SMALL.terms, rounds=2)) as aggregator:
        aggregator.average([1, 0, 1, 0.5])
"""

STRICT = """
from gopa.adversary.setup import SMALL

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
from gopa.adversary.setup import SMALL

def test_mean(gopa_aggregator):
    gopa_aggregator(SMALL.terms, script={0: "join"})
"""

IN_A_FIXTURE = """
import pytest
from gopa.adversary.setup import SMALL

@pytest.fixture
def mean(gopa_aggregator):
    with gopa_aggregator(SMALL.terms) as aggregator:
        return aggregator.average([1, 0, 1, 0.5])

def test_mean(mean):
    assert mean.count >= 3
"""

OTHER_SESSIONS = """
from dataclasses import replace
from gopa.adversary.setup import FIVE, SMALL, VECTOR

SESSIONS = {{
    "signed": (SMALL.terms, {{"mode": "signed"}}, [1, 0, 1, 0.5]),
    "trusting": (
        replace(SMALL.terms, mask="gaussian", mask_deviation=1000),
        {{"mode": "signed", "trust": "honest-but-curious"}},
        [1, 0, 1, 0.5],
    ),
    "vectors": (VECTOR, {{}}, [[1, 0, 1]] * 4),
    "three": (replace(SMALL.terms, parties=3, k=2, loss=0), {{}}, [1, 0, 1]),
    "nonces": (replace(FIVE, rounds=2), {{"beacon": "commit-reveal"}}, [1, 0, 1, 0.5, 0]),
}}

def test_mean(gopa_aggregator):
    terms, settings, values = SESSIONS[{name!r}]
    with gopa_aggregator(terms, **settings) as aggregator:
        for _ in range(terms.rounds):
            aggregator.average(values)
"""

FAMILY = ("out-of-range-input", "spoiled-value")


def run(place: Path, test: str, *options: str, conftest: str = "") -> tuple[int, str]:
    """Exit code and output of pytest on somebody's test."""
    (place / "test_theirs.py").write_text(test)
    (place / "conftest.py").write_text(conftest)
    return run_inside(place, "-rs", "-v", *options)


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


# Names that every run with this session has, for what is said about them.
SAID = {
    "signed": ("zero-noise: it needs proofs",),
    "trusting": ("out-of-range-input: parties that trust each other are promised nothing",),
    "vectors": ("unwitnessed-close: it needs a quorum of witnesses",),
    "three": ("hidden-residual: it takes 4 parties",),
    "nonces": (),
}
PARTS = 16
ATTACKS = [each.name for each in chosen(["all"]) if isinstance(each, SessionAttack)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "part"),
    [
        pytest.param(name, part, marks=() if part == PARTS * at // len(SAID) else pytest.mark.soak)
        for at, name in enumerate(SAID)
        for part in range(PARTS)
    ],
)
def test_no_attack_is_taken_for_a_hole_in_a_session_that_it_was_not_made_for(
    name: str, part: int, tmp_path: Path
) -> None:
    """Of whatever mode and size: each of them fails, ends the round, or means nothing there.

    Each session has a sixteenth of the attacks by default, and another one than the others.
    """
    named = {why.partition(":")[0] for why in SAID[name]} & {*ATTACKS}
    asked = sorted({*ATTACKS[part::PARTS], "out-of-range-input", *named})
    test = OTHER_SESSIONS.format(name=name)
    code, out = run(tmp_path, test, f"--gopa-attacks={','.join(asked)}")
    assert code == 0, out
    assert "FAILED" not in out
    for why in SAID[name]:
        assert why in out
    assert ("test_mean[out-of-range-input] PASSED" in out) == (
        name in {"vectors", "three", "nonces"}
    )
    counted = re.findall(r"(\d+) (?:passed|skipped)", out.splitlines()[-1])
    assert sum(map(int, counted)) == len(asked) + 1


def test_a_session_that_a_fixture_runs(tmp_path: Path) -> None:
    code, out = run(tmp_path, IN_A_FIXTURE, "--gopa-attacks=out-of-range-input,lying-result")
    assert code == 0, out
    assert "test_mean[honest] PASSED" in out
    assert "test_mean[out-of-range-input] PASSED" in out
    assert "test_mean[lying-result] SKIPPED" in out
    assert "lying-result ended the session before the test" in out
    careless = NO_PROOFS + "\nfrom gopa.adversary.setup import SMALL\n"
    code, out = run(tmp_path, IN_A_FIXTURE, "--gopa-attacks=out-of-range-input", conftest=careless)
    assert code == 1, out
    assert "a wrong sum was accepted" in out


def test_who_only_listens_has_an_occasion(tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE, "--gopa-attacks=selective-dropping")
    assert code == 0, out
    assert "test_mean[selective-dropping] PASSED" in out


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("board", "only parties and organisers misbehave"),
        ("zero-noise,truncate-log", "truncate-log: only parties and organisers misbehave"),
        (",", "name attacks or families"),
        ("test_theirs.py", "files come before"),
    ],
)
def test_names_that_would_try_nothing(asked: str, why: str, tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE, f"--gopa-attacks={asked}")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert why in out


def test_without_names_every_attack_is_asked_for(tmp_path: Path) -> None:
    code, out = run(tmp_path, PIPELINE, "--gopa-attacks", "--collect-only", "-q")
    assert code == 0, out
    found = re.findall(r"test_mean\[(.*)\]", out)
    assert found == ["honest", *ATTACKS]


def test_wrong_names_and_scripts_are_usage_errors(tmp_path: Path) -> None:
    assert run(tmp_path, PIPELINE, "--gopa-attacks=out-of-range-input")[0] == 0
    code, out = run(tmp_path, PIPELINE, "--gopa-attacks=zero-nose")
    assert code != 0
    assert re.search(r"did you mean zero-noise", out)
    code, out = run(tmp_path, OWN_SCRIPT)
    assert code == 1
    assert "the attack says who misbehaves" in out
