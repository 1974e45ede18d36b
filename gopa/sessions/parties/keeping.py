"""From the state of a party to its memory and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commitments.group import Group
from gopa.messages.manifest import Manifest
from gopa.party import Finished, PartyState
from gopa.party.ending import next_round
from gopa.party.states import BetweenRounds, Done, Outside, RoundInput, RoundOpened, Stage, Stopped
from gopa.planning.terms import Terms
from gopa.rounds.context import RoundContext, opening_of
from gopa.sessions.parties.memory import VERSION, KeptInput, Left, PartyMemory, Resting
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class RestoreContext:
    """Holds what a state is restored with, besides a memory."""

    manifest: Manifest
    id: bytes
    group: Group

    def context(self, number: int) -> RoundContext:
        return RoundContext(self.manifest, self.id, number, self.group)


def rests(stage: Stage) -> bool:
    """Whether a party in this stage has no secret of a round."""
    return isinstance(stage, BetweenRounds | Outside | Done | Stopped)


def memory_of(  # noqa: PLR0913 - everything besides the state
    state: PartyState,
    terms: Terms,
    *,
    author: bytes,
    secret: SecretBytes,
    spoken: frozenset[int] = frozenset(),
    last: Finished | None = None,
) -> PartyMemory:
    """What is kept of a state that rests; inputs that no round can ask for are left out.

    Raises `UsageError` in the middle of a round.
    """
    usable = _usable(state, terms)
    return PartyMemory(
        version=VERSION,
        secret=secret.reveal(),
        author=author,
        chain=state.chain,
        tally=state.tally,
        stage=_resting(state.stage),
        inputs=tuple(_kept(given) for given in state.inputs if usable(given)),
        final_seen=state.final_seen,
        listed=state.listed,
        own_leaf=state.own_leaf,
        seen_size=state.seen_size,
        seen_root=state.seen_root,
        spoken=tuple(sorted(each for each in spoken if each >= state.chain.round)),
        last=last,
    )


def state_of(memory: PartyMemory, session: RestoreContext) -> PartyState:
    """The state that a memory was made of; raises `MalformedMessage` if it cannot be one."""
    return PartyState(
        chain=memory.chain,
        stage=_stage(memory, session),
        tally=memory.tally,
        inputs=tuple(_given(kept, session) for kept in memory.inputs),
        final_seen=memory.final_seen,
        listed=memory.listed,
        own_leaf=memory.own_leaf,
        seen_size=memory.seen_size,
        seen_root=memory.seen_root,
    )


def _usable(state: PartyState, terms: Terms) -> Callable[[RoundInput], bool]:
    """Whether a round that is open or may come asks for this input."""
    if isinstance(state.stage, Done | Stopped):
        return lambda _: False
    coming = next_round(state.tally, terms)
    if isinstance(state.stage, Outside):
        coming = state.tally.logical, 0
    first = terms.rounds if coming is None else coming[0]
    return lambda given: given.logical >= first


def _resting(stage: Stage) -> Resting:
    if isinstance(stage, Outside):
        opened = stage.opened
        return Left(opened.leaf, opened.logical, opened.attempt, stage.part)
    if isinstance(stage, BetweenRounds | Done | Stopped):
        return stage
    raise UsageError("a party in the middle of a round is not written down", "stage")


def _stage(memory: PartyMemory, session: RestoreContext) -> Stage:
    stage = memory.stage
    if not isinstance(stage, Left):
        return stage
    if not memory.chain.round:
        raise MalformedMessage("a round is left that never opened", "stage")
    context = session.context(memory.chain.round)
    return Outside(RoundOpened(context, stage.leaf, stage.logical, stage.attempt), stage.part)


def _kept(given: RoundInput) -> KeptInput:
    blinding = b"" if given.opening is None else given.opening.blindings.reveal().to_bytes()
    return KeptInput(given.logical, given.values, blinding, given.commitment)


def _given(kept: KeptInput, session: RestoreContext) -> RoundInput:
    context = session.context(1)
    full = context.full
    if (bool(kept.blinding), bool(kept.commitment)) != (full, full):
        raise MalformedMessage("an input is committed to exactly in full mode", "inputs")
    if not full:
        return RoundInput(kept.logical, kept.values)
    blinding = session.group.decode_scalars(kept.blinding, 1).secret()[0]
    values = session.group.secret_scalars(kept.values)
    return RoundInput(
        kept.logical, kept.values, opening_of(context.key, values, blinding), kept.commitment
    )
