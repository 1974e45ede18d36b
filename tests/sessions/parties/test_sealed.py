"""Nothing of a party that keeps a sealed vault can be read on its disk."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gopa.protocol.simulation.randomness import SeededStreams
from gopa.sessions.party_memory import MEMORY
from gopa.sessions.vault import DirectoryVault, Passphrase, Secret
from tests.protocol.simulation.worlds import inputs_for, require_sound
from tests.randomness import seeded
from tests.sessions.parties.worlds import Restarting, durable, replace_party, world
from tests.sessions.vault.tools import KEY, LOG, PASSPHRASE
from wire.ed25519 import SigningKey
from wire.randomness import draw
from wire.secret import SecretBytes

SUBJECT = 3


class RecordingVault(DirectoryVault):
    """Notes all bytes that are in its files at any time, and what it was given to keep."""

    def __init__(self, path: Path, secret: Secret | None) -> None:
        super().__init__(path, LOG, rng=seeded("disk"), secret=secret)
        self.disk = bytearray()
        self.given: list[bytes] = []
        self._seen: dict[Path, bytes] = {}

    def begin(self, memory: bytes) -> None:
        super().begin(memory)
        self._note(memory)

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        super().append(*parts, leaves=leaves)
        self._note(b"".join(parts))

    def _note(self, given: bytes) -> None:
        self.given.append(given)
        for path in sorted(self.path.rglob("*")):
            if path.is_file():
                data, before = path.read_bytes(), self._seen.get(path, b"")
                self.disk += data.removeprefix(before)
                self._seen[path] = data


def signing_seeds() -> list[bytes]:
    """Those of the parties of a world, which are drawn one behind the other."""
    keys = SeededStreams(draw(seeded(1), 32)).named("keys")
    return [draw(keys, 32) for _ in range(8)]


def play(path: Path, secret: Secret | None) -> tuple[bytes, list[bytes], list[bytes]]:
    """The bytes on the disk, what was kept, and secrets to look for."""
    simulation = world()
    actor = simulation.parties[SUBJECT]
    vault = RecordingVault(path, secret)
    replace_party(actor, Restarting(lambda: durable(actor, vault)))
    for logical in range(2):
        inputs = inputs_for(simulation.manifest.terms, logical)
        require_sound(simulation, simulation.run_round(inputs), inputs)
    values = [inputs_for(simulation.manifest.terms, each)[SUBJECT][0] for each in range(2)]
    authors = {SigningKey(SecretBytes(seed)).public.data for seed in signing_seeds()}
    assert authors == {each.author for each in simulation.parties}
    secrets = [MEMORY.decode(each).secret for each in vault.given if _is_memory(each)]
    assert len(secrets) == 3
    secrets += [b"\0" * 7 + bytes([value]) for value in values if value]
    vault.close()
    return bytes(vault.disk), vault.given, secrets


def _is_memory(data: bytes) -> bool:
    return data[:2] == b"\0\1"


def test_plain_vault_shows_round_secrets_and_values_but_no_signing_key(tmp_path: Path) -> None:
    """So that the search is known to find what there is."""
    disk, given, secrets = play(tmp_path / "vault", None)
    assert len(secrets) >= 4
    assert all(secret in disk for secret in secrets)
    assert all(each in disk for each in given)
    assert not any(seed in disk for seed in signing_seeds())


@pytest.mark.parametrize("secret", [KEY, PASSPHRASE], ids=["key file", "passphrase"])
def test_sealed_vault_shows_no_piece_of_it(secret: Secret, tmp_path: Path) -> None:
    disk, given, secrets = play(tmp_path / "vault", secret)
    own = secret.text if isinstance(secret, Passphrase) else secret.data
    for needle in (*secrets, *signing_seeds(), own.reveal(), struct.pack("<d", 0.35)):
        assert needle not in disk
    windows = {each[at : at + 16] for each in given for at in range(0, len(each) - 15, 16)}
    assert len(windows) > 1000
    kept = {disk[at : at + 16] for at in range(len(disk) - 15)}
    assert not windows & kept
