"""What `specs/vectors/gaussian_noise.json` holds: proved draws, and what must not pass for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

from commitments import Commitment, Pedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.noise_samples import party
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.noise import GaussianTable, decode_noise_law
from zkp.noise.gaussian_table import (
    Draw,
    GaussianNoiseStatement,
    prove_gaussian_noise,
    verify_gaussian_noise,
)
from zkp.range import Interval, RangeStatement

CONTEXT = b"a party of a session"
DEFAULT = GaussianTable(64, 1)
SMALL = GaussianTable.with_scale("1.5", bits=5, rows=7)

# Table, private halves, coins, inputs. SMALL begins its rows at 0, 1, 5, 12, 20, 27, 31.
Parts = tuple[GaussianTable, list[int], list[int], list[int] | None]

VALID: dict[str, Parts] = {
    "the default table": (DEFAULT, [2**47 + 99], [2**47 - 100], [17]),
    "noise alone": (SMALL, [3], [8], None),
    "a sum on the lower boundary of a row": (SMALL, [27], [25], [7]),
    "a sum on the last integer of a row": (SMALL, [26], [25], [7]),
    "the first row": (SMALL, [0], [0], [0]),
    "the last row, without a carry": (SMALL, [31], [0], [20]),
    "the largest sum": (SMALL, [31], [31], [20]),
    "two draws": (SMALL, [3, 14], [8, 15], [0, 20]),
}

# Claimed draw, and noise in the output, for the sum 27 + 25 = 20 + 32: row 4 exactly.
FALSE: dict[str, tuple[tuple[int, int, int, int], int]] = {
    "the row below its boundary": ((3, 7, 0, 1), 0),
    "the row above": ((5, 0, 3, 1), 2),
    "no carry, the last row": ((6, 0, 0, 0), 3),
    "no noise": ((4, 0, 6, 1), 0),
    "noise times two": ((4, 0, 6, 1), 2),
    "noise of the other sign": ((4, 0, 6, 1), -1),
    "a position past the end of the row": ((4, 7, 0, 1), 1),
}


def case(
    group: Group, name: str, parts: Parts, claimed: Sequence[int] | None = None
) -> Case[GaussianNoiseStatement]:
    table, halves, coins, values = parts
    made = party(group, table, halves, coins, values, seed=f"vector {name}", claimed=claimed)
    proof = prove_gaussian_noise(
        made.statement, made.witness, transcript(CONTEXT), rng=seeded(f"proof {name}")
    )
    return Case(name, made.statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[GaussianNoiseStatement]]:
    valid = {name: case(group, name, parts) for name, parts in VALID.items()}
    yield from valid.values()
    yield from byte_cases(valid["noise alone"])
    yield from statement_cases(valid["two draws"])
    boundary = "a sum on the lower boundary of a row"
    for name, (told, noise) in FALSE.items():
        lie = Draw(told[0] - SMALL.radius, *told)
        made = false_case(group, f"lie: {name}", VALID[boundary], lie, noise)
        yield replace(made, base=boundary)
    lie = Draw(-3, 0, 0, 0, 0)
    for half in (32, -1):
        made = false_case(group, f"lie: the half {half}", (SMALL, [half], [0], [0]), lie, -3)
        yield replace(made, base="the first row")


def statement_cases(
    base: Case[GaussianNoiseStatement],
) -> Iterator[Case[GaussianNoiseStatement]]:
    """One part of the statement replaced at a time."""
    old = base.statement
    assert old.inputs is not None
    inputs, order = old.inputs, [1, 0]

    def about(name: str, **changes: object) -> Case[GaussianNoiseStatement]:
        changed = replace(old, **changes)  # type: ignore[arg-type]
        return base.changed(name, statement=changed)

    def swapped(commitment: Commitment) -> Commitment:
        return replace(commitment, points=commitment.points.gather(order))

    yield about("another scale", table=GaussianTable.with_scale(2, bits=5, rows=7))
    yield about("the same rows under another scale", table=twin())
    yield about("fewer rows", table=GaussianTable.with_scale(1, bits=5, rows=5))
    yield about("another coin", coins=(9, 15))
    yield about("coins swapped", coins=(15, 8))
    yield about("seeds swapped", seeds=swapped(old.seeds))
    yield about("inputs swapped", inputs=replace(inputs, commitment=swapped(inputs.commitment)))
    yield about("outputs swapped", output=swapped(old.output))
    yield about("outputs without noise", output=inputs.commitment)
    yield about("noise alone, of the same outputs", inputs=None)
    for ends in ((0, 19), (0, 21), (-1, 20), (1, 20)):
        intervals = (Interval(*ends), *inputs.intervals[1:])
        yield about(f"an input in {ends}", inputs=replace(inputs, intervals=intervals))


def twin() -> GaussianTable:
    """Other parameters, the same rows."""
    found = GaussianTable.with_scale("1.501", bits=5, rows=7)
    assert found.masses == SMALL.masses
    return found


def false_case(
    group: Group, name: str, parts: Parts, told: Draw, noise: int
) -> Case[GaussianNoiseStatement]:
    """What a prover gets that skips its own checks and places its draw where it likes."""
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.noise.gaussian_table.draw", return_value=told),
    ):
        return case(group, name, parts, [noise])


def records(group: Group | None = None) -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "points, contexts, tables and proofs in hexadecimal; coins in decimal; "
        "intervals as 'low..high', none where the statement is about noise alone. The "
        "transcript is that of protocol 'gopa/v1 test vectors' with the context absorbed as "
        "bytes under the label 'context'",
        "proofs": [
            {
                "name": made.name,
                "base": made.base,
                "context": made.context.hex(),
            }
            | written(made.statement)
            | {"proof": made.proof.hex()}
            | expectation(verify_gaussian_noise, made)
            for made in cases(group or ristretto255())
        ],
    }


def written(statement: GaussianNoiseStatement) -> dict[str, str]:
    """A statement as records have it."""
    inputs = b"" if statement.inputs is None else statement.inputs.commitment.to_bytes()
    return {
        "table": statement.table.to_bytes().hex(),
        "coins": " ".join(map(str, statement.coins)),
        "seeds": statement.seeds.to_bytes().hex(),
        "inputs": inputs.hex(),
        "intervals": " ".join(f"{i.low}..{i.high}" for i in statement.intervals),
        "outputs": statement.output.to_bytes().hex(),
    }


def statement_of(group: Group, record: dict[str, str]) -> GaussianNoiseStatement:
    """Read the statement of a record."""
    coins = tuple(map(int, record["coins"].split()))
    key, inputs = Pedersen(group), None
    if record["intervals"]:
        ends = [pair.split("..") for pair in record["intervals"].split()]
        given = key.decode(bytes.fromhex(record["inputs"]), len(coins))
        intervals = tuple(Interval(int(low), int(high)) for low, high in ends)
        inputs = RangeStatement(given, intervals)
    table = decode_noise_law(bytes.fromhex(record["table"]))
    assert isinstance(table, GaussianTable)
    return GaussianNoiseStatement(
        table,
        key.decode(bytes.fromhex(record["seeds"]), len(coins)),
        coins,
        key.decode(bytes.fromhex(record["outputs"]), len(coins)),
        inputs,
    )
