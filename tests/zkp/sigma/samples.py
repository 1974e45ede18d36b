"""One true statement of every kind, with its witness, the same on every backend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from commitments import Pedersen
from commitments.group import Group, Point, PointVec, SecretScalar
from tests.randomness import seeded
from wire.errors import UsageError
from zkp.sigma import (
    AllOf,
    AnyOf,
    ChildWitnesses,
    Form,
    LinearRelation,
    Statement,
    Witness,
    conjoin,
    prove,
    verify,
)
from zkp.sigma.statements import (
    discrete_log,
    dleq,
    equal_values,
    linear_among_values,
    opening,
    opens_to,
    product,
    product_witness,
    representation,
    same_logarithm,
    witness,
)
from zkp.transcript import Transcript


@dataclass(frozen=True)
class Sample:
    name: str
    statement: Statement
    witness: Witness


@dataclass(frozen=True)
class OtherBases:
    """Bases of commitments that are not those of `Pedersen`."""

    value_base: Point
    blinding_base: Point


def context(party: bytes = b"alice") -> Transcript:
    """A transcript with some context bound, as a protocol would make it."""
    transcript = Transcript(b"tests/sigma v1")
    transcript.absorb(b"session", b"session 1")
    transcript.absorb(b"party", party)
    return transcript


def secret(group: Group, name: str) -> SecretScalar:
    """A secret scalar that stands for the name."""
    return group.secret_scalar(int.from_bytes(name.encode().ljust(24, b"."), "big"))


def base(group: Group, name: str) -> Point:
    """A point for the name; who knows the code knows its logarithm."""
    return group.generator * secret(group, f"base {name}")


def commit(group: Group, value: SecretScalar, blinding: SecretScalar) -> Point:
    key = Pedersen(group)
    return key.value_base * value + key.blinding_base * blinding


def proved(statement: Statement, known: Witness, form: Form = Form.BATCHABLE) -> bytes:
    """A proof that was just accepted."""
    proof = prove(statement, known, context(), rng=seeded(1), form=form)
    verify(statement, proof, context(), form=form)
    return proof


def accepted(group: Group, name: str, form: Form = Form.BATCHABLE) -> tuple[Statement, bytes]:
    """The statement of a sample, with a proof that was just accepted."""
    found = sample(group, name)
    return found.statement, proved(found.statement, found.witness, form)


def refused(statement: Statement, wrong: Witness) -> None:
    """No proof comes out of a valid statement, because the witness does not fit."""
    assert statement.violation is None
    with pytest.raises(UsageError):
        prove(statement, wrong, context(), rng=seeded(1))


def sample(group: Group, name: str) -> Sample:
    return next(found for found in samples(group) if found.name == name)


@cache
def samples(group: Group) -> tuple[Sample, ...]:
    """All statements that tests go through."""
    return (*relations(group), *compositions(group))


@cache
def relations(group: Group) -> tuple[Sample, ...]:
    """The statements that are one linear relation."""
    x, y, r, s, t = (secret(group, name) for name in ("x", "y", "r", "s", "t"))
    G, H, K = group.generator, base(group, "H"), base(group, "K")
    key, other = Pedersen(group), OtherBases(base(group, "value"), base(group, "blinding"))
    left, right = commit(group, x, r), commit(group, y, s)
    other_left = other.value_base * x + other.blinding_base * t
    five = group.scalar(5)

    def row(*values: Point) -> PointVec:
        return group.points(values)

    return (
        Sample("discrete_log", discrete_log(group, G * x), witness(group, x)),
        Sample(
            "representation", representation(group, row(H, K), H * x + K * y), witness(group, x, y)
        ),
        Sample("dleq", dleq(group, row(G * x, H * x), row(H)), witness(group, x)),
        Sample("dleq_three", dleq(group, row(G * x, H * x, K * x), row(H, K)), witness(group, x)),
        Sample(
            "same_logarithm", same_logarithm(group, row(H * x, K * x), row(H, K)), witness(group, x)
        ),
        Sample("opening", opening(group, key, left), witness(group, x, r)),
        Sample(
            "equal_values",
            equal_values(group, [(key, left), (other, other_left)]),
            witness(group, x, r, t),
        ),
        Sample(
            "product",
            product(group, key, left, right, commit(group, x * y, t)),
            product_witness(group, (x, r), (y, s), t),
        ),
        Sample(
            "linear_among_values",
            linear_among_values(
                group,
                key,
                row(left, right, commit(group, x + x - y * five + five, t)),
                [2, -5, -1],
                -5,
            ),
            witness(group, r + r - s * five - t),
        ),
        Sample(
            "opens_to",
            opens_to(group, key, commit(group, five.secret(), r), five),
            witness(group, r),
        ),
        Sample("conjoined", conjoined(group, x, r), witness(group, x, r)),
    )


def conjoined(group: Group, x: SecretScalar, r: SecretScalar) -> LinearRelation:
    """The logarithm of a key is what a commitment hides."""
    return conjoin(
        [
            (discrete_log(group, group.generator * x), [0]),
            (opening(group, Pedersen(group), commit(group, x, r)), [0, 1]),
        ]
    )


@cache
def compositions(group: Group) -> tuple[Sample, ...]:
    """The statements made of other statements."""
    known = {found.name: found for found in relations(group)}
    key, pair, opened = known["discrete_log"], known["dleq"], known["opening"]
    foreign = [discrete_log(group, base(group, f"stranger {i}")) for i in range(3)]
    one_of = AnyOf(1, (foreign[0], key.statement))
    two_of = AnyOf(2, (pair.statement, foreign[1], opened.statement, foreign[2]))
    return (
        Sample(
            "all_of",
            AllOf((key.statement, opened.statement)),
            ChildWitnesses(key.witness, opened.witness),
        ),
        Sample("one_of_two", one_of, ChildWitnesses(None, key.witness)),
        Sample("two_of_four", two_of, ChildWitnesses(pair.witness, None, opened.witness, None)),
        Sample(
            "two_of_two",
            AnyOf(2, (key.statement, pair.statement)),
            ChildWitnesses(key.witness, pair.witness),
        ),
        Sample(
            "nested",
            AllOf((AnyOf(1, (AllOf((key.statement, one_of)), two_of)), pair.statement)),
            ChildWitnesses(
                ChildWitnesses(
                    ChildWitnesses(key.witness, ChildWitnesses(None, key.witness)), None
                ),
                pair.witness,
            ),
        ),
    )
