"""Clinics on machines of their own train one model, and every round is a verified session.

A board, an organiser and each of the clinics are processes. A clinic knows its own rows alone. In
a first session all learn mean and variance of the columns, with noise that hides single patients.
In a second one each improves the model on its rows, and gives in the change by `mean_round`. All of
them follow the same published sums, so they end with the same model, and whoever audits the logs
can compute it again.

    python examples/federated_processes.py
"""

from __future__ import annotations

import atexit
import json
import math
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
from gopa.learning import Privacy, PrivacyLedger, Table, Users
from gopa.learning.federated import RoundShape, mean_round, variance
from gopa.sessions.vault import identity

CLINICS, ROUNDS, PATIENTS = 6, 3, 60
EPSILON, BOUND = 20, 2.0
COLUMNS = [0, 1, 6, 7, 21]
SHAPE = RoundShape(len(COLUMNS) + 1, most=PATIENTS)
"""Public: how long an update is, and how many patients a clinic has at most."""

STATISTIC = Privacy(5, 1e-5, unit="record")
NORM = math.sqrt(len(COLUMNS)) / PATIENTS * (1 + 1e-6)
"""Public: how far one patient moves a sum of numbers from -1 to 1 and of their squares, at most."""


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


def clinic(number: int, statistic: str, ticket: str, key: str) -> None:
    """What runs at a clinic: it checks the plans, and takes part in every round."""
    x, y = rows(number)
    # It lets this program answer for sums that are longer than the norm.
    policy = gopa.LocalPolicy(epsilon=Decimal(EPSILON), delta=Decimal("1e-5"), vouched=True)
    member = gopa.Client(identity.load(Path(key)), policy, home=f"{key}.sessions")
    mine = Users(Table(x[:, :-1], y, "own patients"), (np.arange(len(x)),))
    with gopa.SessionAggregator(statistic, member, vouched=True) as aggregator:
        about = variance(
            mine, low=-0.25, high=0.75, privacy=STATISTIC, most_rows=PATIENTS, seed=1,
            ledger=PrivacyLedger(STATISTIC), aggregator=aggregator,
        ).model  # fmt: skip
    model = np.zeros(SHAPE.width)
    with gopa.SessionAggregator(ticket, member) as aggregator:
        for _ in range(ROUNDS):
            change = improved(model, x, y) - model
            found = mean_round(aggregator, SHAPE, [change], [len(y)], bound=BOUND)
            if found.shortened:
                print("my update was shortened", file=sys.stderr)
            model = model + found.mean
    print(json.dumps([about["mean"].tolist(), about["variance"].tolist(), model.tolist()]))


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


def opened(organiser: Path, *asked: object) -> dict[str, str]:
    """Creates a session, and starts its organiser: where its ticket and its anchors are."""
    created = answer(
        *("session", "create", organiser, *asked, "--low", -1, "--high", 1),
        *("--delta", "1e-5", "--corrupt", 1, "--dropout", 0.01),
    )
    quiet = ("--quiet", "--poll", 0.1, "--log-level", "error")
    start(["-m", "gopa", "session", "open", organiser, *quiet])
    return created


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

    common = ("--board", address, "--log-key", log_key, "--roster", place / "roster")
    first = opened(
        *(place / "statistic", *common, "--rounds", 1, "--dimension", 2 * len(COLUMNS) + 1),
        *("--norm", NORM, "--path", "bits", "--epsilon", STATISTIC.epsilon),
    )
    second = opened(
        *(place / "training", *common, "--rounds", ROUNDS, "--dimension", SHAPE.dimension),
        *("--norm", SHAPE.half, "--epsilon", EPSILON),
    )
    clinics = [
        start([__file__, "clinic", number, first["ticket"], second["ticket"], key])
        for number, key in enumerate(keys)
    ]
    found = [json.loads(each.communicate()[0]) for each in clinics]

    reports = [gopa.audit(address, anchors=each["anchors"]) for each in (first, second)]
    for report in reports:
        print(report)
    mean, squares, model = found[0]
    print("means", np.round(mean, 2), "deviations", np.round(np.sqrt(squares), 2))
    x, y = rows(None)
    print(f"accuracy {np.mean(np.sign(x @ model) == y):.3f} on other patients")
    valid = all(each.verdict.value == "VALID" for each in reports)
    if not valid or any(each != found[0] for each in found):
        sys.exit("a log does not hold, or clinics disagree")


if __name__ == "__main__":
    if sys.argv[1:2] == ["clinic"]:
        clinic(int(sys.argv[2]), *sys.argv[3:6])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
