"""Flower's own simulation, with fewer workers than clients: nobody waits inside of a message."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from gopa.plugins.flower import VerifiableGrid
from tests.plugins.flower.worlds import app_of, planned, record

CLIENTS, ROUNDS = 5, 3


def moved(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    return {"a": model["a"] + (number + 1) / 100}, {"num-examples": 10 * (number + 1)}


def test_a_simulation_with_one_worker_ends(tmp_path: Path) -> None:
    from flwr.simulation import run_simulation

    server, held = ServerApp(), []

    @server.main()  # type: ignore[untyped-decorator, unused-ignore]
    def main(grid: Grid, context: Context) -> None:
        del context
        plan = planned(CLIENTS, 7, rounds=ROUNDS)
        strategy = FedAvg(fraction_evaluate=0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS)
        with VerifiableGrid(grid, plan, mode="signed", max_weight=64) as verified:
            result = strategy.start(verified, record({"a": np.zeros(6)}), num_rounds=ROUNDS)
        held.append((result.arrays.to_numpy_ndarrays()[0], verified.reports))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workers = {"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": 1}}
        client = app_of(moved, tmp_path)
        run_simulation(server, client, CLIENTS, backend_config=workers)
    ((found, reports),) = held
    weights = np.arange(1, CLIENTS + 1)
    mean = float(weights @ weights / weights.sum()) / 100
    assert found == pytest.approx(np.full(6, ROUNDS * mean), abs=1e-5)
    assert [len(each.included) for each in reports] == [CLIENTS] * ROUNDS
    assert all(each.exchanges <= 10 for each in reports)
