"""Files with signing keys, and key files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gopa.sessions.vault import Secret, VaultDamaged, WrongSecret, identity
from gopa.sessions.vault import protection as key_file
from tests.randomness import seeded
from tests.sessions.vault.tools import KEY, OTHER_KEY, OTHER_PASSPHRASE, PASSPHRASE
from wire.errors import UsageError

SECRETS = pytest.mark.parametrize(
    "secret", [None, KEY, PASSPHRASE], ids=["open", "key file", "passphrase"]
)


@SECRETS
def test_key_comes_back(secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / "identity"
    made = identity.create(path, rng=seeded("one"), secret=secret)
    found = identity.load(path, secret)
    assert found.public == made.public == identity.public_key(path)
    assert found.sign(b"message") == made.sign(b"message")
    assert identity.is_sealed(path) == (secret is not None)
    assert path.stat().st_mode & 0o777 == 0o600
    seed = seeded("one")(32)
    assert (seed in path.read_bytes()) == (secret is None)


@SECRETS
def test_nothing_is_written_over(secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity.create(path, rng=seeded("one"), secret=secret)
    whole = path.read_bytes()
    with pytest.raises(UsageError):
        identity.create(path, rng=seeded("two"), secret=secret)
    assert path.read_bytes() == whole
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        identity.create(path, rng=seeded("two"), secret=secret)
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(UsageError):
        identity.create(tmp_path / "missing" / "identity", rng=seeded("two"))


@SECRETS
def test_wrong_secret_is_told(secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity.create(path, rng=seeded("one"), secret=secret)
    for wrong in (None, KEY, PASSPHRASE, OTHER_KEY, OTHER_PASSPHRASE):
        if wrong is not secret:
            with pytest.raises(WrongSecret):
                identity.load(path, wrong)
    identity.load(path, secret)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_exposed_key_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity.create(path, rng=seeded("one"))
    identity.load(path)
    path.chmod(mode)
    with pytest.raises(UsageError):
        identity.load(path)


def test_creation_does_not_ask_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        identity.create(tmp_path / "identity", rng=seeded("one"))
        key_file.create(tmp_path / "key", rng=seeded("one"))
    finally:
        os.umask(before)
    for name in ("identity", "key"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@SECRETS
def test_damaged_file_is_refused(secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity.create(path, rng=seeded("one"), secret=secret)
    whole = path.read_bytes()
    for wrong in (b"", whole[:-1], whole + b"\0", whole.replace(b"-1\n", b"-2\n"), b"x" * 97):
        path.write_bytes(wrong)
        with pytest.raises(VaultDamaged):
            identity.load(path, secret)
    public = 16 + 5
    for at in (public, len(whole) - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises((VaultDamaged, WrongSecret)):
            identity.load(path, secret)
    path.write_bytes(whole)
    identity.load(path, secret)


def test_open_key_has_the_length_of_one(tmp_path: Path) -> None:
    """Well-formed but for its length: a seed of 31 bytes makes no key."""
    path = tmp_path / "identity"
    identity.create(path, rng=seeded("one"))
    whole, seed = path.read_bytes(), seeded("one")(32)
    begin = whole.index(seed) - 1
    assert whole[begin:] == bytes([32]) + seed
    for size in (0, 31):
        path.write_bytes(whole[:begin] + bytes([size]) + seed[:size])
        with pytest.raises(VaultDamaged):
            identity.load(path)
        with pytest.raises(VaultDamaged):
            identity.public_key(path)
    path.write_bytes(whole)
    identity.load(path)


def test_key_of_another_identity_is_refused(tmp_path: Path) -> None:
    """A public key and a signing key that do not belong together."""
    one, other = tmp_path / "one", tmp_path / "other"
    identity.create(one, rng=seeded("one"), secret=KEY)
    identity.create(other, rng=seeded("two"), secret=KEY)
    mixed = one.read_bytes()[:48] + other.read_bytes()[48:]
    whole = one.read_bytes()
    one.write_bytes(mixed)
    with pytest.raises(VaultDamaged):
        identity.load(one, KEY)
    one.write_bytes(whole)
    identity.load(one, KEY)


def test_key_files_come_back(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = key_file.create(path, rng=seeded("one"))
    assert key_file.load(path).data.reveal() == made.data.reveal() == seeded("one")(32)
    whole = path.read_bytes()
    with pytest.raises(UsageError):
        key_file.create(path, rng=seeded("two"))
    for wrong in (b"", whole[:-1], whole + b"\n", whole.upper(), bytes(32)):
        path.write_bytes(wrong)
        with pytest.raises(VaultDamaged):
            key_file.load(path)
    path.write_bytes(whole)
    path.chmod(0o644)
    with pytest.raises(UsageError):
        key_file.load(path)
    with pytest.raises(UsageError):
        key_file.load(tmp_path / "missing")
