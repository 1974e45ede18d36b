"""A log of many entries, checked by implementations that nobody here wrote.

Go and its modules golang.org/x/mod, transparency-dev formats, merkle and tessera
are needed. Where Go is not installed, or its modules cannot be had, the test is
skipped and says so; continuous integration forbids skips.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bulletin_board.note import KeyKind, cosign, encode_base64
from bulletin_board.sequencer import Accepted
from tests.board.interop.programs import built, run
from tests.board.tools import log_key, new_board, open_log, parts, signer, submissions

# Tiles of three levels need 65,536 entries: that takes a while to write.
SIZES = [(7_000, 4_444, 1_234), pytest.param(70_000, 44_444, 12_345, marks=pytest.mark.soak)]


def write_log(root: Path, size: int, older: int, chosen: int) -> None:
    """The log, an older checkpoint, a receipt, a consistency proof, a cosigned checkpoint."""
    board = new_board(root / "board")
    log = open_log(board)
    entries = submissions(size, size=120)
    for part in parts(entries[:older], 1_000):
        assert all(isinstance(outcome, Accepted) for outcome in log.append(part))
    (root / "older").write_bytes(log.signed.to_bytes())
    for part in parts(entries[older:], 1_000):
        assert all(isinstance(outcome, Accepted) for outcome in log.append(part))
    (root / "entry").write_bytes(entries[chosen].raw)
    (root / "receipt.tlog-proof").write_bytes(log.receipt(chosen))
    proof = log.consistency_proof(older)
    (root / "consistency").write_text("".join(f"{encode_base64(item)}\n" for item in proof))
    witness = signer("witness.example/1", KeyKind.WITNESS)
    line = cosign(log.signed.note.text, witness, 1_700_000_000)
    (root / "cosigned").write_bytes(log.signed.note.with_signatures([line]).to_bytes())
    log.close()
    (root / "public").symlink_to(board.public)


def check(program: Path, root: Path) -> subprocess.CompletedProcess[str]:
    witness = signer("witness.example/1", KeyKind.WITNESS).verifier
    return run(program, "check", root, str(log_key()), str(witness))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "older", "chosen"), SIZES)
def test_go_accepts_a_log_of_many_entries(
    tmp_path: Path, size: int, older: int, chosen: int
) -> None:
    program = built().interop
    write_log(tmp_path, size, older, chosen)
    done = check(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok:") == 15
    assert f"size: {size}" in done.stdout
    tile = tmp_path / "public" / "tile/0/010"
    tile.write_bytes(bytes(32) + tile.read_bytes()[32:])
    assert check(program, tmp_path).returncode == 1
