"""What vector files of ranges hold: numbers, vectors, values under a weight, and what is refused.

They are `specs/vectors/range.json`, `vector_range.json` and `last_largest.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest import mock

from commitments import Commitment, Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.range import (
    Interval,
    LastLargestStatement,
    RangeStatement,
    VectorRangeStatement,
    prove_last_largest,
    prove_range,
    prove_vector_range,
    verify_last_largest,
    verify_range,
    verify_vector_range,
)

CONTEXT: Final = b"a party of a session"
Record = dict[str, str]
Changed = Iterator[tuple[str, str, Any]]
"""A valid case, the name of a changed one, and the statement that the proof is shown for."""


@dataclass(frozen=True)
class Kind:
    """One vector file: how its statements are made, written and read, and which cases it has.

    `false` are values that do not hold, and for each of them bits that a liar proves.
    """

    state: Callable[[Commitment, Any], Any]
    prove: Callable[..., bytes]
    verify: Callable[..., None]
    valid: dict[str, tuple[list[int], Any]]
    base: str
    changes: Callable[[dict[str, Any]], Changed]
    false: tuple[tuple[str, list[int], list[int]], ...]
    numbers: str
    write: Callable[[Any], Record]
    statement_of: Callable[[Group, Record], Any]

    def case(self, group: Group, name: str, values: Sequence[int], claim: Any) -> Case[Any]:
        commitment, opening = self.commit(group, name, values)
        statement = self.state(commitment, claim)
        onto, rng = transcript(CONTEXT), seeded(f"proof {name}")
        proof = self.prove(statement, opening, onto, rng=rng)
        return Case(name, statement, CONTEXT, proof)

    def commit(self, group: Group, name: str, values: Sequence[int]) -> tuple[Commitment, Opening]:
        key = Pedersen(group) if self.state is of_numbers else VectorPedersen(group, len(values))
        secret = group.secret_scalars([value % group.order for value in values])
        return key.commit_fresh(secret, rng=seeded(f"blinding {name}"))

    def cases(self, group: Group) -> Iterator[Case[Any]]:
        valid = {name: self.case(group, name, *parts) for name, parts in self.valid.items()}
        yield from valid.values()
        yield from byte_cases(valid[self.base])
        statements = {name: made.statement for name, made in valid.items()}
        for base, name, statement in self.changes(statements):
            yield valid[base].changed(name, statement=statement)
        for name, values, bits in self.false:
            yield self.false_case(group, name, values, bits)

    def false_case(self, group: Group, name: str, values: list[int], bits: list[int]) -> Case[Any]:
        """What a prover gets that skips its own checks and uses the bits of other values."""
        claim = self.valid[self.base][1]
        with (
            mock.patch("zkp.bits.prover.require_satisfied"),
            mock.patch("zkp.bits.prover.require_valid"),
            mock.patch("zkp.range.secret_bits", return_value=group.secret_scalars(bits)),
        ):
            made = self.case(group, name, values, claim)
        return replace(made, base=self.base)

    def records(self, group: Group | None = None) -> dict[str, object]:
        """The content of the vector file."""
        return {
            "format": f"commitments, contexts and proofs in hexadecimal; {self.numbers}. "
            "The transcript is that of protocol 'gopa/v1 test vectors' with the context absorbed "
            "as bytes under the label 'context'",
            "proofs": [
                {"name": made.name, "base": made.base, "context": made.context.hex()}
                | self.write(made.statement)
                | {"proof": made.proof.hex()}
                | expectation(self.verify, made)
                for made in self.cases(group or ristretto255())
            ],
        }


def bits_of(interval: tuple[int, int], *values: int) -> list[int]:
    return [bit for value in values for bit in Interval(*interval).bits(value)]


def _ends(text: str) -> Interval:
    low, high = text.split("..")
    return Interval(int(low), int(high))


def _moved(commitment: Commitment, dimension: int) -> Commitment:
    return Commitment(VectorPedersen(commitment.key.group, dimension), commitment.points)


def of_numbers(commitment: Commitment, intervals: Sequence[tuple[int, int]]) -> RangeStatement:
    return RangeStatement(commitment, tuple(Interval(*ends) for ends in intervals))


def _changed_numbers(valid: dict[str, RangeStatement]) -> Changed:
    """The commitments in another order, one too few, one too many, one replaced; intervals."""
    base = valid["three values"]

    def about(name: str, order: list[int], kept: list[int]) -> tuple[str, str, RangeStatement]:
        commitment = replace(base.commitment, points=base.commitment.points.gather(order))
        return (
            "three values",
            name,
            RangeStatement(commitment, tuple(base.intervals[i] for i in kept)),
        )

    yield about("two commitments swapped", [1, 0, 2], [0, 1, 2])
    yield about("commitments and intervals swapped", [1, 0, 2], [1, 0, 2])
    yield about("a commitment too few", [0, 1], [0, 1])
    yield about("a commitment too many", [0, 1, 2, 2], [0, 1, 2, 2])
    yield about("a commitment twice", [0, 1, 1], [0, 1, 2])
    for ends in ((0, 11), (0, 13), (-1, 12), (1, 13), (0, 15), (0, 16)):
        changed = replace(valid["the upper end"], intervals=(Interval(*ends),))
        yield "the upper end", f"as a proof for {ends}", changed


def _numbers_of(group: Group, record: Record) -> RangeStatement:
    intervals = tuple(map(_ends, record["intervals"].split()))
    data = bytes.fromhex(record["commitments"])
    return RangeStatement(Pedersen(group).decode(data, len(intervals)), intervals)


def _write_numbers(statement: RangeStatement) -> Record:
    return {
        "commitments": statement.commitment.to_bytes().hex(),
        "intervals": " ".join(f"{i.low}..{i.high}" for i in statement.intervals),
    }


RANGE: Final = Kind(
    of_numbers,
    prove_range,
    verify_range,
    {
        "one bit": ([1], [(0, 1)]),
        "64 bits": ([2**63 + 12345], [(0, 2**64 - 1)]),
        "the lower end": ([0], [(0, 12)]),
        "the upper end": ([12], [(0, 12)]),
        "negative ends": ([-3], [(-17, 4)]),
        "far from zero": ([10**12 + 1], [(10**12, 10**12 + 2)]),
        "three values": ([5, 900, -1], [(0, 7), (0, 1000), (-1, 0)]),
    },
    "the upper end",
    _changed_numbers,
    tuple((f"the value {value}", [value], bits_of((0, 12), 12)) for value in (13, -1, 2**252)),
    "intervals as 'low..high'",
    _write_numbers,
    _numbers_of,
)


def of_vectors(commitment: Commitment, interval: tuple[int, int]) -> VectorRangeStatement:
    return VectorRangeStatement(commitment, Interval(*interval))


def _changed_vectors(valid: dict[str, VectorRangeStatement]) -> Changed:
    name = "two coordinates"
    base = valid[name]
    for ends in ((0, 4), (0, 6), (-1, 5), (1, 6), (0, 7), (0, 8)):
        yield name, f"as a proof for {ends}", replace(base, interval=Interval(*ends))
    for dimension in (1, 3):
        moved = _moved(base.commitment, dimension)
        yield name, f"as a commitment of dimension {dimension}", replace(base, commitment=moved)
    other = _moved(valid["one coordinate"].commitment, 2)
    yield name, "another commitment", replace(base, commitment=other)


def _vectors_of(group: Group, record: Record) -> VectorRangeStatement:
    key = VectorPedersen(group, int(record["dimension"]))
    commitment = key.decode(bytes.fromhex(record["commitment"]))
    return VectorRangeStatement(commitment, _ends(record["interval"]))


def _write_vectors(statement: VectorRangeStatement) -> Record:
    interval = statement.interval
    return _write_vector(statement) | {"interval": f"{interval.low}..{interval.high}"}


def _write_vector(statement: VectorRangeStatement | LastLargestStatement) -> Record:
    commitment = statement.commitment.to_bytes().hex()
    return {"dimension": str(statement.dimension), "commitment": commitment}


VECTOR_RANGE: Final = Kind(
    of_vectors,
    prove_vector_range,
    verify_vector_range,
    {
        "one coordinate": ([1], (0, 1)),
        "two coordinates": ([0, 5], (0, 5)),
        "seven signed coordinates": ([-9, 9, 0, 1, -1, 8, -8], (-9, 9)),
        "three of sixteen bits": ([65535, 0, 4242], (0, 65535)),
    },
    "two coordinates",
    _changed_vectors,
    tuple(
        (f"the vector {values}", values, bits_of((0, 5), 0, 5))
        for values in ([0, 6], [-1, 5], [6, 5])
    ),
    "intervals as 'low..high'",
    _write_vectors,
    _vectors_of,
)


def _changed_weights(valid: dict[str, LastLargestStatement]) -> Changed:
    name = "one value and its weight"
    base = valid[name]
    for maximum in (3, 4, 6, 7, 8):
        yield name, f"as a proof for {maximum}", replace(base, maximum=maximum)
    moved = _moved(base.commitment, 3)
    yield name, "as a commitment of dimension 3", replace(base, commitment=moved)
    opposite = replace(base.commitment, points=-base.commitment.points)
    yield name, "the opposite commitment", replace(base, commitment=opposite)


def _weights_of(group: Group, record: Record) -> LastLargestStatement:
    key = VectorPedersen(group, int(record["dimension"]))
    commitment = key.decode(bytes.fromhex(record["commitment"]))
    return LastLargestStatement(commitment, int(record["maximum"]))


LAST_LARGEST: Final = Kind(
    LastLargestStatement,
    prove_last_largest,
    verify_last_largest,
    {
        "one value and its weight": ([3, 5], 5),
        "nothing under no weight": ([0, 0, 0], 1),
        "all the weight": ([6, 6, 0, 6], 7),
        "sixteen bits": ([65535, 0, 4242, 65535], 65535),
    },
    "one value and its weight",
    _changed_weights,
    tuple(
        (f"the vector {values}", values, bits_of((0, 5), 3, 5, 2))
        for values in ([5, 3], [4, 3], [6, 6], [-1, 5], [3, 6])
    ),
    "numbers in decimal",
    lambda statement: _write_vector(statement) | {"maximum": str(statement.maximum)},
    _weights_of,
)
