"""The party: one step for each event. `specs/04-protocol.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gopa.messages.framing import Message, Posted
from gopa.messages.limits import chunks_of, largest_body
from gopa.messages.manifest import Manifest
from gopa.messages.organiser import ABORT, OPEN, Abort, Result
from gopa.messages.phases import Kind, Phase
from gopa.party.chain import Chain
from gopa.party.checking import check
from gopa.party.closing import take_close
from gopa.party.comparing import accuse, compare
from gopa.party.confirming import count
from gopa.party.ending import finish, next_round
from gopa.party.events import (
    Dated,
    Event,
    Fetched,
    Halted,
    Output,
    Part,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.party.frames import forget_frames
from gopa.party.joining import open_round, take_input
from gopa.party.leaving import leave
from gopa.party.lists import decode_result
from gopa.party.means import Means
from gopa.party.policy import LocalPolicy
from gopa.party.reading import first_messages
from gopa.party.states import (
    Accusing,
    Checking,
    Comparing,
    Counting,
    Done,
    Enrolled,
    Outside,
    State,
    Stopped,
    Tally,
    opened_of,
)
from gopa.rounds.toolkit import Toolkit
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from wire.randomness import Rng
from wire.secret import Guarded


class Party(Guarded):
    """One party of one session, over all of its rounds: `step(state, event)`.

    Pure: no clock, no files, no network; the one source of chance is `rng`. The caller
    delivers every entry of the organiser in the order of the log, the party's own entries
    once the log holds them, and what a `Fetch` asks for; it stores the entries of a `Post`
    before it sends them, and a state that was stepped is not stepped again.

    Raises:
        Refusal: the manifest does not satisfy the policy. Nothing was said.
    """

    __slots__ = ("_means", "_most_chunks")

    def __init__(  # noqa: PLR0913 - everything it is built from
        self,
        manifest: Manifest,
        key: SigningKey,
        policy: LocalPolicy,
        *,
        rng: Rng,
        toolkit: Toolkit | None = None,
        session: bytes | None = None,
    ) -> None:
        """`session` spares hashing the manifest again where the caller has done so."""
        policy.require(manifest, key.public.data)
        tools = toolkit or Toolkit()
        self._means = Means(manifest, session or manifest.session, key, policy, tools, rng)
        sizes = len(manifest.to_bytes()), largest_body(manifest, Phase.ORGANISER)
        self._most_chunks = chunks_of(max(sizes))

    def start(self) -> State:
        """Before the first entry of the session."""
        return State(Chain(self._means.manifest.organiser, self._means.session))

    def step(self, state: State, event: Event) -> tuple[State, tuple[Output, ...]]:
        """What follows from one event.

        If a check of this party fails the new state is `Stopped`, with the error.

        Raises:
            UsageError: the caller passed what it may not; the state stays as it was.
        """
        if isinstance(state.stage, Stopped | Done):
            return state, ()
        try:
            new, outputs = self._step(state, event)
        except ProtocolError as error:
            forget_frames(error)
            number = state.chain.round
            return replace(state, stage=Stopped(error), sent=(), inputs=()), (
                Halted(number, error),
            )
        return new, tuple(outputs)

    def _step(self, state: State, event: Event) -> tuple[State, Sequence[Output]]:
        if isinstance(event, Posted):
            return self._posted(state, event)
        if isinstance(event, Fetched):
            return self._fetched(state, event)
        if isinstance(event, Supplied):
            return take_input(self._means, state, event)
        if isinstance(event, TimedOut):
            return _timed_out(state, event)
        if isinstance(event, Dated):
            return _dated(state, event), ()
        return _witnessed(state, event), ()

    def _posted(self, state: State, posted: Posted) -> tuple[State, Sequence[Output]]:
        if posted.entry.author.data == self._means.author:
            return replace(state, landed=(*state.landed, (posted.leaf, posted.index))), ()
        chain, message = state.chain.follow(posted)
        # Whoever waited for the rest of an endless message would keep all of it until then.
        fits = not chain.pending or posted.entry.chunks <= self._most_chunks
        chain.require(fits, "a message is longer than any can be", posted.leaf)
        state = replace(state, chain=chain)
        if message is None:
            return state, ()
        try:
            return self._control(state, message)
        except (MalformedMessage, InvalidProof) as error:
            raise chain.fault(str(error), message.leaf) from error

    def _control(self, state: State, message: Message) -> tuple[State, Sequence[Output]]:
        """A whole message of the organiser."""
        if message.round == 0:
            return self._manifest(state, message)
        if message.kind == Kind.OPEN:
            return self._open(state, message)
        state.chain.require(message.seq > 0, "a round begins with its opening", message.leaf)
        if message.kind == Kind.CLOSE:
            return take_close(self._means, state, message)
        return self._end(state, message)

    def _manifest(self, state: State, message: Message) -> tuple[State, Sequence[Output]]:
        same = message.kind == Kind.MANIFEST and message.body == self._means.manifest.to_bytes()
        state.chain.require(same and message.seq == 0, "another manifest", message.leaf)
        return replace(state, chain=state.chain.acknowledge(message, 0, ends=True)), ()

    def _open(self, state: State, message: Message) -> tuple[State, Sequence[Output]]:
        content, chain = OPEN.decode(message.body), state.chain
        chain.require_continues(content.acts_on)
        chain.require(message.seq == 0, "a round opens once", message.leaf)
        expected = next_round(state.tally, self._means.manifest.terms)
        given = content.logical, content.attempt
        chain.require(expected == given, "another round than the next one", message.leaf)
        tally = replace(state.tally, attempts=content.attempt + 1)
        if content.logical != state.tally.logical:
            tally = Tally(content.logical, 1)
        chain = chain.acknowledge(message, message.first)
        state = replace(state, chain=chain, tally=tally, final_seen=False)
        return open_round(self._means, state, content, message.leaf)

    def _end(self, state: State, message: Message) -> tuple[State, Sequence[Output]]:
        known = message.kind in {Kind.RESULT, Kind.ABORT}
        state.chain.require(known, "a message of another kind", message.leaf)
        outcome = _outcome(message)
        state.chain.require_continues(outcome.acts_on)
        state.chain.require_cut(message, outcome.cut)
        chain = state.chain.acknowledge(message, outcome.cut, ends=True)
        return finish(self._means, replace(state, chain=chain), outcome)

    def _fetched(self, state: State, fetched: Fetched) -> tuple[State, Sequence[Output]]:
        stage, means = state.stage, self._means
        if not isinstance(stage, Checking | Comparing | Accusing | Counting):
            raise UsageError("nothing was asked for", "phase")
        if fetched.phase is not stage.wanted.phase:
            raise UsageError("another phase was asked for", "phase")
        found = first_messages(fetched.entries, means.session, stage.wanted)
        if isinstance(stage, Checking):
            return check(means, state, stage, found)
        if isinstance(stage, Comparing):
            return compare(means, state, stage, found)
        if isinstance(stage, Accusing):
            return accuse(means, state, stage, found)
        return count(means, state, stage, found)


def _outcome(message: Message) -> Result | Abort:
    return (
        decode_result(message.body) if message.kind == Kind.RESULT else ABORT.decode(message.body)
    )


def _witnessed(state: State, event: Witnessed) -> State:
    """Keep the newest checkpoint, to be named in what is signed next ([E6])."""
    if event.size < state.seen_size or len(event.root) != 32:
        raise UsageError("checkpoints grow, and their roots have 32 bytes", "size")
    return replace(state, seen_size=event.size, seen_root=event.root)


def _dated(state: State, event: Dated) -> State:
    """Keep when the roll was known; a later time takes nothing back ([V4])."""
    if type(event.time) is not int or event.time < 0:
        raise UsageError("a time is a whole number of seconds", "time")
    stage = state.stage
    if not isinstance(stage, Enrolled) or stage.noted is not None:
        return state
    return replace(state, stage=replace(stage, noted=event.time))


def _timed_out(state: State, event: TimedOut) -> tuple[State, list[Output]]:
    """Leave the round.

    Whoever is listed at commit and then silent may be barred from the next attempt ([X5]), and
    a party that stops waiting does not know whether it was: its commit may be in the log
    before it has heard of a list, or stand there from a time that its memory has lost.
    """
    opened = opened_of(state.stage)
    if opened is None or event.round != opened.context.round or isinstance(state.stage, Outside):
        return state, []
    state = replace(state, tally=replace(state.tally, excused=True))
    return leave(state, opened, Part.TIMED_OUT)
