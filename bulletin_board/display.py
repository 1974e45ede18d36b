"""Names that other people chose, safe to show: nothing in them hides, reorders or controls."""

from __future__ import annotations

import unicodedata

LONGEST_SHOWN = 200

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing, though Unicode calls them printable."""

_VARIATION_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str, most: int = LONGEST_SHOWN) -> str:
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


def metric_label(name: str) -> str:
    """A name as the value of a label in the text format of Prometheus."""
    return visible(name).replace("\\", "\\\\").replace('"', '\\"')
