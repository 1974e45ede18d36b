"""Names that other people chose, made safe to show."""

from __future__ import annotations

import unicodedata

_LONGEST = 200


def visible(text: str) -> str:
    """The text with every character that hides, reorders or controls spelled out.

    Control characters (ANSI escapes begin with one), format characters (bidi
    overrides, zero-width joiners), private and unassigned ones become U+XXXX in
    angle brackets. For people's eyes only; never hash or compare the result.
    """
    shown = "".join(char if _harmless(char) else f"<U+{ord(char):04X}>" for char in text[:_LONGEST])
    return shown + ("..." if len(text) > _LONGEST else "")


def _harmless(char: str) -> bool:
    return char == " " or (char.isprintable() and unicodedata.category(char)[0] not in "CZ")
