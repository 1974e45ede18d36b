"""After a proof no bytes of its witness or of its nonces are left in the prover's memory."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commitments import ristretto255
from commitments.group import SecretScalarVec
from tests.zkp.prover_process import DOMAIN, SEED
from wire.secret import SecretBytes
from zkp.transcript import NonceSource, frame

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="the memory of a process is a file on Linux only"
)
ROOT = Path(__file__).parents[2]
_RANGE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) rw", re.MULTILINE)


def memory(process: int) -> Iterator[bytes]:
    """All pages that a process may write to, one mapping after the other."""
    maps = Path(f"/proc/{process}/maps").read_bytes()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as file:
        for start, end in _RANGE.findall(maps):
            file.seek(int(start, 16))
            try:
                yield file.read(int(end, 16) - int(start, 16))
            except OSError:
                continue  # pages of the kernel


def found_in(kind: str, patterns: dict[str, bytes]) -> tuple[bytes, set[str]]:
    """A proof made by another process, and the patterns that are in its memory afterwards."""
    command = [sys.executable, "-m", "tests.zkp.prover_process", kind]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        proof = bytes.fromhex(process.stdout.readline().decode())
        pages = list(memory(process.pid))
        process.communicate()
    # The proof itself is there: the right memory was read.
    assert any(proof in page for page in pages)
    return proof, {name for name, data in patterns.items() if any(data in page for page in pages)}


def reduced(wide: bytes) -> int:
    return int.from_bytes(wide, "little") % ristretto255().order


def patterns_of(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, dict[str, bytes]]:
    """The proof of this process, and witness and nonces, these before they are reduced too."""
    from tests.zkp import prover_process

    secret = ristretto255("native").stream(SecretBytes(SEED), DOMAIN).scalars(2)
    known = {"witness": secret.reveal().to_bytes()[32:]}
    drawn: list[bytes] = []
    draw = NonceSource.draw

    def recorded(source: NonceSource) -> SecretScalarVec:
        nonces = draw(source)
        drawn.append(nonces.reveal().to_bytes())
        absorbed = source._session + bytes(136) + frame(source._fresh)
        absorbed += frame(source._witness.reveal().to_bytes())
        drawn.append(hashlib.shake_128(absorbed).digest(64 * len(nonces)))
        assert len(nonces) == 0 or int(nonces[0].reveal()) == reduced(drawn[-1][:64])
        return nonces

    monkeypatch.setattr(NonceSource, "draw", recorded)
    proof = prover_process.prove(kind)
    data = b"".join(drawn)
    nonces = {f"nonce {at}": data[32 * at : 32 * at + 32] for at in range(len(data) // 32)}
    return proof, known | nonces


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sigma", "bits"])
def test_neither_witness_nor_nonces_stay_behind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proof, patterns = patterns_of(kind, monkeypatch)
    assert len(patterns) >= 3
    made, found = found_in(kind, patterns)
    assert made == proof
    assert found == set()


@pytest.mark.slow
def test_bytes_that_were_dropped_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test above would say nothing."""
    proof, patterns = patterns_of("leak", monkeypatch)
    made, found = found_in("leak", patterns)
    assert made == proof
    assert "witness" in found
