"""A session over HTTP on this machine, with a malicious board between everybody."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bulletin_board import Entry, KeyKind, NoteSigner, Submission, TrustPolicy
from bulletin_board.entry import VERSION, sign_entry
from bulletin_board.tree import leaf_hash
from gopa.adversary.boards.asking import Which, closed_by
from gopa.adversary.boards.chair import Chair, InVain
from gopa.adversary.boards.face import Face
from gopa.adversary.boards.front import LONG, MaliciousBoard, NeverHappened
from gopa.adversary.boards.guests import Guest, Patient, Through, all_done, waiting_of
from gopa.adversary.boards.liar import Liar
from gopa.adversary.boards.witness import witnessed
from gopa.adversary.ground import Ground
from gopa.adversary.outcome import Catch
from gopa.messages.framing import NO_LEAF, Place, sign_message
from gopa.messages.manifest import Manifest
from gopa.messages.members import pack_members
from gopa.messages.organiser import CLOSE, Close, Members
from gopa.messages.phases import Kind, Phase
from gopa.organiser import new_manifest
from gopa.sessions.client import Client
from gopa.sessions.ticket import Ticket
from gopa.simulation.board import SimulatedBoard
from gopa.simulation.script import Behaviour
from gopa.simulation.setup import permissive
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.secret import SecretBytes

LOG_NAME: Final = "log.malicious"


@dataclass(slots=True, eq=False)
class Stage:
    """Everybody and everything of one served session.

    `guests` are the parties, by number; all are honest. `chairs` are the processes of the
    organiser. `turned_away` says which strangers the board did not put up with. Coroutines of
    plays run in one event loop.
    """

    ground: Ground
    board: MaliciousBoard
    ticket: Ticket
    manifest: Manifest
    organiser: SigningKey
    identities: Sequence[SigningKey]
    root: Path
    guests: list[Guest] = field(default_factory=list)
    liars: list[Liar] = field(default_factory=list)
    chairs: list[Chair] = field(default_factory=list)
    turned_away: list[Catch] = field(default_factory=list)

    def enter(self, number: int, face: Face | None = None) -> Guest:
        """Party `number` offers its value; after it has left, it comes back with its vault.

        It sees this face, or the main one.
        """
        home = self.root / f"party-{number}"
        patience, through = Patient(), Through(self.board.way())
        if face is not None:
            through.way.show(face)
        client = Client(
            self.identities[number],
            permissive(self.manifest.terms),
            home=home,
            connect=through,
            waiting=waiting_of(patience),
        )
        value = [each / self.manifest.terms.steps for each in self.input_of(number)]
        guest = Guest(number, client, through, patience, home, value)
        self.guests = sorted([*self.others(number), guest], key=lambda each: each.number)
        guest.begin(self.ticket, self.rounds)
        return guest

    def lie(self, number: int, behaviours: Sequence[Behaviour]) -> Liar:
        """Party `number` is one that behaves like this."""
        signer = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(os.urandom(32)))
        liar = Liar(
            number,
            self.ticket,
            self.manifest,
            self.identities[number],
            self.board.way(),
            copy=SimulatedBoard(signer),
            rows=[tuple(self.input_of(number))] * self.rounds,
            behaviours=behaviours,
        )
        self.liars.append(liar)
        return liar

    def input_of(self, number: int) -> Sequence[int]:
        """What party `number` contributes in every round, on the grid."""
        return self.ground.inputs()[number]

    @property
    def rounds(self) -> int:
        """How many results there are to be."""
        return self.ground.rounds

    def gather(self) -> Sequence[Guest]:
        """All parties of the roster offer their values."""
        return [self.enter(number) for number in range(len(self.identities))]

    def chair(self, face: Face | None = None, *, in_vain: InVain | None = None) -> Chair:
        """Start a process of the organiser on this face; see `Chair.begin`."""
        way = self.board.way()
        if face is not None:
            way.show(face)
        made = Chair.begin(
            self.ticket, self.manifest, self.organiser, way, os.urandom, in_vain=in_vain
        )
        self.chairs.append(made)
        return made

    def others(self, number: int) -> Sequence[Guest]:
        """Everybody but this one."""
        return [guest for guest in self.guests if guest.number != number]

    async def fork(self, without: Which = lambda _: False, *, longer: int = 0) -> Face:
        """Another face: what the main one has now `without` some, and so many entries of others."""
        raws = await asyncio.to_thread(self.board.entries)
        kept = [raw for raw in raws if not without(Submission.decode(raw).entry)]
        return await asyncio.to_thread(self.board.fork, [*kept, *_of_strangers(longer)])

    async def restored(self, lost: Which) -> Face | None:
        """The board comes back from a backup, from before the first of these; None if it refuses.

        If it comes back, it takes the last one of them first, as its log never did.
        """
        raws = await asyncio.to_thread(self.board.entries)
        missing = [at for at, raw in enumerate(raws) if lost(Submission.decode(raw).entry)]
        face = await asyncio.to_thread(self.board.restore, raws[: missing[0]])
        if face is not None:
            await self._post(face, raws[missing[-1]])
            await self.until(
                lambda: any(each.taken and each.face is face for each in self.board.sent)
            )
        return face

    async def goes_on(self, raws: Sequence[bytes]) -> Face:
        """The main face with these entries behind all others, whether or not it would take them.

        It is no fork: nobody says anything meanwhile. From then on everybody sees it, and
        the board behaves.
        """
        ways = [guest.way for guest in self.guests]
        ways += [liar.way for liar in self.liars]
        ways += [chair.way for chair in self.chairs]
        for way in ways:
            way.loses(lambda _: True)
            await asyncio.to_thread(way.show, self.board.main)
        entries = await asyncio.to_thread(self.board.entries)
        face = await asyncio.to_thread(self.board.fork, [*entries, *raws])
        for way in ways:
            await asyncio.to_thread(way.show, face)
            way.behave()
        return face

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

    async def show(self, whom: Sequence[Guest | Chair], face: Face) -> None:
        """From now on these see this face."""
        for each in whom:
            await asyncio.to_thread(each.way.show, face)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds; raises `NeverHappened`."""
        await asyncio.to_thread(self.board.wait_for, holds)

    async def done(self, guests: Sequence[Guest] | None = None) -> None:
        """Wait until these parties, or all, have got a result or an error."""
        await all_done(self.guests if guests is None else guests, LONG)

    async def done_at_last(self) -> None:
        """The same for all, however long it takes as long as anything happens."""
        while True:
            known = len([each for each in self.board.sent if each.taken])
            try:
                return await self.done()
            except NeverHappened:
                if len([each for each in self.board.sent if each.taken]) == known:
                    raise

    def taken(self, phase: Phase, face: Face | None = None) -> int:
        """From how many parties a face has acknowledged something in this phase."""
        where = face or self.board.main
        found = [e for e in self.board.sent if e.taken and e.face is where]
        return len({each.entry.author.data for each in found if each.entry.phase == phase})

    @property
    def begun(self) -> bool:
        """Whether the main face has something of the organiser."""
        found = [e for e in self.board.sent if e.taken and e.face is self.board.main]
        return any(each.entry.author == self.organiser.public for each in found)

    def closed(self, phase: Phase, face: Face | None = None) -> bool:
        """Whether a face has the organiser's close of this phase."""
        where = face or self.board.main
        found = [e for e in self.board.sent if e.taken and e.face is where]
        return any(closed_by(each.entry) is phase for each in found)

    async def overdue(self, chair: Chair, phase: Phase) -> None:
        """The time of a phase ends, once the organiser has read what was posted until now."""
        face = chair.way.face
        await self.until(lambda: chair.machine.size >= face.size or chair.task.done())
        chair.limits[phase] = 0.0

    async def claim_confirmed(self, face: Face) -> None:
        """The organiser says on a face that all have confirmed, whatever is there."""
        await self._close(face, Phase.CONFIRM, range(len(self.identities)))

    async def branch(self, members: Iterable[int]) -> Face:
        """A fork of what the main face has, on which the organiser lists these as published.

        It is not final: whoever is listed owes its edges to the others.
        """
        face = await self.fork()
        await self._close(face, Phase.PUBLISH, members)
        return face

    async def _close(self, face: Face, phase: Phase, members: Iterable[int]) -> None:
        """The organiser closes a phase on a face, with a list of its own."""
        raws = await asyncio.to_thread(self.board.entries, face)
        entries = [Submission.decode(raw).entry for raw in raws]
        at = max(i for i, each in enumerate(entries) if each.author == self.organiser.public)
        raw, last = raws[at], entries[at]
        content = Members(pack_members(members, len(self.identities)), final=False)
        close = Close(leaf_hash(raw), len(raws), phase, b"", content)
        place = Place(
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
        await self._post(face, signed.entries[0])

    async def _post(self, face: Face, raw: bytes) -> None:
        way = self.board.way()
        way.show(face)
        await asyncio.to_thread(
            way.request,
            "POST",
            f"{self.ticket.board}/v1/entries",
            body=raw,
            media_type=ENTRY_PAYLOAD_TYPE,
            limit=2**17,
        )

    async def leave(self) -> None:
        """Everybody goes home, and all processes of the organiser end.

        Raises whatever the behaviour of a liar has raised.
        """
        for guest in self.guests:
            await guest.leave()
        for liar in self.liars:
            await liar.leave()
        for chair in self.chairs:
            await chair.stop()
        for liar in self.liars:
            if liar.error is not None:
                raise liar.error


def _of_strangers(count: int) -> list[bytes]:
    """Entries of a session that is none of anybody's business."""
    key, session = SigningKey.generate(os.urandom), os.urandom(32)
    return [
        sign_entry(
            Entry(VERSION, session, 9, 1, 0, 0, 1, key.public, seq, NO_LEAF, 0, bytes(32), b""), key
        )
        for seq in range(count)
    ]


@contextmanager
def staged(ground: Ground, *, retries: bool = False) -> Iterator[Stage]:
    """A board that serves, and a session that nobody has opened.

    A round has one attempt, or with `retries` as many as the terms say.
    """
    if ground.beacon is not None or ground.setting.weighted:
        raise UsageError("a served session has no beacon and no weights", "ground")
    terms = ground.terms if retries else replace(ground.terms, attempts=1, charged=0)
    signer = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(os.urandom(32)))
    keys = [SigningKey.generate(os.urandom) for _ in range(terms.parties)]
    identities = sorted(keys, key=lambda each: each.public.data)
    organiser = SigningKey.generate(os.urandom)
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gopa-attack-")))
        policy = TrustPolicy.single_log(signer.verifier)
        if ground.witnesses:
            policy = stack.enter_context(witnessed(root, signer.verifier, ground.witnesses))
        manifest = new_manifest(
            terms,
            [each.public.data for each in identities],
            organiser=organiser.public.data,
            log=signer.verifier,
            rng=os.urandom,
            setting=ground.setting,
            policy=policy if ground.witnesses else None,
        )
        board = MaliciousBoard(root, signer, policy, stack, rng=os.urandom)
        ticket = Ticket(board.main.address, signer.verifier, manifest.session, manifest.policy)
        yield Stage(ground, board, ticket, manifest, organiser, identities, root)
