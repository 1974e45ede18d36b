"""How many neighbours a plan needs, so that the graph hides everybody and the round finishes.

Read `expansion` (how likely a random graph is worse than assumed), `attendance` (the choice of k,
for the worst number of parties that may join), and `liveness` (how likely a round finishes when
parties fail).

    >>> from gopa.planning.neighbours.liveness import fewest_survivors
    >>> fewest_survivors(1000, 0.05) < 950
    True

Specification: `specs/03-privacy.md`, sections 7 and 8.
"""
