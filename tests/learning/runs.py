"""Runs that are their seed: prints digests, in this process, a forked and a spawned one.

`python -m tests.learning.runs`, or `--facts` for the integers and the floats themselves. Needs
the packages and `examples`, and nothing that only developers have.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Final

import numpy as np

import gopa
from examples.averaging import fit_gossip, fit_mean
from gopa.graph import complete, ring
from gopa.learning import (
    Charge,
    History,
    Outcome,
    Privacy,
    PrivacyLedger,
    iid,
    linear_models,
    moons,
    ratings,
)
from gopa.learning.clocks import Poisson, events
from gopa.learning.correlated import fit_correlated
from gopa.learning.federated import fedavg
from gopa.learning.network_dp import fit_sgd
from gopa.learning.objectives import SQUARED, Linear
from gopa.learning.rows import AgentRows
from gopa.learning.without_replacement import fit_without_replacement
from gopa.noise import (
    discrete_laplace,
    hadamard_bit,
    randomised_response,
    rounded_gaussian,
    subseed,
)

USERS: Final = 128


def fit_noise() -> Outcome:
    """Whoever a clock calls adds noise of every law to its number; all of it are integers."""
    who = events(Poisson(USERS), 3, steps=2_000, runs=2)
    ledger, total = PrivacyLedger(Privacy(60.0, 1e-4)), np.zeros((2, USERS), dtype=np.int64)
    seeds = [subseed("noise", number) for number in range(4)]
    shape = who.actors.shape
    drawn = [
        rounded_gaussian(50).draw(seeds[0], shape),
        discrete_laplace(20).draw(seeds[1], shape),
        randomised_response(5, 1.0).report(who.actors % 5, seeds[2]),
        hadamard_bit(1.0).report(who.actors, who.actors[::-1], seeds[3]),
    ]
    for run in range(2):
        for each in drawn:
            np.add.at(total[run], who.actors[run], each[run])
    cancelling = gopa.zero_sum(ring(USERS), rounded_gaussian(50), 2, subseed("zero")).T
    ledger.charge(Charge.gaussian(50.0, 5.0), note="all of it")
    return Outcome(
        model=total + cancelling,
        history=History({"step": range(shape[1]), "time": who.times[0].reshape(shape[1])}),
        spent=ledger.spent(),
        messages=int(who.actors.sum()),
        bytes=8 * total.size,
        seconds=0.0,
        seed=3,
    )


def outcomes() -> dict[str, Outcome]:
    """Noise in sessions and without them, clocks and integers, and products of matrices."""
    numbers, private = ratings(USERS, seed=3), Privacy(4.0, 1e-3)
    points = linear_models(20, 8, seed=3, rows=(4, 8))
    return {
        "verified mean": fit_mean(ratings(6, seed=3), privacy=Privacy(40.0, 1e-5), seed=3),
        "noise and clocks": fit_noise(),
        "gossip": fit_gossip(numbers, graph=ring(USERS), seed=3, steps=40, runs=16),
        "FedAvg": fedavg(
            moons([2, 3], 3, seed=3),
            privacy=Privacy(40.0, 1e-5),
            seed=3,
            rounds=1,
            most_rows=30,
            mode="off",
            session={"corrupt": 1, "dropout": 0.0},
        ),
        "token": fit_sgd(points, privacy=private, seed=3, steps=300, runs=8),
        "correlated noise": fit_correlated(
            Linear(SQUARED, AgentRows.of(points.pairs()).clipped(2, 1.0), ridge=0.1),
            graph=ring(20),
            seed=3,
            iterations=20,
            runs=8,
        ),
        "without replacement": fit_without_replacement(
            points, privacy=Privacy(4.0, 1e-3, unit="record"), seed=3, batch=2, runs=4
        ),
        "wide gossip": fit_gossip(numbers, graph=complete(USERS), seed=3, steps=5, runs=300),
    }


def digests(_: int = 0) -> list[str]:
    """Everything that a seed decides."""
    return [each.digest() for each in outcomes().values()]


def facts() -> dict[str, object]:
    """Integers, equal everywhere, and floats, which may differ in the last digits."""
    found = outcomes()
    data = [linear_models(20, 5, seed=3), moons(seed=3)]
    return {
        "integers": [
            *([each.messages, each.bytes, str(each.spent)] for each in found.values()),
            *(each.counts.tolist() for each in data),
            *(each.table.labels.tolist() for each in data),
            [rows.tolist() for rows in iid(data[0].table, 4, 3).rows],
            found["noise and clocks"].model.tolist(),
        ],
        "models": [
            found["verified mean"].model,
            *found["gossip"].model.tolist(),
            *found["wide gossip"].model.tolist(),
            *found["FedAvg"].model["coef"].tolist(),
            *found["token"].model.ravel().tolist(),
            *found["correlated noise"].model.ravel().tolist(),
            *found["without replacement"].model.public.ravel().tolist(),
            *data[0].truth["weights"].ravel().tolist(),
            *found["noise and clocks"].history["time"].tolist(),
        ],
    }


def everywhere() -> list[list[str]]:
    """Here, in a forked process, in a spawned one."""
    found = [digests()]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            found += pool.map(digests, [0])
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(facts() if "--facts" in sys.argv else everywhere()))
