"""Logs for the tests of the auditor: played in process, altered, and signed by their board."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from bulletin_board import Checkpoint, NoteSigner, TrustPolicy, sign_entry
from bulletin_board.archive import HEADER, MAGIC, ArchiveHeader
from bulletin_board.entry import VERSION, Entry
from bulletin_board.note import sign_note
from bulletin_board.tree import RightEdge, encode_bundle, leaf_hash
from gopa.auditing import Anchors, Report
from gopa.auditing.report import Status
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Kind, Phase
from gopa.protocol.simulation import Script
from tests.randomness import seeded
from tests.vectors.transcripts.worlds import PLAIN, World
from wire.ed25519 import SigningKey

TRANSCRIPTS: Final = Path(__file__).parents[2] / "specs" / "vectors" / "transcripts"


@dataclass(frozen=True, slots=True)
class Log:
    """The entries of a log with the keys of its board and of its organiser."""

    entries: tuple[bytes, ...]
    signer: NoteSigner
    organiser: SigningKey
    manifest: Manifest

    @property
    def anchors(self) -> Anchors:
        digest = hashlib.sha256(self.manifest.to_bytes()).digest()
        return Anchors(TrustPolicy.single_log(self.signer.verifier), digest)

    @property
    def note(self) -> bytes:
        return note_of(self.entries, self.signer)

    def archive(self, magic: bytes = MAGIC) -> bytes:
        return archived(self.entries, self.note, self.manifest.session, magic)

    def entry(self, **fields: Any) -> bytes:
        """An entry of the organiser in phase 0 of round 1, with these fields instead."""
        plain = Entry(
            version=VERSION,
            session=self.manifest.session,
            phase=int(Phase.ORGANISER),
            kind=int(Kind.ABORT),
            round=1,
            chunk=0,
            chunks=1,
            author=self.organiser.public,
            seq=0,
            prev_own_leaf=bytes(32),
            seen_size=0,
            seen_root=bytes(32),
            body=b"",
        )
        return sign_entry(replace(plain, **fields), self.organiser)


def played(world: World = PLAIN, script: Script | None = None, rounds: int = 1) -> Log:
    """A session from its manifest to its end."""
    simulation = world.simulation(script or Script())
    for logical in range(rounds):
        simulation.run_round(world.inputs(logical))
    access = simulation._organiser_access
    entries = tuple(simulation.log().entries())
    return Log(entries, access.board._signer, access.key, simulation.manifest)


@cache
def clean() -> Log:
    """Four parties, nobody lies, nobody leaves."""
    return played()


def note_of(entries: Sequence[bytes], signer: NoteSigner) -> bytes:
    edge = RightEdge()
    edge.extend(map(leaf_hash, entries))
    checkpoint = Checkpoint(signer.verifier.name, len(entries), edge.root())
    return sign_note(checkpoint.to_text(), signer).to_bytes()


def archived(entries: Sequence[bytes], note: bytes, session: bytes, magic: bytes = MAGIC) -> bytes:
    """An archive of whatever entries under whatever note."""
    origin = note.split(b"\n", 1)[0]
    parts = [HEADER.encode(ArchiveHeader(session, origin)), note]
    parts += [encode_bundle(entries[at : at + 256]) for at in range(0, len(entries), 256)]
    data = magic + b"".join(len(part).to_bytes(4) + part for part in parts)
    return data + hashlib.sha256(data).digest()


def ends(report: Report) -> dict[str, Status]:
    """How each check ended."""
    return {each.check.number: each.status for each in report.checks}


def key_named(name: str) -> SigningKey:
    return SigningKey.generate(seeded(f"auditing: {name}"))
