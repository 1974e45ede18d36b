"""Checkpoints: the signed size and root of a log."""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note.keys import VerifierKey, check_name
from bulletin_board.note.signed import Note, verify_note
from bulletin_board.text import LARGEST_NUMBER, encode_base64, parse_decimal, parse_hash
from bulletin_board.tree import EMPTY_ROOT, HASH_SIZE
from wire.errors import InvalidSignature, MalformedMessage, UsageError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log: its name, how many entries, the root over them."""

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        check_name(self.origin)
        if not 0 <= self.size <= LARGEST_NUMBER or len(self.root) != HASH_SIZE:
            raise UsageError("a checkpoint has a size below 2^63 and a root of 32 bytes")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise MalformedMessage("an empty log has the empty root", "root")

    def to_text(self) -> str:
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"

    @classmethod
    def from_text(cls, text: str) -> Checkpoint:
        """The checkpoint whose only text is `text`, or `MalformedMessage`."""
        if text.count("\n") != 3:
            raise MalformedMessage("origin, size, root and no further lines", "checkpoint")
        return cls(*checkpoint_lines(text))


def checkpoint_lines(text: str) -> tuple[str, int, bytes]:
    """Origin, size and root in the text of any log, which may have extension lines behind them.

    Raises `MalformedMessage`. Nothing is said about the values: an empty log may name any root.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not all(lines[:-1]):
        raise MalformedMessage("origin, size, root, and no empty lines behind", "checkpoint")
    return lines[0], parse_decimal(lines[1], "size"), parse_hash(lines[2], "root")


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint whose log signature was verified, with the note that carries it."""

    checkpoint: Checkpoint
    note: Note

    @property
    def size(self) -> int:
        return self.checkpoint.size

    @property
    def root(self) -> bytes:
        return self.checkpoint.root

    def to_bytes(self) -> bytes:
        return self.note.to_bytes()


def open_checkpoint(data: bytes, log: VerifierKey) -> SignedCheckpoint:
    """Parse and verify a checkpoint of `log`.

    Raises `MalformedMessage` for bytes that are no checkpoint, `InvalidSignature`
    if the log's signature is missing or wrong or the origin is another log's.
    Cosignatures are kept and not judged: see `bulletin_board.policy`.
    """
    note = Note.parse(data)
    checkpoint = Checkpoint.from_text(note.text)
    if checkpoint.origin != log.name:
        raise InvalidSignature("the checkpoint belongs to another log", "05-N3")
    if not verify_note(note, [log]):
        raise InvalidSignature("the log has not signed this checkpoint", "05-N4")
    return SignedCheckpoint(checkpoint, note)
