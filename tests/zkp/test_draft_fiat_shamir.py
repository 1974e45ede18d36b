"""The vectors of draft-irtf-cfrg-fiat-shamir: sponge, codecs and the example protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.external import vectors
from tests.zkp import sumcheck
from tests.zkp.p256 import p256_group
from wire.errors import InvalidProof, MalformedMessage, ProtocolError
from zkp.transcript import DuplexSponge, decode_challenges, derive_session_id, frame

P256: Final = p256_group()
MODULI: Final = {"P-256": P256.order, "Mersenne31": sumcheck.P}
Record = dict[str, Any]


def load(name: str) -> list[Record]:
    records: list[Record] = json.loads(vectors(f"sigma/{name}.json").read_text())
    assert len(records) == 13
    return records


def number(value: str | int) -> int:
    return value if isinstance(value, int) else int(value, 16)


def data(record: Record, field: str) -> bytes:
    return bytes.fromhex(record[field])


def replay(record: Record) -> bytes:
    sponge, output = DuplexSponge(data(record, "SessionId")), b""
    for step in record["Operations"]:
        if step["type"] == "absorb":
            sponge.absorb(bytes.fromhex(step["data"]))
        else:
            output += sponge.squeeze(step["length"])
    return output


def check_sponge(record: Record) -> None:
    assert replay(record) == data(record, "Output")


def check_session(record: Record) -> None:
    assert derive_session_id(data(record, "Tag")) == data(record, "Output")


def check_challenge(record: Record) -> None:
    assert number(record["Modulus"]) == P256.order
    if "Operations" in record:
        squeezed = replay(record)
        assert squeezed == data(record, "Output")
    else:
        squeezed = data(record, "Input")
    assert decode_challenges(P256, squeezed).ints() == [number(record["Challenge"])]


def check_frame(record: Record) -> None:
    framed = frame(data(record, "Input"))
    assert framed == data(record, "Output")
    assert sumcheck.decode_varlen(framed + b"rest") == (data(record, "Input"), b"rest")


def check_uint(record: Record) -> None:
    value, modulus = number(record["Value"]), number(record["Modulus"])
    encoded = sumcheck.encode_uint(value, modulus)
    assert encoded == data(record, "Output")
    assert sumcheck.decode_uints(encoded, modulus, 1) == ([value], b"")


def check_big_endian_field(record: Record) -> None:
    assert record["ByteOrder"] == "big-endian"
    assert number(record["Modulus"]) == P256.order
    encoded = P256.scalar(number(record["Value"])).to_bytes()
    assert encoded == data(record, "Output")
    assert P256.decode_scalars(encoded, 1).ints() == [number(record["Value"])]


def check_refused_uint(record: Record) -> None:
    refuse_integers(record, 1)


def check_field(record: Record) -> None:
    if record.get("Expected") == "reject":
        refuse_integers(record, record["ExtensionDegree"])
        return
    modulus, degree = number(record["Modulus"]), record["ExtensionDegree"]
    values, rest = sumcheck.decode_uints(data(record, "Input"), modulus, degree)
    assert values == [number(value) for value in record["Coordinates"]]
    assert rest == b""


def refuse_integers(record: Record, n: int) -> None:
    assert record["Expected"] == "reject"
    modulus = number(record["Modulus"])
    largest = sumcheck.encode_uint(modulus - 1, modulus) * n
    assert sumcheck.decode_uints(largest, modulus, n)[0] == [modulus - 1] * n
    with pytest.raises(MalformedMessage):
        sumcheck.decode_uints(data(record, "Input"), modulus, n)


def check_refused_frame(record: Record) -> None:
    assert record["Expected"] == "reject"
    with pytest.raises(MalformedMessage):
        sumcheck.decode_varlen(data(record, "Input"))


def check_sumcheck(record: Record) -> None:
    session_id = data(record, "SessionId")
    if "Tag" in record:
        assert derive_session_id(data(record, "Tag")) == session_id
    claim, variables = number(record["ClaimedSum"]), record["NumVariables"]
    table = [number(value) for value in record.get("Witness", [1 << i for i in range(16)])]
    proof, value = sumcheck.prove(session_id, table)
    sumcheck.verify(session_id, variables, claim, proof, value)
    with pytest.raises(InvalidProof):
        sumcheck.verify(session_id, variables, claim, proof, (value + 1) % sumcheck.P)
    if record.get("Expected") == "reject":
        with pytest.raises(ProtocolError):
            sumcheck.verify(session_id, variables, claim, data(record, "Narg"), value)
    else:
        assert proof == data(record, "Narg")
        assert value == number(record["FinalEvaluation"])


CHECKS: Final[dict[str, Callable[[Record], None]]] = {
    "DuplexSponge": check_sponge,
    "DeriveSessionID": check_session,
    "DecodeUint": check_challenge,
    "SerializeVarLenString": check_frame,
    "SerializeUint": check_uint,
    "SerializeField": check_big_endian_field,
    "DeserializeUint": check_refused_uint,
    "DeserializeField": check_field,
    "DeserializeVarLenString": check_refused_frame,
    "Sumcheck": check_sumcheck,
}

RECORDS: Final = load("fiatShamirCodecVectors") + load("fiatShamirShake128Vectors")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["Id"])
def test_record(record: Record) -> None:
    if "Group" in record:
        assert MODULI[record["Group"]] == number(record["Modulus"])
    CHECKS[record["Function"]](record)
