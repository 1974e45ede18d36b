"""Boards, alone or with the organiser, that lie to the parties of a session over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from gopa.adversary.served import served
from gopa.adversary.setup import FOUR, ROWS, SPARE, SessionSetup
from gopa.contract.party import OPENING
from gopa.contract.phases import Phase

if TYPE_CHECKING:
    from gopa.adversary.boards import HonestClient, ServedOutcome, ServedSession, Which

VICTIM: Final = 0
_NONSENSE: Final = 5
_FALSE_RECEIPTS: Final = 2
_PATIENT_REQUESTS: Final = 40

_ONE_WITNESS: Final = SessionSetup(FOUR, witnesses=1)


def unconvicted(outcome: ServedOutcome) -> bool:
    """Two histories were shown, and nobody can prove it."""
    return "board" not in outcome.blamed


def left_out(outcome: ServedOutcome) -> bool:
    """The party that was lied to is not in the result."""
    return not outcome.ends[VICTIM].included


def kept_waiting(outcome: ServedOutcome) -> bool:
    """The party that was lied to waits for ever, and keeps what it needs for the round."""
    return not outcome.ends[VICTIM].timed_out


def exposed(outcome: ServedOutcome) -> bool:
    """A party opened its own mask, and others opened their edges to it."""
    unmasked = {each.author.data for each in outcome.said if each.phase == Phase.UNMASK}
    opened = any(each.phase == Phase.ROLLBACK for each in outcome.said)
    return opened and outcome.keys[VICTIM] in unmasked


def laid_bare(outcome: ServedOutcome) -> bool:
    """All edges of the party that was led away are open, and its neighbours gave its shares."""
    victim, open_to_all = outcome.keys[VICTIM], set()
    for each in outcome.said:
        if each.phase == Phase.ROLLBACK:
            ends = {edge.neighbour for edge in OPENING.decode(each.body).edges}
            mine = each.author.data == victim
            open_to_all |= ends if mine else {outcome.keys.index(each.author.data)}
    recovered = any(each.phase == Phase.RECOVER for each in outcome.said)
    return recovered and len(open_to_all - {VICTIM}) == len(outcome.keys) - 1


def taken_back(outcome: ServedOutcome) -> bool:
    """A value behind the close counts, or nothing hides it any more."""
    return outcome.ends[VICTIM].included or exposed(outcome)


def unwitnessed(outcome: ServedOutcome) -> bool:
    """A log that no witness has cosigned comes to a result."""
    return any(fork.has_result for fork in outcome.forks[1:])


def came_back(outcome: ServedOutcome) -> bool:
    """A board signs a second history of its log."""
    return len(outcome.forks) > 1


def fallen(outcome: ServedOutcome) -> bool:
    """A party ended without having taken part in the result."""
    return not all(end.included for end in outcome.ends)


@served("fork", "05-C4", aim=unconvicted, with_organiser=True)
async def fork(session: ServedSession) -> None:
    """All parties have committed; then all but one are shown a log in which that one has not.

    The organiser goes on there.

    Caught: each compares what it is shown with what it has seen, and says nothing more.
    Costs: the board, for good: every vault holds two signed checkpoints that convict it.
    """
    await _forked(session, Phase.COMMIT)


@served("fork-after-final-close", "05-C4", aim=unconvicted, with_organiser=True)
async def fork_after_final_close(session: ServedSession) -> None:
    """Parties have seen a final list; then all but one are shown a log without that one's value.

    There the organiser closes another list, so that edges to it would be opened.

    Caught: each compares checkpoints before it says anything; no edge and no mask is opened.
    Costs: the board is convicted by the vaults of all that saw both.
    """
    await _forked(session, Phase.PUBLISH, final=True)


@served("fork-of-proofs", "05-C4", aim=unconvicted, setup=ROWS, with_organiser=True)
async def fork_of_proofs(session: ServedSession) -> None:
    """All have proved their words; then all but one see a log in which that one has not.

    There the organiser closes the list of proofs without it, so that edges to it would be opened.

    Caught: each compares what it is shown with what it has seen; no edge and no mask is opened.
    Costs: the board, for good: every vault holds two signed checkpoints that convict it.
    """
    await _forked(session, Phase.PROVE)


@served("hidden-proof", "12-W3", aim=left_out, setup=ROWS)
async def hidden_proof(session: ServedSession) -> None:
    """Lookups of one party never show what a neighbour says of their edge; another one is gone.

    Caught: before it opens the edge to who is gone, it reads in the log what it was not shown.
    Costs: the party time, and nothing else: nobody is accused, and no other edge is opened.
    """
    process = session.start_organiser()
    victim, neighbour, *others = session.gather()
    victim.transport.hides(session.of(neighbour.number, Phase.PROVE))
    gone = others.pop()
    gone.transport.loses(session.of(gone.number, Phase.PROVE))
    await session.until(lambda: session.taken(Phase.PROVE) == len(others) + 2 and bool(gone.lost))
    await session.overdue(process, Phase.PROVE)
    await _done_with(session, victim)


@served("withheld-entry", "05-C4", aim=unconvicted)
async def withheld_entry(session: ServedSession) -> None:
    """A board acknowledges a value with a good receipt, and shows a log that never has it.

    Caught: the checkpoint in the receipt and the one that is shown later are of two histories.
    Costs: the two checkpoints convict the board; the party is left out, behind its own mask.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    value = _published(session)
    victim.transport.loses(value)
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    hidden = await session.fork()
    victim.transport.posts_to(hidden, value)
    await session.until(lambda: session.taken(Phase.PUBLISH, hidden) == 1)
    await session.overdue(process, Phase.PUBLISH)
    await session.done()


@served("stale-view", "12-W8", aim=kept_waiting)
async def stale_view(session: ServedSession) -> None:
    """From some moment on a party is shown the same checkpoint for ever, and the round goes on.

    Caught: it is out of the list; its patience ends, it erases what the round needs and says so.
    Costs: nothing: a slow network looks the same. Nobody is blamed.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    await session.until(lambda: session.taken(Phase.COINS) == len(session.parties))
    victim.transport.stands_still()
    await session.until(lambda: session.taken(Phase.COMMIT) >= len(others))
    await session.overdue(process, Phase.COMMIT)
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others))
    await session.overdue(process, Phase.PUBLISH)
    await session.done(others)
    victim.patience.end()
    limit = victim.transport.requests + _PATIENT_REQUESTS
    await session.until(lambda: victim.timed_out or victim.transport.requests > limit)


@served("lying-lookup", "12-W3", aim=left_out)
async def lying_lookup(session: ServedSession) -> None:
    """Lookups of one party never show what one of its neighbours has committed to.

    Caught: before a party goes without somebody who is listed, it reads the log itself.
    Costs: the party time, and nothing else: nobody is accused.
    """
    session.start_organiser()
    victim, *others = session.gather()
    victim.transport.hides(session.of(others[0].number, Phase.COMMIT))
    await _done_with(session, victim)


@served("dropped-post", "04-P2", aim=exposed)
async def dropped_post(session: ServedSession) -> None:
    """A board loses the value of one party until the organiser has waited long enough.

    The value was on the wire, so whoever lost it may have kept it.

    Caught: the party is out of the list, and never opens its own mask; the edges to it are opened.
    Costs: one value in the sum; the board is slow, as far as anybody can tell.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    victim.transport.loses(_published(session))
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await session.overdue(process, Phase.PUBLISH)
    await session.until(lambda: session.closed(Phase.PUBLISH))
    victim.transport.behave()
    await session.done()


@served("truncated-after-restart", "05-C4", aim=unconvicted)
async def truncated_after_restart(session: ServedSession) -> None:
    """A board comes back with an old copy of its log, and goes on from there.

    Caught: parties and organiser have seen a newer checkpoint, of which this is no part.
    Costs: the board is convicted, whether it lied or was restored from a backup.
    """
    process = session.start_organiser()
    process.transport.loses(session.closing(Phase.PUBLISH))
    parties = session.gather()
    await session.until(
        lambda: session.taken(Phase.PUBLISH) == len(parties) and bool(process.transport.lost)
    )
    size = session.board.main.size
    await session.until(lambda: all(party.seen >= size for party in parties))
    old = await session.fork(_published(session), longer=2)
    await session.show([*parties, process], old)
    process.transport.behave()
    await session.done()


@served("rewritten-history", "05-C4", aim=unconvicted)
async def rewritten_history(session: ServedSession) -> None:
    """When all is over a board shows a log in which a value was never published.

    The party comes back, after a restart, to see what became of it.

    Caught: its vault has the checkpoint that it saw before.
    Costs: the board is convicted by what is in the vault.
    """
    session.start_organiser()
    victim = session.gather()[VICTIM]
    await session.done()
    other = await session.fork(_published(session), longer=4)
    await victim.leave()
    again = session.enter(VICTIM, other)
    await session.done([again])


@served("malformed-answers", "05-C2", aim=fallen)
async def malformed_answers(session: ServedSession) -> None:
    """A board answers with fields of wrong types, deep nesting, bytes that are no text, or no end.

    Caught: answers are read up to their bound and decoded strictly; the same is asked again.
    Costs: time: the party takes part as soon as it gets an answer that holds.
    """
    session.start_organiser()
    victim = session.enter(VICTIM)
    victim.transport.garbles(_NONSENSE)
    for number in range(1, len(session.identities)):
        session.enter(number)
    await _done_with(session, victim)


@served("wrong-receipt", "05-T2", aim=left_out)
async def wrong_receipt(session: ServedSession) -> None:
    """A board drops a value, and answers with a receipt that is good for another entry.

    Caught: a receipt counts only for the bytes that were posted; they are posted again.
    Costs: time; a board that goes on so has lost the post, for all that anybody can tell.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    victim.transport.acknowledges_falsely(_published(session), _FALSE_RECEIPTS)
    await session.until(lambda: session.taken(Phase.PUBLISH) >= len(others) and bool(victim.lost))
    limit = victim.transport.requests + _PATIENT_REQUESTS
    everybody = len(session.parties)
    await session.until(
        lambda: session.taken(Phase.PUBLISH) == everybody or victim.transport.requests > limit
    )
    await session.overdue(process, Phase.PUBLISH)
    await session.done()


@served("split-organiser", "04-C5", aim=exposed, with_organiser=True)
async def split_organiser(session: ServedSession) -> None:
    """Two closes on two forks: on one, neighbours open their edges to a party that is out of it.

    On the other one that party alone has published, and is told that all have confirmed its list.

    Caught: a party counts for itself who confirmed, and stops: its own mask stays.
    Costs: the round on the lonely fork; there the log convicts the organiser.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    victim.transport.loses(_published(session))
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await process.stop()
    side = await session.fork()
    await session.show(others, side)
    there, alone = session.start_organiser(side), session.start_organiser()
    alone.transport.loses(session.closing(Phase.CONFIRM))
    victim.transport.behave()
    await session.overdue(there, Phase.PUBLISH)
    await session.done(others)
    await session.until(lambda: session.taken(Phase.CONFIRM) == 1)
    await alone.stop()
    await session.claim_confirmed(session.board.main)
    await session.until(lambda: victim.done or session.taken(Phase.UNMASK) == 1)


@served("three-branches", "04-U4", "05-C4", aim=laid_bare, setup=SPARE, with_organiser=True)
async def three_branches(session: ServedSession) -> None:
    """Three forks after all have published, and recovery: the bound on losses is spent twice.

    On a fork of its own one party opens as many edges as it may lose. On another one some of its
    neighbours open theirs to it. On the third all others end the round, and recover it.

    Caught: each plan with recovery leaves a party masks when its loss is spent twice, and nobody
    goes beyond that. Who sees two forks can prove the fork.
    Costs: the board, and nothing is learned but the sum.
    """
    process = session.start_organiser()
    process.transport.loses(session.closing(Phase.PUBLISH))
    victim, *others = parties = session.gather()
    await session.until(
        lambda: session.taken(Phase.PUBLISH) == len(parties) and bool(process.transport.lost)
    )
    most = session.manifest.terms.loss
    led_away = others[: min(most - 1, len(others) - most)]
    rest = others[len(led_away) :]
    opened = {party.number for party in rest[:most]}
    everybody = {party.number for party in parties}
    alone, there = (
        await session.branch(everybody - opened),
        await session.branch(everybody - {VICTIM}),
    )
    await session.show([victim], alone)
    await session.show(led_away, there)
    await session.until(lambda: session.taken(Phase.ROLLBACK, alone) == 1)
    await session.until(lambda: session.taken(Phase.ROLLBACK, there) == len(led_away))
    process.transport.behave()
    for phase in (Phase.CONFIRM, Phase.UNMASK):
        await session.until(partial(_all_said, session, phase, rest))
        await session.overdue(process, phase)
    await session.done(rest)
    await session.show([victim, *led_away], session.board.main)
    await session.done()


@served("value-behind-the-close", "04-P2", "04-C2", aim=taken_back)
async def value_behind_the_close(session: ServedSession) -> None:
    """A board keeps a value until the edges to its author are being opened, and then shows it.

    Its log takes the value behind the close of publish, for everybody to read.

    Caught: what is behind the close counts for nothing; its author never opens its self-mask.
    Costs: one value in the sum; the board is slow, as far as anybody can tell.
    """
    process = session.start_organiser()
    victim, *others = session.gather()
    value, last = _published(session), others[-1]
    victim.transport.loses(value)
    last.transport.loses(session.of(last.number, Phase.ROLLBACK))
    await session.until(lambda: session.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await session.overdue(process, Phase.PUBLISH)
    await session.until(
        lambda: session.taken(Phase.ROLLBACK) == len(others) - 1 and bool(last.lost)
    )
    await session.goes_on(session.handed(value))
    await session.done()


@served(
    "fork-without-witness",
    "05-P2",
    "05-C4",
    aim=unwitnessed,
    setup=_ONE_WITNESS,
    with_organiser=True,
)
async def fork_without_witness(session: ServedSession) -> None:
    """All but one are led into a log that lacks what that one commits to; the organiser goes on.

    They have seen nothing of the other log, which a witness has cosigned, so that there
    is nothing to compare. In the end they are shown that one.

    Caught: without its witness a log says nothing to parties that ask for one; what it signed
    convicts it when they see the other one.
    Costs: the round, and the board is convicted.
    """
    session.start_organiser()
    victim, *others = session.gather()
    victim.transport.loses(session.of(VICTIM, Phase.COMMIT))
    await session.until(lambda: session.taken(Phase.COMMIT) == len(others) and bool(victim.lost))
    for party in others:
        party.transport.stands_still()
    side = await session.fork(longer=2)
    victim.transport.behave()
    await session.until(lambda: session.closed(Phase.COMMIT))
    await session.show(others, side)
    for party in others:
        party.transport.behave()
    session.start_organiser(side).limits[Phase.COMMIT] = 0.0
    await session.until(lambda: all(party.done or party.unconvinced for party in others))
    await session.show(others, session.board.main)
    await session.done(others)


def _all_said(session: ServedSession, phase: Phase, parties: Sequence[HonestClient]) -> bool:
    return session.taken(phase) == len(parties)


@served("restored-backup", "05-W8", aim=came_back, setup=_ONE_WITNESS)
async def restored_backup(session: ServedSession) -> None:
    """A board comes back with a backup of all that it has, and takes entries in another order.

    All parts of the backup agree, so nothing on its own disks says that it has signed more.

    Caught: before it signs anything it asks its witnesses, who hold a larger log.
    Costs: nothing: the board does not start, and its operator is told what to do.
    """
    session.start_organiser()
    session.gather()
    await session.done()
    await session.restored(lambda entry: entry.phase == Phase.UNMASK)


async def _forked(session: ServedSession, phase: Phase, *, final: bool = False) -> None:
    """Others than the victim are shown a log without what it said in this phase.

    With `final` they have seen the organiser's close of it.
    """
    process = session.start_organiser()
    closing, mine = session.closing(phase), session.of(VICTIM, phase)
    process.transport.loses(closing)
    parties = session.gather()
    others = session.others(VICTIM)
    await session.until(
        lambda: session.taken(phase) == len(parties) and bool(process.transport.lost)
    )
    if final:
        for party in parties:
            party.transport.loses(session.of(party.number, Phase.CONFIRM))
        process.transport.behave()
        await session.until(lambda: all(party.lost for party in parties))
    await process.stop()
    size = session.board.main.size
    await session.until(lambda: all(party.seen >= size for party in others))
    side = await session.fork(lambda entry: closing(entry) or mine(entry), longer=3)
    await session.show(others, side)
    for party in others:
        party.transport.behave()
    await session.overdue(session.start_organiser(side), phase)
    await session.done(others)


async def _done_with(session: ServedSession, victim: HonestClient) -> None:
    """Wait for everybody; a victim that has fallen leaves the others without a result."""
    await session.done([victim])
    if victim.error is None:
        await session.done()


def _published(session: ServedSession) -> Which:
    return session.of(VICTIM, Phase.PUBLISH)
