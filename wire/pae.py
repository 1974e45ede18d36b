"""The pre-authentication encoding of DSSE: what a signature covers besides the payload."""

from __future__ import annotations

from wire.errors import UsageError

_LONGEST_TYPE = 255
_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))


def pre_auth_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes to sign for `payload` in the role `payload_type`.

    "DSSEv1", the type and the payload, each of the two behind its length in
    decimal, separated by single spaces (`specs/00-wire.md`, section 6). Different
    (type, payload) pairs always give different bytes, and a signature made in one
    role is worth nothing in another.

    The type is a constant of the calling code, 1 to 255 visible ASCII characters
    without spaces; anything else raises `UsageError`.
    """
    if type(payload_type) is not str or not _VISIBLE.issuperset(payload_type):
        raise UsageError("a payload type is made of visible ASCII characters without spaces")
    if not 1 <= len(payload_type) <= _LONGEST_TYPE:
        raise UsageError(f"a payload type has 1 to {_LONGEST_TYPE} characters")
    if type(payload) is not bytes:
        raise UsageError(f"a payload is bytes, not {type(payload).__name__}")
    header = f"DSSEv1 {len(payload_type)} {payload_type} {len(payload)} "
    return header.encode("ascii") + payload
