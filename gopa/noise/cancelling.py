"""Draws noise for the parties of a graph that cancels in their sum, to the last bit.

The masks of edges in specification 08, all from one seed. Specification: `specs/15-noise.md`,
section 5.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np

from commitments import ristretto255
from commitments.group import Group
from gopa.graph import Graph
from gopa.noise.laws import Integers, TableLaw
from gopa.noise.seeds import require_seed, whole
from wire.domains import EDGE_WORDS, NOISE_EDGE, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

_LARGEST: Final = 2**63 - 1


def zero_sum(
    graph: Graph, law: TableLaw, dimension: int, seed: bytes, *, group: Group | None = None
) -> Integers:
    """One vector of integers for each party, in an array of parties x dimension; they sum to zero.

    Neighbours share one vector of draws, independent of all others: the one with the smaller
    number adds it, the other one subtracts it. Where several rounds are needed, all come faster
    from one call: rounds x d is the dimension. A seed serves one call.

    Raises:
        UsageError: a graph that is not connected, where not only the sum of all would be bare
            but that of each component; fewer than two parties; a law without tables, such as
            uniform masks, which cancel only modulo 2^64; sums that 64 bits may not hold; a
            dimension below 1, or a seed without 32 bytes.
    """
    _check(graph, law)
    dimension = whole(dimension, 1, "dimension")
    group = ristretto255() if group is None else group
    domain = stream_domain(EDGE_WORDS)
    noise: Any = np.zeros((graph.parties, dimension), dtype=np.int64)
    for low, high in zip(*(ends.tolist() for ends in graph.edges()), strict=True):
        stream = group.stream(edge_seed(seed, law, low, high), domain)
        drawn = law.draw_from(group, stream, dimension)
        noise[low] += drawn
        noise[high] -= drawn
    return np.asarray(noise, dtype=np.int64)


def edge_seed(seed: bytes, law: TableLaw, low: int, high: int) -> SecretBytes:
    """The key of one edge, which two parties of a real session agree on in another way."""
    ends = low.to_bytes(4) + high.to_bytes(4)
    digest = hashlib.sha256(NOISE_EDGE + require_seed(seed) + ends + law.name.encode())
    return SecretBytes(digest.digest())


def _check(graph: Any, law: Any) -> None:
    if not isinstance(graph, Graph):
        raise UsageError(f"must be a graph, not {type(graph).__name__}", "graph")
    if not isinstance(law, TableLaw):
        message = "must be a law of gopa.noise, such as rounded_gaussian(50)"
        raise UsageError(f"{message}, not {type(law).__name__}", "law")
    if graph.parties < 2:
        raise UsageError("noise that cancels needs two parties or more", "graph")
    if not graph.is_connected():
        message = "is not connected: call this for each component, whose sum is then bare"
        raise UsageError(message, "graph")
    if int(graph.degrees.max()) * law.largest > _LARGEST:
        raise UsageError("draws of so many neighbours may exceed 64 bits: take less noise", "law")
