"""What `specs/vectors/rows.json` holds: proofs about long vectors, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from commitments import ristretto255
from commitments.group import Group, PointVec
from tests.zkp import proof_vectors
from tests.zkp.rows.worlds import Vectors, decoded_tests, lengths, masks, transcript, weighted
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.lengths import LengthStatement, verify_lengths
from zkp.rows.masking import MaskStatement, SignedPermutation, verify_masks
from zkp.rows.product_tests import ProductTests, encode_tests
from zkp.rows.shape import RowShape

Record = dict[str, Any]
Statement = LengthStatement | MaskStatement
CONTEXT = b"party 3"


def records() -> dict[str, object]:
    """The content of the vector file."""
    group = ristretto255()
    length = lengths(group, Vectors.random(33))
    weight = weighted(group, Vectors.weighted(33))
    mask = masks(group, Vectors.random(33), points=2)
    bases = {
        "lengths": length_record(length.statement, length.proof),
        "weighted": length_record(weight.statement, weight.proof),
        "masks": mask_record(mask.statement, mask.proof),
    }
    changes = {"lengths": length_changes, "weighted": weight_changes, "masks": mask_changes}
    found: list[Record] = []
    for base, record in bases.items():
        found.append({"name": base, "base": None} | record | answer(group, record))
        for name, changed in changes[base](record):
            whole = record | changed
            found.append({"name": f"{base}: {name}", "base": base} | changed | answer(group, whole))
    return {
        "format": "points, scalars, bits, tests and proofs in hexadecimal, words and places as "
        "decimals. A record with a base is the base but for the fields it has. The transcript is "
        "that of protocol 'test/long' with the context absorbed as bytes under the label 'context'",
        "proofs": found,
    }


def length_record(statement: LengthStatement, proof: bytes) -> Record:
    """All that a verifier of lengths is given."""
    bounds, weight = statement.bounds, statement.weight
    return {
        "dimension": statement.shape.dimension,
        "bounds": [str(b) for b in (bounds.squared_norm, bounds.noise_square, bounds.spike)],
        **({"weight": [str(each) for each in weight.terms]} if weight else {}),
        **common(statement),
        "context": CONTEXT.hex(),
        "proof": proof.hex(),
    }


def mask_record(statement: MaskStatement, proof: bytes) -> Record:
    """All that a verifier of masks is given."""
    return {
        "dimension": statement.shape.dimension,
        "word_bits": statement.word_bits,
        "places": statement.permutation.places.tolist(),
        "minus": statement.permutation.signs.hex(),
        "points": [point.to_bytes().hex() for point in statement.points],
        "words": statement.words.tolist(),
        "words_hash": statement.words_hash.hex(),
        "carries": statement.carries.to_bytes().hex(),
        "neighbours": list(statement.neighbours),
        "signs": list(statement.signs),
        "edges": statement.edges.to_bytes().hex(),
        "own": statement.own.to_bytes().hex(),
        **common(statement),
        "context": CONTEXT.hex(),
        "proof": proof.hex(),
    }


def common(statement: Statement) -> Record:
    return {
        "test_rows": [each.hex() for each in statement.tests.rows],
        "test_columns": statement.tests.columns.hex(),
        "inputs": statement.inputs.to_bytes().hex(),
        "noise": statement.noise.to_bytes().hex(),
        "pads": statement.pads.to_bytes().hex(),
        "tests": statement.answers.hex(),
    }


def proof_changes(record: Record) -> Iterator[tuple[str, Record]]:
    """What is refused of the bytes of any proof."""
    proof = bytes.fromhex(record["proof"])
    order = ristretto255().order
    for name, at in (("first", 0), ("second", 32)):
        yield f"the {name} point is the identity", {"proof": damaged(proof, at, bytes(32))}
    yield "the first point does not decode", {"proof": damaged(proof, 0, b"\1" + bytes(31))}
    at = len(proof) - 32
    last = (int.from_bytes(proof[at:], "little") + order).to_bytes(32, "little")
    if "points" in record:  # else the last scalar is that of a range proof
        yield "rho' plus the order", {"proof": damaged(proof, at, last)}
    yield "a byte missing", {"proof": proof[:-1].hex()}
    yield "a byte too many", {"proof": proof.hex() + "00"}
    yield "another context", {"context": b"party 4".hex()}
    tests = decoded_tests(bytes.fromhex(record["tests"]))
    yield "a test plus one", {"tests": encode_tests([tests[0] + 1, *tests[1:]]).hex()}
    swapped = encode_tests([tests[1], tests[0], *tests[2:]])
    yield "two tests exchanged", {"tests": swapped.hex()}
    yield "a test of 2^113", {"tests": encode_tests([1 << 113, *tests[1:]]).hex()}
    yield "input and noise exchanged", {"inputs": record["noise"], "noise": record["inputs"]}


def damaged(proof: bytes, at: int, other: bytes) -> str:
    return (proof[:at] + other + proof[at + 32 :]).hex()


def length_changes(record: Record) -> Iterator[tuple[str, Record]]:
    yield from proof_changes(record)
    for at, name in enumerate("BSK"):
        bounds = list(record["bounds"])
        bounds[at] = str(int(bounds[at]) + 1)
        yield f"{name} plus one", {"bounds": bounds}


def weight_changes(record: Record) -> Iterator[tuple[str, Record]]:
    yield from length_changes(record)
    for at, name in enumerate(("m_v", "k", "D", "sigma")):
        terms = list(record["weight"])
        terms[at] = str(int(terms[at]) + 1)
        yield f"{name} plus one", {"weight": terms}
    proof = bytes.fromhex(record["proof"])
    swapped = proof[:96] + proof[128:160] + proof[96:128] + proof[160:]
    yield "the weight and its square exchanged", {"proof": swapped.hex()}


def mask_changes(record: Record) -> Iterator[tuple[str, Record]]:
    yield from proof_changes(record)
    words = list(record["words"])
    words[4] ^= 1
    yield "another word", {"words": words}
    yield "another hash of the words", {"words_hash": bytes(32).hex()}
    yield "longer words", {"word_bits": record["word_bits"] + 1}
    places = list(record["places"])
    places[:2] = places[1::-1]
    yield "another permutation", {"places": places}
    yield "an edge with another sign", {"signs": [-record["signs"][0], *record["signs"][1:]]}
    yield "another neighbour", {"neighbours": [0, *record["neighbours"][1:]]}
    yield "points exchanged", {"points": record["points"][::-1]}
    yield "one point less", {"points": record["points"][:1]}


def answer(group: Group, record: Record) -> Record:
    """What a verifier says."""

    def check() -> None:
        statement = statement_of(group, record)
        onto = transcript(bytes.fromhex(record["context"]))
        verify: Any = verify_masks if "points" in record else verify_lengths
        verify(statement, bytes.fromhex(record["proof"]), onto)

    return proof_vectors.answer(check)


def whole(published: list[Record], record: Record) -> Record:
    """A record with the fields of its base."""
    (base,) = (each for each in published if each["name"] == (record["base"] or record["name"]))
    return base | record


def statement_of(group: Group, record: Record) -> Statement:
    """Read the statement of a whole record."""

    def points(name: str) -> PointVec:
        data = bytes.fromhex(record[name])
        return group.decode_points(data, len(data) // 32)

    shape = RowShape(record["dimension"])
    rows = tuple(bytes.fromhex(each) for each in record["test_rows"])
    tests = ProductTests(shape, rows, bytes.fromhex(record["test_columns"]))
    answers = bytes.fromhex(record["tests"])
    inputs, noise, pads = (points(name) for name in ("inputs", "noise", "pads"))
    if "points" not in record:
        bounds = LengthBounds(*map(int, record["bounds"]))
        weight = WeightBound(*map(int, record["weight"])) if "weight" in record else None
        return LengthStatement(group, shape, bounds, tests, inputs, noise, pads, answers, weight)
    places = np.array(record["places"], np.uint32)
    return MaskStatement(
        group=group,
        shape=shape,
        word_bits=record["word_bits"],
        permutation=SignedPermutation(places, bytes.fromhex(record["minus"])),
        points=tuple(
            group.decode_scalars(bytes.fromhex(each), shape.bits) for each in record["points"]
        ),
        tests=tests,
        words=np.array(record["words"], np.uint64),
        words_hash=bytes.fromhex(record["words_hash"]),
        inputs=inputs,
        noise=noise,
        carries=points("carries"),
        pads=pads,
        neighbours=tuple(record["neighbours"]),
        signs=tuple(record["signs"]),
        edges=points("edges"),
        own=points("own"),
        answers=answers,
    )
