"""Published vectors of proofs: a valid one, and mutations that name the one they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from commitments.group import Group
from wire.errors import InvalidProof, MalformedMessage
from zkp.bits import BitStatement
from zkp.transcript import Transcript

FOLDER: Final = Path(__file__).resolve().parents[2] / "specs" / "vectors"
PROTOCOL: Final = b"gopa/v1 test vectors"


class AsBits(Protocol):
    """A statement that is one about hidden bits."""

    def as_bits(self) -> BitStatement: ...


S = TypeVar("S")
B = TypeVar("B", bound=AsBits)


def transcript(context: bytes) -> Transcript:
    fresh = Transcript(PROTOCOL)
    fresh.absorb(b"context", context)
    return fresh


@dataclass(frozen=True)
class Case(Generic[S]):
    """A statement, a proof and the context; `base` names the valid case it was made from."""

    name: str
    statement: S
    context: bytes
    proof: bytes
    base: str | None = None

    def changed(self, name: str, **changes: object) -> Case[S]:
        return replace(self, name=name, base=self.name, **changes)  # type: ignore[arg-type]


def byte_cases(case: Case[B]) -> Iterable[Case[B]]:
    """One case for each kind of damage to the bytes of a proof."""
    layout = case.statement.as_bits().shape.layout
    scalars, proof = 32 * layout.point_count, case.proof
    places = {"A": 0, "S": 32, "T1": 64, "T2": 96, "t": scalars, "tau": scalars + 32}
    places |= {"mu": scalars + 64, "l": len(proof) - 64, "r": len(proof) - 32}
    for name, at in places.items():
        other = _other(case, at, scalars)
        yield case.changed(f"another {name}", proof=proof[:at] + other + proof[at + 32 :])
    if layout.folds:
        swapped = proof[:128] + proof[160:192] + proof[128:160] + proof[192:]
        yield case.changed("L and R swapped", proof=swapped)
    for name, at in (("A", 0), ("T2", 96)):
        damaged = proof[:at] + bytes(32) + proof[at + 32 :]
        yield case.changed(f"{name} is the identity", proof=damaged)
        damaged = proof[:at] + b"\x01" + bytes(31) + proof[at + 32 :]
        yield case.changed(f"{name} does not decode", proof=damaged)
    for name, at in (("t", scalars), ("r", len(proof) - 32)):
        plus = int.from_bytes(proof[at : at + 32], "little") + _order(case)
        damaged = proof[:at] + plus.to_bytes(32, "little") + proof[at + 32 :]
        yield case.changed(f"{name} plus the order", proof=damaged)
    yield case.changed("a byte missing", proof=proof[:-1])
    yield case.changed("a byte too many", proof=proof + b"\0")
    yield case.changed("no bytes", proof=b"")
    yield case.changed("another context", context=case.context + b"!")


def _order(case: Case[B]) -> int:
    return case.statement.as_bits().group.order


def _other(case: Case[B], at: int, scalars: int) -> bytes:
    """The point plus the generator, the scalar plus one: both decode."""
    group, old = case.statement.as_bits().group, case.proof[at : at + 32]
    if at < scalars:
        return (group.decode_point(old) + group.generator).to_bytes()
    return (group.decode_scalars(old, 1) + group.scalar(1)).to_bytes()


def answer(check: Callable[[], None]) -> dict[str, object]:
    """What a verifier says: nothing, or the type of the error and where it points."""
    try:
        check()
    except InvalidProof as error:
        return {"error": "InvalidProof", "check": error.check}
    except MalformedMessage as error:
        return {"error": "MalformedMessage", "field": error.field, "offset": error.offset}
    return {"error": None}


def expectation(verify: Callable[[S, bytes, Transcript], None], case: Case[S]) -> dict[str, object]:
    """What a verifier answers to a case."""
    return answer(lambda: verify(case.statement, case.proof, transcript(case.context)))


def published(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def verify_record(
    group: Group,
    record: dict[str, str],
    statement: Callable[[Group, dict[str, str]], S],
    verify: Callable[[S, bytes, Transcript], None],
) -> dict[str, object]:
    """Read a published case as a stranger would, and say what our verifier answers."""
    case = Case(
        record["name"],
        statement(group, record),
        bytes.fromhex(record["context"]),
        bytes.fromhex(record["proof"]),
    )
    return expectation(verify, case)
