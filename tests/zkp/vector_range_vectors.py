"""What `specs/vectors/vector_range.json` holds: bounded vectors, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

from commitments import Commitment, VectorPedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.range import Interval, VectorRangeStatement, prove_vector_range, verify_vector_range

CONTEXT = b"a party of a session"

VALID: dict[str, tuple[list[int], tuple[int, int]]] = {
    "one coordinate": ([1], (0, 1)),
    "two coordinates": ([0, 5], (0, 5)),
    "seven signed coordinates": ([-9, 9, 0, 1, -1, 8, -8], (-9, 9)),
    "three of sixteen bits": ([65535, 0, 4242], (0, 65535)),
}


def case(
    group: Group, name: str, values: Sequence[int], interval: tuple[int, int]
) -> Case[VectorRangeStatement]:
    secret = group.secret_scalars([value % group.order for value in values])
    key = VectorPedersen(group, len(values))
    commitment, opening = key.commit_fresh(secret, rng=seeded(f"blinding {name}"))
    statement = VectorRangeStatement(commitment, Interval(*interval))
    onto = transcript(CONTEXT)
    proof = prove_vector_range(statement, opening, onto, rng=seeded(f"proof {name}"))
    return Case(name, statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[VectorRangeStatement]]:
    valid = {name: case(group, name, *parts) for name, parts in VALID.items()}
    yield from valid.values()
    yield from byte_cases(valid["two coordinates"])
    base = valid["two coordinates"]
    for interval in ((0, 4), (0, 6), (-1, 5), (1, 6), (0, 7), (0, 8)):
        changed = replace(base.statement, interval=Interval(*interval))
        yield base.changed(f"as a proof for {interval}", statement=changed)
    for dimension in (1, 3):
        moved = Commitment(VectorPedersen(group, dimension), base.statement.commitment.points)
        changed = replace(base.statement, commitment=moved)
        yield base.changed(f"as a commitment of dimension {dimension}", statement=changed)
    other = valid["one coordinate"].statement.commitment.points
    moved = Commitment(VectorPedersen(group, 2), other)
    yield base.changed("another commitment", statement=replace(base.statement, commitment=moved))
    for values in ([0, 6], [-1, 5], [6, 5]):
        yield false_case(group, base, values)


def false_case(
    group: Group, base: Case[VectorRangeStatement], values: list[int]
) -> Case[VectorRangeStatement]:
    """What a prover gets that skips its own checks and uses the bits of other values."""
    inside = [bit for value in (0, 5) for bit in base.statement.interval.bits(value)]
    bits = group.secret_scalars(inside)
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.range.secret_bits", return_value=bits),
    ):
        made = case(group, f"the vector {values}", values, (0, 5))
    return replace(made, base=base.name)


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "commitments, contexts and proofs in hexadecimal; intervals as 'low..high'. "
        "The transcript is that of protocol 'gopa/v1 test vectors' with the context absorbed "
        "as bytes under the label 'context'",
        "proofs": [
            {
                "name": made.name,
                "base": made.base,
                "context": made.context.hex(),
                "dimension": str(made.statement.dimension),
                "commitment": made.statement.commitment.to_bytes().hex(),
                "interval": f"{made.statement.interval.low}..{made.statement.interval.high}",
                "proof": made.proof.hex(),
            }
            | expectation(verify_vector_range, made)
            for made in cases(ristretto255())
        ],
    }


def statement_of(group: Group, record: dict[str, str]) -> VectorRangeStatement:
    """Read the statement of a record."""
    low, high = record["interval"].split("..")
    key = VectorPedersen(group, int(record["dimension"]))
    commitment = key.decode(bytes.fromhex(record["commitment"]))
    return VectorRangeStatement(commitment, Interval(int(low), int(high)))
