"""Turning queued proofs into one pool of points and scalars (specification 02, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments.group import Group, PointVec, ScalarVec
from wire.errors import MalformedMessage
from zkp.sigma.batch_equation import Claim, Pool
from zkp.sigma.narg import challenge_bytes
from zkp.sigma.relation import LinearRelation
from zkp.sigma.statement import Counts, Statement, leaf_challenges, leaves
from zkp.sponge import decode_challenges, frame
from zkp.vectors import concatenate


@dataclass(frozen=True, slots=True)
class Item:
    """One proof of the right length for a valid statement."""

    position: int
    session_id: bytes
    statement: Statement
    proof: bytes
    counts: Counts

    @property
    def split(self) -> int:
        """Where the commitments end and the scalars begin."""
        return self.counts.commitments * self.statement.group.point_size

    @property
    def binding(self) -> bytes:
        """Everything that decides whether this proof holds; prefix-free."""
        return self.session_id + frame(self.statement.serialize()) + frame(self.proof)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The points and scalars of several proofs, one proof after the other."""

    items: Sequence[Item]
    commitments: PointVec
    scalars: ScalarVec


def decode_items(group: Group, items: Sequence[Item]) -> Decoded:
    """Decode all proofs in two calls.

    Raises:
        MalformedMessage: some proof has a point or scalar that does not decode.
    """
    points = b"".join(item.proof[: item.split] for item in items)
    scalars = b"".join(item.proof[item.split :] for item in items)
    return Decoded(
        items,
        group.decode_points(points, len(points) // group.point_size),
        group.decode_scalars(scalars, len(scalars) // group.scalar_size),
    )


def decode_where_possible(group: Group, items: Sequence[Item]) -> tuple[Decoded, list[int]]:
    """The proofs that decode, and the positions of those that do not."""
    try:
        return decode_items(group, items), []
    except MalformedMessage:
        good = [item for item in items if _decodes(group, item)]
    kept = {item.position for item in good}
    return decode_items(group, good), [i.position for i in items if i.position not in kept]


def assemble(group: Group, decoded: Decoded) -> tuple[Pool, list[list[Claim]]]:
    """Everything the verification equations need, and the claims of each proof."""
    squeezed = [
        challenge_bytes(item.session_id, item.statement, item.proof[: item.split])
        for item in decoded.items
    ]
    layout = _Layout(decoded.scalars, decode_challenges(group, b"".join(squeezed)))
    claims = [layout.place(item) for item in decoded.items]
    relations = [claim.relation for placed in claims for claim in placed]
    pool = Pool(
        group,
        elements=concatenate([relation.points for relation in relations], group.points([])),
        commitments=decoded.commitments,
        challenges=layout.challenges.concat(group.scalars(layout.derived)),
        responses=decoded.scalars,
    )
    return pool, claims


class _Layout:
    """Where the parts of each proof are in the pool."""

    def __init__(self, scalars: ScalarVec, challenges: ScalarVec) -> None:
        self.challenges = challenges
        self.derived: list[int] = []
        self._scalars = scalars
        self._items = self._element = self._commitment = self._scalar = 0

    def place(self, item: Item) -> list[Claim]:
        """The claims of the next proof."""
        challenges = self._challenges(item)
        self._items += 1
        self._scalar += item.counts.coefficients
        return [
            self._claim(leaf, challenge)
            for leaf, challenge in zip(leaves(item.statement), challenges, strict=True)
        ]

    def _challenges(self, item: Item) -> list[int]:
        """The positions of the challenges of the leaves."""
        if isinstance(item.statement, LinearRelation):
            return [self._items]
        start = self._scalar
        coefficients = self._scalars[start : start + item.counts.coefficients]
        own = leaf_challenges(item.statement, self.challenges[self._items], coefficients)
        first = len(self.challenges) + len(self.derived)
        self.derived += [int(challenge) for challenge in own]
        return list(range(first, first + len(own)))

    def _claim(self, leaf: LinearRelation, challenge: int) -> Claim:
        claim = Claim(leaf, self._element, self._commitment, challenge, self._scalar)
        self._element += len(leaf.points)
        self._commitment += leaf.shape.equation_count
        self._scalar += leaf.shape.scalar_count
        return claim


def _decodes(group: Group, item: Item) -> bool:
    try:
        decode_items(group, [item])
    except MalformedMessage:
        return False
    return True
