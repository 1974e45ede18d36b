"""Takes a close of the organiser: checks what concerns this party, and does what follows from it.

Rules 04-C1 to 04-C5.
"""

from __future__ import annotations

from dataclasses import replace

from gopa.contract.beacon import latest_cosignature_time
from gopa.contract.framing import Message
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.contract.organiser import Close, Members
from gopa.contract.phases import MAY_BE_FINAL, Phase
from gopa.contract.row_terms import losses_allowed
from gopa.protocol.party.checking import ask
from gopa.protocol.party.confirming import narrow
from gopa.protocol.party.context import PartyContext, absent, landed_below, leave
from gopa.protocol.party.ending import recover
from gopa.protocol.party.events import Fetch, Output, Part, PostedClose
from gopa.protocol.party.joining import enrol
from gopa.protocol.party.proving import ask as reconciliation
from gopa.protocol.party.proving import prove
from gopa.protocol.party.reading import Closed, decode_close, read_coins, read_members, read_roll
from gopa.protocol.party.states import (
    Committed,
    Comparing,
    Confirmed,
    Counting,
    Enrolled,
    Invited,
    Joined,
    Outside,
    PartyState,
    Published,
    Unmasked,
    view_at,
)
from gopa.protocol.party.view import Drawing, joint_of, view_of


def take_close(
    party: PartyContext, state: PartyState, message: Message, given: PostedClose | None
) -> tuple[PartyState, list[Output]]:
    """Check the close against the chain and the log's root at its cut, then act on it.

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
    closed = Closed(close, message.body, message.leaf)
    return _before_masks(party, moved, closed) or _after_masks(party, moved, closed)


def _before_masks(
    party: PartyContext, state: PartyState, closed: Closed
) -> tuple[PartyState, list[Output]] | None:
    """Take a close of join or coins; None at any later stage."""
    stage = state.stage
    if isinstance(stage, Outside):
        return state, []
    if isinstance(stage, Invited):
        return leave(state, stage.opened, Part.UNWILLING)
    if isinstance(stage, Joined):
        return enrol(party, state, stage, read_roll(closed.body, party.manifest), closed)
    if isinstance(stage, Enrolled):
        return _coins(party, state, stage, closed)
    return None


def _after_masks(
    party: PartyContext, state: PartyState, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Take a close of commit or later.

    Raises:
        FaultyParty: no close is due now.
    """
    stage = state.stage
    if isinstance(stage, Committed):
        return _committed(party, state, stage, closed)
    if isinstance(stage, Published):
        return _published(party, state, stage, closed)
    if isinstance(stage, Confirmed):
        return _confirmed(party, state, stage, closed)
    if isinstance(stage, Unmasked):
        return _unmasked(party, state, stage, closed)
    raise state.chain.fault("a close comes out of turn", closed.leaf)


def _coins(
    party: PartyContext, state: PartyState, enrolled: Enrolled, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Check the coins for this party (04-V1 to 04-V5), then ask what others signed (04-V7)."""
    manifest, joined, enrolment = party.manifest, enrolled.joined, enrolled.enrolment
    if not _noted_in_time(manifest, enrolled):
        return leave(state, joined.opened, Part.UNDATED)
    coins, members = read_coins(closed.close, manifest, len(enrolment))
    own = enrolment.positions[party.author]
    if own not in members:
        return absent(state, joined.opened, Phase.COINS, closed.cut)
    # Who may exchange a nonce or leave out many chooses the graph (attacks `exchanged-nonce`,
    # `withheld-nonce`).
    if isinstance(manifest.beacon, CommitReveal) and joined.nonce is not None:
        listed = coins.nonces[members.index(own)]
        state.chain.require(listed == joined.nonce.reveal(), "another nonce", closed.leaf)
    withheld = len(enrolment) - len(members)
    state.chain.require(withheld <= manifest.terms.loss, "too many withheld", closed.leaf)
    context = joined.opened.context
    drawing = Drawing(
        context=context,
        enrolment=enrolment,
        roll_leaf=enrolled.leaf,
        coins=coins,
        members=members,
        joint=joint_of(context, enrolment.roll, enrolled.leaf, coins),
    )
    view = view_of(party.toolkit.graph, drawing, own)
    return ask(state, enrolled, view, coins, closed)


def _noted_in_time(manifest: Manifest, enrolled: Enrolled) -> bool:
    """Whether this party knew the roll before anybody knew the beacon's value (04-V4).

    Witnesses say that the leaf was in the log by then. Others may have been there too, in the
    same slot: an organiser that has seen the value would show each reader the best of them.
    """
    if not isinstance(manifest.beacon, DrandBeacon):
        return True
    number = enrolled.enrolment.roll.beacon_round
    latest = latest_cosignature_time(manifest.beacon.chain, number)
    return enrolled.noted is not None and 0 < enrolled.noted <= latest


def _committed(
    party: PartyContext, state: PartyState, committed: Committed, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Check the list of commit for this party (04-K4), and read its neighbours' commits.

    A party that stayed with too few neighbours might publish behind masks that a coalition knows.
    """
    view, most = committed.view, party.manifest.terms.loss
    inside, _ = _members(party, state, closed, Phase.COMMIT)
    state.chain.require(inside <= view.members, "a list grew", closed.leaf)
    if view.position not in inside:
        if view.lost(inside) > most:
            return leave(state, committed.opened, Part.LOST)
        return absent(state, committed.opened, Phase.COMMIT, closed.cut)
    state.chain.require(view.lost(inside) <= most, "a list is not peeled", closed.leaf)
    listed = view.authors([v for v in view.neighbours if v in inside])
    fetch = Fetch(Phase.COMMIT, state.chain.round, closed.cut, listed)
    stage = Comparing(committed, closed.leaf, inside, fetch)
    return replace(state, stage=stage, listed=True), [fetch]


def _published(
    party: PartyContext, state: PartyState, published: Published, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Take a close of publish, prove or rollback: prove, open what is owed, or confirm."""
    members = _members(party, state, closed, published.phase)
    if published.unproved is not None:
        return prove(party, state, published, members[0], closed)
    if published.published:
        # Each who goes when the points are known is a choice among equations (14-P11).
        terms = party.manifest.terms
        gone = published.published - len(members[0])
        allowed = losses_allowed(published.published, terms.survivors, terms.late)
        state.chain.require(gone <= allowed, "too many are gone from a list", closed.leaf)
    if published.phase is Phase.PROVE:
        return reconciliation(party, state, published, members, closed)
    return narrow(party, state, published, members, closed)


def _confirmed(
    party: PartyContext, state: PartyState, confirmed: Confirmed, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Read everybody's confirmation before the seed is opened (04-F2).

    A list alone shows nobody's: an organiser could claim confirmations, and have some parties
    open edges to a victim while others open its self-mask.
    """
    view = confirmed.view
    listed, _ = _members(party, state, closed, Phase.CONFIRM)
    state.chain.require(listed <= confirmed.final, "a list grew", closed.leaf)
    state = _listed(state, Phase.CONFIRM, view.position in listed, closed)
    authors = view.authors(sorted(listed - {view.position}))
    fetch = Fetch(Phase.CONFIRM, state.chain.round, closed.cut, authors)
    return replace(state, stage=Counting(confirmed, closed.leaf, listed, fetch)), [fetch]


def _unmasked(
    party: PartyContext, state: PartyState, unmasked: Unmasked, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Help to recover seeds that are missing, where the terms allow it."""
    recovers = party.manifest.terms.threshold is not None
    state.chain.require(recovers, "there is no recovery", closed.leaf)
    opened, _ = _members(party, state, closed, Phase.UNMASK)
    state = _listed(state, Phase.UNMASK, unmasked.view.position in opened, closed)
    return recover(party, state, unmasked, opened, closed.leaf)


def _listed(state: PartyState, phase: Phase, listed: bool, closed: Closed) -> PartyState:
    """Require that a list lacks this party only if its message came late; that may bar it (04-X5).

    Stops an organiser that leaves out whom it wants to be rid of.
    """
    late = not landed_below(state, phase, closed.cut)
    state.chain.require(listed or late, "it left out a message below its own cut", closed.leaf)
    excused = state.tally.excused or not listed
    return replace(state, tally=replace(state.tally, excused=excused))


def _members(
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
