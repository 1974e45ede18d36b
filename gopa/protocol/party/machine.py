"""Runs one party: takes one step for each event. Specification: `specs/04-protocol.md`.

After a failed step the frames of its traceback are dropped, because they hold secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gopa.contract.cutting import chunks_of
from gopa.contract.framing import Message, Posted
from gopa.contract.limits import most_chunks
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import ABORT, OPEN, Abort, ResultMessage
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.checking import check
from gopa.protocol.party.closing import take_close
from gopa.protocol.party.comparing import accuse, compare
from gopa.protocol.party.confirming import count
from gopa.protocol.party.context import PartyContext, leave
from gopa.protocol.party.ending import finish, next_round
from gopa.protocol.party.events import (
    Dated,
    Event,
    Fetched,
    Halted,
    Output,
    Part,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.joining import open_round, take_input
from gopa.protocol.party.policy import LocalPolicy
from gopa.protocol.party.proving import reconcile
from gopa.protocol.party.reading import decode_result, first_messages
from gopa.protocol.party.states import (
    Accusing,
    AttemptCount,
    Checking,
    Comparing,
    Counting,
    Done,
    Enrolled,
    Outside,
    PartyState,
    Reconciling,
    Stopped,
    opened_of,
)
from gopa.rounds.toolkit import Toolkit
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from wire.randomness import Rng
from wire.secret import Guarded


def forget_frames(error: BaseException) -> None:
    """Drop all frames of an error: they hold the state, with every secret of the round (04-X6)."""
    chain: list[BaseException | None] = [error]
    while chain:
        found = chain.pop()
        if found is not None and found.__traceback__ is not None:
            found.__traceback__ = None
            chain += [found.__cause__, found.__context__]


class Party(Guarded):
    """Runs one party of one session, over all of its rounds: `step(state, event)`.

    Pure: no clock, no files, no network; the one source of chance is `rng`. The caller
    delivers every entry of the organiser in the order of the log (`with_root`), its own entries
    once the log holds them, and what a `Fetch` asks for; it stores the entries of a `Post`
    before it sends them, and never steps one state twice.

    Raises:
        Refusal: the manifest does not satisfy the policy. Nothing was said.
    """

    __slots__ = ("_context", "_most_chunks")

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
        self._context = PartyContext(manifest, session or manifest.session, key, policy, tools, rng)
        longest = most_chunks(manifest, Phase.ORGANISER)
        self._most_chunks = max(chunks_of(len(manifest.to_bytes())), longest)

    def start(self) -> PartyState:
        """Give the state before the first entry of the session."""
        return PartyState(Chain(self._context.manifest.organiser, self._context.session))

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
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

    def _step(self, state: PartyState, event: Event) -> tuple[PartyState, Sequence[Output]]:
        if isinstance(event, Posted | PostedClose):
            return self._posted(state, event)
        if isinstance(event, Fetched):
            return self._fetched(state, event)
        if isinstance(event, Supplied):
            return take_input(self._context, state, event)
        if isinstance(event, TimedOut):
            return _timed_out(state, event)
        if isinstance(event, Dated):
            return _dated(state, event), ()
        return _witnessed(state, event), ()

    def _posted(
        self, state: PartyState, event: Posted | PostedClose
    ) -> tuple[PartyState, Sequence[Output]]:
        given = event if isinstance(event, PostedClose) else None
        posted = event.posted if isinstance(event, PostedClose) else event
        if posted.entry.author.data == self._context.author:
            return replace(state, landed=(*state.landed, (posted.leaf, posted.index))), ()
        chain, message = state.chain.follow(posted)
        # Whoever waited for the rest of an endless message would keep all of it until then.
        fits = not chain.pending or posted.entry.chunks <= self._most_chunks
        chain.require(fits, "a message is longer than any can be", posted.leaf)
        state = replace(state, chain=chain)
        if message is None:
            return state, ()
        try:
            return self._control(state, message, given)
        except (MalformedMessage, InvalidProof) as error:
            raise chain.fault(str(error), message.leaf) from error

    def _control(
        self, state: PartyState, message: Message, given: PostedClose | None
    ) -> tuple[PartyState, Sequence[Output]]:
        """Take a whole message of the organiser; of a close also the root at its cut."""
        if message.round == 0:
            return self._manifest(state, message)
        if message.kind == Kind.OPEN:
            return self._open(state, message)
        state.chain.require(message.seq > 0, "a round begins with an open", message.leaf)
        if message.kind == Kind.CLOSE:
            return take_close(self._context, state, message, given)
        return self._end(state, message)

    def _manifest(self, state: PartyState, message: Message) -> tuple[PartyState, Sequence[Output]]:
        """Require the manifest that the policy has judged, and no other (`another-manifest`)."""
        same = message.kind == Kind.MANIFEST and message.body == self._context.manifest.to_bytes()
        state.chain.require(same and message.seq == 0, "another manifest", message.leaf)
        return replace(state, chain=state.chain.acknowledge(message, 0, ends=True)), ()

    def _open(self, state: PartyState, message: Message) -> tuple[PartyState, Sequence[Output]]:
        """Require the next attempt, or the next logical round (04-X3, 04-X4).

        Each attempt draws coins once: an organiser could draw until it likes them (attacks
        `wrong-attempt`, `one-attempt-more`).
        """
        content, chain = OPEN.decode(message.body), state.chain
        chain.require_continues(content.acts_on)
        chain.require(message.seq == 0, "a round opens once", message.leaf)
        expected = next_round(state.tally, self._context.manifest.terms)
        given = content.logical, content.attempt
        chain.require(expected == given, "another round than the next one", message.leaf)
        tally = replace(state.tally, attempts=content.attempt + 1)
        if content.logical != state.tally.logical:
            tally = AttemptCount(content.logical, 1)
        chain = chain.acknowledge(message, message.first)
        state = replace(state, chain=chain, tally=tally, final_seen=False)
        return open_round(self._context, state, content, message.leaf)

    def _end(self, state: PartyState, message: Message) -> tuple[PartyState, Sequence[Output]]:
        known = message.kind in {Kind.RESULT, Kind.ABORT}
        state.chain.require(known, "a message of another kind", message.leaf)
        outcome = _outcome(message)
        state.chain.require_continues(outcome.acts_on)
        state.chain.require_cut(message, outcome.cut)
        chain = state.chain.acknowledge(message, outcome.cut, ends=True)
        return finish(self._context, replace(state, chain=chain), outcome)

    def _fetched(self, state: PartyState, fetched: Fetched) -> tuple[PartyState, Sequence[Output]]:
        stage, party = state.stage, self._context
        if not isinstance(stage, Checking | Comparing | Accusing | Reconciling | Counting):
            raise UsageError("nothing was asked for", "phase")
        if fetched.phase is not stage.wanted.phase:
            raise UsageError("another phase was asked for", "phase")
        found = first_messages(fetched.entries, party.session, stage.wanted)
        if isinstance(stage, Checking):
            return check(party, state, stage, found)
        if isinstance(stage, Comparing):
            return compare(party, state, stage, found)
        if isinstance(stage, Accusing):
            return accuse(party, state, stage, found)
        if isinstance(stage, Reconciling):
            return reconcile(party, state, stage, found)
        return count(party, state, stage, found)


def _outcome(message: Message) -> ResultMessage | Abort:
    return (
        decode_result(message.body) if message.kind == Kind.RESULT else ABORT.decode(message.body)
    )


def _witnessed(state: PartyState, event: Witnessed) -> PartyState:
    """Keep the newest checkpoint, to be named in what is signed next (04-E6)."""
    if event.size < state.seen_size or len(event.root) != 32:
        raise UsageError("checkpoints grow, and their roots have 32 bytes", "size")
    return replace(state, seen_size=event.size, seen_root=event.root)


def _dated(state: PartyState, event: Dated) -> PartyState:
    """Keep when the roll was known; only the first time counts (04-V4)."""
    if type(event.time) is not int or event.time < 0:
        raise UsageError("a time is a whole number of seconds", "time")
    stage = state.stage
    if not isinstance(stage, Enrolled) or stage.noted is not None:
        return state
    return replace(state, stage=replace(stage, noted=event.time))


def _timed_out(state: PartyState, event: TimedOut) -> tuple[PartyState, list[Output]]:
    """Leave the round.

    Whoever is listed at commit and then silent may be barred from the next attempt (04-X5), and
    a party that stops waiting does not know whether it was: its commit may be in the log
    before it has heard of a list, or stand there from a time that its memory has lost.
    """
    opened = opened_of(state.stage)
    if opened is None or event.round != opened.context.round or isinstance(state.stage, Outside):
        return state, []
    state = replace(state, tally=replace(state.tally, excused=True))
    return leave(state, opened, Part.TIMED_OUT)
