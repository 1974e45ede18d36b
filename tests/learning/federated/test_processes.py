"""Rounds between processes: a board, an organiser, clinics, and an audit of what they did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from examples import federated_processes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.soak
def test_every_round_of_a_federation_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    federated_processes.main(tmp_path)  # exits unless the audit says VALID, and all models agree
    said = capsys.readouterr().out
    assert said.startswith("VALID")
    rounds = re.findall(r"Round \d: 6 parties included, 0 excluded", said)
    assert len(rounds) == federated_processes.ROUNDS
    assert float(said.partition("accuracy ")[2].split()[0]) > 0.6
