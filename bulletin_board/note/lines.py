"""One signature line of a note."""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note.keys import check_name
from bulletin_board.text import encode_base64, parse_base64
from wire.errors import MalformedMessage

_LINE_START = "\N{EM DASH} "


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """Who claims to have signed, and the claim. Nothing is verified yet."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_LINE_START}{self.name} {encode_base64(self.key_id + self.signature)}\n"

    @classmethod
    def parse(cls, line: str) -> SignatureLine:
        """From one line without its newline."""
        name, space, encoded = line.removeprefix(_LINE_START).partition(" ")
        if not line.startswith(_LINE_START) or not space:
            raise MalformedMessage("an em dash, a name and a signature", "signature")
        check_name(name)
        data = parse_base64(encoded, "signature")
        if len(data) < 5:
            raise MalformedMessage("a key id and a signature", "signature")
        return cls(name, data[:4], data[4:])
