"""Specification 02 and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.group.backends import installed_groups
from tests.zkp.sigma.samples import sample
from wire.domains import PROVER_NONCES, SIGMA_BATCH_WEIGHTS, TRANSCRIPT
from zkp import transcript as sponge
from zkp.sigma import Form, statements

ROOT: Final = Path(__file__).resolve().parents[2]
SPEC: Final = (ROOT / "specs" / "02-transcript-and-sigma.md").read_text()
CODE: Final = "".join(
    path.read_text()
    for path in (ROOT / "zkp" / "transcript.py", *sorted((ROOT / "zkp" / "sigma").glob("*.py")))
)


def numbers(letter: str) -> list[int]:
    return [int(number) for number in re.findall(rf"\*\*\[{letter}(\d+)\]\*\*", SPEC)]


@pytest.mark.parametrize("letter", "SFRINPCTXB")
def test_rules_are_numbered_without_gaps(letter: str) -> None:
    assert numbers(letter) == list(range(1, len(numbers(letter)) + 1))
    assert numbers(letter)


def test_every_check_that_code_cites_is_a_rule() -> None:
    cited = set(re.findall(r'"02-([A-Z])(\d+)"', CODE))
    assert len(cited) > 15
    for letter, number in cited:
        assert int(number) in numbers(letter)


@pytest.mark.parametrize("letter", "INTB")
def test_every_rule_of_a_verifier_is_marked_in_the_code(letter: str) -> None:
    for number in numbers(letter):
        assert re.search(rf"02-{letter}{number}\b|# {letter}{number}\b", CODE), (letter, number)


def test_labels() -> None:
    group = installed_groups()[0]
    for name in ("dleq", "one_of_two"):
        for form in Form:
            label = form.label(sample(group, name).statement).decode()
            assert label.replace(group.name, "<group>") in SPEC
    for domain in (TRANSCRIPT, PROVER_NONCES, SIGMA_BATCH_WEIGHTS):
        assert f'"{domain.decode()}"' in SPEC


def test_constants() -> None:
    assert f"rate {sponge.RATE}" in SPEC
    assert f"{sponge.RATE - sponge.SESSION_SIZE} zero bytes" in SPEC
    assert f"Ns + {sponge.CHALLENGE_SLACK} squeezed bytes" in SPEC


def test_every_statement_is_in_the_table() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", SPEC, re.MULTILINE))
    public = {
        name
        for name, thing in vars(statements).items()
        if getattr(thing, "__module__", "") == statements.__name__
        and name.islower()
        and not name.startswith("_")
    }
    assert listed == public - {"witness", "product_witness", "dleq_shape"}
