"""Rounds between processes: a board, an organiser, clinics, and an audit of what they did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from examples import federated_processes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.soak
def test_every_round_of_a_federation_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    federated_processes.main(tmp_path)  # exits unless both audits say VALID, and all models agree
    said = capsys.readouterr().out
    assert said.count("VALID") == 2
    rounds = re.findall(r"Round \d: 6 parties included, 0 excluded", said)
    assert len(rounds) == 1 + federated_processes.ROUNDS
    means = np.fromstring(said.partition("means [")[2].partition("]")[0], sep=" ")
    patients = np.concatenate(
        [federated_processes.rows(each)[0] for each in range(federated_processes.CLINICS)]
    )
    assert np.abs(means - patients[:, :-1].mean(axis=0)).max() < 0.15
    assert float(said.partition("accuracy ")[2].split()[0]) > 0.6
