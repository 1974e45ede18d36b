"""What `specs/vectors/range.json` holds: range proofs, and what must not pass for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

from commitments import Pedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.range import Interval, RangeStatement, prove_range, verify_range

CONTEXT = b"a party of a session"

VALID: dict[str, tuple[list[int], list[tuple[int, int]]]] = {
    "one bit": ([1], [(0, 1)]),
    "64 bits": ([2**63 + 12345], [(0, 2**64 - 1)]),
    "the lower end": ([0], [(0, 12)]),
    "the upper end": ([12], [(0, 12)]),
    "negative ends": ([-3], [(-17, 4)]),
    "far from zero": ([10**12 + 1], [(10**12, 10**12 + 2)]),
    "three values": ([5, 900, -1], [(0, 7), (0, 1000), (-1, 0)]),
}


def case(
    group: Group, name: str, values: Sequence[int], intervals: Sequence[tuple[int, int]]
) -> Case[RangeStatement]:
    secret = group.secret_scalars([value % group.order for value in values])
    commitment, opening = Pedersen(group).commit_fresh(secret, rng=seeded(f"blinding {name}"))
    statement = RangeStatement(commitment, tuple(Interval(*ends) for ends in intervals))
    proof = prove_range(statement, opening, transcript(CONTEXT), rng=seeded(f"proof {name}"))
    return Case(name, statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[RangeStatement]]:
    valid = {name: case(group, name, *parts) for name, parts in VALID.items()}
    yield from valid.values()
    yield from byte_cases(valid["the upper end"])
    yield from statement_cases(valid["three values"])
    for interval in ((0, 11), (0, 13), (-1, 12), (1, 13), (0, 15), (0, 16)):
        changed = replace(valid["the upper end"].statement, intervals=(Interval(*interval),))
        yield valid["the upper end"].changed(f"as a proof for {interval}", statement=changed)
    for value in (13, -1, 2**252):
        yield false_case(group, valid["the upper end"], value)


def statement_cases(base: Case[RangeStatement]) -> Iterator[Case[RangeStatement]]:
    """The commitments in another order, one too few, one too many, one replaced."""
    points, intervals = base.statement.commitment.points, base.statement.intervals

    def about(name: str, order: list[int], kept: list[int]) -> Case[RangeStatement]:
        commitment = replace(base.statement.commitment, points=points.gather(order))
        own = tuple(intervals[i] for i in kept)
        return base.changed(name, statement=RangeStatement(commitment, own))

    yield about("two commitments swapped", [1, 0, 2], [0, 1, 2])
    yield about("commitments and intervals swapped", [1, 0, 2], [1, 0, 2])
    yield about("a commitment too few", [0, 1], [0, 1])
    yield about("a commitment too many", [0, 1, 2, 2], [0, 1, 2, 2])
    yield about("a commitment twice", [0, 1, 1], [0, 1, 2])


def false_case(group: Group, base: Case[RangeStatement], value: int) -> Case[RangeStatement]:
    """What a prover gets that skips its own checks and uses the bits of another value."""
    bits = group.secret_scalars(base.statement.intervals[0].bits(12))
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.range.secret_bits", return_value=bits),
    ):
        made = case(group, f"the value {value}", [value], [(0, 12)])
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
                "commitments": made.statement.commitment.to_bytes().hex(),
                "intervals": " ".join(f"{i.low}..{i.high}" for i in made.statement.intervals),
                "proof": made.proof.hex(),
            }
            | expectation(verify_range, made)
            for made in cases(ristretto255())
        ],
    }


def statement_of(group: Group, record: dict[str, str]) -> RangeStatement:
    """Read the statement of a record."""
    ends = [pair.split("..") for pair in record["intervals"].split()]
    intervals = tuple(Interval(int(low), int(high)) for low, high in ends)
    data = bytes.fromhex(record["commitments"])
    return RangeStatement(Pedersen(group).decode(data, len(intervals)), intervals)
