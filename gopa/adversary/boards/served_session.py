"""Runs a session over HTTP on this machine, with a malicious board between everybody.

Its witnesses are real: each remembers one history of a log, and cosigns no other.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bulletin_board import Entry, KeyKind, NoteSigner, Submission, TrustPolicy, VerifierKey
from bulletin_board.entry import VERSION, sign_entry
from bulletin_board.policy import KnownServer, WitnessGroup
from bulletin_board.tree import RightEdge, leaf_hash
from bulletin_board.witness.service import Witness, WitnessStore, build_witness_app
from gopa.adversary.boards.clients import (
    HonestClient,
    InVain,
    NotedConnection,
    OrganiserProcess,
    Patient,
    all_done,
    waiting_of,
)
from gopa.adversary.boards.log_fork import LogFork, serving
from gopa.adversary.boards.lying_client import LyingClient, LyingParty
from gopa.adversary.boards.tampering import Which, closed_by
from gopa.adversary.boards.transport import LONG, MaliciousBoard, NeverHappened
from gopa.adversary.outcome import Catch
from gopa.adversary.setup import SessionSetup
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import CLOSE, Close, Members, pack_members
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import new_manifest
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.script import Behaviour
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.client import Client
from gopa.sessions.ticket import Ticket
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.secret import SecretBytes


@contextmanager
def witnessed(root: Path, log: VerifierKey, count: int) -> Iterator[TrustPolicy]:
    """The policy of whoever believes this log if all of so many witnesses have cosigned it."""
    names = [f"w{number}" for number in range(count)]
    with ExitStack() as stack:
        peers = {name: stack.enter_context(_served(root / name, log, name)) for name in names}
        everybody = {"all": WitnessGroup(count, tuple(names))}
        yield TrustPolicy(KnownServer(log), peers, everybody, "all")


@contextmanager
def _served(memory: Path, log: VerifierKey, name: str) -> Iterator[KnownServer]:
    """The server closes the witness, and with it its memory."""
    signer = NoteSigner(f"{name}.malicious", KeyKind.WITNESS, SecretBytes(os.urandom(32)))
    witness = Witness(signer, [log], WitnessStore(memory.with_suffix(".sqlite")))
    with serving(build_witness_app(witness)) as url:
        yield KnownServer(signer.verifier, url)


LOG_NAME: Final = "log.malicious"


@dataclass(slots=True, eq=False)
class ServedSession:
    """Everybody and everything of one served session.

    `parties` are the honest ones, by number. `processes` are those of the organiser.
    `turned_away` says which strangers the board did not put up with. Coroutines of scenarios
    run in one event loop.
    """

    setup: SessionSetup
    board: MaliciousBoard
    ticket: Ticket
    manifest: Manifest
    organiser: SigningKey
    identities: Sequence[SigningKey]
    root: Path
    parties: list[HonestClient] = field(default_factory=list)
    liars: list[LyingClient] = field(default_factory=list)
    processes: list[OrganiserProcess] = field(default_factory=list)
    turned_away: list[Catch] = field(default_factory=list)

    def enter(self, number: int, fork: LogFork | None = None) -> HonestClient:
        """Party `number` offers its value; after it has left, it comes back with its vault.

        It sees this fork, or the main one.
        """
        home = self.root / f"party-{number}"
        patience, connection = Patient(), NotedConnection(self.board.transport())
        if fork is not None:
            connection.transport.show(fork)
        client = Client(
            self.identities[number],
            permissive(self.manifest.terms),
            home=home,
            connect=connection,
            waiting=waiting_of(patience),
        )
        party = HonestClient(number, client, connection, patience, home, self._value_of(number))
        self.parties = sorted([*self.others(number), party], key=lambda each: each.number)
        party.begin(self.ticket, self.rounds)
        return party

    def lie(self, number: int, behaviours: Sequence[Behaviour]) -> LyingClient:
        """Party `number` is one that behaves like this."""
        signer = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(os.urandom(32)))
        party = LyingParty(
            number,
            self.manifest,
            self.identities[number],
            copy=SimulatedBoard(signer),
            rows=[tuple(self.input_of(number))] * self.rounds,
            behaviours=behaviours,
        )
        liar = LyingClient(number, self.ticket, self.board.transport(), party)
        self.liars.append(liar)
        return liar

    def input_of(self, number: int) -> Sequence[int]:
        """What party `number` contributes in every round, on the grid."""
        return self.setup.inputs()[number]

    def _value_of(self, number: int) -> list[float]:
        """The same as a client takes it: the point `k` of the grid is a number of the range."""
        terms = self.manifest.terms
        low, width = float(terms.low), float(terms.high - terms.low)
        return [low + width * each / terms.steps for each in self.input_of(number)]

    @property
    def rounds(self) -> int:
        """How many results there are to be."""
        return self.setup.rounds

    def gather(self) -> Sequence[HonestClient]:
        """All parties of the roster offer their values."""
        return [self.enter(number) for number in range(len(self.identities))]

    def start_organiser(
        self, fork: LogFork | None = None, *, in_vain: InVain | None = None
    ) -> OrganiserProcess:
        """Start a process of the organiser on this fork; see `OrganiserProcess.begin`."""
        transport = self.board.transport()
        if fork is not None:
            transport.show(fork)
        made = OrganiserProcess.begin(
            self.ticket, self.manifest, self.organiser, transport, os.urandom, in_vain=in_vain
        )
        self.processes.append(made)
        return made

    def others(self, number: int) -> Sequence[HonestClient]:
        """Everybody but this one."""
        return [party for party in self.parties if party.number != number]

    async def fork(self, without: Which = lambda _: False, *, longer: int = 0) -> LogFork:
        """Another fork: what the main one has now `without` some, and so many entries of others."""
        raws = await asyncio.to_thread(self.board.entries)
        kept = [raw for raw in raws if not without(Submission.decode(raw).entry)]
        return await asyncio.to_thread(self.board.fork, [*kept, *_entries_of_strangers(longer)])

    async def restored(self, lost: Which) -> LogFork | None:
        """The board comes back from a backup, from before the first of these; None if it refuses.

        If it comes back, it takes the last one of them first, as its log never did.
        """
        raws = await asyncio.to_thread(self.board.entries)
        missing = [at for at, raw in enumerate(raws) if lost(Submission.decode(raw).entry)]
        fork = await asyncio.to_thread(self.board.restore, raws[: missing[0]])
        if fork is not None:
            await self._post(fork, raws[missing[-1]])
            await self.until(
                lambda: any(each.taken and each.fork is fork for each in self.board.sent)
            )
        return fork

    async def goes_on(self, raws: Sequence[bytes]) -> LogFork:
        """The main fork with these entries behind all others, whether or not it would take them.

        It is no fork: nobody says anything meanwhile. From then on everybody sees it, and
        the board behaves.
        """
        transports = [party.transport for party in self.parties]
        transports += [liar.transport for liar in self.liars]
        transports += [process.transport for process in self.processes]
        for transport in transports:
            transport.loses(lambda _: True)
            await asyncio.to_thread(transport.show, self.board.main)
        entries = await asyncio.to_thread(self.board.entries)
        fork = await asyncio.to_thread(self.board.fork, [*entries, *raws])
        for transport in transports:
            await asyncio.to_thread(transport.show, fork)
            transport.behave()
        return fork

    def handed(self, which: Which) -> Sequence[bytes]:
        """What somebody has handed to the network, whether or not it arrived."""
        return [raw for raw in sorted(self.board.handed) if which(Submission.decode(raw).entry)]

    def of(self, number: int, phase: Phase) -> Which:
        """What party `number` says in a phase."""
        author = self.identities[number].public
        return lambda entry: entry.author == author and entry.phase == phase

    def closing(self, phase: Phase) -> Which:
        """The organiser's close of a phase."""
        return lambda entry: closed_by(entry) is phase

    async def show(self, whom: Sequence[HonestClient | OrganiserProcess], fork: LogFork) -> None:
        """Show this fork, and no other from now on, to these processes."""
        for each in whom:
            await asyncio.to_thread(each.transport.show, fork)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds; raises `NeverHappened`."""
        await asyncio.to_thread(self.board.wait_for, holds)

    async def done(self, parties: Sequence[HonestClient] | None = None) -> None:
        """Wait until these parties, or all, have got a result or an error."""
        await all_done(self.parties if parties is None else parties, LONG)

    async def done_at_last(self) -> None:
        """The same for all, however long it takes as long as anything happens."""
        while True:
            known = len([each for each in self.board.sent if each.taken])
            try:
                return await self.done()
            except NeverHappened:
                if len([each for each in self.board.sent if each.taken]) == known:
                    raise

    def taken(self, phase: Phase, fork: LogFork | None = None) -> int:
        """The number of parties of which a fork has acknowledged something in this phase."""
        where = fork or self.board.main
        found = [e for e in self.board.sent if e.taken and e.fork is where]
        return len({each.entry.author.data for each in found if each.entry.phase == phase})

    @property
    def begun(self) -> bool:
        """Whether the main fork has something of the organiser."""
        found = [e for e in self.board.sent if e.taken and e.fork is self.board.main]
        return any(each.entry.author == self.organiser.public for each in found)

    def closed(self, phase: Phase, fork: LogFork | None = None) -> bool:
        """Whether a fork has the organiser's close of this phase."""
        where = fork or self.board.main
        found = [e for e in self.board.sent if e.taken and e.fork is where]
        return any(closed_by(each.entry) is phase for each in found)

    async def overdue(self, process: OrganiserProcess, phase: Phase) -> None:
        """The time of a phase ends, once the organiser has read what was posted until now."""
        fork = process.transport.fork
        await self.until(lambda: process.machine.size >= fork.size or process.task.done())
        process.limits[phase] = 0.0

    async def claim_confirmed(self, fork: LogFork) -> None:
        """The organiser says on a fork that all have confirmed, whatever is there."""
        await self._close(fork, Phase.CONFIRM, range(len(self.identities)))

    async def branch(self, members: Iterable[int]) -> LogFork:
        """A fork of what the main fork has, on which the organiser lists these as published.

        It is not final: whoever is listed owes its edges to the others.
        """
        fork = await self.fork()
        await self._close(fork, Phase.PUBLISH, members)
        return fork

    async def _close(self, fork: LogFork, phase: Phase, members: Iterable[int]) -> None:
        """The organiser closes a phase on a fork, with a list of its own."""
        raws = await asyncio.to_thread(self.board.entries, fork)
        entries = [Submission.decode(raw).entry for raw in raws]
        at = max(i for i, each in enumerate(entries) if each.author == self.organiser.public)
        raw, last = raws[at], entries[at]
        content = Members(pack_members(members, len(self.identities)), final=False)
        edge = RightEdge()
        edge.extend(map(leaf_hash, raws))
        close = Close(leaf_hash(raw), len(raws), edge.root(), phase, b"", content)
        place = MessageSlot(
            self.ticket.session,
            Phase.ORGANISER,
            Kind.CLOSE,
            1,
            last.seq + 1,
            leaf_hash(raw),
            last.seen_size,
            last.seen_root,
        )
        signed = sign_message(CLOSE.encode(close), place, self.organiser)
        await self._post(fork, signed.entries[0])

    async def _post(self, fork: LogFork, raw: bytes) -> None:
        transport = self.board.transport()
        transport.show(fork)
        await asyncio.to_thread(
            transport.request,
            "POST",
            f"{self.ticket.board}/v1/entries",
            body=raw,
            media_type=ENTRY_PAYLOAD_TYPE,
            limit=2**17,
        )

    async def leave(self) -> None:
        """Stops all parties and all processes of the organiser.

        Raises whatever the behaviour of a liar has raised.
        """
        for party in self.parties:
            await party.leave()
        for liar in self.liars:
            await liar.leave()
        for process in self.processes:
            await process.stop()
        for liar in self.liars:
            if liar.error is not None:
                raise liar.error


def _entries_of_strangers(count: int) -> list[bytes]:
    """Entries of a session that is none of anybody's business."""
    key, session = SigningKey.generate(os.urandom), os.urandom(32)
    return [
        sign_entry(
            Entry(VERSION, session, 9, 1, 0, 0, 1, key.public, seq, NO_LEAF, 0, bytes(32), b""), key
        )
        for seq in range(count)
    ]


@contextmanager
def serve_session(setup: SessionSetup, *, retries: bool = False) -> Iterator[ServedSession]:
    """Starts a board that serves, with a session that nobody has opened.

    A round has one attempt, or with `retries` as many as the terms say.
    """
    if setup.beacon is not None or setup.setting.weighted:
        raise UsageError("a served session has no beacon and no weights", "setup")
    terms = setup.terms if retries else replace(setup.terms, attempts=1, charged=0)
    signer = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(os.urandom(32)))
    keys = [SigningKey.generate(os.urandom) for _ in range(terms.parties)]
    identities = sorted(keys, key=lambda each: each.public.data)
    organiser = SigningKey.generate(os.urandom)
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gopa-attack-")))
        policy = TrustPolicy.single_log(signer.verifier)
        if setup.witnesses:
            policy = stack.enter_context(witnessed(root, signer.verifier, setup.witnesses))
        manifest = new_manifest(
            terms,
            [each.public.data for each in identities],
            organiser=organiser.public.data,
            log=signer.verifier,
            rng=os.urandom,
            setting=setup.setting,
            policy=policy if setup.witnesses else None,
        )
        board = MaliciousBoard(root, signer, policy, stack, rng=os.urandom)
        ticket = Ticket(board.main.address, signer.verifier, manifest.session, manifest.policy)
        yield ServedSession(setup, board, ticket, manifest, organiser, identities, root)
