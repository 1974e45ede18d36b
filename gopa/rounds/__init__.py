"""What follows from a manifest and a roll: graph, losses, commitment keys, statements of proofs.

Parties, organiser and rules share it, so that all of them mean the same. Read `context`, `graph`
(who masks with whom), `masks`, `statements` (what is proved), `real_proofs`, then `rows`. Who lost
too many neighbours is removed, again and again:

    >>> from gopa.graph import ring
    >>> from gopa.rounds.toolkit import losses, peel
    >>> losses(ring(5), inside=[0, 1, 2, 3], withheld=0).tolist()
    [1, 0, 0, 1, 0]
    >>> peel(ring(5), inside=[0, 1, 2, 3], withheld=0, most=1)
    (0, 1, 2, 3)

Specification: `specs/04-protocol.md`, sections 3 to 5.
"""
