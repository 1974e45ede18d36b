"""Clinics on machines of their own train one model, and every round is a verified session.

A board, an organiser and each of the clinics are processes. A clinic knows its own rows alone: it
improves the model on them, and gives in the change by `mean_round`. All of them follow the same
published sums, so they end with the same model, and whoever audits the log can compute it again.

    python examples/federated_processes.py
"""

from __future__ import annotations

import atexit
import json
import socket
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import load_breast_cancer

import gopa
from gopa.learning.federated import RoundShape, mean_round
from gopa.sessions.vault import identity

CLINICS, ROUNDS, PATIENTS = 6, 3, 60
EPSILON, BOUND = 20, 2.0
COLUMNS = [0, 1, 6, 7, 21]
SHAPE = RoundShape(len(COLUMNS) + 1, most=PATIENTS)
"""Public: how long an update is, and how many patients a clinic has at most."""


def rows(clinic: int | None) -> tuple[np.ndarray, np.ndarray]:
    """What one clinic has; None stands for patients that no clinic has seen."""
    data = load_breast_cancer()
    x = data.data[:, COLUMNS]
    x = (x - x.min(axis=0)) / np.ptp(x, axis=0) - 0.25
    owner = np.minimum(np.arange(len(x)) // 50, CLINICS)
    mine = owner == (CLINICS if clinic is None else clinic)
    return np.hstack([x, np.full((len(x), 1), 0.2)])[mine], (2 * data.target - 1)[mine]


def improved(model: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Some steps down the logistic loss of one's own rows."""
    for _ in range(10):
        model = model + 3.0 * (y / (1 + np.exp(y * (x @ model)))) @ x / len(y)
    return model


def clinic(number: int, ticket: str, key: str) -> None:
    """What runs at a clinic: it checks the plan, and takes part in every round."""
    x, y = rows(number)
    policy = gopa.LocalPolicy(epsilon=Decimal(EPSILON), delta=Decimal("1e-5"))
    member = gopa.Client(identity.load(Path(key)), policy, home=f"{key}.sessions")
    model = np.zeros(SHAPE.width)
    with gopa.SessionAggregator(ticket, member) as aggregator:
        for _ in range(ROUNDS):
            change = improved(model, x, y) - model
            found = mean_round(aggregator, SHAPE, [change], [len(y)], bound=BOUND)
            if found.shortened:
                print("my update was shortened", file=sys.stderr)
            model = model + found.mean
    print(json.dumps(model.tolist()))


def answer(*arguments: object) -> dict[str, str]:
    """Runs a command of `gopa` and reads its answer."""
    command = [sys.executable, "-m", "gopa", *map(str, arguments), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, str] = json.loads(done.stdout)
    return found


def start(command: list[object]) -> subprocess.Popen[str]:
    """Starts a process that ends with this one."""
    process = subprocess.Popen(  # noqa: S603 - this program, and gopa
        [sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process


def serving(address: str) -> bool:
    """Whether the board answers by now."""
    try:
        with urlopen(f"{address}/checkpoint") as response:  # noqa: S310 - our own
            return bool(response.status == 200)
    except OSError:
        return False


def main(place: Path) -> None:
    """Starts everybody, waits, and audits what they did."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, board = f"http://127.0.0.1:{port}", place / "board"
    log_key = answer("board", "init", board, "--origin", "board.example/clinics")["log"]
    start(
        [
            "-m",
            "gopa",
            "board",
            "serve",
            board,
            "--sessions",
            "--port",
            port,
            "--log-level",
            "error",
        ]
    )
    keys = [place / f"clinic-{number}" for number in range(CLINICS)]
    public = [f"{key.name}={answer('keygen', key)['public']}" for key in keys]
    answer("session", "roster", place / "roster", *public)
    while not serving(address):
        time.sleep(0.1)

    created = answer(
        *("session", "create", place / "organiser", "--board", address, "--log-key", log_key),
        *("--roster", place / "roster", "--rounds", ROUNDS),
        *("--dimension", SHAPE.dimension, "--low", -1, "--high", 1, "--norm", SHAPE.half),
        *("--epsilon", EPSILON, "--delta", "1e-5", "--corrupt", 1, "--dropout", 0.01),
    )
    start(
        [
            "-m",
            "gopa",
            "session",
            "open",
            place / "organiser",
            "--quiet",
            "--poll",
            0.1,
            "--log-level",
            "error",
        ]
    )
    clinics = [
        start([__file__, "clinic", number, created["ticket"], key])
        for number, key in enumerate(keys)
    ]
    models = [json.loads(each.communicate()[0]) for each in clinics]

    audited = gopa.audit(address, anchors=created["anchors"])
    print(audited)
    x, y = rows(None)
    print(f"accuracy {np.mean(np.sign(x @ models[0]) == y):.3f} on other patients")
    if audited.verdict.value != "VALID" or any(each != models[0] for each in models):
        sys.exit("the log does not hold, or clinics disagree")


if __name__ == "__main__":
    if sys.argv[1:2] == ["clinic"]:
        clinic(int(sys.argv[2]), *sys.argv[3:5])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
