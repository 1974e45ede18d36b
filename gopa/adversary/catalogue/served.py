"""Boards, alone or with the organiser, that lie to the parties of a session over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from gopa.adversary.served import served
from gopa.adversary.setup import FOUR, SPARE, SessionSetup
from gopa.messages.party import OPENING
from gopa.messages.phases import Phase

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
    return any(face.has_result for face in outcome.faces[1:])


def came_back(outcome: ServedOutcome) -> bool:
    """A board signs a second history of its log."""
    return len(outcome.faces) > 1


def fallen(outcome: ServedOutcome) -> bool:
    """A party ended without having taken part in the result."""
    return not all(end.included for end in outcome.ends)


@served("fork", "05-C4", aim=unconvicted, with_organiser=True)
async def fork(stage: ServedSession) -> None:
    """All parties have committed; then all but one are shown a log in which that one has not.

    The organiser goes on there.

    Caught: each compares what it is shown with what it has seen, and says nothing more.
    Costs: the board, for good: every vault holds two signed checkpoints that convict it.
    """
    await _forked(stage, Phase.COMMIT)


@served("fork-after-final-close", "05-C4", aim=unconvicted, with_organiser=True)
async def fork_after_final_close(stage: ServedSession) -> None:
    """Parties have seen a final list; then all but one are shown a log without that one's value.

    There the organiser closes another list, so that edges to it would be opened.

    Caught: each compares checkpoints before it says anything; no edge and no mask is opened.
    Costs: the board is convicted by the vaults of all that saw both.
    """
    await _forked(stage, Phase.PUBLISH, final=True)


@served("withheld-entry", "05-C4", aim=unconvicted)
async def withheld_entry(stage: ServedSession) -> None:
    """A board acknowledges a value with a good receipt, and shows a log that never has it.

    Caught: the checkpoint in the receipt and the one that is shown later are of two histories.
    Costs: the two checkpoints convict the board; the party is left out, behind its own mask.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    value = _published(stage)
    victim.way.loses(value)
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    hidden = await stage.fork()
    victim.way.posts_to(hidden, value)
    await stage.until(lambda: stage.taken(Phase.PUBLISH, hidden) == 1)
    await stage.overdue(chair, Phase.PUBLISH)
    await stage.done()


@served("stale-view", "12-W8", aim=kept_waiting)
async def stale_view(stage: ServedSession) -> None:
    """From some moment on a party is shown the same checkpoint for ever, and the round goes on.

    Caught: it is out of the list; its patience ends, it erases what the round needs and says so.
    Costs: nothing: a slow network looks the same. Nobody is blamed.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    await stage.until(lambda: stage.taken(Phase.COINS) == len(stage.guests))
    victim.way.stands_still()
    await stage.until(lambda: stage.taken(Phase.COMMIT) >= len(others))
    await stage.overdue(chair, Phase.COMMIT)
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(others))
    await stage.overdue(chair, Phase.PUBLISH)
    await stage.done(others)
    victim.patience.end()
    limit = victim.way.requests + _PATIENT_REQUESTS
    await stage.until(lambda: victim.timed_out or victim.way.requests > limit)


@served("lying-lookup", "12-W3", aim=left_out)
async def lying_lookup(stage: ServedSession) -> None:
    """Lookups of one party never show what one of its neighbours has committed to.

    Caught: before a party goes without somebody who is listed, it reads the log itself.
    Costs: the party time, and nothing else: nobody is accused.
    """
    stage.chair()
    victim, *others = stage.gather()
    victim.way.hides(stage.of(others[0].number, Phase.COMMIT))
    await _done_with(stage, victim)


@served("dropped-post", "04-P2", aim=exposed)
async def dropped_post(stage: ServedSession) -> None:
    """A board loses the value of one party until the organiser has waited long enough.

    The value was on the wire, so whoever lost it may have kept it.

    Caught: the party is out of the list, and never opens its own mask; the edges to it are opened.
    Costs: one value in the sum; the board is slow, as far as anybody can tell.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    victim.way.loses(_published(stage))
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await stage.overdue(chair, Phase.PUBLISH)
    await stage.until(lambda: stage.closed(Phase.PUBLISH))
    victim.way.behave()
    await stage.done()


@served("truncated-after-restart", "05-C4", aim=unconvicted)
async def truncated_after_restart(stage: ServedSession) -> None:
    """A board comes back with an old copy of its log, and goes on from there.

    Caught: parties and organiser have seen a newer checkpoint, of which this is no part.
    Costs: the board is convicted, whether it lied or was restored from a backup.
    """
    chair = stage.chair()
    chair.way.loses(stage.closing(Phase.PUBLISH))
    guests = stage.gather()
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(guests) and bool(chair.way.lost))
    size = stage.board.main.size
    await stage.until(lambda: all(guest.seen >= size for guest in guests))
    old = await stage.fork(_published(stage), longer=2)
    await stage.show([*guests, chair], old)
    chair.way.behave()
    await stage.done()


@served("rewritten-history", "05-C4", aim=unconvicted)
async def rewritten_history(stage: ServedSession) -> None:
    """When all is over a board shows a log in which a value was never published.

    The party comes back, after a restart, to see what became of it.

    Caught: its vault has the checkpoint that it saw before.
    Costs: the board is convicted by what is in the vault.
    """
    stage.chair()
    victim = stage.gather()[VICTIM]
    await stage.done()
    other = await stage.fork(_published(stage), longer=4)
    await victim.leave()
    again = stage.enter(VICTIM, other)
    await stage.done([again])


@served("malformed-answers", "05-C2", aim=fallen)
async def malformed_answers(stage: ServedSession) -> None:
    """A board answers with fields of wrong types, deep nesting, bytes that are no text, or no end.

    Caught: answers are read up to their bound and decoded strictly; the same is asked again.
    Costs: time: the party takes part as soon as it gets an answer that holds.
    """
    stage.chair()
    victim = stage.enter(VICTIM)
    victim.way.garbles(_NONSENSE)
    for number in range(1, len(stage.identities)):
        stage.enter(number)
    await _done_with(stage, victim)


@served("wrong-receipt", "05-T2", aim=left_out)
async def wrong_receipt(stage: ServedSession) -> None:
    """A board drops a value, and answers with a receipt that is good for another entry.

    Caught: a receipt counts only for the bytes that were posted; they are posted again.
    Costs: time; a board that goes on so has lost the post, for all that anybody can tell.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    victim.way.acknowledges_falsely(_published(stage), _FALSE_RECEIPTS)
    await stage.until(lambda: stage.taken(Phase.PUBLISH) >= len(others) and bool(victim.lost))
    limit = victim.way.requests + _PATIENT_REQUESTS
    everybody = len(stage.guests)
    await stage.until(
        lambda: stage.taken(Phase.PUBLISH) == everybody or victim.way.requests > limit
    )
    await stage.overdue(chair, Phase.PUBLISH)
    await stage.done()


@served("split-organiser", "04-C5", aim=exposed, with_organiser=True)
async def split_organiser(stage: ServedSession) -> None:
    """Two closes on two faces: on one, neighbours open their edges to a party that is out of it.

    On the other one that party alone has published, and is told that all have confirmed its list.

    Caught: a party counts for itself who confirmed, and stops: its own mask stays.
    Costs: the round on the lonely face; there the log convicts the organiser.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    victim.way.loses(_published(stage))
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await chair.stop()
    side = await stage.fork()
    await stage.show(others, side)
    there, alone = stage.chair(side), stage.chair()
    alone.way.loses(stage.closing(Phase.CONFIRM))
    victim.way.behave()
    await stage.overdue(there, Phase.PUBLISH)
    await stage.done(others)
    await stage.until(lambda: stage.taken(Phase.CONFIRM) == 1)
    await alone.stop()
    await stage.claim_confirmed(stage.board.main)
    await stage.until(lambda: victim.done or stage.taken(Phase.UNMASK) == 1)


@served("three-branches", "04-U4", "05-C4", aim=laid_bare, ground=SPARE, with_organiser=True)
async def three_branches(stage: ServedSession) -> None:
    """Three faces after all have published, and recovery: the bound on losses is spent twice.

    On a face of its own one party opens as many edges as it may lose. On another one some of its
    neighbours open theirs to it. On the third all others end the round, and recover it.

    Caught: each plan with recovery leaves a party masks when its loss is spent twice, and nobody
    goes beyond that. Who sees two faces can prove the fork.
    Costs: the board, and nothing is learned but the sum.
    """
    chair = stage.chair()
    chair.way.loses(stage.closing(Phase.PUBLISH))
    victim, *others = guests = stage.gather()
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(guests) and bool(chair.way.lost))
    most = stage.manifest.terms.loss
    led_away = others[: min(most - 1, len(others) - most)]
    rest = others[len(led_away) :]
    opened = {guest.number for guest in rest[:most]}
    everybody = {guest.number for guest in guests}
    alone, there = await stage.branch(everybody - opened), await stage.branch(everybody - {VICTIM})
    await stage.show([victim], alone)
    await stage.show(led_away, there)
    await stage.until(lambda: stage.taken(Phase.ROLLBACK, alone) == 1)
    await stage.until(lambda: stage.taken(Phase.ROLLBACK, there) == len(led_away))
    chair.way.behave()
    for phase in (Phase.CONFIRM, Phase.UNMASK):
        await stage.until(partial(_all_said, stage, phase, rest))
        await stage.overdue(chair, phase)
    await stage.done(rest)
    await stage.show([victim, *led_away], stage.board.main)
    await stage.done()


@served("value-behind-the-close", "04-P2", "04-C2", aim=taken_back)
async def value_behind_the_close(stage: ServedSession) -> None:
    """A board keeps a value until the edges to its author are being opened, and then shows it.

    Its log takes the value behind the close of publish, for everybody to read.

    Caught: what is behind the close counts for nothing; its author never opens its self-mask.
    Costs: one value in the sum; the board is slow, as far as anybody can tell.
    """
    chair = stage.chair()
    victim, *others = stage.gather()
    value, last = _published(stage), others[-1]
    victim.way.loses(value)
    last.way.loses(stage.of(last.number, Phase.ROLLBACK))
    await stage.until(lambda: stage.taken(Phase.PUBLISH) == len(others) and bool(victim.lost))
    await stage.overdue(chair, Phase.PUBLISH)
    await stage.until(lambda: stage.taken(Phase.ROLLBACK) == len(others) - 1 and bool(last.lost))
    await stage.goes_on(stage.handed(value))
    await stage.done()


@served(
    "fork-without-witness",
    "05-P2",
    "05-C4",
    aim=unwitnessed,
    ground=_ONE_WITNESS,
    with_organiser=True,
)
async def fork_without_witness(stage: ServedSession) -> None:
    """All but one are led into a log that lacks what that one commits to; the organiser goes on.

    They have seen nothing of the other log, which a witness has cosigned, so that there
    is nothing to compare. In the end they are shown that one.

    Caught: without its witness a log says nothing to parties that ask for one; what it signed
    convicts it when they see the other one.
    Costs: the round, and the board is convicted.
    """
    stage.chair()
    victim, *others = stage.gather()
    victim.way.loses(stage.of(VICTIM, Phase.COMMIT))
    await stage.until(lambda: stage.taken(Phase.COMMIT) == len(others) and bool(victim.lost))
    for guest in others:
        guest.way.stands_still()
    side = await stage.fork(longer=2)
    victim.way.behave()
    await stage.until(lambda: stage.closed(Phase.COMMIT))
    await stage.show(others, side)
    for guest in others:
        guest.way.behave()
    stage.chair(side).limits[Phase.COMMIT] = 0.0
    await stage.until(lambda: all(guest.done or guest.unconvinced for guest in others))
    await stage.show(others, stage.board.main)
    await stage.done(others)


def _all_said(stage: ServedSession, phase: Phase, guests: Sequence[HonestClient]) -> bool:
    return stage.taken(phase) == len(guests)


@served("restored-backup", "05-W8", aim=came_back, ground=_ONE_WITNESS)
async def restored_backup(stage: ServedSession) -> None:
    """A board comes back with a backup of all that it has, and takes entries in another order.

    All parts of the backup agree, so nothing on its own disks says that it has signed more.

    Caught: before it signs anything it asks its witnesses, who hold a larger log.
    Costs: nothing: the board does not start, and its operator is told what to do.
    """
    stage.chair()
    stage.gather()
    await stage.done()
    await stage.restored(lambda entry: entry.phase == Phase.UNMASK)


async def _forked(stage: ServedSession, phase: Phase, *, final: bool = False) -> None:
    """Others than the victim are shown a log without what it said in this phase.

    With `final` they have seen the organiser's close of it.
    """
    chair = stage.chair()
    closing, mine = stage.closing(phase), stage.of(VICTIM, phase)
    chair.way.loses(closing)
    guests = stage.gather()
    others = stage.others(VICTIM)
    await stage.until(lambda: stage.taken(phase) == len(guests) and bool(chair.way.lost))
    if final:
        for guest in guests:
            guest.way.loses(stage.of(guest.number, Phase.CONFIRM))
        chair.way.behave()
        await stage.until(lambda: all(guest.lost for guest in guests))
    await chair.stop()
    size = stage.board.main.size
    await stage.until(lambda: all(guest.seen >= size for guest in others))
    side = await stage.fork(lambda entry: closing(entry) or mine(entry), longer=3)
    await stage.show(others, side)
    for guest in others:
        guest.way.behave()
    await stage.overdue(stage.chair(side), phase)
    await stage.done(others)


async def _done_with(stage: ServedSession, victim: HonestClient) -> None:
    """Wait for everybody; a victim that has fallen leaves the others without a result."""
    await stage.done([victim])
    if victim.error is None:
        await stage.done()


def _published(stage: ServedSession) -> Which:
    return stage.of(VICTIM, Phase.PUBLISH)
