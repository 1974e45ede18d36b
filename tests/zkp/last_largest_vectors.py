"""What `specs/vectors/last_largest.json` holds: values under a weight, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

from commitments import Commitment, VectorPedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.range import LastLargestStatement, prove_last_largest, verify_last_largest

CONTEXT = b"a party of a session"

VALID: dict[str, tuple[list[int], int]] = {
    "one value and its weight": ([3, 5], 5),
    "nothing under no weight": ([0, 0, 0], 1),
    "all the weight": ([6, 6, 0, 6], 7),
    "sixteen bits": ([65535, 0, 4242, 65535], 65535),
}


def case(
    group: Group, name: str, values: Sequence[int], maximum: int
) -> Case[LastLargestStatement]:
    secret = group.secret_scalars([value % group.order for value in values])
    key = VectorPedersen(group, len(values))
    commitment, opening = key.commit_fresh(secret, rng=seeded(f"blinding {name}"))
    statement = LastLargestStatement(commitment, maximum)
    onto = transcript(CONTEXT)
    proof = prove_last_largest(statement, opening, onto, rng=seeded(f"proof {name}"))
    return Case(name, statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[LastLargestStatement]]:
    valid = {name: case(group, name, *parts) for name, parts in VALID.items()}
    yield from valid.values()
    base = valid["one value and its weight"]
    yield from byte_cases(base)
    for maximum in (3, 4, 6, 7, 8):
        changed = replace(base.statement, maximum=maximum)
        yield base.changed(f"as a proof for {maximum}", statement=changed)
    points = base.statement.commitment.points
    moved = replace(base.statement, commitment=Commitment(VectorPedersen(group, 3), points))
    yield base.changed("as a commitment of dimension 3", statement=moved)
    opposite = replace(base.statement, commitment=Commitment(VectorPedersen(group, 2), -points))
    yield base.changed("the opposite commitment", statement=opposite)
    for values in ([5, 3], [4, 3], [6, 6], [-1, 5], [3, 6]):
        yield false_case(group, base, values)


def false_case(
    group: Group, base: Case[LastLargestStatement], values: list[int]
) -> Case[LastLargestStatement]:
    """What a prover gets that skips its own checks and uses the bits of other values."""
    interval = base.statement.interval
    bits = group.secret_scalars([bit for value in (3, 5, 2) for bit in interval.bits(value)])
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.range.secret_bits", return_value=bits),
    ):
        made = case(group, f"the vector {values}", values, 5)
    return replace(made, base=base.name)


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "commitments, contexts and proofs in hexadecimal; numbers in decimal. "
        "The transcript is that of protocol 'gopa/v1 test vectors' with the context absorbed "
        "as bytes under the label 'context'",
        "proofs": [
            {
                "name": made.name,
                "base": made.base,
                "context": made.context.hex(),
                "dimension": str(made.statement.dimension),
                "commitment": made.statement.commitment.to_bytes().hex(),
                "maximum": str(made.statement.maximum),
                "proof": made.proof.hex(),
            }
            | expectation(verify_last_largest, made)
            for made in cases(ristretto255())
        ],
    }


def statement_of(group: Group, record: dict[str, str]) -> LastLargestStatement:
    """Read the statement of a record."""
    key = VectorPedersen(group, int(record["dimension"]))
    commitment = key.decode(bytes.fromhex(record["commitment"]))
    return LastLargestStatement(commitment, int(record["maximum"]))
