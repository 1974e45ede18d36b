"""A sealed vault shows nothing to whoever has the disk, and opens for its owner only."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gopa.sessions.vault import (
    DirectoryVault,
    Passphrase,
    SealingKey,
    Secret,
    StateDiverged,
    VaultDamaged,
    WrongSecret,
)
from gopa.sessions.vault.frames import HEADER_SIZE, PLACE, SEAL, File, RecordPlace, _check
from gopa.sessions.vault.interface import MemoryVault
from gopa.sessions.vault.protection import (
    PROTECTION,
    ByPassphrase,
    Purpose,
    protect,
    stretch,
    unprotect,
)
from tests.randomness import seeded
from tests.sessions.vault.tools import (
    KEY,
    LOG,
    OTHER_KEY,
    OTHER_PASSPHRASE,
    PASSPHRASE,
    opened,
)
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes

WHERE = Path("sealed")
VALUE = 0.37
NEEDLES = {
    "value as float": struct.pack("<d", VALUE),
    "value as big-endian float": struct.pack(">d", VALUE),
    "value on the grid": (378_880_123).to_bytes(8),
    "value in a scalar": (378_880_123).to_bytes(32, "little"),
    "text": b"0.37 was the value",
    "key": bytes(range(32)),
    "seed": bytes(range(64, 96)),
}


def contents(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file())


def fill(path: Path, secret: Secret | None) -> bytes:
    """All bytes that are in files at any time."""
    vault = opened(path, secret)
    seen = contents(path)
    for _ in range(2):
        vault.begin(b"memory " + b" ".join(NEEDLES.values()))
        seen += contents(path)
        for needle in NEEDLES.values():
            vault.append(b"record ", needle, b" end")
            seen += contents(path)
    vault.close()
    return seen


def test_plain_vault_shows_what_it_holds(tmp_path: Path) -> None:
    """So that the search below is known to find something."""
    seen = fill(tmp_path / "vault", None)
    assert all(needle in seen for needle in NEEDLES.values())


@pytest.mark.parametrize("secret", [KEY, PASSPHRASE], ids=["key file", "passphrase"])
def test_sealed_vault_shows_nothing(secret: Secret, tmp_path: Path) -> None:
    seen = fill(tmp_path / "vault", secret)
    secret_bytes = secret.data if isinstance(secret, SealingKey) else secret.text
    for needle in (*NEEDLES.values(), secret_bytes.reveal(), b"memory", b"record"):
        assert needle not in seen
        assert needle[::-1] not in seen
        assert needle.hex().encode() not in seen


def test_same_record_twice_is_not_seen_to_be_the_same(tmp_path: Path) -> None:
    vault = opened(tmp_path / "vault", KEY)
    vault.begin(b"m")
    vault.append(b"the same content")
    vault.append(b"the same content")
    vault.close()
    data = (tmp_path / "vault" / "journal-1").read_bytes()
    one, other = data[: len(data) // 2], data[len(data) // 2 :]
    assert len(one) == len(other)
    assert not {one[at : at + 8] for at in range(8, len(one) - 8)} & {
        other[at : at + 8] for at in range(8, len(other) - 8)
    }


RIGHT = [("key", KEY), ("passphrase", PASSPHRASE), ("nothing", None)]


@pytest.mark.parametrize(("kind", "secret"), RIGHT, ids=[kind for kind, _ in RIGHT])
def test_only_the_right_secret_opens_it(kind: str, secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / kind
    vault = opened(path, secret)
    vault.begin(b"memory")
    vault.close()
    for wrong in (KEY, PASSPHRASE, OTHER_KEY, OTHER_PASSPHRASE, None):
        if wrong is secret:
            continue
        with pytest.raises(WrongSecret):
            opened(path, wrong)
    vault = opened(path, secret)
    assert vault.memory() == b"memory"
    vault.close()


def test_seal_of_another_vault_opens_nothing(tmp_path: Path) -> None:
    for name, rng in (("one", "a"), ("two", "b")):
        vault = DirectoryVault(tmp_path / name, LOG, rng=seeded(rng), secret=KEY)
        vault.begin(b"memory")
        vault.close()
    own = (tmp_path / "one" / "seal").read_bytes()
    (tmp_path / "one" / "seal").write_bytes((tmp_path / "two" / "seal").read_bytes())
    with pytest.raises(VaultDamaged):
        opened(tmp_path / "one", KEY)
    (tmp_path / "one" / "seal").write_bytes(own)
    opened(tmp_path / "one", KEY).close()


def test_damaged_seal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    opened(path, KEY).close()
    whole = (path / "seal").read_bytes()
    for wrong in (b"", whole[:-1], whole + b"\0", b"\0\3" + whole[2:]):
        (path / "seal").write_bytes(wrong)
        with pytest.raises(VaultDamaged):
            opened(path, KEY)
    changed = whole[:-1] + bytes([whole[-1] ^ 1])
    (path / "seal").write_bytes(changed)
    with pytest.raises(WrongSecret):
        opened(path, KEY)
    (path / "seal").write_bytes(whole)
    opened(path, KEY).close()


@pytest.mark.parametrize("secret", [None, KEY])
def test_a_vault_of_version_1_is_that_of_another_library(
    secret: SealingKey | None, tmp_path: Path
) -> None:
    """Nothing of it changes, and nobody calls it damaged."""
    path = tmp_path / "vault"
    opened(path, secret).close()
    whole = (path / "seal").read_bytes()
    assert whole[:2] == b"\0\2"
    (path / "seal").write_bytes(b"\0\1" + whole[2:])
    with pytest.raises(StateDiverged):
        opened(path, secret)
    assert (path / "seal").read_bytes() == b"\0\1" + whole[2:]
    (path / "seal").write_bytes(whole)
    opened(path, secret).close()


def test_seal_of_an_open_vault_has_no_key(tmp_path: Path) -> None:
    """One that had could pass its own key for that of a vault which was never sealed."""
    path = tmp_path / "vault"
    opened(path).close()
    whole = (path / "seal").read_bytes()
    assert whole[-1] == 0  # the length of nothing
    (path / "seal").write_bytes(whole[:-1] + bytes([32]) + KEY.data.reveal())
    with pytest.raises(VaultDamaged):
        opened(path)
    (path / "seal").write_bytes(whole)
    opened(path).close()


def test_box_that_is_too_short_is_damaged(tmp_path: Path) -> None:
    """Its checksum, which anybody can make, holds; there is no room for nonce and tag."""
    path = tmp_path / "vault"
    vault = opened(path, KEY)
    vault.begin(b"memory")
    vault.close()
    whole = (path / "current").read_bytes()
    vault_id = SEAL.decode((path / "seal").read_bytes()).vault
    place = PLACE.encode(RecordPlace(vault_id, File.CURRENT, 0, 0))
    for size in (0, 1, 39, len(whole) - HEADER_SIZE):
        length, payload = size.to_bytes(4), whole[HEADER_SIZE:][:size]
        (path / "current").write_bytes(length + _check(place, length) + payload)
        if HEADER_SIZE + size == len(whole):
            opened(path, KEY).close()
        else:
            with pytest.raises(VaultDamaged):
                opened(path, KEY)


def test_key_for_one_purpose_is_none_for_another() -> None:
    content = SecretBytes(b"\x41" * 32)
    for secret in (KEY, PASSPHRASE):
        found = protect(content, Purpose.VAULT, secret, seeded("p"))
        assert PROTECTION.decode(PROTECTION.encode(found)) == found
        assert unprotect(found, Purpose.VAULT, secret, WHERE).reveal() == content.reveal()
        with pytest.raises(WrongSecret):
            unprotect(found, Purpose.IDENTITY, secret, WHERE)


@pytest.mark.slow
def test_passphrase_is_stretched_with_its_salt() -> None:
    """Argon2id of RFC 9106 at 64 MiB and 3 passes; one lane, as libsodium has it."""
    salt = bytes(range(16))
    first = stretch(SecretBytes(b"pass"), salt).reveal()
    assert first == stretch(SecretBytes(b"pass"), salt).reveal()
    assert first != stretch(SecretBytes(b"pass"), salt[::-1]).reveal()
    assert first != stretch(SecretBytes(b"past"), salt).reveal()
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    independent = Argon2id(
        salt=salt, length=32, iterations=3, lanes=1, memory_cost=64 * 1024
    ).derive(b"pass")
    assert first == independent
    found = protect(SecretBytes(bytes(32)), Purpose.VAULT, PASSPHRASE, seeded("s"))
    again = protect(SecretBytes(bytes(32)), Purpose.VAULT, PASSPHRASE, seeded("t"))
    assert isinstance(found, ByPassphrase)
    assert isinstance(again, ByPassphrase)
    assert found.salt != again.salt


def test_letters_may_be_composed_in_any_way() -> None:
    assert Passphrase.of("caf\u00e9").text.reveal() == Passphrase.of("cafe\u0301").text.reveal()
    for make in (lambda: Passphrase.of(""), lambda: SealingKey(SecretBytes(b"short"))):
        with pytest.raises(UsageError):
            make()


def test_secrets_are_not_shown() -> None:
    for each in (KEY, PASSPHRASE, MemoryVault()):
        assert repr(each) == f"<{type(each).__name__}: secret>"
        assert "battery" not in repr(each)


def test_unknown_protection_is_refused() -> None:
    data = PROTECTION.encode(protect(SecretBytes(bytes(32)), Purpose.VAULT, KEY, seeded("p")))
    assert PROTECTION.decode(data)
    for wrong in (b"\x07" + data[1:], data[:-1], b""):
        with pytest.raises(MalformedMessage):
            PROTECTION.decode(wrong)
