"""Answers as one party that keeps only bytes between two calls. `specs/12-sessions.md`, section 7.

Whoever calls is the network: requests are believed as far as they prove themselves.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from decimal import Decimal

from gopa.aggregation.weighting import largest_weight
from gopa.protocol.party import (
    LocalPolicy,
)
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel.call import CallParts, PartyCall, Standing, Supply
from gopa.sessions.tunnel.messages import REQUEST, TunnelRequest
from gopa.sessions.tunnel.packing import is_packed, pack, unpack
from gopa.sessions.tunnel.state import (
    SEED_SIZE,
    OpenedState,
    StatePlace,
    TunnelState,
    seal,
    slots_of,
    unseal,
)
from gopa.sessions.tunnel.state import VERSION as STATE_VERSION
from gopa.sessions.vault.guard import (
    MARK,
    Guard,
    Mark,
    StateLost,
    StateReplayed,
    Unguarded,
    last_mark,
)
from gopa.sessions.vault.protection import SealingKey
from wire.domains import TUNNEL_ANSWER
from wire.ed25519 import SigningKey
from wire.errors import FaultyBoard, MalformedMessage
from wire.randomness import Rng, draw
from wire.secret import Guarded


class TunnelParty(Guarded):
    """Takes part in one session as a function: `answer(state, request)` gives `(state, reply)`.

    It keeps nothing itself: a process may make a new one for each call. `secret` seals the
    states, `guard` sees to it that each is used once (12-N6); use `Unguarded` only where no state
    can come back. `max_weight` is the largest weight of a session that has weights. Without `sums`
    a host may leave those of long vectors out, and `standing` has none of a result (12-N12). `rng`
    is asked when a state begins, and never again; `clock` is the time of day.

    Every call raises `VaultError` for a state or a guard that cannot be used (`StateReplayed`,
    `StateLost`, `StateOfAnother`, `VaultDamaged`), and then nothing has left and nothing changed.
    """

    def __init__(  # noqa: PLR0913 - everything a party is
        self,
        ticket: Ticket,
        identity: SigningKey,
        policy: LocalPolicy,
        *,
        secret: SealingKey,
        guard: Guard,
        max_weight: float | str | Decimal | None = None,
        sums: bool = True,
        rng: Rng = os.urandom,
        clock: Callable[[], float] = time.time,
        toolkit: Toolkit | None = None,
    ) -> None:
        self._ticket = ticket
        self._identity = identity
        self._policy = policy
        self._secret = secret
        self._guard = guard
        self._most = None if max_weight is None else largest_weight(max_weight)
        self._sums = sums
        self._rng = rng
        self._clock = clock
        self._toolkit = toolkit
        self._place = StatePlace(ticket.session, identity.public.data)

    @property
    def key(self) -> bytes:
        """The Ed25519 key that stands on rosters."""
        return self._place.party

    def begin(self, *, lost: bool = False) -> bytes:
        """The first state.

        With `lost` a party begins again whose state is gone: it takes no part in the logical
        rounds to which it may have given a value, and all older states are refused from now on.

        Raises `StateLost` if it has begun before, unless `lost`; and with `lost` if the guard says
        that it has not.
        """
        known, opened = self._first(lost=lost)
        return self._said(known, opened, opened.content, b"")[0]

    def answer(
        self, state: bytes, request: bytes, supply: Supply | None = None
    ) -> tuple[bytes, bytes]:
        """What the party says to a request, and its next state, which replaces this one.

        An empty state begins. `supply` is asked for the value if a round is open that has none.
        The same state, request and value give the same bytes again.

        Raises:
            Refusal: the session asks for more than the policy allows. Nothing was said.
            MalformedMessage, InvalidProof: the request does not hold: ask for another one.
            FaultyBoard: the log has forked, as a call before this one has found: that one said
                nothing, and its state keeps the evidence.
            InvalidValue, OutOfRange, UsageError: the value does not fit the session.
            VaultError: the state or the guard cannot be used.
        """
        known, opened = self._open(state) if state else self._first(lost=False)
        content = opened.content
        if content.evidence:
            raise FaultyBoard("the log has forked, says evidence kept before", content.evidence)
        dictionary = content.manifest + self._ticket.session
        plain = unpack(request, (dictionary, self._ticket.session))
        shown = self._decoded(plain)
        call = PartyCall(self._parts, opened, shown, hashlib.sha256(plain).digest())
        call.run(supply)
        following = call.following()
        sealed, reply = self._said(known, opened, following, call.reply(following))
        return sealed, pack(reply, dictionary) if is_packed(request) else reply

    def leave(self, state: bytes) -> bytes:
        """The state of a party that waits no longer in the round that is open: without its secrets.

        For a caller whose patience is at its end (12-W7).
        """
        known, opened = self._open(state)
        if not opened.content.machine:
            return state
        call = PartyCall(self._parts, opened, None, b"leave")
        call.leave()
        return self._said(known, opened, call.following(), b"")[0]

    def position(self, state: bytes) -> bytes:
        """A reply to no request: for a host that does not know where the party stands.

        It says nothing that did not leave with this state, which need not be the newest.
        """
        opened = unseal(state, self._place, self._secret)
        return PartyCall(self._parts, opened, None, b"").reply(opened.content)

    def standing(self, state: bytes) -> Standing:
        """Where the party stands, as this state says, which need not be the newest."""
        opened = unseal(state, self._place, self._secret)
        counter, content = opened.counter, opened.content
        if content.evidence:
            error = FaultyBoard("the log has forked", content.evidence)
            return Standing(counter, 0, None, needs_value=False, last=None, over=True, error=error)
        if not content.machine:
            return Standing(counter, 0, None, needs_value=False, last=None, over=False, error=None)
        call = PartyCall(self._parts, opened, None, b"")
        return call.standing(counter)

    @property
    def _parts(self) -> CallParts:
        return CallParts(
            self._ticket,
            self._identity,
            self._policy,
            self._most,
            self._sums,
            self._clock,
            self._toolkit,
        )

    def _first(self, *, lost: bool) -> tuple[bytes, OpenedState]:
        """What comes before all states: nothing is known, and the counter has not begun."""
        known, last = last_mark(self._guard, str(self._place))
        if last is not None and not lost:
            message = "this party has begun before: give its last state, or begin(lost=True)"
            raise StateLost(message)
        if last is None and lost:
            # A guard that was emptied too: the party could be made to speak twice in a round.
            message = (
                "this guard knows nothing of the party: give it the guard that it had, or begin()"
                " if it has never answered anywhere"
            )
            raise StateLost(message)
        state = TunnelState(
            version=STATE_VERSION,
            seed=draw(self._rng, SEED_SIZE),
            spent=0 if last is None else last.spent,
            manifest=b"",
            checkpoint=b"",
            start=0,
            machine=b"",
            slots=(),
            evidence=b"",
        )
        slots = slots_of(self._place, self._secret)
        return known, OpenedState(-1 if last is None else last.counter, state, slots)

    def _open(self, data: bytes) -> tuple[bytes, OpenedState]:
        """A state that may be answered from: the one that left last, or the one before it.

        Of the one before, only what left then may leave again: a host may ask twice (12-N6).
        """
        opened = unseal(data, self._place, self._secret)
        known, last = last_mark(self._guard, str(self._place))
        recent = last is not None and opened.counter in {last.counter, last.counter - 1}
        if not (recent or isinstance(self._guard, Unguarded)):
            raise _replayed()
        return known, opened

    def _decoded(self, request: bytes) -> TunnelRequest:
        shown = REQUEST.decode(request)
        if shown.session != self._ticket.session:
            raise MalformedMessage("a request of another session", "session")
        return shown

    def _said(
        self, known: bytes, before: OpenedState, state: TunnelState, reply: bytes
    ) -> tuple[bytes, bytes]:
        counter = before.counter + 1
        sealed, size = seal(state, self._place, counter, self._secret, before.slots)
        mark = Mark(1, counter, state.spent, _digest(memoryview(sealed)[:size], reply))
        self._leave_by_guard(known, mark)
        return sealed, reply

    def _leave_by_guard(self, known: bytes, mark: Mark) -> None:
        """Have the guard remember this answer before it leaves, unless it was this one already.

        Else a host could give one state twice, and have the party sign two entries for one slot
        or open its own mask on one branch and its edges on another (attack `equivocate`).
        """
        data = MARK.encode(mark)
        if known == data:
            return
        follows = not known or MARK.decode(known).counter + 1 == mark.counter
        if not (follows and self._guard.commit(str(self._place), known, data)):
            raise _replayed()


def _digest(state: memoryview, reply: bytes) -> bytes:
    hashed = hashlib.sha256(TUNNEL_ANSWER + len(state).to_bytes(8))
    hashed.update(state)
    hashed.update(reply)
    return hashed.digest()


def _replayed() -> StateReplayed:
    return StateReplayed(
        "another answer has left since this state: go on with the state that came with it, or"
        " begin(lost=True)"
    )
