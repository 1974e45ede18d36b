"""What `specs/vectors/weighted_noise.json` holds: noise from weighted bits, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

from commitments import VectorPedersen, ristretto255
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, byte_cases, expectation, transcript
from zkp.bits import Openings
from zkp.noise import WeightedBits, binomial, decode_noise_law, irwin_hall
from zkp.noise.weighted_bits import (
    WeightedNoisePlan,
    WeightedNoiseStatement,
    commit_weighted_noise,
    prove_weighted_noise,
    verify_weighted_noise,
)
from zkp.range import Interval

CONTEXT = b"a party of a session"

# Law, interval or None, whether the inputs have a commitment, inputs (zeros where none).
Parts = tuple[WeightedBits, tuple[int, int] | None, bool, list[int]]

VALID: dict[str, Parts] = {
    "a binomial": (binomial(2), None, False, [0]),
    "three sums of uniforms": (irwin_hall(2, 2), None, False, [0, 0, 0]),
    "inputs in the bits alone": (binomial(4), (-3, 9), False, [-3, 9]),
    "committed inputs": (irwin_hall(2, 2), (0, 12), True, [12, 5]),
}


def case(group: Group, name: str, parts: Parts, error: int = 0) -> Case[WeightedNoiseStatement]:
    """`error` is added to the first coordinate of the output."""
    law, ends, committed, values = parts
    interval = None if ends is None else Interval(*ends)
    plan = WeightedNoisePlan(group, law, len(values), interval, committed)
    secret = group.secret_scalars([value % group.order for value in values])
    hidden = commit_weighted_noise(
        plan,
        None if ends is None else secret,
        transcript(CONTEXT),
        rng=seeded(f"private coins {name}"),
    )
    coins = bytes(byte & 1 for byte in seeded(f"coins {name}")(plan.coin_count))
    key, shift = VectorPedersen(group, len(values)), [error] + [0] * (len(values) - 1)
    total = hidden.noise(coins) + secret + group.scalars(shift)
    output, opened = key.commit_fresh(total, rng=seeded(f"output {name}"))
    given, own = key.commit_fresh(secret, rng=seeded(f"inputs {name}"))
    inputs, vectors = (given, [own, opened]) if committed else (None, [opened])
    statement = WeightedNoiseStatement(plan, hidden.point, coins, output, inputs)
    onto, rng = transcript(CONTEXT), seeded(f"proof {name}")
    proof = prove_weighted_noise(statement, hidden, Openings(vectors=vectors), onto, rng=rng)
    return Case(name, statement, CONTEXT, proof)


def cases(group: Group) -> Iterator[Case[WeightedNoiseStatement]]:
    valid = {name: case(group, name, parts) for name, parts in VALID.items()}
    yield from valid.values()
    base = valid["committed inputs"]
    yield from byte_cases(valid["a binomial"])
    yield from statement_cases(base, valid["inputs in the bits alone"])
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
    ):
        for name, error in (("1", 1), ("-1", -1), ("2^200", 2**200)):
            made = case(group, f"an output off by {name}", VALID[base.name], error)
            yield replace(made, base=base.name)


def statement_cases(
    base: Case[WeightedNoiseStatement], other: Case[WeightedNoiseStatement]
) -> Iterator[Case[WeightedNoiseStatement]]:
    """One part of the statement replaced at a time."""
    old, group = base.statement, base.statement.group
    assert old.inputs is not None

    def about(name: str, **changes: object) -> Case[WeightedNoiseStatement]:
        return base.changed(name, statement=replace(old, **changes))  # type: ignore[arg-type]

    def planned(name: str, **changes: object) -> Case[WeightedNoiseStatement]:
        return about(name, plan=replace(old.plan, **changes))  # type: ignore[arg-type]

    yield about("the first coin flipped", coins=bytes([1 - old.coins[0]]) + old.coins[1:])
    yield about("the last coin flipped", coins=old.coins[:-1] + bytes([1 - old.coins[-1]]))
    yield about("bits committed later", committed=old.committed + group.generator)
    yield about("bits of another party", committed=other.statement.committed)
    yield about("another output", output=other.statement.output)
    yield about("another input", inputs=other.statement.output)
    yield about("an output without noise", output=old.inputs)
    yield about("inputs and output swapped", inputs=old.output, output=old.inputs)
    yield planned("another law of as many bits", law=binomial(4))
    for ends in ((0, 11), (0, 13), (-1, 12), (0, 15)):
        yield planned(f"inputs in {ends}", interval=Interval(*ends))
    alone = replace(old.plan, inputs_committed=False)
    yield about("inputs not committed", plan=alone, inputs=None)


def records(group: Group | None = None) -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "points, contexts, laws and proofs in hexadecimal; one digit for each coin; "
        "the interval as 'low..high', empty where the statement is about noise alone; inputs "
        "empty where they have no commitment. The transcript is that of protocol "
        "'gopa/v1 test vectors' with the context absorbed as bytes under the label 'context'",
        "proofs": [
            {
                "name": made.name,
                "base": made.base,
                "context": made.context.hex(),
                "law": made.statement.plan.law.to_bytes().hex(),
                "dimension": str(made.statement.plan.dimension),
                "interval": _interval(made.statement.plan.interval),
                "A": made.statement.committed.to_bytes().hex(),
                "coins": "".join(map(str, made.statement.coins)),
                "inputs": made.statement.inputs.to_bytes().hex() if made.statement.inputs else "",
                "output": made.statement.output.to_bytes().hex(),
                "proof": made.proof.hex(),
            }
            | expectation(verify_weighted_noise, made)
            for made in cases(group or ristretto255())
        ],
    }


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.low}..{interval.high}"


def statement_of(group: Group, record: dict[str, str]) -> WeightedNoiseStatement:
    """Read the statement of a record."""
    law = decode_noise_law(bytes.fromhex(record["law"]))
    assert isinstance(law, WeightedBits)
    key = VectorPedersen(group, int(record["dimension"]))
    interval = None
    if record["interval"]:
        low, high = record["interval"].split("..")
        interval = Interval(int(low), int(high))
    inputs = key.decode(bytes.fromhex(record["inputs"])) if record["inputs"] else None
    return WeightedNoiseStatement(
        WeightedNoisePlan(group, law, key.dimension, interval, inputs is not None),
        group.decode_point(bytes.fromhex(record["A"])),
        bytes(map(int, record["coins"])),
        key.decode(bytes.fromhex(record["output"])),
        inputs,
    )
