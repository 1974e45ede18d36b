"""Archives that are changed: bytes, framing, entries, and messages signed anew by their authors."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Final

from bulletin_board import Submission, sign_entry
from bulletin_board.archive import HEADER, MAGIC, ArchiveHeader
from bulletin_board.note import Checkpoint, NoteSigner, sign_note
from bulletin_board.tree import RightEdge, encode_bundle, leaf_hash
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Simulation
from tests.vectors.transcripts.catalogue import CASES
from tests.vectors.transcripts.made import cosigned, make
from wire.ed25519 import SigningKey

NAMES: Final = (
    "clean_full",
    "dropout_before_publish",
    "recovery_of_two",
    "recover_another_seed_signed",
    "commit_wrong_edge",
    "abort_not_unmasked_and_retry",
    "signed_wrong_words",
    "curious_wrong_words",
    "clean_weighted",
    "two_rounds_convict_is_barred",
    "unmask_refuses",
)


@dataclass(frozen=True)
class Material:
    """A transcript with every key that signs in it."""

    name: str
    archive: bytes
    entries: tuple[bytes, ...]
    session: bytes
    log: NoteSigner
    keys: dict[bytes, SigningKey]
    anchors: bytes

    def packed(self, entries: list[bytes], session: bytes | None = None) -> bytes:
        """An archive of other entries, as the same board would have signed it."""
        edge = RightEdge()
        edge.extend(map(leaf_hash, entries))
        checkpoint = Checkpoint(self.log.verifier.name, len(entries), edge.root())
        note = sign_note(checkpoint.to_text(), self.log).to_bytes()
        header = ArchiveHeader(
            self.session if session is None else session, self.log.verifier.name.encode()
        )
        parts = [HEADER.encode(header), note]
        parts += [encode_bundle(entries[at : at + 256]) for at in range(0, len(entries), 256)]
        return closed(MAGIC + b"".join(len(part).to_bytes(4) + part for part in parts))


def closed(content: bytes) -> bytes:
    """With the digest that belongs to it."""
    return content + sha256(content).digest()


@cache
def material(name: str) -> Material:
    """The transcript of this name, played again for its keys."""
    case, made = CASES[name], make(name)
    simulation = case.world.simulation(case.script)
    for logical in range(case.rounds):
        simulation.run_round(case.world.inputs(logical))
    found = made_of(name, simulation)
    assert cosigned(found.archive, case.world.witnesses()) == made.archive
    return replace(found, archive=made.archive)


def made_of(name: str, simulation: Simulation) -> Material:
    """What a simulation has posted so far, with its keys."""
    manifest, organiser = simulation.manifest, simulation._organiser_access
    keys = {actor.author: actor.access.key for actor in simulation.parties}
    keys[manifest.organiser] = organiser.key
    log = organiser.board.signer
    digest = sha256(manifest.to_bytes()).hexdigest()
    anchors = f"manifest {digest}\nlog {log.verifier}\nquorum none\n".encode()
    out = io.BytesIO()
    simulation.archive(out)
    entries = tuple(simulation.log().entries())
    return Material(name, out.getvalue(), entries, manifest.session, log, keys, anchors)


Mutation = Callable[[Material, random.Random], bytes]


def flipped(data: bytes, source: random.Random) -> bytes:
    """One bit."""
    at = source.randrange(8 * len(data))
    return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def a_bit(given: Material, source: random.Random) -> bytes:
    return flipped(given.archive, source)


def a_bit_under_its_digest(given: Material, source: random.Random) -> bytes:
    return closed(flipped(given.archive[:-32], source))


def a_piece(given: Material, source: random.Random) -> bytes:
    """Bytes taken out, put in twice, or overwritten."""
    data, size = given.archive[:-32], source.randint(1, 40)
    at = source.randrange(len(data))
    middle = source.choice([b"", 2 * data[at : at + size], source.randbytes(size)])
    return closed(data[:at] + middle + data[at + size :])


def a_bit_of_an_entry(given: Material, source: random.Random) -> bytes:
    """The board signs a tree with an entry that is not what its author signed."""
    entries = list(given.entries)
    at = source.randrange(len(entries))
    entries[at] = flipped(entries[at], source)
    return given.packed(entries)


def entries_left_out(given: Material, source: random.Random) -> bytes:
    entries = list(given.entries)
    for _ in range(source.randint(1, 2)):
        del entries[source.randrange(1, len(entries))]
    return given.packed(entries)


def entries_cut_off(given: Material, source: random.Random) -> bytes:
    return given.packed(list(given.entries[: source.randrange(len(given.entries))]))


def entries_moved(given: Material, source: random.Random) -> bytes:
    entries = list(given.entries)
    entry = entries.pop(source.randrange(1, len(entries)))
    entries.insert(source.randrange(1, len(entries) + 1), entry)
    return given.packed(entries)


def an_entry_repeated(given: Material, source: random.Random) -> bytes:
    entries = list(given.entries)
    entries.insert(source.randrange(1, len(entries) + 1), source.choice(entries))
    return given.packed(entries)


def another_body(given: Material, source: random.Random) -> bytes:
    """An author signs other bytes in the place of its own, or the old ones as another kind."""
    at = source.randrange(1, len(given.entries))
    entries = list(given.entries)
    entries[at] = _resigned(given, entries[at], source)
    return given.packed(entries)


def two_in_one_slot(given: Material, source: random.Random) -> bytes:
    """An author signs other bytes, and the log holds both."""
    at = source.randrange(1, len(given.entries))
    entries = list(given.entries)
    other = _resigned(given, entries[at], source)
    entries.insert(source.randrange(1, len(entries) + 1), other)
    return given.packed(entries)


def an_entry_on_top(given: Material, source: random.Random) -> bytes:
    """Somebody posts once more, at the next free place or at a strange one."""
    entries = list(given.entries)
    entry = Submission.decode(source.choice(entries)).entry
    entry = replace(
        entry,
        seq=entry.seq + source.choice([1, 1, 2]),
        phase=source.choice([entry.phase, *map(int, Phase), 17]),
        round=source.choice([entry.round, entry.round, 1, 2, 3]),
    )
    raw = sign_entry(entry, given.keys[entry.author.data])
    entries.insert(source.randrange(1, len(entries) + 1), raw)
    return given.packed(entries)


def _resigned(given: Material, raw: bytes, source: random.Random) -> bytes:
    entry = Submission.decode(raw).entry
    if source.randrange(8):
        entry = replace(entry, body=flipped(entry.body, source))
    else:
        entry = replace(entry, kind=source.choice([entry.kind ^ 1, 18]))
    return sign_entry(entry, given.keys[entry.author.data])


MUTATIONS: Final[tuple[Mutation, ...]] = (
    a_bit,
    a_bit_under_its_digest,
    a_piece,
    a_bit_of_an_entry,
    entries_left_out,
    entries_cut_off,
    entries_moved,
    an_entry_repeated,
    another_body,
    two_in_one_slot,
    an_entry_on_top,
)
