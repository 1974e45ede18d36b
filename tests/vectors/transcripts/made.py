"""From a case to its two files: the log as an archive, and what there is to know about it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Final

from bulletin_board import ArchiveReader, LogReader, SignedCheckpoint, TrustPolicy, VerifierKey
from bulletin_board.archive import MAGIC
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import Findings, check_log
from gopa.protocol.simulation import RoundRecord, SimulatedWitnesses, Simulation
from gopa.rounds.toolkit import Toolkit
from tests.randomness import seeded
from tests.vectors.transcripts.catalogue import CASES
from tests.vectors.transcripts.record import Json, expected

_NUMBERS: Final = re.compile(r"\[\s+(?:-?\d+,\s+)*-?\d+\s+\]")


@dataclass(frozen=True, slots=True)
class Made:
    """A transcript, its findings, and what the world knows that made it."""

    name: str
    archive: bytes
    signed: SignedCheckpoint
    manifest: Manifest
    findings: Findings
    records: tuple[RoundRecord, ...]
    plain: tuple[tuple[int, ...] | None, ...]
    keys: tuple[bytes, ...]

    def files(self) -> dict[str, bytes]:
        """The contents of its files by their names."""
        text = _compact(json.dumps(_described(self), indent=1)) + "\n"
        return {f"{self.name}.gopa": self.archive, f"{self.name}.json": text.encode()}


@cache
def make(name: str) -> Made:
    """Play the case; the same bytes every time."""
    case = CASES[name]
    simulation = case.world.simulation(case.script)
    records, plain = [], []
    if case.manifest is not None:
        return _of_a_manifest(name, simulation, case.manifest(simulation.manifest))
    for logical in range(case.rounds):
        inputs = case.world.inputs(logical)
        record = simulation.run_round(inputs)
        records.append(record)
        plain += _plain_sums(simulation, record, inputs)
    out = io.BytesIO()
    simulation.archive(out)
    archive = cosigned(out.getvalue(), case.world.witnesses())
    return Made(
        name=name,
        archive=archive,
        signed=ArchiveReader(io.BytesIO(archive), simulation_policy(simulation)).signed,
        manifest=simulation.manifest,
        findings=_checked(simulation.log()),
        records=tuple(records),
        plain=tuple(plain),
        keys=tuple(actor.author for actor in simulation.parties),
    )


def simulation_policy(simulation: Simulation) -> TrustPolicy:
    """The key of the log alone."""
    return TrustPolicy.single_log(VerifierKey.parse(simulation.manifest.log.decode()))


def cosigned(archive: bytes, witnesses: SimulatedWitnesses | None) -> bytes:
    """The archive under a checkpoint that the witnesses cosigned too, where there are any.

    Who anchors their policy asks for that of the whole log, not only of what closes quote.
    """
    if witnesses is None:
        return archive
    header_end = len(MAGIC) + 4 + int.from_bytes(archive[len(MAGIC) : len(MAGIC) + 4])
    note_end = header_end + 4 + int.from_bytes(archive[header_end : header_end + 4])
    note = witnesses.cosigned(archive[header_end + 4 : note_end])
    content = archive[:header_end] + len(note).to_bytes(4) + note + archive[note_end:-32]
    return content + sha256(content).digest()


def read(archive: bytes, log: VerifierKey) -> tuple[SignedCheckpoint, list[bytes]]:
    """The entries of an archive that holds under the key of its log."""
    reader = ArchiveReader(io.BytesIO(archive), TrustPolicy.single_log(log))
    return reader.signed, list(reader.entries())


def judged(entries: Sequence[bytes], toolkit: Toolkit, anchors: Json) -> Findings:
    """What the rules find from the anchors on."""
    return check_log(
        entries,
        toolkit,
        rng=seeded("reader of transcripts"),
        manifest_hash=bytes.fromhex(anchors["manifest_sha256"]),
        session=bytes.fromhex(anchors["session"]),
    )


def _of_a_manifest(name: str, simulation: Simulation, manifest: Manifest) -> Made:
    """A log that holds one manifest."""
    access = simulation._organiser_access
    place = MessageSlot(manifest.session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    board = access.board.copied(sign_message(manifest.to_bytes(), place, access.key).entries)
    out = io.BytesIO()
    board.archive(out, manifest.session)
    log = board.reader()
    keys = tuple(actor.author for actor in simulation.parties)
    return Made(name, out.getvalue(), log.signed, manifest, _checked(log), (), (), keys)


def _checked(log: LogReader) -> Findings:
    return check_log(log.entries(), rng=seeded("maker of transcripts"))


def _plain_sums(
    simulation: Simulation, record: RoundRecord, inputs: Sequence[Sequence[int]]
) -> list[tuple[int, ...] | None]:
    """For each attempt, inputs and noise of its final list added up in the open."""
    numbers = {actor.author: actor.index for actor in simulation.parties}
    found: list[tuple[int, ...] | None] = []
    manifest = simulation.manifest
    zeros = [manifest.origin] * manifest.terms.dimension  # from where lengths are measured
    if manifest.weighted:
        zeros[-1] = 0
    for attempt in record.attempts:
        included = [numbers[attempt.roll[place]] for place in attempt.final or ()]
        noise = [simulation.noise_for_tests[attempt.number, party] for party in included]
        rows = [
            [x - zero + y for x, zero, y in zip(inputs[party], zeros, own, strict=True)]
            for party, own in zip(included, noise, strict=True)
        ]
        found.append(tuple(map(sum, zip(*rows, strict=True))) if rows else None)
    return found


def _compact(text: str) -> str:
    """Lists of numbers in one line."""
    return _NUMBERS.sub(lambda found: "".join(found[0].split()).replace(",", ", "), text)


def _described(made: Made) -> Json:
    case = CASES[made.name]
    return {
        "name": made.name,
        "about": case.about,
        "twin": case.twin or None,
        "mode": made.manifest.mode.name.lower(),
        "archive": {
            "file": f"{made.name}.gopa",
            "sha256": sha256(made.archive).hexdigest(),
            "entries": made.signed.size,
        },
        "anchors": {
            "log": made.manifest.log.decode(),
            "policy": made.manifest.policy.decode(),
            "manifest_sha256": sha256(made.manifest.to_bytes()).hexdigest(),
            "session": made.manifest.session.hex(),
            "root": made.signed.root.hex(),
            "checkpoint": made.signed.to_bytes().decode(),
        },
        "organiser": made.manifest.organiser.hex(),
        "parties": [key.hex() for key in made.keys],
        "liars": [_name(liar) for liar in case.liars],
        "expected": expected(made.findings),
    }


def _name(party: int) -> int | str:
    return "organiser" if party < 0 else party
