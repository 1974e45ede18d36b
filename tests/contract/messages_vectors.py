"""What `specs/vectors/messages.json` holds: the bytes of every message, and what no message is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gopa.contract.bodies import BODIES, bodies_of
from gopa.contract.manifest import Path
from gopa.contract.phases import Kind
from tests.contract.samples import MESSAGES, ROW_MESSAGES, manifests


def bodies() -> Iterator[tuple[str, dict[str, str], bytes]]:
    """Every sample by name, with what it is."""
    for name, each in manifests().items():
        yield f"manifest: {name}", _kind(Kind.MANIFEST), each.to_bytes()
    for name, (kind, message) in MESSAGES.items():
        yield name, _kind(kind), BODIES[kind].encode(message)
    for name, (kind, message) in ROW_MESSAGES.items():
        body = bodies_of(Path.ROWS)[kind].encode(message)
        yield name, _kind(kind) | {"path": Path.ROWS.name.lower()}, body


def _kind(kind: Kind) -> dict[str, str]:
    return {"kind": kind.name.lower()}


def damaged(body: bytes) -> dict[str, bytes]:
    """What one byte too few, too many or different makes of a body."""
    return {"a byte missing": body[:-1], "a byte too many": body + b"\0"}


def records() -> dict[str, Any]:
    """The content of the vector file."""
    found = [{"name": name, **kind, "body": body.hex()} for name, kind, body in bodies()]
    refused = [
        {"name": f"{name}, {damage}", "base": name, **kind, "body": wrong.hex()}
        for name, kind, body in bodies()
        for damage, wrong in (damaged(body) | special(name, body)).items()
    ]
    return {
        "format": "bodies of messages in hexadecimal, those that only one path has with the path; "
        "the session of a manifest is its id",
        "messages": found,
        "sessions": {f"manifest: {name}": m.session.hex() for name, m in manifests().items()},
        "refused": refused,
    }


def special(name: str, body: bytes) -> dict[str, bytes]:
    """Damage that only one message can take."""
    at = {
        "close of join": (72, 3, "the phase of another list"),
        "result": (67, 9, "an unknown cause"),
        "abort": (41, 2, "something else released"),
        "accusation": (32, 3, "about something else"),
        "final close": (len(body) - 1, 2, "a boolean of 2"),
        "manifest: full": (1, 3, "the version before"),
    }.get(name)
    if at is None:
        return {}
    place, value, what = at
    return {what: body[:place] + bytes([value]) + body[place + 1 :]}
