"""One party's state machine, stepped, which forgets what a round leaves behind.

What is common to a party with a vault (`durable`) and to one that is called with a sealed state
(`tunnel`). The randomness of a step follows from what the party was told and a secret of the round
(12-R1).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from bulletin_board.tree import leaf_hash
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.party import (
    Event,
    Fetch,
    Finished,
    Halted,
    LocalPolicy,
    Output,
    Party,
    PartyState,
    Post,
    PostedClose,
    TimedOut,
)
from gopa.protocol.party.machine import forget_frames
from gopa.protocol.party.states import (
    Accusing,
    Checking,
    Comparing,
    Counting,
    Done,
    Outside,
    Reconciling,
    Stopped,
    opened_of,
)
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.parties.journal import event_parts
from gopa.sessions.parties.memory import (
    PartyMemory,
    RestoreContext,
    memory_of,
    rests,
    state_of,
)
from gopa.sessions.vault.interface import VaultError
from gopa.support.version import VERSION
from wire.domains import SESSION_CHANCE
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes

START: Final = bytes(32)
"""The chain of a journal without records."""

_FIRST: Final = 1024


def extend(chain: bytes, event: Iterable[bytes]) -> bytes:
    """Hash one event more into the chain of a journal; `event` has the parts of its encoding."""
    hashed = hashlib.sha256(chain)
    for part in event:
        hashed.update(part)
    return hashed.digest()


class StepRng(Guarded):
    """Randomness for a step alone, each step from a stream of its own. It is an `Rng`."""

    __slots__ = ("_read", "_seed", "_stream")

    def __init__(self) -> None:
        self._seed: bytes | None = None
        self._stream = b""
        self._read = 0

    def begin(self, secret: SecretBytes, chain: bytes) -> None:
        """Begin the step that takes the last event of this chain."""
        version = VERSION.encode()
        self._seed = SESSION_CHANCE + secret.reveal() + bytes([len(version)]) + version + chain
        self._stream, self._read = b"", 0

    def end(self) -> None:
        """End the step, and forget what it read."""
        self._seed, self._stream, self._read = None, b"", 0

    def __call__(self, count: int) -> bytes:
        """The next bytes of the stream."""
        if self._seed is None:
            raise UsageError("randomness is there for a step, and not between steps")
        end = self._read + count
        if end > len(self._stream):
            size = max(_FIRST, 2 * end)
            self._stream = hashlib.shake_256(self._seed).digest(size)
        found = self._stream[self._read : end]
        self._read = end
        return found


_SECRET_SIZE: Final = 32


class SteppedParty(Guarded, ABC):
    """A `Party` of which nothing leaves before it is kept: `_store` is how it is kept.

    The state machine is stepped first, then what it says is stored, then the outputs are
    returned (12-H3). `rng` makes the round secrets, and all other chance follows from them and the
    events (12-R1). One caller at a time; after a `VaultError` the object is of no use.

    Raises `Refusal` if the manifest does not satisfy the policy. Nothing was said.
    """

    __slots__ = (
        "_author",
        "_chain",
        "_heard",
        "_last",
        "_made",
        "_party",
        "_rng",
        "_secret",
        "_session",
        "_spoken",
        "_state",
        "_step_rng",
        "_steps",
        "policy",
    )

    def __init__(  # noqa: PLR0913 - what a party is made of
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
        tools = toolkit or Toolkit()
        self.policy = policy
        self._author = key.public.data
        self._rng = rng
        self._step_rng = StepRng()
        self._session = RestoreContext(manifest, session or manifest.session, tools.group)
        self._party = Party(
            manifest,
            key,
            policy,
            rng=self._step_rng,
            toolkit=tools,
            session=self._session.id,
        )
        self._last: Finished | None = None
        self._steps = 0

    @property
    def manifest(self) -> Manifest:
        """The manifest of the session."""
        return self._session.manifest

    @property
    def state(self) -> PartyState:
        """Where the party stands."""
        return self._state

    @property
    def remembered(self) -> tuple[Post, ...]:
        """What it posted in the current round: after a restart, to be sent again (12-W4)."""
        return self._state.sent

    @property
    def heard(self) -> tuple[Posted, ...]:
        """Entries of the organiser since the current memory began."""
        return tuple(self._heard)

    @property
    def wanted(self) -> Fetch | None:
        """What the party waits for: after a restart, to be fetched again."""
        stage = self._state.stage
        if isinstance(stage, Checking | Comparing | Accusing | Reconciling | Counting):
            return stage.wanted
        return None

    @property
    def last(self) -> Finished | None:
        """The last round that ended: a crash may have come before the caller was told."""
        return self._last

    @property
    def stale_round(self) -> int | None:
        """The current round, if the party left it for what its key has said there (12-R4).

        Or in an attempt before, of the same logical round.
        """
        number = self._state.chain.round
        return number if number in self._spoken else None

    @property
    def stale(self) -> bool:
        """Whether the party is older than what it said in the current round (12-R4)."""
        return self.stale_round is not None

    def step(self, event: Event) -> tuple[Output, ...]:
        """What follows from one event; it may leave the process.

        If the event shows that this party is older than what it said, it leaves the round
        and nothing follows (12-R4).

        Raises:
            UsageError: the caller passed what it may not; nothing has changed.
            VaultError: it could not be stored; nothing may leave the process.
        """
        return self.attempt(event).commit()

    def attempt(self, event: Event) -> Attempt:
        """Take a step without storing anything: nothing may leave the process before `commit`.

        An attempt that is not committed was never made. Raises `UsageError` as `step` does.
        """
        if isinstance(self._state.stage, Done | Stopped):
            return Attempt((), _nothing)
        entry = _entry_in(event)
        if entry is not None and entry.entry.session != self._session.id:
            raise UsageError("only entries of this session are followed", "posted")
        step = self._stepped(event)
        return Attempt(step.outputs, partial(self._keep, step))

    def _stepped(self, event: Event) -> Step:
        parts = event_parts(event)
        chain = extend(self._chain, parts)
        self._step_rng.begin(self._secret, chain)
        try:
            state, outputs = self._party.step(self._state, event)
        finally:
            self._step_rng.end()
        spoken = self._spoken | self._unknown(event)
        spoken |= _retried(state, spoken)
        number = state.chain.round
        if number in spoken and not rests(state.stage):
            state, _ = self._party.step(state, TimedOut(number))
            outputs = ()
        return Step(self._steps, event, parts, chain, state, outputs, spoken)

    def _unknown(self, event: Event) -> frozenset[int]:
        """The round of an own entry that was not made here, if it is not over (12-R4).

        This vault is older than what its key has said: to go on could sign two entries for one
        slot, which convicts an honest party (attack `equivocate`).
        """
        if not isinstance(event, Posted) or event.entry.author.data != self._author:
            return frozenset()
        number, state = event.entry.round, self._state
        ahead = number > state.chain.round
        current = number == state.chain.round and not rests(state.stage)
        unknown = (ahead or current) and event.leaf not in self._made
        return frozenset({number}) if unknown else frozenset()

    def _keep(self, step: Step) -> None:
        """Store a step and take it."""
        if step.number != self._steps:
            raise UsageError("an attempt that another step has overtaken", "attempt")
        try:
            self._store(step)
        except VaultError as error:
            forget_frames(error)  # frames of the vault hold the secrets that were to be stored
            raise error from None

    @abstractmethod
    def _store(self, step: Step) -> None:
        """Keep a step, durably, and take it; raises `VaultError`."""

    def _take(self, step: Step) -> None:
        entry = _entry_in(step.event)
        self._state, self._chain, self._spoken = step.state, step.chain, step.spoken
        self._made.update(leaf_hash(raw) for post in step.posts for raw in post.entries)
        if entry is not None and entry.entry.author.data == self.manifest.organiser:
            self._heard.append(entry)
        self._steps += 1

    def _ends(self, step: Step) -> bool:
        """Whether the secrets of a round are over with this step (12-H5, 04-X6)."""
        if any(isinstance(each, Finished | Halted) for each in step.outputs):
            return True
        left = isinstance(step.state.stage, Outside)
        return left and not isinstance(self._state.stage, Outside)

    def _rested(
        self, state: PartyState, spoken: frozenset[int], last: Finished | None
    ) -> PartyMemory:
        """The memory with which a new generation begins: without the secrets of the one before."""
        return memory_of(
            state,
            self.manifest.terms,
            author=self._author,
            secret=SecretBytes(draw(self._rng, _SECRET_SIZE)),
            spoken=spoken,
            last=last,
        )

    def _resume(self, memory: PartyMemory) -> None:
        """Go on from a memory; raises `MalformedMessage` if it cannot be one of this session."""
        self._state = state_of(memory, self._session)
        self._secret = SecretBytes(memory.secret)
        self._spoken, self._last = frozenset(memory.spoken), memory.last
        self._chain, self._made = START, set[bytes]()
        self._heard: list[Posted] = []
        self._steps += 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Guarded):
    """A step that was made but not stored: `number` is how many were before it."""

    number: int
    event: Event
    parts: tuple[bytes, ...]
    chain: bytes
    state: PartyState
    outputs: tuple[Output, ...]
    spoken: frozenset[int]

    @property
    def posts(self) -> tuple[Post, ...]:
        return tuple(each for each in self.outputs if isinstance(each, Post))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attempt(Guarded):
    """A step that can still be thrown away (12-W3)."""

    outputs: tuple[Output, ...]
    keep: Callable[[], None]

    def commit(self) -> tuple[Output, ...]:
        """Store the step and take it; its outputs may leave the process now.

        Raises:
            UsageError: the party has taken another step since.
            VaultError: it could not be stored; nothing may leave the process.
        """
        self.keep()
        return self.outputs


def _retried(state: PartyState, spoken: frozenset[int]) -> frozenset[int]:
    """The open round, if in an earlier attempt the key said what this vault does not know (12-R4).

    The input that was given there may be gone: another one would pass for the attack
    `changed-input-in-retry`, and convict an honest party.
    """
    opened, number = opened_of(state.stage), state.chain.round
    if opened is None or spoken.isdisjoint(range(number - opened.attempt, number)):
        return frozenset()
    return frozenset({number})


def _entry_in(event: Event) -> Posted | None:
    """The entry that an event hands over."""
    event = event.posted if isinstance(event, PostedClose) else event
    return event if isinstance(event, Posted) else None


def lacking(wanted: Fetch, entries: Iterable[Posted]) -> bool:
    """Whether somebody who was asked for has no entry in the answer."""
    shown = {posted.entry.author.data for posted in entries}
    return not shown.issuperset(wanted.authors)


def blames(output: Output) -> bool:
    """Whether a step accuses somebody or stops for what it was shown (12-W3)."""
    return isinstance(output, Halted) or (isinstance(output, Post) and output.phase is Phase.ACCUSE)


def _nothing() -> None:
    """Store nothing: whoever has stopped takes no steps."""
