"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable

from bench import (
    accounting,
    audit,
    board,
    draws,
    exact_sums,
    flower,
    gossip,
    group,
    learning,
    liveness,
    paths,
    personalised,
    plan,
    plan_table,
    privacy_table,
    protocol,
    recovered,
    rows,
    session,
    terms,
    tunnel,
    twoparty,
    vectors,
    vectors_growth,
    zkp,
)
from bench.measure import Scale

Benchmark = Callable[[Scale], dict[str, object]]

BENCHMARKS: dict[str, Benchmark] = {
    "accounting": accounting.run,
    "audit": audit.run,
    "board": board.run,
    "draws": draws.run,
    "exact_sums": exact_sums.run,
    "flower": flower.run,
    "gossip": gossip.run,
    "group": group.run,
    "learning": learning.run,
    "liveness": liveness.run,
    "paths": paths.run,
    "personalised": personalised.run,
    "plan": plan.run,
    "plan-table": plan_table.run,
    "privacy-table": privacy_table.run,
    "protocol": protocol.run,
    "recovered": recovered.run,
    "rows": rows.run,
    "session": session.run,
    "terms": terms.run,
    "tunnel": tunnel.run,
    "twoparty": twoparty.run,
    "vectors": vectors.run,
    "vectors-growth": vectors_growth.run,
    "zkp": zkp.run,
}


def main() -> None:
    """Run one benchmark and print its numbers with the parameters they hold for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHMARKS))
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    scale = parser.add_mutually_exclusive_group()
    for each, what in ((Scale.FULL, "all instances distinct; slower"), (Scale.TINY, "as tests do")):
        scale.add_argument(
            f"--{each.name.lower()}", dest="scale", action="store_const", const=each, help=what
        )
    parser.set_defaults(scale=Scale.USUAL)
    arguments = parser.parse_args()
    numbers = BENCHMARKS[arguments.name](arguments.scale) | {
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    if arguments.json:
        json.dump(numbers, sys.stdout)
        sys.stdout.write("\n")
        return
    width = max(map(len, numbers))
    for key, value in numbers.items():
        sys.stdout.write(f"{key:<{width}}  {value}\n")


if __name__ == "__main__":
    main()
