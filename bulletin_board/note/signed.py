"""Signed notes: text, a blank line, signature lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bulletin_board.note.cosignature import (
    COSIGNATURE_SIZE,
    cosigned_message,
    split_cosignature,
)
from bulletin_board.note.keys import KeyKind, NoteSigner, VerifierKey
from bulletin_board.note.lines import SignatureLine
from wire.ed25519 import SIGNATURE_SIZE, verify
from wire.errors import InvalidSignature, MalformedMessage

LARGEST_NOTE = 65_536
MOST_SIGNATURES = 128

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True, slots=True)
class Note:
    """A text with its signature lines, well-formed; call `verify_note` before believing it."""

    text: str
    signatures: tuple[SignatureLine, ...]

    def to_bytes(self) -> bytes:
        return (self.text + "\n" + "".join(map(str, self.signatures))).encode()

    @classmethod
    def parse(cls, data: bytes) -> Note:
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

    def with_signatures(self, lines: Iterable[SignatureLine]) -> Note:
        """The same text with more signatures; lines already present are not repeated."""
        added = tuple(line for line in lines if line not in self.signatures)
        return Note(self.text, self.signatures + added)


def sign_note(text: str, signer: NoteSigner) -> Note:
    """Text (ending in a newline) with one signature by a log's key."""
    verifier = signer.verifier
    signature = signer.signing_key.sign(text.encode())
    return Note(text, (SignatureLine(verifier.name, verifier.key_id, signature),))


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[tuple[VerifierKey, bytes], ...]:
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
