"""Learning on networks: steps of tokens that walk, and rounds of descent behind noise."""

from __future__ import annotations

from bench import network_descent, token_walks
from bench.measure import Numbers, Scale


def run(scale: Scale) -> Numbers:
    """The numbers of both."""
    return token_walks.steps(scale) | network_descent.rounds(scale)
