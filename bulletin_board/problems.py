"""Problem details (RFC 9457): how a board says why it refuses, and how a client reads it."""

from __future__ import annotations

import json

from bulletin_board.admission import RefusalReason, Refused
from wire.errors import MalformedMessage
from wire.strict_json import read_json

MEDIA_TYPE = "application/problem+json"
LARGEST_PROBLEM = 16_384

_TYPE = "urn:gopa:board:"
_REASONS = {f"{_TYPE}{reason.code}": reason for reason in RefusalReason}


def problem_body(refusal: Refused) -> bytes:
    """The JSON document for a refusal."""
    document: dict[str, object] = {
        "type": f"{_TYPE}{refusal.reason.code}",
        "title": refusal.reason.title,
        "status": refusal.reason.status,
    }
    if refusal.message:
        document["detail"] = refusal.message
    if refusal.first is not None:
        document |= {"first": refusal.first, "evidence": refusal.evidence}
    return json.dumps(document).encode()


def parse_problem(data: bytes, retry_after: int | None = None) -> Refused:
    """The refusal that a board sent, or `MalformedMessage`. The board may lie about the reason."""
    if len(data) > LARGEST_PROBLEM:
        raise MalformedMessage(f"a problem has at most {LARGEST_PROBLEM} bytes", "problem")
    try:
        document = read_json(data)
    except ValueError:
        raise MalformedMessage("a JSON document", "problem") from None
    kind = document.get("type") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _REASONS:
        raise MalformedMessage("a problem of a known type", "problem")
    detail = document.get("detail")
    first, evidence = document.get("first"), document.get("evidence")
    return Refused(
        _REASONS[kind],
        detail if isinstance(detail, str) else "",
        retry_after,
        first if type(first) is int else None,
        evidence if type(evidence) is int else None,
    )
