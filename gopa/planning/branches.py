"""How many graphs an organiser can look at before honest parties are bound to one.

An organiser that lies can show closes of join with different leaves, and the coins come from
the leaf. Specification: `specs/03-privacy.md`, section 8, [V25c] and [V25d].
"""

from __future__ import annotations


def branches(parties: int, corrupt: int, survivors: int) -> int:
    """How many closes of join of one attempt honest parties can go on with to the end.

    An honest party acts on one of them, and each needs so many honest parties that
    `survivors` are left with all corrupt ones.
    """
    return (parties - corrupt) // (survivors - corrupt)


def graphs_of_attempt(parties: int, corrupt: int, survivors: int, *, nonces: bool) -> int:
    """From how many graphs of one attempt, chosen as they are seen, one may be gone on with.

    With nonces a graph shows itself as honest parties reveal theirs: whoever looks at the
    nonces of one leaf and then goes on with another has lost the parties that revealed there.
    A beacon shows all graphs at once, when everybody has noted its leaf.
    """
    return parties - survivors + 1 if nonces else branches(parties, corrupt, survivors)
