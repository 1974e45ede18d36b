"""What `specs/vectors/graph.json` holds: choices and whole graphs from seeds."""

from __future__ import annotations

import hashlib

from gopa.graph import chosen_by, k_out_graph

CASES = ((2, 1), (3, 2), (10, 3), (10, 9), (257, 20), (65_536, 20), (1_000_000, 30))
GRAPHS = ((5, 2), (12, 3), (40, 4))


def seed(name: str) -> bytes:
    """32 bytes for each name."""
    return hashlib.sha256(f"gopa graph vectors/{name}".encode()).digest()


def records() -> dict[str, object]:
    """The content of the vector file."""
    choices = []
    for parties, k in CASES:
        for position in sorted({0, parties // 2, parties - 1}):
            value = seed(f"{parties}/{k}/{position}")
            choices.append(
                {
                    "seed": value.hex(),
                    "parties": parties,
                    "k": k,
                    "position": position,
                    "chosen": list(chosen_by(value, position, parties, k)),
                }
            )
    graphs = []
    for parties, k in GRAPHS:
        value = seed(f"graph/{parties}/{k}")
        first, second = k_out_graph(value, parties, k).edges()
        edges = [[int(u), int(v)] for u, v in zip(first, second, strict=True)]
        graphs.append({"seed": value.hex(), "parties": parties, "k": k, "edges": edges})
    return {
        "format": "positions from 0; chosen in order of choice; one seed for all in graphs",
        "choices": choices,
        "graphs": graphs,
    }
