"""Real witnesses on loopback: each remembers one history of a log, and cosigns no other."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from bulletin_board import KeyKind, NoteSigner, TrustPolicy, VerifierKey
from bulletin_board.policy import Group, Peer
from bulletin_board.witness.service import Witness, build_witness_app
from bulletin_board.witness.store import WitnessStore
from gopa.adversary.boards.face import serving
from wire.secret import SecretBytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def witnessed(root: Path, log: VerifierKey, count: int) -> Iterator[TrustPolicy]:
    """The policy of whoever believes this log if all of so many witnesses have cosigned it."""
    names = [f"w{number}" for number in range(count)]
    with ExitStack() as stack:
        peers = {name: stack.enter_context(_served(root / name, log, name)) for name in names}
        everybody = {"all": Group(count, tuple(names))}
        yield TrustPolicy(Peer(log), peers, everybody, "all")


@contextmanager
def _served(memory: Path, log: VerifierKey, name: str) -> Iterator[Peer]:
    """The server closes the witness, and with it its memory."""
    signer = NoteSigner(f"{name}.malicious", KeyKind.WITNESS, SecretBytes(os.urandom(32)))
    witness = Witness(signer, [log], WitnessStore(memory.with_suffix(".sqlite")))
    with serving(build_witness_app(witness)) as url:
        yield Peer(signer.verifier, url)
