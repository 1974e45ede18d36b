"""The page on two parties runs as it stands, and names what there is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commitments.group import Group
from gopa import twoparty
from gopa.twoparty import Circuit, arithmetic, comparison, laplace_noise
from gopa.twoparty.conversation import HEADER, MessageKind
from gopa.twoparty.transfer import COLUMNS, FAMILY
from tests.group.backends import installed_groups
from tests.noise.test_laws import ROOT
from tests.twoparty.groups import BITS, bytes_of_user, depth, deviation, group_circuit
from tests.twoparty.two_party_vectors import records
from tests.vectors.registry import FOLDER, render
from wire import domains

PAGE = (Path(__file__).resolve().parents[2] / "docs/learning/two-parties.md").read_text()


def test_its_program_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [node for node in ast.parse(program).body if not isinstance(node, ast.Import)]
    assert len(lines) <= 10
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    answer, tables = done.stdout.split()
    assert answer in {"0", "1"}
    assert tables == "34"


def test_every_name_in_its_table_is_there() -> None:
    table = PAGE.partition("| you want to")[2].partition("\n\n")[0]
    names = set(re.findall(r"`([a-zA-Z_]+)(?:\([^`]*\))?`", table))
    classes = (twoparty.Garbler, twoparty.LaplaceNoise, twoparty.RandomisedAnswer)
    things = (twoparty, arithmetic, *classes)
    assert {"comparison", "Builder", "start"} <= names
    assert [name for name in names if not any(hasattr(each, name) for each in things)] == []


def test_why_not_more_than_two() -> None:
    """The circuits count what they should, hide it behind noise, and cost what the page says."""
    rng = np.random.default_rng(1)
    for users in (2, 3, 5):
        exact, noisy = group_circuit(users, None), group_circuit(users, 1.0)
        points = rng.integers(0, 2**BITS, (users, 2)).tolist()
        points[-1] = points[0]  # a tie with somebody
        given = {
            role: [each for user in range(first, users, 2) for each in points[user]]
            for first, role in enumerate(("garbler", "evaluator"))
        }
        right = sum(
            int(np.sign(x - y) * np.sign(a - b)) for (x, a), (y, b) in combinations(points, 2)
        )

        def result(circuit: Circuit, given: Any = given) -> int:
            mine, yours = (
                circuit.bits_of(role, own, rng.bytes(circuit.coins)) for role, own in given.items()
            )
            return int(circuit.compute(mine, yours))

        assert result(exact) == right
        seen = {result(noisy) for _ in range(20)}
        assert len(seen) > 1
    rows = re.findall(r"^\| (\d+) \| (\.\d+) \| ([\d,]+) \| (.*) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == ["2", "4", "8", "16", "32"]
    sent = []
    for users, noise, gates, told, rounds in rows:
        circuit = group_circuit(int(users), 1.0)
        sent.append(bytes_of_user(circuit, int(users)))
        assert f"{deviation(int(users), 10_000, 1.0):.3f}"[1:] == noise
        assert (f"{circuit.ands:,}", str(depth(circuit))) == (gates, rounds)
        size, unit = told.split()
        assert float(size) == pytest.approx(sent[-1] / {"kB": 1e3, "MB": 1e6}[unit], rel=0.04)
    assert f"A group of 16 needs {sent[3] / sent[0]:.0f} times the bytes of a pair" in PAGE
    assert "2.8 times less noise" in PAGE
    assert f"{deviation(2, 10_000, 1.0) / deviation(16, 10_000, 1.0):.1f}" == "2.8"


TEXT = (ROOT / "specs" / "21-two-parties.md").read_text()
COSTS = (ROOT / "docs" / "research" / "learning.md").read_text()


def test_labels_are_written_out() -> None:
    labels = [value for name, value in vars(domains).items() if name.startswith("TWO_PARTY_")]
    assert len(labels) == 5
    for label in labels:
        assert f"`{label.decode()}`" in TEXT
    assert f"`{FAMILY.decode()}`" in TEXT


def test_numbers_are_those_of_the_code() -> None:
    assert f"{HEADER} bytes in front of the body" in TEXT
    assert f"m < {COLUMNS} bits" in TEXT
    for kind in MessageKind:
        assert f"| {kind.value} | {kind.name.lower()} |" in TEXT
    small, large = laplace_noise(1), laplace_noise(100)
    assert f"at t = 1, M = {small.magnitude} and c = {small.coins}" in " ".join(TEXT.split())
    assert f"at t = 100 M = {large.magnitude} and c = {large.coins}" in " ".join(TEXT.split())
    assert f"| comparison of 16 bits | {comparison(16).ands} | 16 | 1,439 | 618 |" in COSTS


@pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)
def test_vectors_are_those_of_both_backends(group: Group) -> None:
    assert render(records(group)) == (FOLDER / "two_party.json").read_text()
