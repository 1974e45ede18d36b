"""Values that stand in no transcript: of vaults, lookups, evidence, beacons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bulletin_board.archive import ArchiveHeader
from bulletin_board.client.forks import ForkEvidence, UnprovenPair
from bulletin_board.entry import SIGNED_ENTRY
from bulletin_board.lookup import LOOKUP_ANSWER
from bulletin_board.reader import LogReader
from bulletin_board.snapshot import Snapshot
from gopa.auditing.evidence import (
    Evidence,
    FaultStatement,
    Fork,
    Messages,
    Placed,
    Prefix,
    TwoEntries,
)
from gopa.contract.beacon import QUICKNET
from gopa.contract.cutting import CommitHead, ProveHead
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch
from gopa.protocol.party.states import BetweenRounds
from gopa.rounds.masks import UniformMask
from gopa.sessions.organising.storage import STANDING, Covered, PhaseStart, StoredMessage
from gopa.sessions.parties import memory as failures
from gopa.sessions.parties.journal import RECORD
from gopa.sessions.parties.memory import MEMORY, KeptInput
from gopa.sessions.tunnel.letters import Card, Letter, Signed
from gopa.sessions.tunnel.messages import (
    HiddenEntry,
    OwnEntry,
    TunnelEntry,
    TunnelReply,
    TunnelRequest,
    Want,
)
from gopa.sessions.tunnel.packing import PACKED_VERSION, PackedMessage
from gopa.sessions.tunnel.state import VERSION as STATE_VERSION
from gopa.sessions.tunnel.state import TunnelState
from gopa.sessions.vault import frames, identity
from gopa.sessions.vault.frames import File, RecordPlace, Seal
from gopa.sessions.vault.guard import Mark
from gopa.sessions.vault.protection import Passphrase, Purpose, SealingKey, Unsealed, protect
from tests.board.lookups import answer_of, question
from tests.board.tools import memory_log, source_of, trust
from tests.fuzzing.corpus import entries
from tests.randomness import seeded
from tests.sessions.organising.test_restarts import uneven
from tests.sessions.organising.worlds import Office
from tests.sessions.parties.test_durable import played
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty, MalformedMessage
from wire.secret import SecretBytes
from zkp.noise import NoNoise, irwin_hall


def values() -> Iterator[Any]:
    """One or a few of each kind; their parts are for the caller to look at."""
    yield QUICKNET
    yield UniformMask()
    yield from (NoNoise(), irwin_hall(12, 4))
    yield ArchiveHeader(bytes(32), b"board.example/log")
    yield UnprovenPair(b"note", b"other note", b"path")
    yield Snapshot(b"policy", 9, bytes(32), bytes(32), bytes(2 * 41), b"state")
    yield ForkEvidence(b"older", b"newer", (bytes(32), bytes(32)))
    yield CommitHead(bytes(32), (bytes(32),) * 2, bytes(32), (bytes(32),), (bytes(64),) * 2)
    yield ProveHead(bytes(32), (bytes(32),) * 3, bytes(32))
    yield from _lookups()
    yield from _vaults()
    yield from _memories()
    yield from _tunnel()
    yield from evidence()


def _lookups() -> Iterator[Any]:
    _, files = memory_log(9)
    yield question(9, 1, 2, 3)
    answer = LOOKUP_ANSWER.decode(answer_of(LogReader.open(source_of(files), trust()), [1, 4, 5]))
    yield answer
    yield from answer.found


def _vaults() -> Iterator[Any]:
    rng, key = seeded("fuzzing"), SecretBytes(bytes(32))
    sealed = protect(key, Purpose.VAULT, SealingKey(SecretBytes(bytes(32))), rng)
    passphrase = protect(key, Purpose.VAULT, Passphrase(SecretBytes(b"correct horse")), rng)
    with TemporaryDirectory() as place:
        identity.create(Path(place) / "key", rng=rng)
        yield identity._read(Path(place) / "key")
    yield RecordPlace(bytes(16), File.JOURNAL, 3, 7)
    yield SigningKey.generate(rng).public
    yield from (sealed, passphrase, Unsealed(bytes(32)))
    yield Seal(frames.VERSION, bytes(16), sealed)
    yield Seal(frames.VERSION, bytes(16), Unsealed(b""))


def _memories() -> Iterator[Any]:
    vault = played().vault
    memory = MEMORY.decode(vault.memory() or b"")
    yield memory
    yield from (memory.chain, memory.tally, memory.stage, memory.last, BetweenRounds())
    yield from played().process.told[:40]
    for copy in vault.copies[-12:]:
        for record in copy.journal()[:6]:
            found = RECORD.decode(record)
            yield found
            yield from found.posts
    yield KeptInput(1, (0, 4), bytes(32), bytes(32))
    office = Office(uneven())
    office.run()
    yield STANDING.decode(office.vault.memory() or b"")
    yield from (
        StoredMessage(Kind.CLOSE, 1, tuple(entries()[:2])),
        PhaseStart(bytes(32), 7),
        Covered(3, b"checkpoint"),
    )
    for error in (FaultyParty("it lied", bytes(32), bytes(32)), MalformedMessage("no", "field", 3)):
        yield error
        yield failures._failure(error)


def _tunnel() -> Iterator[Any]:
    place = bytes(32)
    some = tuple(entries()[:2])
    fetch = Fetch(Phase.COINS, 1, 9, (bytes(32), bytes([1]) * 32))
    shown = (TunnelEntry(4, entries()[0]), HiddenEntry(5, place), OwnEntry(7, bytes(32)))
    yield from shown
    yield fetch
    yield TunnelRequest(3, place, b"note", (place,), shown, (3,), (place,), some, (place,))
    yield TunnelReply(3, place, place, 9, 4, Want.LOG, fetch, True, False, some)
    yield TunnelReply(3, place, place, 0, 0, Want.NOTHING, None, False, True, ())
    yield PackedMessage(PACKED_VERSION, 3, b"packed")
    yield Mark(1, 3, 1, place)
    yield TunnelState(STATE_VERSION, place, 1, b"manifest", b"note", 4, b"machine", (place,), b"")
    yield Card(place, place, bytes(32))
    yield Letter(place, place, bytes([1]) * 32, 2, b"sealed")
    yield Signed(b"content", bytes(64))


def evidence() -> Iterator[Any]:
    one, two, three = entries()[:3]
    statement = FaultStatement(SIGNED_ENTRY.decode(one).entry.author.data, b"04-E3", 1)
    for shown in (
        TwoEntries(one, two),
        Messages((Placed(1, one), Placed(4, three))),
        Prefix(b"note", (bytes(32),), (one, two)),
        Fork(b"evidence"),
    ):
        yield Evidence(statement, shown)
