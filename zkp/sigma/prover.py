"""The prover's moves for any statement (specification 02, sections 4 and 5).

Known and simulated branches run the same operations on their leaves: a leaf
under a threshold commits to (its nonces, minus an offset times the image), where
the offset is the simulated challenge or zero, and answers with nonces + witness *
(challenge - offset). Which branches are simulated never shows in the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from wire.errors import UsageError
from zkp.sigma.composition import AllOf, AnyOf, Statement, count, evaluate, interpolate
from zkp.sigma.relation import LinearRelation


class ChildWitnesses:
    """One witness for each child of a composed statement, in order.

    Under `AnyOf` a part is None where the witness is not known.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: SecretScalarVec | ChildWitnesses | None) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"<Witnesses of {len(self.parts)} statements>"


Witness: TypeAlias = SecretScalarVec | ChildWitnesses
"""For a relation its secret scalars, for a composed statement `ChildWitnesses`."""


def randomness_count(statement: Statement) -> int:
    """How many random scalars one proof uses up."""
    dimensions = count(statement)
    return dimensions.responses + dimensions.coefficients


class SigmaProver:
    """The state between commitment and response. It answers one challenge only.

    Two answers from one commitment give the witness away, so a second call is
    refused.
    """

    __slots__ = ("_answered", "_group", "_root")

    def __init__(self, statement: Statement, witness: Witness, randomness: SecretScalarVec) -> None:
        if len(randomness) != randomness_count(statement):
            raise UsageError(f"one proof takes {randomness_count(statement)} random scalars")
        self._group = statement.group
        self._root = _plan(statement, witness, _Supply(randomness), None)
        self._answered = False

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError("a prover answers one challenge: a copy could answer another")

    def randomness(self) -> SecretScalarVec:
        """The random scalars that the proof is made with, in the order in which they were given."""
        return self._root.randomness(self._group.secret_scalars([]))

    def commit(self) -> PointVec:
        """The commitments of all leaves, from left to right."""
        commitment = self._group.points([])
        for leaf in self._root.leaves():
            commitment = commitment.concat(leaf.commit())
        return commitment

    def respond(self, challenge: Scalar) -> tuple[ScalarVec, ScalarVec]:
        """The polynomial coefficients and the responses, both from left to right.

        Raises:
            UsageError: this state has answered before.
        """
        if self._answered:
            raise UsageError("a commitment answers one challenge: prove again from the start")
        self._answered = True
        answer = _Answer(self._group)
        self._root.respond(challenge, answer)
        return self._group.scalars(answer.coefficients), answer.responses


def is_satisfied(statement: Statement, witness: Witness | None) -> bool:
    """Whether every witness that is given satisfies its relation."""
    if witness is None:
        return True
    if isinstance(statement, LinearRelation):
        return statement.commit(_leaf_witness(statement, witness)) == statement.image()
    return all(is_satisfied(child, part) for child, part in _pairs(statement, witness))


def flatten_witness(statement: Statement, witness: Witness | None) -> SecretScalarVec:
    """All scalars of a witness from left to right, zeros where it is not known.

    Raises:
        UsageError: the witness does not have the form of the statement.
    """
    if witness is None:
        return statement.group.secret_scalars([0] * count(statement).responses)
    if isinstance(statement, LinearRelation):
        return _leaf_witness(statement, witness)
    parts = [flatten_witness(c, w) for c, w in _pairs(statement, witness)]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.concat(part)
    return joined


class _Supply:
    """Random scalars, each handed out once."""

    def __init__(self, scalars: SecretScalarVec) -> None:
        self._scalars = scalars
        self._used = 0

    def take(self, n: int) -> SecretScalarVec:
        start, self._used = self._used, self._used + n
        return self._scalars[start : self._used]


@dataclass(slots=True)
class _Answer:
    """What the response phase makes."""

    group: Group
    coefficients: list[int] = field(default_factory=list)
    responses: ScalarVec = field(init=False)

    def __post_init__(self) -> None:
        self.responses = self.group.scalars([])


@dataclass(slots=True)
class _Leaf:
    relation: LinearRelation
    witness: SecretScalarVec
    nonces: SecretScalarVec
    offset: SecretScalar | None

    def leaves(self) -> Iterator[_Leaf]:
        yield self

    def randomness(self, before: SecretScalarVec) -> SecretScalarVec:
        return before.concat(self.nonces)

    def commit(self) -> PointVec:
        return self.relation.commit(self.nonces, self.offset)

    def respond(self, challenge: Scalar, answer: _Answer) -> None:
        if self.offset is None:
            response = self.nonces + self.witness * challenge
        else:
            response = self.nonces + self.witness * (challenge - self.offset)
        answer.responses = answer.responses.concat(response.reveal())


@dataclass(slots=True)
class _Inner:
    """The plan of a statement with children."""

    children: list[_Node]

    def randomness(self, before: SecretScalarVec) -> SecretScalarVec:
        for child in self.children:
            before = child.randomness(before)
        return before

    def leaves(self) -> Iterator[_Leaf]:
        for child in self.children:
            yield from child.leaves()


@dataclass(slots=True)
class _All(_Inner):
    """A relation whose children all get the challenge."""

    def respond(self, challenge: Scalar, answer: _Answer) -> None:
        for child in self.children:
            child.respond(challenge, answer)


@dataclass(slots=True)
class _Any(_Inner):
    """A threshold node; `chosen` holds the challenges of its simulated children by place."""

    group: Group
    chosen: dict[int, SecretScalar]

    def randomness(self, before: SecretScalarVec) -> SecretScalarVec:
        for challenge in self.chosen.values():
            before = before.concat(self.group.scalars([1]) * challenge)
        return _Inner.randomness(self, before)

    def respond(self, challenge: Scalar, answer: _Answer) -> None:
        # Every value of the polynomial is about to be public; only which of them
        # were chosen beforehand is secret.
        values = {place: int(c.reveal()) for place, c in self.chosen.items()}
        polynomial = interpolate(self.group.order, {0: int(challenge), **values})
        answer.coefficients += polynomial[1:]
        shares = [self.group.scalar(value) for value in polynomial]
        for place, child in enumerate(self.children, start=1):
            child.respond(evaluate(self.group, shares, place), answer)


_Node: TypeAlias = _Leaf | _All | _Any


def _plan(
    statement: Statement, witness: Witness | None, supply: _Supply, offset: SecretScalar | None
) -> _Node:
    """Lay out a proof. A witness of None means: simulate, with `offset` as challenge."""
    if isinstance(statement, LinearRelation):
        secret = flatten_witness(statement, witness)
        return _Leaf(statement, secret, supply.take(statement.shape.scalar_count), offset)
    if isinstance(statement, AllOf):
        return _All([_plan(c, w, supply, offset) for c, w in _pairs(statement, witness)])
    return _plan_any(statement, witness, supply, offset)


def _plan_any(
    statement: AnyOf, witness: Witness | None, supply: _Supply, offset: SecretScalar | None
) -> _Any:
    group, t = statement.group, statement.threshold
    pairs = _pairs(statement, witness)
    places = range(1, len(pairs) + 1)
    answering = [i for i in places if witness is None or pairs[i - 1][1] is not None][:t]
    if len(answering) < t:
        raise UsageError(f"the statement needs {t} known witnesses, not {len(answering)}")
    free = supply.take(statement.degree)
    chosen = dict(zip((i for i in places if i not in answering), _items(free), strict=True))
    if witness is None and offset is not None:
        offsets = _simulated_offsets(group, offset, chosen, len(pairs))
    else:
        offsets = {i: chosen.get(i, group.secret_scalar(0)) for i in places}
    children = [
        _plan(child, None if place in chosen else known, supply, offsets[place])
        for place, (child, known) in enumerate(pairs, start=1)
    ]
    return _Any(children, group, chosen)


def _simulated_offsets(
    group: Group, challenge: SecretScalar, chosen: dict[int, SecretScalar], n: int
) -> dict[int, SecretScalar]:
    """The challenges of all children of a node that is simulated as a whole."""
    values = {place: int(c.reveal()) for place, c in chosen.items()}
    polynomial = interpolate(group.order, {0: int(challenge.reveal()), **values})
    shares = [group.secret_scalar(value) for value in polynomial]
    return {place: evaluate(group, shares, place) for place in range(1, n + 1)}


def _items(scalars: SecretScalarVec) -> list[SecretScalar]:
    return [scalars[i] for i in range(len(scalars))]


def _leaf_witness(relation: LinearRelation, witness: Witness) -> SecretScalarVec:
    expected = relation.shape.scalar_count
    if isinstance(witness, ChildWitnesses) or len(witness) != expected:
        raise UsageError(f"the witness of this relation is a vector of {expected} secret scalars")
    return witness


def _pairs(
    statement: AllOf | AnyOf, witness: Witness | None
) -> list[tuple[Statement, Witness | None]]:
    children = statement.children
    if witness is None:
        return [(child, None) for child in children]
    if not isinstance(witness, ChildWitnesses) or len(witness.parts) != len(children):
        raise UsageError(f"this statement takes Witnesses of its {len(children)} children")
    if isinstance(statement, AllOf) and any(part is None for part in witness.parts):
        raise UsageError("a conjunction needs the witness of every child")
    return list(zip(children, witness.parts, strict=True))
