"""Parses strict text: decimals and base64 with exactly one spelling for each value.

Loose parsers are how two readers come to see two logs in the same bytes: `+15`,
`0015`, Arabic digits or base64 with stray bits each name a value that an honest
writer spells differently. `specs/05-bulletin-board.md`, section 2.

Names that other people chose are made safe to show.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata

from wire.errors import MalformedMessage

LARGEST_NUMBER = 2**63 - 1
"""Sizes and times fit a signed 64-bit integer, as in every other implementation."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


def parse_decimal(text: str, field: str) -> int:
    """The number that `text` spells, from 0 to 2^63 - 1, or `MalformedMessage`."""
    if _DECIMAL.fullmatch(text) is None:
        raise MalformedMessage("a decimal without sign, spaces or leading zeros", field)
    number = int(text)
    if number > LARGEST_NUMBER:
        raise MalformedMessage("a number below 2^63", field)
    return number


def encode_base64(data: bytes) -> str:
    """Standard base64 with padding (RFC 4648, section 4)."""
    return base64.b64encode(data).decode("ascii")


def parse_base64(text: str, field: str) -> bytes:
    """The bytes whose only spelling is `text`, or `MalformedMessage`."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except ValueError:
        raise MalformedMessage("standard base64 with padding", field) from None
    if encode_base64(data) != text:  # unused bits at the end may be set
        raise MalformedMessage("base64 in its canonical form", field)
    return data


def parse_hash(text: str, field: str) -> bytes:
    """A SHA-256 hash in base64, or `MalformedMessage`."""
    data = parse_base64(text, field)
    if len(data) != 32:
        raise MalformedMessage("a hash of 32 bytes", field)
    return data


LONGEST = 200

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing, though Unicode calls them printable."""

_VARIATION_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str, most: int = LONGEST) -> str:
    """The text, cut after `most` characters, with all that hides, reorders or controls spelled out.

    Control characters (ANSI escapes begin with one), format characters (bidi
    overrides, zero-width joiners), private, unassigned and blank ones become U+XXXX in
    angle brackets. For people's eyes only; never hash or compare the result.
    """
    shown = "".join(char if _harmless(char) else f"<U+{ord(char):04X}>" for char in text[:most])
    return shown + ("..." if len(text) > most else "")


def _harmless(char: str) -> bool:
    if char in _BLANK or any(ord(char) in block for block in _VARIATION_SELECTORS):
        return False
    return char == " " or (char.isprintable() and unicodedata.category(char)[0] not in "CZ")
