"""Statements about hidden bits for `specs/verifier`: of the library, and from the text of 07.

The library's are read by their public parts alone. Those of 07 are written here in general: the
program itself knows only the ones that a session has.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from tests.verifier.test_parts import part
from wire.errors import InvalidProof, MalformedMessage
from zkp import bits

Answer = tuple[str, str, int | None] | None
"""None for a proof that holds; else the error, its check or field, and the offset."""

Statement = tuple[int, list[Any]]
"""How many bits there are, and the constraints in the words of the second verifier."""

Record = dict[str, Any]


def answer(check: Callable[[], None]) -> Answer:
    """The answer of the library. Errors that no proof may cause are not caught."""
    try:
        check()
    except InvalidProof as error:
        return "InvalidProof", error.check, None
    except MalformedMessage as error:
        return "MalformedMessage", error.field, error.offset
    return None


def second_answer(script: Any, statement: Statement, proof: bytes, early: bytes = b"") -> Answer:
    """The answer of the second verifier, with the name of the check that fails."""
    proofs = part("proofs")
    size, constraints = statement
    if (found := _malformed(statement, proof)) is not None:
        return found
    if early not in {b"", proof[:32]}:
        return "InvalidProof", "06-A12", None
    read = proofs.bits_read(script, size, constraints, proof)
    if not proofs.polynomial_holds(read):
        return "InvalidProof", "06-A9", None
    return None if proofs.inner_product_holds(read) else ("InvalidProof", "06-A10", None)


def _malformed(statement: Statement, proof: bytes) -> Answer:
    proofs, curve, wrong = part("proofs"), part("curve"), part("codec").Wrong
    size, constraints = statement
    M = proofs.length(size + sum({len(each.rows) for each in constraints if each.vector}))
    if len(proof) != proofs.proof_size(M):
        return "MalformedMessage", "proof", None
    for at in range(0, len(proof), 32):
        decode = curve.decode_point if at < 32 * (2 * M.bit_length() + 2) else curve.decode_scalar
        try:
            decode(proof[at : at + 32])
        except wrong:
            return "MalformedMessage", "proof", at
    return None


def script_of(protocol: bytes, context: bytes) -> Any:
    """The second verifier's transcript of a protocol, with its context absorbed."""
    proofs = part("proofs")
    first = proofs.Sponge(b"irtf-cfrg-fiat-shamir/session-id")
    first.absorb(b"gopa/v1/zkp/transcript" + proofs.frame(protocol))
    script = proofs.Transcript.__new__(proofs.Transcript)
    proofs.Sponge.__init__(script, first.squeeze(32))
    script.bind(b"context", context)
    return script


def read(statement: bits.BitStatement) -> Statement:
    """A statement of the library, by its public parts alone; numbers mod q."""
    constants, varying = (iter(each.ints()) for each in (statement.constants, statement.varying))
    commitments, vectors = iter(statement.commitments), iter(statement.vectors)

    def row(form: bits.BitForm) -> Any:
        supplied = islice(varying, len(form.varying))
        pairs = list(zip(form.varying, supplied, strict=True))
        return _row(list(form.fixed), next(constants), pairs)

    def constraint(each: bits.Constraint) -> Any:
        if isinstance(each, bits.CommittedVector):
            return _constraint([row(form) for form in each.rows], next(vectors).to_bytes(), True)
        point = next(commitments).to_bytes() if isinstance(each, bits.CommittedValue) else b""
        return _constraint([row(each.row)], point)

    return statement.shape.layout.bits, [constraint(each) for each in statement.shape.constraints]


def _row(
    fixed: list[tuple[int, int]], constant: int, varying: list[tuple[int, int]] | None = None
) -> Any:
    q = part("curve").Q
    reduced = [[(at, value % q) for at, value in each] for each in (fixed, varying or [])]
    return part("proofs").Row(reduced[0], constant % q, reduced[1])


def _constraint(rows: list[Any], point: bytes = b"", vector: bool = False) -> Any:
    return part("proofs").Constraint(rows, point, vector)


def _weights(low: int, high: int) -> list[int]:
    found: list[int] = part("proofs").weights(high - low)
    return found


def _interval(text: str) -> tuple[int, int]:
    low, _, high = text.partition("..")
    return int(low), int(high)


def pieces(text: str) -> list[bytes]:
    """The encodings that a record has in a row."""
    data = bytes.fromhex(text)
    return [data[at : at + 32] for at in range(0, len(data), 32)]


def range_of(record: Record) -> Statement:
    """07-R2."""
    at, constraints = 0, []
    for point, text in zip(pieces(record["commitments"]), record["intervals"].split(), strict=True):
        entries = list(enumerate(_weights(*_interval(text)), start=at))
        constraints.append(_constraint([_row(entries, _interval(text)[0])], point))
        at += len(entries)
    return at, constraints


def vector_of(record: Record) -> Statement:
    """07-R4."""
    own, low = _weights(*_interval(record["interval"])), _interval(record["interval"])[0]
    d, size = int(record["dimension"]), len(own)
    rows = [_row(list(enumerate(own, start=j * size)), low) for j in range(d)]
    return d * size, [_constraint(rows, bytes.fromhex(record["commitment"]), True)]


def last_largest_of(record: Record) -> Statement:
    """07-R16."""
    own, d = _weights(0, int(record["maximum"])), int(record["dimension"])
    size, last = len(own), d - 1

    def entries(block: int, sign: int) -> list[tuple[int, int]]:
        return [(block * size + i, sign * own[i]) for i in range(size)]

    public = [
        _constraint([_row(entries(last, 1) + entries(j, -1) + entries(d + j, -1), 0)])
        for j in range(last)
    ]
    rows = [_row(entries(j, 1), 0) for j in range(d)]
    whole = _constraint(rows, bytes.fromhex(record["commitment"]), True)
    return (2 * d - 1) * size, [*public, whole]


def law_of(encoding: str) -> Any:
    """A law of noise, as the second verifier reads it."""
    return part("laws").noise_law(part("codec").decode("NoiseLaw", bytes.fromhex(encoding)))


def gaussian_of(record: Record) -> Statement:
    """07-R6 and 07-R7."""
    law, coins = law_of(record["table"]), [int(each) for each in record["coins"].split()]
    m, J, b = law.m, len(law.m), (max(law.m) - 1).bit_length()
    intervals = [_interval(each) for each in record["intervals"].split()]
    block, at = J + 2 * b + 1, (J + 2 * b + 1) * len(coins)
    given: list[list[tuple[int, int]]] = []
    for ends in intervals:
        given.append(list(enumerate(_weights(*ends), start=at)))
        at += len(given[-1])
    seeds, inputs, outputs = (pieces(record[name]) for name in ("seeds", "inputs", "outputs"))
    parts: list[list[Any]] = [[], [], [], [], []]
    for k, coin in enumerate(coins):
        e, s, low = block * k, block * k + J, intervals[k][0] if intervals else 0
        slack = [(s + j, -(1 << j % b)) for j in range(2 * b)]
        seed = [(e + i, sum(m[:i])) for i in range(J)] + [(s + j, 1 << j) for j in range(b)]
        noise = [(e + i, i - (J - 1) // 2) for i in range(J)]
        parts[0].append(_constraint([_row([(e + i, 1) for i in range(J)], -1)]))
        parts[1].append(_constraint([_row([(e + i, m[i]) for i in range(J)] + slack, -1)]))
        parts[2].append(_constraint([_row([*seed, (s + 2 * b, sum(m))], -coin)], seeds[k]))
        if intervals:
            parts[3].append(_constraint([_row(given[k], low)], inputs[k]))
            noise += given[k]
        parts[4].append(_constraint([_row(noise, low)], outputs[k]))
    return at, [each for some in parts for each in some]


def weighted_of(record: Record) -> Statement:
    """07-R11 and 07-R12."""
    w, coins = law_of(record["law"]).weights, [int(each) for each in record["coins"]]
    c, d = len(w), int(record["dimension"])
    low, own = 0, []
    if record["interval"]:
        low, own = _interval(record["interval"])[0], _weights(*_interval(record["interval"]))
    inputs, outputs = [], []
    for j in range(d):
        entries, t = list(enumerate(own, start=c * d + len(own) * j)), coins[c * j : c * (j + 1)]
        flipped = [(c * j + i, -w[i] if t[i] else w[i]) for i in range(c)]
        constant = sum(w[i] for i in range(c) if t[i]) - sum(w) // 2 + low
        inputs.append(_row(entries, low))
        outputs.append(_row(entries, constant, flipped))
    committed = bytes.fromhex(record["inputs"])
    first = [_constraint(inputs, committed, True)] if committed else []
    whole = _constraint(outputs, bytes.fromhex(record["output"]), True)
    return (c + len(own)) * d, [*first, whole]
