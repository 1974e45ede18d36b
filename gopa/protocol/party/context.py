"""What a party is built from, what every close has to pass, and when a party leaves a round.

It leaves by 04-C5, 04-X5 and 04-X6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bulletin_board.tree import leaf_hash
from commitments.group import SecretScalarVec
from gopa.contract.beacon import latest_cosignature_time
from gopa.contract.framing import NO_LEAF, Message, MessageSlot, party_id, sign_message
from gopa.contract.manifest import DrandBeacon, Manifest
from gopa.contract.organiser import Close, Members
from gopa.contract.phases import KIND_IN, MAY_BE_FINAL, Phase
from gopa.protocol.party.events import Output, Part, Post, PostedClose
from gopa.protocol.party.policy import LocalPolicy
from gopa.protocol.party.reading import Closed, decode_close, read_members
from gopa.protocol.party.states import (
    Enrolled,
    Outside,
    PartyState,
    RoundOpened,
    view_at,
)
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import Toolkit
from wire.domains import STEP_CHANCE
from wire.ed25519 import SigningKey
from wire.randomness import Rng
from wire.secret import Guarded


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartyContext(Guarded):
    """The constants of a party.

    `rng` is used where a step makes secrets or proofs; a step that draws secrets hedges it first.
    """

    manifest: Manifest
    session: bytes
    key: SigningKey
    policy: LocalPolicy
    toolkit: Toolkit
    rng: Rng

    @property
    def author(self) -> bytes:
        """The party's Ed25519 key."""
        return self.key.public.data

    @property
    def own_id(self) -> bytes:
        return party_id(self.author)

    def context(self, number: int) -> RoundContext:
        """The round with this number."""
        return RoundContext(self.manifest, self.session, number, self.toolkit.group)

    def hedged(
        self, step: bytes, context: RoundContext, leaf: bytes, witness: SecretScalarVec
    ) -> PartyContext:
        """The same party, with randomness for the secrets of one step alone (12-R5).

        It depends on the step, on session, round, the message acted on, this party and what it
        hides. A generator that repeats therefore gives two rounds nothing in common: with one
        pad, seed or blinding in two of them, their messages would give the input away.
        """
        transcript = context.transcript(STEP_CHANCE, leaf, self.own_id)
        return replace(self, rng=transcript.hedged(step, context.group, witness, self.rng))

    def say(
        self, state: PartyState, phase: Phase, body: bytes, seq: int = 0
    ) -> tuple[PartyState, Post]:
        """Sign a message of the current round: once, for a slot that was free until now."""
        place = MessageSlot(
            session=self.session,
            phase=phase,
            kind=KIND_IN[phase],
            round=state.chain.round,
            seq=seq,
            previous=state.own_leaf,
            seen_size=state.seen_size,
            seen_root=state.seen_root if state.seen_size else NO_LEAF,
        )
        signed = sign_message(body, place, self.key)
        post = Post(phase, state.chain.round, signed.entries)
        return replace(state, sent=(*state.sent, post), own_leaf=signed.leaf), post


def accept_close(
    party: PartyContext, state: PartyState, message: Message, given: PostedClose | None
) -> tuple[PartyState, Closed]:
    """The close behind the chain and the log's root at its cut; nothing follows from it yet.

    Raises:
        ProtocolError: the close cannot be one that the rules make.
        UsageError: the caller left out the root.
    """
    close, chain = decode_close(message.body), state.chain
    chain.require_continues(close.acts_on)
    chain.require_cut(message, close.cut)
    chain.require_root(close, given)
    _require_witnessed(party, state, close)
    moved = replace(state, chain=chain.acknowledge(message, close.cut))
    if isinstance(close.content, Members) and close.content.final:
        # Of two final lists one would have edges opened to whom the other one unmasks.
        chain.require(not state.final_seen, "two final closes in one round", message.leaf)
        tally = replace(state.tally, releases=state.tally.releases + 1)
        moved = replace(moved, tally=tally, final_seen=True)
    return moved, Closed(close, message.body, message.leaf)


def _require_witnessed(party: PartyContext, state: PartyState, close: Close) -> None:
    """Require a cosigned checkpoint that covers the close before (04-C4), and is early (04-V4).

    Else a log that no witness has seen could be forked behind the close (attack
    `unwitnessed-close`), or the roll be chosen when the beacon's value is known (attack
    `late-witnesses`). That the checkpoint's root is the log's is for the caller, who keeps to
    checkpoints that hold under the same policy.
    """
    policy, chain = party.manifest.quorum, state.chain
    if policy is None or close.phase is Phase.JOIN:
        chain.require(not close.checkpoint, "a checkpoint where none belongs")
        return
    signed = policy.open(close.checkpoint)
    chain.require(signed.size > chain.index, "a checkpoint does not cover the close before")
    beacon = party.manifest.beacon
    if isinstance(state.stage, Enrolled) and isinstance(beacon, DrandBeacon):
        latest = latest_cosignature_time(beacon.chain, state.stage.enrolment.roll.beacon_round)
        timely = [each.witness for each in policy.cosignatures(signed) if 0 < each.time <= latest]
        chain.require(policy.is_quorum(timely), "witnesses came after the beacon's value")


def members_of(
    party: PartyContext, state: PartyState, closed: Closed, phase: Phase
) -> tuple[frozenset[int], bool]:
    """Read the list of a close of this phase, which is the next one (04-C1), with enough parties.

    Below `survivors` parties the sum would hide each of them among too few.
    """
    view = view_at(state.stage)
    members, final = read_members(closed.close, phase, len(view.enrolment))
    if phase is not Phase.UNMASK:
        enough = len(members) >= party.manifest.terms.survivors
        state.chain.require(enough, "a list has too few parties", closed.leaf)
    if phase not in MAY_BE_FINAL:
        state.chain.require(not final, "only closes of publish or rollback are final", closed.leaf)
    return frozenset(members), final


def require_listed(state: PartyState, phase: Phase, listed: bool, closed: Closed) -> PartyState:
    """Require that a list lacks this party only if its message came late; that may bar it (04-X5).

    Stops an organiser that leaves out whom it wants to be rid of.
    """
    late = not landed_below(state, phase, closed.cut)
    state.chain.require(listed or late, "it left out a message below its own cut", closed.leaf)
    excused = state.tally.excused or not listed
    return replace(state, tally=replace(state.tally, excused=excused))


def leave(state: PartyState, opened: RoundOpened, part: Part) -> tuple[PartyState, list[Output]]:
    """Drop every secret of the round and be silent until the next one."""
    return replace(state, stage=Outside(opened, part), sent=()), []


def absent(
    state: PartyState, opened: RoundOpened, phase: Phase, cut: int
) -> tuple[PartyState, list[Output]]:
    """Leave after a list that lacks this party, if its own message is late or it may be barred.

    Else it stops: an organiser may not choose whose value is in the sum (attacks `wrong-roll`,
    `left-out-of-commit`, `left-out-of-publish`).

    Raises:
        FaultyParty: its message stands below the cut, so the organiser left it out.
    """
    if landed_below(state, phase, cut) and not (phase is Phase.JOIN and state.tally.excused):
        raise state.chain.fault("it left out a message below its own cut", state.chain.leaf)
    if phase is not Phase.JOIN:
        state = replace(state, tally=replace(state.tally, excused=True))
    return leave(state, opened, Part.LATE)


def landed_below(state: PartyState, phase: Phase, cut: int) -> bool:
    """Whether all own messages of this phase are known to stand in the log below the cut.

    Only what this party wrote itself counts: an entry of its key that it did not write promises
    nothing of its own.
    """
    last = [leaf_hash(post.entries[-1]) for post in state.sent if post.phase is phase]
    landed = dict(state.landed)
    return all(landed.get(leaf, cut) < cut for leaf in last)
