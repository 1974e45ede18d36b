"""What `specs/vectors/schnorr_bits.json` holds: range and noise statements, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias
from unittest import mock

from commitments import Commitment, Pedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp import gaussian_noise_vectors, range_vectors
from tests.zkp.noise_samples import party
from tests.zkp.proof_vectors import Case, expectation, transcript
from zkp.gaussian_noise import (
    Draw,
    GaussianNoiseStatement,
    prove_gaussian_noise,
    verify_gaussian_noise,
)
from zkp.noise_table import GaussianTable
from zkp.range import Interval, RangeStatement, prove_range, verify_range
from zkp.transcript import Transcript

Statement: TypeAlias = RangeStatement | GaussianNoiseStatement

CONTEXT = b"a party of a session"
TINY = GaussianTable.with_scale("0.7", bits=2, rows=3)

RANGES: dict[str, tuple[int, tuple[int, int]]] = {
    "one bit": (1, (0, 1)),
    "the lower end": (0, (0, 12)),
    "the upper end": (12, (0, 12)),
    "a negative value": (-3, (-3, 0)),
}


def range_case(group: Group, name: str, value: int, ends: tuple[int, int]) -> Case[Statement]:
    secret = group.secret_scalars([value % group.order])
    commitment, opening = Pedersen(group).commit_fresh(secret, rng=seeded(f"blinding {name}"))
    statement = RangeStatement(commitment, (Interval(*ends),))
    onto, rng = transcript(CONTEXT), seeded(f"proof {name}")
    return Case(
        name, statement, CONTEXT, prove_range(statement, opening, onto, rng=rng, proof="schnorr")
    )


def noise_case(group: Group, name: str, value: int | None, noise: int) -> Case[Statement]:
    """Halves 3 and 2 of the rows 1, 2, 1: row 1, so noise 0, with a carry."""
    values = None if value is None else [value]
    made = party(group, TINY, [3], [2], values, seed=f"bits {name}", claimed=[noise])
    onto, rng = transcript(CONTEXT), seeded(f"proof {name}")
    proof = prove_gaussian_noise(made.statement, made.witness, onto, rng=rng, proof="schnorr")
    return Case(name, made.statement, CONTEXT, proof)


def verify(statement: Statement, proof: bytes, onto: Transcript) -> None:
    if isinstance(statement, RangeStatement):
        verify_range(statement, proof, onto, kind="schnorr")
    else:
        verify_gaussian_noise(statement, proof, onto, kind="schnorr")


def cases(group: Group) -> Iterator[Case[Statement]]:
    valid = {name: range_case(group, name, *parts) for name, parts in RANGES.items()}
    valid["noise alone"] = noise_case(group, "noise alone", None, 0)
    valid["an input and its noise"] = noise_case(group, "an input and its noise", 20, 0)
    yield from valid.values()
    yield from byte_cases(group, valid["a negative value"])
    base = valid["noise alone"]
    assert isinstance(base.statement, GaussianNoiseStatement)
    other = range_case(group, "another", 0, (0, 12)).statement
    assert isinstance(other, RangeStatement)
    yield base.changed("another coin", statement=replace(base.statement, coins=(1,)))
    swapped = replace(base.statement, seeds=base.statement.output, output=base.statement.seeds)
    yield base.changed("seed and output swapped", statement=swapped)
    ranged = valid["the upper end"]
    yield ranged.changed("another commitment", statement=other)
    for ends in ((0, 11), (0, 13), (-1, 12), (0, 15)):
        changed = RangeStatement(_commitment(ranged), (Interval(*ends),))
        yield ranged.changed(f"as a proof for {ends}", statement=changed)
    yield false_range(group, ranged, 13)
    yield false_noise(group, base, "the row below", Draw(-1, 0, 0, 0, 1), -1)
    yield false_noise(group, base, "another noise in the output", Draw(0, 1, 0, 1, 1), 1)


def _commitment(case: Case[Statement]) -> Commitment:
    assert isinstance(case.statement, RangeStatement)
    return case.statement.commitment


def byte_cases(group: Group, case: Case[Statement]) -> Iterator[Case[Statement]]:
    """One case for each field of the proof, and for each way not to decode."""
    proof, count = case.proof, 2
    for at in range(0, len(proof), 32):
        old = proof[at : at + 32]
        if at < 32 * count:
            other = (group.decode_point(old) + group.generator).to_bytes()
        else:
            other = (group.decode_scalars(old, 1) + group.scalar(1)).to_bytes()
        changed = proof[:at] + other + proof[at + 32 :]
        yield case.changed(f"field {at // 32} changed", proof=changed)
    yield case.changed("a bit's commitment is the identity", proof=bytes(32) + proof[32:])
    plus = int.from_bytes(proof[64:96], "little") + group.order
    changed = proof[:64] + plus.to_bytes(32, "little") + proof[96:]
    yield case.changed("the challenge plus the order", proof=changed)
    yield case.changed("two bits swapped", proof=proof[32:64] + proof[:32] + proof[64:])
    yield case.changed("a byte missing", proof=proof[:-1])
    yield case.changed("a byte too many", proof=proof + b"\0")
    yield case.changed("no bytes", proof=b"")
    yield case.changed("another context", context=case.context + b"!")


def false_range(group: Group, base: Case[Statement], value: int) -> Case[Statement]:
    bits = group.secret_scalars(Interval(0, 12).bits(12))
    with mock.patch("zkp.range.secret_bits", return_value=bits), unchecked():
        return replace(range_case(group, f"the value {value}", value, (0, 12)), base=base.name)


def false_noise(
    group: Group, base: Case[Statement], name: str, told: Draw, noise: int
) -> Case[Statement]:
    with mock.patch("zkp.gaussian_noise.draw", return_value=told), unchecked():
        return replace(noise_case(group, name, None, noise), base=base.name)


@contextmanager
def unchecked() -> Iterator[None]:
    """A Sigma prover that sends its proof whether or not it holds."""
    with mock.patch("zkp.sigma.bits.verify"):
        yield


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "statements as in range.json and gaussian_noise.json, proofs of the other "
        "kind; the transcript is the same",
        "proofs": [
            {"name": made.name, "base": made.base, "context": made.context.hex()}
            | _written(made.statement)
            | {"proof": made.proof.hex()}
            | expectation(verify, made)
            for made in cases(ristretto255())
        ],
    }


def _written(statement: Statement) -> dict[str, str]:
    if isinstance(statement, RangeStatement):
        ends = " ".join(f"{i.low}..{i.high}" for i in statement.intervals)
        return {"commitments": statement.commitment.to_bytes().hex(), "intervals": ends}
    return gaussian_noise_vectors.written(statement)


def statement_of(group: Group, record: dict[str, str]) -> Statement:
    """Read the statement of a record."""
    if "table" in record:
        return gaussian_noise_vectors.statement_of(group, record)
    return range_vectors.statement_of(group, record)
