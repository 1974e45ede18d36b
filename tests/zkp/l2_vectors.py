"""What `specs/vectors/l2.json` holds: vectors of bounded Euclidean norm, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

from commitments import Commitment, VectorPedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, expectation, transcript
from zkp.l2 import L2Statement, prove_l2, verify_l2

CONTEXT = b"a party of a session"

VALID: dict[str, tuple[list[int], int]] = {
    "one coordinate": ([-2], 4),
    "on the bound": ([3, -4], 25),
    "one below the bound": ([4, -3], 26),
    "zeros": ([0, 0, 0], 1),
    "three coordinates": ([10, -20, 5], 700),
}


def case(group: Group, name: str, values: Sequence[int], bound: int) -> Case[L2Statement]:
    secret = group.secret_scalars([value % group.order for value in values])
    key = VectorPedersen(group, len(values))
    commitment, opening = key.commit_fresh(secret, rng=seeded(f"blinding {name}"))
    statement = L2Statement(commitment, bound)
    proof = prove_l2(statement, opening, transcript(CONTEXT), rng=seeded(f"proof {name}"))
    return Case(name, statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[L2Statement]]:
    valid = {name: case(group, name, *parts) for name, parts in VALID.items()}
    yield from valid.values()
    base = valid["on the bound"]
    yield from byte_cases(base)
    for bound in (24, 26, 36):
        changed = replace(base.statement, bound=bound)
        yield base.changed(f"as a proof for {bound}", statement=changed)
    other = valid["one below the bound"].statement.commitment
    yield base.changed("another vector", statement=replace(base.statement, commitment=other))
    longer = Commitment(VectorPedersen(group, 3), base.statement.commitment.points)
    yield base.changed("of dimension 3", statement=replace(base.statement, commitment=longer))
    yield false_case(group, base, "one over the bound", [4, -4], 31)
    yield false_case(group, base, "a coordinate too large", [6, 0], 35)
    yield false_case(group, base, "squares that wrap", wrapping(group.order), 25)


def wrapping(order: int) -> list[int]:
    """Two huge coordinates whose squares sum to 1 mod the order."""
    inverse = pow(10, -1, order)
    return [-8 * inverse % order, 6 * inverse % order]


def false_case(
    group: Group, base: Case[L2Statement], name: str, values: list[int], bound: int
) -> Case[L2Statement]:
    """What a prover gets that skips its own checks and uses bits of other values."""
    inside = L2Statement(base.statement.commitment, bound).intervals
    bits = [bit for interval in inside for bit in interval.bits(interval.high)]
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.l2.verify_l2"),
        mock.patch("zkp.range.secret_bits", return_value=group.secret_scalars(bits)),
    ):
        return replace(case(group, name, values, bound), base=base.name)


def byte_cases(case: Case[L2Statement]) -> Iterator[Case[L2Statement]]:
    """One case for each field of the proof, and for each way not to decode."""
    group, proof = case.statement.group, case.proof
    first, second, _ = case.statement._sizes()
    points = {32 * i for i in range((first + 32 * (case.statement.dimension + 2)) // 32)}
    for at in range(0, first + second, 32):
        old = proof[at : at + 32]
        if at in points:
            other = (group.decode_point(old) + group.generator).to_bytes()
        else:
            other = (group.decode_scalars(old, 1) + group.scalar(1)).to_bytes()
        changed = proof[:at] + other + proof[at + 32 :]
        yield case.changed(f"field {at // 32} changed", proof=changed)
    for at in (0, first, first + second):
        changed = proof[:at] + bytes(32) + proof[at + 32 :]
        yield case.changed(f"field {at // 32} is the identity", proof=changed)
    at = first + second - 32
    plus = int.from_bytes(proof[at : at + 32], "little") + group.order
    changed = proof[:at] + plus.to_bytes(32, "little") + proof[at + 32 :]
    yield case.changed("a response plus the order", proof=changed)
    last = (group.decode_scalars(proof[-32:], 1) + group.scalar(1)).to_bytes()
    yield case.changed("the last field of the range proof changed", proof=proof[:-32] + last)
    yield case.changed("a byte missing", proof=proof[:-1])
    yield case.changed("a byte too many", proof=proof + b"\0")
    yield case.changed("no bytes", proof=b"")
    yield case.changed("another context", context=case.context + b"!")


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "points, contexts and proofs in hexadecimal; bound and dimension in decimal. "
        "The transcript is that of protocol 'gopa/v1 test vectors' with the context absorbed "
        "as bytes under the label 'context'",
        "proofs": [
            {
                "name": made.name,
                "base": made.base,
                "context": made.context.hex(),
                "dimension": str(made.statement.dimension),
                "commitment": made.statement.commitment.to_bytes().hex(),
                "bound": str(made.statement.bound),
                "proof": made.proof.hex(),
            }
            | expectation(verify_l2, made)
            for made in cases(ristretto255())
        ],
    }


def statement_of(group: Group, record: dict[str, str]) -> L2Statement:
    """Read the statement of a record."""
    key = VectorPedersen(group, int(record["dimension"]))
    return L2Statement(key.decode(bytes.fromhex(record["commitment"])), int(record["bound"]))
