"""Runs that are their seed: prints digests, in this process, a forked and a spawned one.

python -m tests.learning.runs [--models FILE]
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Final

from examples.averaging import fit_gossip, fit_mean
from gopa.graph import complete, ring
from gopa.learning import Outcome, Privacy, iid, linear_models, moons, ratings

USERS: Final = 128


def outcomes() -> dict[str, Outcome]:
    """One of noise and a session, and two of products of matrices, one of them large."""
    numbers = ratings(USERS, seed=3)
    return {
        "verified mean": fit_mean(ratings(6, seed=3), privacy=Privacy(40.0, 1e-5), seed=3),
        "gossip": fit_gossip(numbers, graph=ring(USERS), seed=3, steps=40, runs=16),
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
        ],
        "models": [
            found["verified mean"].model,
            *found["gossip"].model.tolist(),
            *found["wide gossip"].model.tolist(),
            *data[0].truth["weights"].ravel().tolist(),
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
