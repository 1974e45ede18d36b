"""The server runs FedAvg as it is; `VerifiableGrid` gives it averages that anyone can audit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import gopa
from flower_verified.task import LARGEST, accuracy, beginning
from gopa.plugins.flower import VerifiableGrid

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Plan a session for all rounds, and hold it."""
    config = context.run_config
    clients, rounds = int(config["clients"]), int(config["rounds"])
    mode: Literal["full", "signed"] = "full" if config["mode"] == "full" else "signed"
    model = ArrayRecord(list(beginning()))
    plan = gopa.plan(
        n=clients,
        epsilon=None,  # exact sums: whoever compares two of them learns the difference
        dropout=float(config["dropout"]),
        dimension=650 + 2,  # the model, its loss, and the weight
        weighted=True,
        range=(-2, 2),  # of the differences between trained models and the one that was sent
        steps=2**28 if mode == "full" else 2**24,  # full mode has steps of lengths
        rounds=rounds,
        mode=mode,
    )
    strategy = FedAvg(fraction_evaluate=0, min_train_nodes=clients, min_available_nodes=clients)
    with VerifiableGrid(
        grid, plan, mode=mode, max_weight=LARGEST, metrics={"loss": (0, 10)}, clip=True
    ) as verified:
        strategy.start(verified, model, num_rounds=rounds, evaluate_fn=evaluated)
    for report in verified.reports:
        seconds = f"{report.seconds:.1f} s in {report.exchanges} exchanges"
        print(f"{len(report.included)} clients, {report.weight:.0f} rows, {seconds}")
    for log in verified.keep(Path(str(config["keep"])).absolute()):
        print(f"gopa audit {log} --anchors {log.with_suffix('.anchors')}")


def evaluated(_: int, arrays: ArrayRecord) -> MetricRecord:
    """What the averaged model can do."""
    weights, bias = arrays.to_numpy_ndarrays()
    return MetricRecord({"accuracy": accuracy((weights, bias))})
