"""Signs, writes and checks notes, checkpoints and cosignatures (C2SP).

A note is a text, a blank line and signature lines (signed-note). A checkpoint is the note with
the size and root of a log (tlog-checkpoint). A witness cosigns the checkpoint and the time at
which it was the newest it knew (tlog-cosignature).

Loose parsers are how two readers come to see two logs in the same bytes: `+15`, `0015`, Arabic
digits or base64 with stray bits each name a value that an honest writer spells differently. So
every value has exactly one spelling here.

Pure: no files, no clock. Specification: `specs/05-bulletin-board.md`, section 2.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from bulletin_board.tree import EMPTY_ROOT, HASH_SIZE
from wire.brief import Brief
from wire.ed25519 import KEY_SIZE, SEED_SIZE, SIGNATURE_SIZE, PublicKey, SigningKey, verify
from wire.errors import InvalidSignature, MalformedMessage, UsageError
from wire.secret import SecretBytes

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
        raise MalformedMessage("must be standard base64 with padding", field) from None
    if encode_base64(data) != text:  # two texts of one signature would be two notes
        raise MalformedMessage("base64 in its canonical form", field)
    return data


def parse_hash(text: str, field: str) -> bytes:
    """A SHA-256 hash in base64, or `MalformedMessage`."""
    data = parse_base64(text, field)
    if len(data) != 32:
        raise MalformedMessage("a hash of 32 bytes", field)
    return data


LONGEST_NAME = 255

_SECRET_PREFIX = "PRIVATE+KEY"  # noqa: S105 - the fixed start of the format, not a secret
_HEX = re.compile(r"[0-9a-f]{8}")
_ML_DSA_44 = 0x06


class KeyKind(IntEnum):
    """Whose key it is, a log's or a witness's. The byte is hashed into the key's id."""

    LOG = 0x01
    WITNESS = 0x04


def check_name(name: str) -> None:
    """Check that a key name is 1 to 255 bytes of UTF-8 without spaces, `+`, or the unprintable.

    Raises `MalformedMessage`. Invisible characters are refused beyond what the
    format asks, because names are shown to people.
    """
    if not name or "+" in name or any(c.isspace() or not c.isprintable() for c in name):
        raise MalformedMessage("a name without spaces, plus signs or control characters", "name")
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise MalformedMessage(f"a name of at most {LONGEST_NAME} bytes", "name")


@dataclass(frozen=True, slots=True, repr=False)
class VerifierKey(Brief):
    """A public key; `str` gives its `vkey`, the text that people exchange."""

    name: str
    kind: KeyKind
    key: PublicKey
    key_id: bytes = field(init=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        hashed = self.name.encode() + b"\n" + bytes([self.kind]) + self.key.data
        object.__setattr__(self, "key_id", hashlib.sha256(hashed).digest()[:4])

    def __str__(self) -> str:
        material = encode_base64(bytes([self.kind]) + self.key.data)
        return f"{self.name}+{self.key_id.hex()}+{material}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Read a `vkey`; raises `MalformedMessage` if the id does not belong to the key."""
        name, key_id, kind, material = _split(text, "vkey")
        if len(material) != KEY_SIZE:
            raise MalformedMessage(f"a key of {KEY_SIZE} bytes", "vkey")
        key = cls(name, kind, PublicKey(material))
        if key.key_id != key_id:
            raise MalformedMessage("a key id that belongs to the key", "vkey")
        return key


class NoteSigner:
    """A signing key under a name. Never prints or pickles; see `to_secret_text`."""

    __slots__ = ("_seed", "signing_key", "verifier")

    def __init__(self, name: str, kind: KeyKind, seed: SecretBytes) -> None:
        self._seed = seed
        self.signing_key = SigningKey(seed)
        self.verifier = VerifierKey(name, kind, self.signing_key.public)

    def __repr__(self) -> str:
        return f"<NoteSigner of {self.verifier}>"

    def to_secret_text(self) -> SecretBytes:
        """The text of a key file. The caller stores it where only the owner reads."""
        verifier = self.verifier
        material = encode_base64(bytes([verifier.kind]) + self._seed.reveal())
        text = f"{_SECRET_PREFIX}+{verifier.name}+{verifier.key_id.hex()}+{material}\n"
        return SecretBytes(text.encode())

    @classmethod
    def from_secret_text(cls, text: SecretBytes) -> NoteSigner:
        """Read a key file; raises `UsageError` that never quotes it."""
        try:
            verifier_text, seed = _parse_secret(text.reveal().decode())
        except (MalformedMessage, UnicodeDecodeError):
            raise UsageError("the key file holds no private key of a log or witness") from None
        name, key_id, kind = verifier_text
        signer = cls(name, kind, SecretBytes(seed))
        if signer.verifier.key_id != key_id:
            raise UsageError("the key file is damaged: its id does not belong to its key")
        return signer


def _parse_secret(text: str) -> tuple[tuple[str, bytes, KeyKind], bytes]:
    prefix = f"{_SECRET_PREFIX}+"
    if not text.startswith(prefix):
        raise MalformedMessage("a private key", "key file")
    name, key_id, kind, seed = _split(text.removeprefix(prefix).removesuffix("\n"), "key file")
    check_name(name)
    if len(seed) != SEED_SIZE:
        raise MalformedMessage(f"a private key of {SEED_SIZE} bytes", "key file")
    return (name, key_id, kind), seed


def _split(text: str, field_name: str) -> tuple[str, bytes, KeyKind, bytes]:
    """Name, key id, kind and key material of a vkey or a private key."""
    parts = text.split("+", 2)  # base64 may hold more plus signs
    if len(parts) != 3 or _HEX.fullmatch(parts[1]) is None:
        raise MalformedMessage("must be name+8 hex digits+base64", field_name)
    material = parse_base64(parts[2], field_name)
    if material[:1] == bytes([_ML_DSA_44]):
        raise MalformedMessage(
            "this is a key of type 0x06, which is not supported: name an Ed25519 key of type 0x01"
            " (log) or 0x04 (witness)",
            f"ML-DSA-44 {field_name}",
        )
    if not material or material[0] not in set(KeyKind):
        raise MalformedMessage("a key of type 0x01 (log) or 0x04 (witness)", field_name)
    return parts[0], bytes.fromhex(parts[1]), KeyKind(material[0]), material[1:]


_LINE_START = "\N{EM DASH} "


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """A signature, and who claims to have made it. Nothing is verified yet."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_LINE_START}{self.name} {encode_base64(self.key_id + self.signature)}\n"

    @classmethod
    def parse(cls, line: str) -> SignatureLine:
        """Read one line without its newline."""
        name, space, encoded = line.removeprefix(_LINE_START).partition(" ")
        if not line.startswith(_LINE_START) or not space:
            raise MalformedMessage("an em dash, a name and a signature", "signature")
        check_name(name)
        data = parse_base64(encoded, "signature")
        if len(data) < 5:
            raise MalformedMessage("a key id and a signature", "signature")
        return cls(name, data[:4], data[4:])


COSIGNATURE_SIZE = 8 + SIGNATURE_SIZE


class Cosignature(NamedTuple):
    """Which witness has cosigned, and the time it states in seconds since 1970. Verified."""

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
    """Sign as a witness. The caller has checked what the witness promises."""
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
    """A text with its signature lines; call `verify_note` before believing it."""

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
        if _CONTROL.search(content):  # people read notes in terminals, which would obey them
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
    """Sign a text, which ends in a newline, with a log's key."""
    verifier = signer.verifier
    signature = signer.signing_key.sign(text.encode())
    return SignedNote(text, (SignatureLine(verifier.name, verifier.key_id, signature),))


def verify_note(
    note: SignedNote, keys: Iterable[VerifierKey]
) -> tuple[tuple[VerifierKey, bytes], ...]:
    """Return those of `keys` that signed, each with its signature, in the order of the lines.

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
    """A log's name, how many entries it has, and the root over them."""

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
    # A key that signs for two logs could show two histories, each under the other's name.
    if checkpoint.origin != log.name:
        raise InvalidSignature("the checkpoint belongs to another log", "05-N3")
    if not verify_note(note, [log]):
        raise InvalidSignature("the log has not signed this checkpoint", "05-N4")
    return SignedCheckpoint(checkpoint, note)
