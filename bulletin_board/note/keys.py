"""Names the keys of logs and witnesses, and reads and writes one signature line of a note."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import IntEnum

from bulletin_board.text import encode_base64, parse_base64
from wire.ed25519 import KEY_SIZE, SEED_SIZE, PublicKey, SigningKey
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes

LONGEST_NAME = 255

_SECRET_PREFIX = "PRIVATE+KEY"  # noqa: S105 - the fixed start of the format, not a secret
_HEX = re.compile(r"[0-9a-f]{8}")
_ML_DSA_44 = 0x06


class KeyKind(IntEnum):
    """What a key signs. The byte is hashed into the key's id."""

    LOG = 0x01
    WITNESS = 0x04


def check_name(name: str) -> None:
    """A key name has 1 to 255 bytes of UTF-8, no spaces, no `+`, nothing unprintable.

    Raises `MalformedMessage`. Invisible characters are refused beyond what the
    format asks, because names are shown to people.
    """
    if not name or "+" in name or any(c.isspace() or not c.isprintable() for c in name):
        raise MalformedMessage("a name without spaces, plus signs or control characters", "name")
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise MalformedMessage(f"a name of at most {LONGEST_NAME} bytes", "name")


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key under a name; `str` gives its `vkey`, the text that people exchange."""

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
        """From a `vkey`; raises `MalformedMessage` if the id does not belong to the key."""
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
        raise MalformedMessage("name+8 hex digits+base64", field_name)
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
