"""The body of an add-checkpoint request."""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note.signed import LARGEST_NOTE
from bulletin_board.text import encode_base64, parse_decimal, parse_hash
from wire.errors import MalformedMessage

MOST_HASHES = 63
LARGEST_REQUEST = LARGEST_NOTE + 32 + 45 * MOST_HASHES


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """The size that the witness is believed to hold, a consistency proof, the checkpoint."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def to_bytes(self) -> bytes:
        lines = [f"old {self.old}", *map(encode_base64, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> AddCheckpoint:
        """The request whose only encoding is `data`, or `MalformedMessage`."""
        if len(data) > LARGEST_REQUEST:
            raise MalformedMessage(f"at most {LARGEST_REQUEST} bytes", "request")
        head, blank, checkpoint = data.partition(b"\n\n")
        try:
            first, *hashes = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise MalformedMessage("ASCII before the checkpoint", "request") from None
        if not blank or not first.startswith("old "):
            raise MalformedMessage("old size, hashes, a blank line, a checkpoint", "request")
        if len(hashes) > MOST_HASHES:
            raise MalformedMessage(f"at most {MOST_HASHES} hashes", "proof")
        old = parse_decimal(first.removeprefix("old "), "old")
        return cls(old, tuple(parse_hash(line, "proof") for line in hashes), checkpoint)
