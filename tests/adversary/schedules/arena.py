"""A session whose network is in the hands of a schedule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from bulletin_board import Slot, Submission
from bulletin_board.tree import EMPTY_ROOT, RightEdge, leaf_hash
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.organiser import Organiser, PhaseOver
from gopa.protocol.party import Event, Fetch, Post, Supplied, TimedOut, Witnessed
from gopa.protocol.simulation import Script, SimulationOptions, permissive
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.setup import SeededStreams, set_up
from tests.adversary.schedules.desk import Desk, Ending
from tests.adversary.schedules.kept import KeptParty
from tests.adversary.schedules.secrets import Secrets
from tests.adversary.schedules.worlds import World
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage, UsageError

ELSEWHERE: Final = b"\x5e" * 32
_FAIR_STEPS: Final = 120
_PHASES: Final = 12
_NOBODY: Final = -1


@dataclass(slots=True)
class Side:
    """One log, with the organiser in front of it. There are two after the board has forked.

    `roots` are those of all sizes that the log has had.
    """

    board: SimulatedBoard
    desk: Desk | None
    roots: list[bytes] = field(default_factory=lambda: [EMPTY_ROOT])
    edge: RightEdge = field(default_factory=RightEdge)


@dataclass(frozen=True, slots=True)
class Pending:
    """An entry on its way to the logs in `sides`."""

    author: int
    raw: bytes
    sides: tuple[int, ...]


class Arena:
    """Parties, an organiser and a board, none of which moves unless it is told to.

    Entries wait in `pending` until they land; parties have heard the log up to a place of
    their own; organisers too. `liars` are the parties that ever misbehaved.
    """

    def __init__(self, world: World, seed: int) -> None:
        streams = SeededStreams(b"schedules" + seed.to_bytes(8))
        options = SimulationOptions(toolkit=world.toolkit)
        roles = set_up(world.terms, world.setting, options, Script(), streams)
        self.world, self._streams, self._cast = world, streams, roles
        self.manifest, self.session = roles.manifest, roles.session
        self.parties = roles.parties
        self.numbers = {actor.author: actor.index for actor in self.parties}
        for actor in self.parties:
            actor.party = KeptParty(
                roles.manifest,
                actor.access.key,
                permissive(world.terms),
                rng=streams.named(f"kept party {actor.index}"),
                toolkit=world.toolkit,
                session=roles.session,
            )
            actor.access.before = actor.access.state = actor.party.state
        desk = Desk(roles.organiser, roles.organiser_access)
        self.sides = [Side(roles.board, desk)]
        self.side_of = [0] * len(self.parties)
        self.heard = [0] * len(self.parties)
        self.pending: list[Pending] = []
        self.liars: set[int] = set()
        self.silent: set[int] = set()
        self.lost: set[int] = set()
        self.stuck: set[int] = set()
        self.lying_organiser = False
        self.hidden: set[int] = set()
        self.secrets = Secrets()
        self.slots: dict[Slot, bytes] = {}
        self._strangers = 0
        self._raws: dict[bytes, bytes] = {}
        self._land([Pending(_NOBODY, raw, (0,)) for raw in desk.start()])

    # What a schedule may do

    @property
    def forked(self) -> bool:
        return len(self.sides) > 1

    def supply(self, party: int, logical: int) -> None:
        """The party gets its input of a logical round, once."""
        state = self.parties[party].state
        given = any(each.logical == logical for each in state.inputs)
        if not given and logical >= state.tally.logical and not self._stopped(party):
            self._tell(party, Supplied(logical, self.world.inputs(logical)[party]))

    def land(self, number: int) -> None:
        """One of the pending entries reaches the log."""
        if self.pending:
            self._land([self.pending.pop(number % len(self.pending))])

    def land_all(self, *, backwards: bool = False) -> None:
        """All of them do."""
        waiting, self.pending = self.pending, []
        self._land(waiting[::-1] if backwards else waiting)

    def lose(self, number: int) -> None:
        """One of the pending entries of a party never arrives."""
        mine = [each for each in self.pending if each.author != _NOBODY]
        if mine:
            gone = mine[number % len(mine)]
            self.pending.remove(gone)
            self.lost.add(gone.author)

    def again(self, side: int, number: int) -> None:
        """Somebody submits an entry of the log once more."""
        entries = self.sides[side % len(self.sides)].board.entries
        if entries:
            at = entries[number % len(entries)]
            self.pending.append(Pending(_NOBODY, self._raws[at.leaf], (side % len(self.sides),)))

    def hear(self, party: int, most: int | None = None) -> None:
        """The party reads on, up to `most` entries of the log."""
        if party in self.silent:
            return
        side, start = self.sides[self.side_of[party]], self.heard[party]
        upto = side.board.size if most is None else min(side.board.size, start + most)
        if upto <= start:
            return
        actor = self.parties[party]
        if upto >= actor.state.seen_size:
            self._tell(party, Witnessed(upto, side.roots[upto]))
        self.heard[party] = upto
        organiser = self.manifest.organiser
        for posted in side.board.entries[start:upto]:
            author = posted.entry.author.data
            if posted.entry.session == self.session and author in {organiser, actor.author}:
                self._tell(party, posted)

    def hear_all(self) -> None:
        for party in range(len(self.parties)):
            self.hear(party)

    def restart(self, party: int, *, from_start: bool, stumble: bool) -> None:
        """The party's process ends; another goes on with its journal, and sends again."""
        actor = self.parties[party]
        if party in self.liars or not isinstance(actor.party, KeptParty):
            return
        again = actor.party.restart()
        actor.access.state = actor.party.state
        actor.party.stumbles = stumble
        self._send(party, list(again))
        if from_start:
            self.heard[party] = 0

    def time_out(self, party: int) -> None:
        """The party waits no longer in this round."""
        self._tell(party, TimedOut(self.parties[party].state.chain.round))

    def silence(self, party: int) -> None:
        """The party says and hears nothing any more."""
        self.silent.add(party)

    def reads(self, side: int, most: int | None = None) -> None:
        """The organiser reads on."""
        here = self.sides[side % len(self.sides)]
        if here.desk is not None:
            size = here.board.size
            upto = size if most is None else min(size, here.desk.heard + most)
            here.desk.read(here.board.entries, upto, here.roots[upto])

    def ends(self, side: int, how: Ending) -> bool:
        """The organiser is told that its phase ends; whether it says something."""
        at = side % len(self.sides)
        desk = self.sides[at].desk
        if desk is None:
            return False
        if desk.opens is not None and how is PhaseOver:
            self.last_words(desk.opens)
        said = desk.ends(how)
        if desk.lied:
            self.lying_organiser = True
        # A board that has forked copies what an organiser says that knows of one log alone.
        copied = self.forked and all(each.desk is None for each in self.sides[1:])
        sides = tuple(range(len(self.sides))) if copied else (at,)
        self.pending += [Pending(_NOBODY, raw, sides) for raw in said]
        return bool(said)

    def dream(self, side: int, party: int) -> None:
        """A lying organiser takes a stranger's entry for a party's confirmation."""
        here = self.sides[side % len(self.sides)]
        known = {self.manifest.organiser, *self.numbers}
        if here.desk is None:
            return
        closes = [e for e in here.board.entries if e.entry.kind == Kind.CLOSE]
        for posted in here.board.entries[here.desk.heard :]:
            strange = posted.entry.author.data not in known
            if strange and closes and posted.entry.session == self.session:
                author = self.parties[party].author
                here.desk.dream_of_confirmation(posted, author, closes[-1].leaf)
                self.lying_organiser = True
                return

    def last_words(self, phase: Phase) -> None:
        """What liars say when the others have spoken."""
        for party in sorted(self.liars - self.silent):
            actor = self.parties[party]
            self._send(party, self._as_far_as_it_can(party, partial(actor.last_words, phase)))

    def stranger(self, phase: Phase, body: bytes, number: int, seq: int, *, party: int) -> None:
        """Somebody posts: a party's key in another session, or a stranger in this one."""
        if party == _NOBODY:
            self._strangers += 1
            key = SigningKey.generate(self._streams.named(f"stranger {self._strangers}"))
            session = self.session
        else:
            key, session = self.parties[party].access.key, ELSEWHERE
        kind = Kind.CLOSE if phase is Phase.ORGANISER else KIND_IN[phase]
        place = MessageSlot(session, phase, kind, number, seq, NO_LEAF)
        everywhere = tuple(range(len(self.sides)))
        for raw in sign_message(body, place, key).entries:
            self.pending.append(Pending(_NOBODY, raw, everywhere))

    def fork(self, others: Sequence[int], *, two_organisers: bool, hides: bool) -> bool:
        """From here on some parties are shown another log, which begins the same.

        With `hides` what they say from now on is in their log alone.
        """
        if self.forked:
            return False
        first = self.sides[0]
        board = SimulatedBoard(self._cast.board.signer)
        side = Side(board, None)
        self.sides.append(side)
        self._append(side, [self._raws[posted.leaf] for posted in first.board.entries])
        if two_organisers and first.desk is not None:
            self.lying_organiser = True
            machine = Organiser(
                self.manifest,
                first.desk.access.key,
                rng=self._streams.named("second organiser"),
                toolkit=self.world.toolkit,
            )
            machine.start()
            side.desk = Desk(machine, replace(first.desk.access, board=board))
            side.desk.read(board.entries, board.size, board.root)
        for party in others:
            self.side_of[party] = 1
            self.parties[party].access.board = board
        self.hidden = set(others) if hides else set()
        # What is on its way reaches both unless the schedule says otherwise.
        self.pending = [
            Pending(each.author, each.raw, self._sides_for(each.author)) for each in self.pending
        ]
        return True

    def hide(self, number: int, side: int) -> None:
        """A pending entry will be in one of the two logs alone."""
        if self.forked and self.pending:
            at = number % len(self.pending)
            old = self.pending[at]
            self.pending[at] = Pending(old.author, old.raw, (side % 2,))

    def fair_phase(self, slow: Collection[int] = (), *, delayed: bool = False) -> None:
        """Everybody else hears and says everything, then the phase ends.

        What the slow hear may be only `delayed`: then their entries are on their way when the
        phase ends.
        """
        quick = [u for u in range(len(self.parties)) if u not in slow]
        if delayed:
            self._land_of(quick)
            for party in slow:
                self.hear(party)
        for _ in range(4):
            before = len(self.pending), sum(self.heard)
            self._land_of(quick)
            for party in quick:
                self.hear(party)
            if (len(self.pending), sum(self.heard)) == before:
                break
        for number, side in enumerate(self.sides):
            if side.desk is None:
                continue
            if side.desk.opens is not None:
                self.last_words(side.desk.opens)
                self._land_of(quick)
            self.reads(number)
            self.ends(number, PhaseOver)

    def until(self, phase: Phase) -> None:
        """Phases pass fairly until this one is open, if it comes."""
        for _ in range(_PHASES):
            desk = self.sides[0].desk
            if desk is None or desk.over or desk.opens is phase:
                return
            self.fair_phase()

    def finish(self) -> None:
        """Time passes fairly until nothing happens any more."""
        for _ in range(_FAIR_STEPS):
            before = [side.board.size for side in self.sides]
            self.land_all()
            self.fair_phase()
            self.land_all()
            if [side.board.size for side in self.sides] == before and not self.pending:
                return
        raise AssertionError("the session does not come to an end")

    # How it is done

    def _land_of(self, quick: Sequence[int]) -> None:
        known = {*quick, _NOBODY}
        waiting = [each for each in self.pending if each.author in known]
        self.pending = [each for each in self.pending if each.author not in known]
        self._land(waiting)

    def _land(self, waiting: Sequence[Pending]) -> None:
        for number, side in enumerate(self.sides):
            fresh = self._append(side, [each.raw for each in waiting if number in each.sides])
            for posted in fresh:
                self._spread(number, posted)

    def _append(self, side: Side, raws: Sequence[bytes]) -> list[Posted]:
        self._raws |= {leaf_hash(raw): raw for raw in raws}
        fresh = side.board.post(raws)
        for posted in fresh:
            side.edge.extend([posted.leaf])
            side.roots.append(side.edge.root())
        return fresh

    def _spread(self, side: int, posted: Posted) -> None:
        """Liars wait for closes."""
        entry = posted.entry
        if entry.author.data != self.manifest.organiser or entry.kind != Kind.CLOSE:
            return
        try:
            phase = CLOSE.decode(entry.body).phase
        except MalformedMessage:
            return
        for party in sorted(self.liars - self.silent):
            actor = self.parties[party]
            if self.side_of[party] == side:
                self._send(party, self._as_far_as_it_can(party, partial(actor.after, phase)))

    def _tell(self, party: int, event: Event) -> None:
        if self._stopped(party):
            return
        actor = self.parties[party]
        board = self.sides[self.side_of[party]].board
        answer = partial(self._answer, board)
        said = self._as_far_as_it_can(party, lambda: actor.tell(event, answer, lambda _: 0))
        self.secrets.watch(actor, self.numbers)
        self._send(party, said)

    def _as_far_as_it_can(self, party: int, says: Callable[[], list[Post]]) -> list[Post]:
        """A liar whose own lie leaves it without a way to go on says nothing."""
        try:
            return says()
        except UsageError:
            if party not in self.liars:
                raise
            self.stuck.add(party)
            return []

    def _answer(self, board: SimulatedBoard, fetch: Fetch) -> tuple[Posted, ...]:
        return board.fetch(fetch, self.session)

    def _send(self, party: int, posts: list[Post]) -> None:
        sides = self._sides_for(party)
        for raw in (raw for post in posts for raw in post.entries):
            if party not in self.liars:
                self._require_one_entry(raw)
            if party not in self.silent:
                self.pending.append(Pending(party, raw, sides))

    def _sides_for(self, author: int) -> tuple[int, ...]:
        """Where an entry goes that is not steered otherwise."""
        return (1,) if author in self.hidden else tuple(range(len(self.sides)))

    def _require_one_entry(self, raw: bytes) -> None:
        slot = Submission.decode(raw).entry.slot
        assert self.slots.setdefault(slot, raw) == raw, "an honest party signed two entries"

    def _stopped(self, party: int) -> bool:
        return self.parties[party].halted is not None
