"""Signs and checks notes: text, a blank line, signature lines.

A checkpoint is the note with the size and root of a log. A witness cosigns the checkpoint and
the time at which it was the newest it knew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from bulletin_board.note.keys import KeyKind, NoteSigner, SignatureLine, VerifierKey, check_name
from bulletin_board.text import LARGEST_NUMBER, encode_base64, parse_decimal, parse_hash
from bulletin_board.tree import EMPTY_ROOT, HASH_SIZE
from wire.ed25519 import SIGNATURE_SIZE, verify
from wire.errors import InvalidSignature, MalformedMessage, UsageError

COSIGNATURE_SIZE = 8 + SIGNATURE_SIZE


class Cosignature(NamedTuple):
    """A verified cosignature: who, and the time it states in seconds since 1970."""

    witness: VerifierKey
    time: int


def cosigned_message(text: str, time: int) -> bytes:
    """The bytes under a cosignature/v1."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def split_cosignature(signature: bytes) -> tuple[int, bytes]:
    """The time and the Ed25519 signature inside the signature of a witness."""
    time = int.from_bytes(signature[:8])
    if time > LARGEST_NUMBER:
        raise InvalidSignature("a cosignature states a time below 2^63", "05-N5")
    return time, signature[8:]


def cosignature_time(signature: bytes) -> int:
    """The time stated by a cosignature that has been verified."""
    return split_cosignature(signature)[0]


def cosign(text: str, signer: NoteSigner, time: int) -> SignatureLine:
    """The signature line of a witness. The caller has checked what the witness promises."""
    if signer.verifier.kind is not KeyKind.WITNESS:
        raise UsageError("only a witness key cosigns; this is the key of a log")
    if not 0 <= time <= LARGEST_NUMBER:
        raise UsageError("a cosignature states a time from 0 to 2^63 - 1")
    signature = time.to_bytes(8) + signer.signing_key.sign(cosigned_message(text, time))
    return SignatureLine(signer.verifier.name, signer.verifier.key_id, signature)


LARGEST_NOTE = 65_536
MOST_SIGNATURES = 128

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text with its signature lines, well-formed; call `verify_note` before believing it."""

    text: str
    signatures: tuple[SignatureLine, ...]

    def to_bytes(self) -> bytes:
        return (self.text + "\n" + "".join(map(str, self.signatures))).encode()

    @classmethod
    def parse(cls, data: bytes) -> SignedNote:
        """The note whose only encoding is `data`, or `MalformedMessage`."""
        if len(data) > LARGEST_NOTE:
            raise MalformedMessage(f"a note has at most {LARGEST_NOTE} bytes", "note")
        try:
            content = data.decode()
        except UnicodeDecodeError:
            raise MalformedMessage("a note is UTF-8", "note") from None
        if _CONTROL.search(content):
            raise MalformedMessage("a note has no control characters", "note")
        text, blank, rest = content.rpartition("\n\n")
        if not blank or not text or not rest.endswith("\n"):
            raise MalformedMessage("text, a blank line and signature lines", "note")
        lines = rest[:-1].split("\n")
        if len(lines) > MOST_SIGNATURES:
            raise MalformedMessage(f"at most {MOST_SIGNATURES} signatures", "note")
        return cls(text + "\n", tuple(map(SignatureLine.parse, lines)))

    def with_signatures(self, lines: Iterable[SignatureLine]) -> SignedNote:
        """The same text with more signatures; lines already present are not repeated."""
        added = tuple(line for line in lines if line not in self.signatures)
        return SignedNote(self.text, self.signatures + added)


def sign_note(text: str, signer: NoteSigner) -> SignedNote:
    """Text (ending in a newline) with one signature by a log's key."""
    verifier = signer.verifier
    signature = signer.signing_key.sign(text.encode())
    return SignedNote(text, (SignatureLine(verifier.name, verifier.key_id, signature),))


def verify_note(
    note: SignedNote, keys: Iterable[VerifierKey]
) -> tuple[tuple[VerifierKey, bytes], ...]:
    """The keys among `keys` that signed, each with its signature, in the order of the lines.

    Lines of unknown keys are ignored. Raises `InvalidSignature` if any line of a
    known key does not verify, even after a good line of the same key: a reader
    that stopped at the first line would accept notes that others refuse. An
    empty answer means that no known key signed: it is the caller's to judge.
    """
    known = {(key.name, key.key_id): key for key in keys}
    found = []
    for line in note.signatures:
        key = known.get((line.name, line.key_id))
        if key is not None:
            _verify_line(note.text, line, key)
            found.append((key, line.signature))
    return tuple(found)


def _verify_line(text: str, line: SignatureLine, key: VerifierKey) -> None:
    message, signature = text.encode(), line.signature
    if key.kind is KeyKind.WITNESS:
        if len(signature) != COSIGNATURE_SIZE:
            raise InvalidSignature(f"a cosignature has {COSIGNATURE_SIZE} bytes", "05-N5")
        time, signature = split_cosignature(signature)
        message = cosigned_message(text, time)
    elif len(signature) != SIGNATURE_SIZE:
        raise InvalidSignature(f"a signature has {SIGNATURE_SIZE} bytes", "05-N4")
    verify(key.key, message, signature)


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
    note: SignedNote

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
    note = SignedNote.parse(data)
    checkpoint = Checkpoint.from_text(note.text)
    if checkpoint.origin != log.name:
        raise InvalidSignature("the checkpoint belongs to another log", "05-N3")
    if not verify_note(note, [log]):
        raise InvalidSignature("the log has not signed this checkpoint", "05-N4")
    return SignedCheckpoint(checkpoint, note)
