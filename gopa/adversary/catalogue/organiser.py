"""Attacks by the organiser: every message of it is compared with what the rules demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from bulletin_board.note import SignedNote
from gopa.adversary.aims import (
    believed,
    committed_among_puppets,
    gets_off,
    held_against_the_honest,
    honest_left_out,
    redrawn,
    unmasked_unconfirmed,
)
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import leave, skip
from gopa.adversary.deeds.organising import (
    AbortsInstead,
    AlteredAbort,
    AlteredClose,
    AlteredOpen,
    AlteredResult,
    AnotherResult,
    ClosedAnyway,
    ClosesAgain,
    CutsOff,
    ForeignRoot,
    GivesUp,
    added,
    as_confirmed,
    attempt_of,
    blaming,
    hiding_releases,
    hiding_removals,
    inventing,
    lacking,
    with_cut,
    with_final,
    with_key_of,
    without_checkpoint,
)
from gopa.adversary.deeds.puppets import Puppeteer
from gopa.adversary.malicious import NONCES, WITNESSES, Actor, Malicious, MaliciousOrganiser
from gopa.adversary.setup import FOUR, SMALL, TWO_ROUNDS, WITNESSED
from gopa.contract.organiser import AbortReason, Close, Released, Removal, RemovalCause
from gopa.contract.phases import Phase
from gopa.protocol.simulation import OrganiserBehaviour

_ELSE: Final = 2
"""The position of somebody honest who is left out or lied about."""

_TWICE: Final = bytes.fromhex("6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919")
"""A point whose logarithm to the generator is 2."""

_attack = partial(attack, family="organiser", aim=gets_off, setup=SMALL)


@_attack("lying-result", "04-Z1", aim=believed)
def lying_result(roles: AttackRoles) -> Sequence[Actor]:
    """Announces a sum that is a thousand steps larger than the one that the log gives.

    Caught: whoever audits computes the sum from the log; parties know how large it can be.
    Costs: the log convicts it, and there is no result that an audit lets stand.
    """
    del roles
    return _posts(AlteredResult(added(1000)))


@_attack("hidden-exclusion", "04-Z3", aim=believed)
def hidden_exclusion(roles: AttackRoles) -> Sequence[Actor]:
    """Announces a result as if nobody had been left out.

    Caught: the result names exactly whom the log removes.
    Costs: the log convicts it, and there is no result.
    """
    return _posts(AlteredResult(hiding_removals), _leaves(roles))


@_attack("invented-exclusion", "04-Z3", aim=believed)
def invented_exclusion(roles: AttackRoles) -> Sequence[Actor]:
    """Announces with the result that somebody honest had been left out.

    Caught: the result names exactly whom the log removes.
    Costs: the log convicts it, and there is no result.
    """
    del roles
    removal = Removal(_ELSE, Phase.PUBLISH, RemovalCause.ABSENT)
    return _posts(AlteredResult(inventing(removal)))


@_attack("hidden-release", "04-X4", aim=believed)
def hidden_release(roles: AttackRoles) -> Sequence[Actor]:
    """Announces a result as the first release, though an attempt before gave values away too.

    Caught: final closes of a logical round are counted in the log, and by every party.
    Costs: the log convicts it, and there is no result.
    """
    veto = Malicious(roles.liar, at="unmask", do=skip(), rounds={1})
    return _posts(AlteredResult(hiding_releases), veto)


@_attack("made-up-result", "04-U4")
def made_up_result(roles: AttackRoles) -> Sequence[Actor]:
    """Announces a sum though a self-mask is still closed and nobody can know one.

    Caught: the rules demand an abort.
    Costs: the log convicts it, and there is no result.
    """
    veto = Malicious(roles.liar, at="unmask", do=skip(), rounds={1})
    return _posts(AnotherResult((7,), number=1), veto)


@_attack("wrong-roll", "04-J6", aim=honest_left_out)
def wrong_roll(roles: AttackRoles) -> Sequence[Actor]:
    """Leaves somebody honest off the roll, who joined in time.

    Caught: the roll is a function of the log; the party itself sees that it is missing.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.JOIN, lacking(_ELSE)))


@_attack("left-out-of-commit", "04-C3", aim=honest_left_out)
def left_out_of_commit(roles: AttackRoles) -> Sequence[Actor]:
    """Leaves somebody honest off the list of commit, whose proof holds.

    Caught: the list is a function of the log; the party itself sees that it is missing.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, lacking(_ELSE)))


@_attack("left-out-of-publish", "04-C3", aim=honest_left_out)
def left_out_of_publish(roles: AttackRoles) -> Sequence[Actor]:
    """Leaves somebody honest off the list of publish and has all its edges opened.

    Caught: the list is a function of the log; the party itself sees that it is missing.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.PUBLISH, _without_and_open))


@_attack("exchanged-key", "04-J6")
def exchanged_key(roles: AttackRoles) -> Sequence[Actor]:
    """Puts a key of its own in the place of the victim's on the roll, to stand in the middle.

    Caught: the roll has the keys that were joined with; the victim itself sees another one.
    Costs: the log convicts it, and the session ends.
    """
    return _posts(AlteredClose(Phase.JOIN, with_key_of(roles.victim, _TWICE)))


@_attack("final-too-early", "04-P3")
def final_too_early(roles: AttackRoles) -> Sequence[Actor]:
    """Calls a close of publish final though edges to somebody who left have to be opened.

    Caught: whether a close is final follows from the list; whoever owes an edge stops.
    Costs: the log convicts it, and the session ends.
    """
    return _posts(AlteredClose(Phase.PUBLISH, with_final(final=True)), _leaves(roles))


@_attack("final-too-late", "04-P3")
def final_too_late(roles: AttackRoles) -> Sequence[Actor]:
    """Asks for openings though nobody owes one.

    Caught: whether a close is final follows from the list.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.PUBLISH, with_final(final=False)))


@_attack("cut-moved", "04-C2")
def cut_moved(roles: AttackRoles) -> Sequence[Actor]:
    """Puts the cut of a close above its own index, so that what comes later would count.

    Caught: a cut is at most the index of its close.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, with_cut(5)))


@_attack("cut-goes-back", "04-C2")
def cut_goes_back(roles: AttackRoles) -> Sequence[Actor]:
    """Puts the cut of a close below that of the one before, so that what counted would not.

    Caught: no late message is counted.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, with_cut(-8)))


@_attack("foreign-root", "04-C7", "04-C5")
def foreign_root(roles: AttackRoles) -> Sequence[Actor]:
    """Closes publish over the root of another log: entries below its cut could be written later.

    Caught: parties and audits compare it with the root of the log that they have verified.
    Costs: everybody stops. Its own `seen_root` is another one, and so the log convicts it.
    """
    del roles
    return _posts(ForeignRoot(Phase.PUBLISH))


@_attack("root-of-another-size", "04-C5", aim=believed)
def root_of_another_size(roles: AttackRoles) -> Sequence[Actor]:
    """Closes publish over the root before the last entry below its cut: that could be another one.

    Caught: parties and audits compare it with the root of the log that they have verified.
    Costs: everybody stops. It says that it has seen nothing, so that a forked log could explain it.
    """
    del roles
    return _posts(ForeignRoot(Phase.PUBLISH, before=1, admits=False))


@_attack("too-few-go-on", "04-L3")
def too_few_go_on(roles: AttackRoles) -> Sequence[Actor]:
    """Goes on with two parties, where the plan needs three and the rules an abort.

    Caught: a list with fewer than the plan needs aborts the round; parties stop at one.
    Costs: the log convicts it, and the session ends.
    """
    gone = [
        Malicious(each, at="publish", do=leave(), rounds={1})
        for each in (roles.accomplice, roles.leaver)
    ]
    stay = roles.victim, roles.liar
    return _posts(ClosedAnyway(Phase.PUBLISH, stay, FOUR.parties), *gone)


@_attack("early-cut", "04-X7", "04-C6", aim=held_against_the_honest)
def early_cut(roles: AttackRoles) -> Sequence[Actor]:
    """Sees the result, and aborts with a cut below the last seed, which the log has.

    Caught: what stands in the log before the abort is held against nobody; the audit begins
    with the veto.
    Costs: a release, in its own name; everybody is in the retry.
    """
    del roles
    return _posts(CutsOff(Phase.UNMASK))


@_attack("early-cut-of-what-was-seen", "04-C2")
def early_cut_of_what_was_seen(roles: AttackRoles) -> Sequence[Actor]:
    """Does the same and names the newest checkpoint that it has verified, as it should.

    Caught: it counts everything that it says it has seen.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(CutsOff(Phase.UNMASK, admits=True))


@_attack("early-cuts-bar", "04-C6", "04-X7", aim=held_against_the_honest)
def early_cuts_bar(roles: AttackRoles) -> Sequence[Actor]:
    """Cuts off the last value, then the last seed, to have a retry without their authors.

    Caught: nobody is barred whose message is in the log before the close.
    Costs: a release, in its own name; everybody is in the retry.
    """
    del roles
    early = MaliciousOrganiser(CutsOff(Phase.PUBLISH))
    return [early, *_posts(CutsOff(Phase.UNMASK))]


@_attack("two-closes", "04-E3", "04-C5")
def two_closes(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two closes of publish for one slot: neighbours would open edges while others unmask.

    Caught: the board keeps the second as evidence, and whoever sees it stops.
    Costs: it is convicted, and there is no result.
    """
    del roles
    return _posts(AlteredClose(Phase.PUBLISH, lacking(_ELSE), beside=True))


@_attack("two-closes-in-a-row", "04-E4", "04-C5")
def two_closes_in_a_row(roles: AttackRoles) -> Sequence[Actor]:
    """Posts two closes of publish at two places of one log, both about the same values.

    Caught: a message of the organiser acts on its last one.
    Costs: it is convicted, and there is no result.
    """
    del roles
    return _posts(ClosesAgain(Phase.PUBLISH, lacking(_ELSE)))


@_attack("skipped-confirmations", "04-F2", "04-C5", aim=unmasked_unconfirmed)
def skipped_confirmations(roles: AttackRoles) -> Sequence[Actor]:
    """Says that everybody confirmed when nobody could, so that they open their self-masks.

    Caught: every party reads the confirmations itself before it opens anything.
    Costs: everybody stops; the log convicts it.
    """
    del roles
    return _posts(ClosesAgain(Phase.PUBLISH, as_confirmed, follows=True))


@_attack("puppets", "04-J6", "04-C5", aim=committed_among_puppets, needs=(NONCES,))
def puppets(roles: AttackRoles) -> Sequence[Actor]:
    """Enrols a party that never joined, with a key and nonce of its own, to be dealt shares.

    Caught: before it commits every party reads the reveal of each member, which its author signed.
    Costs: everybody stops before anything is committed; the log convicts it.
    """
    organiser = Puppeteer()
    gone = Malicious(roles.leaver, at="join", do=organiser.absent(), board=True)
    return [MaliciousOrganiser(organiser), gone]


@_attack("phases-out-of-order", "04-C1")
def phases_out_of_order(roles: AttackRoles) -> Sequence[Actor]:
    """Closes publish where commit has to be closed, to have values before anybody compared edges.

    Caught: closes come in the order of the phases.
    Costs: everybody stops; the log convicts it.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, _of_publish))


@_attack("one-attempt-more", "04-X3", aim=redrawn, setup=TWO_ROUNDS)
def one_attempt_more(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders spoil every attempt, and the organiser opens one more than there are.

    Caught: attempts are bounded by the plan, which pays for each of them.
    Costs: attempts that are used up are gone; the log convicts it at the one too many.
    """
    attempts = FOUR.attempts
    gone = [
        Malicious(each, at="commit", do=leave(), rounds=range(1, attempts + 1))
        for each in (roles.liar, roles.accomplice)
    ]
    return _posts(AlteredOpen(attempt_of(0, attempts), number=attempts + 1), *gone)


@_attack("abort-without-reason", "04-X1")
def abort_without_reason(roles: AttackRoles) -> Sequence[Actor]:
    """Ends a round for too few parties where there are enough, to draw another graph.

    Caught: reasons follow from the log; its own abort says that it is its own.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AbortsInstead(Phase.COMMIT, AbortReason.TOO_FEW_LEFT))


@_attack("abort-blames-innocent", "04-X1")
def abort_blames_innocent(roles: AttackRoles) -> Sequence[Actor]:
    """Names the victim as culprit of an abort that somebody else is to blame for.

    Caught: culprits follow from the log.
    Costs: the log convicts it, and the session ends.
    """
    veto = Malicious(roles.liar, at="unmask", do=skip(), rounds={1})
    return _posts(AlteredAbort(blaming(roles.victim)), veto)


@_attack("abort-denies-release", "04-X2")
def abort_denies_release(roles: AttackRoles) -> Sequence[Actor]:
    """Ends a round behind the final close and says that no masked value was released.

    Caught: an abort says that values were released exactly if a final close precedes.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(GivesUp(Phase.CONFIRM, Released.NONE))


@_attack("wrong-attempt", "04-X3")
def wrong_attempt(roles: AttackRoles) -> Sequence[Actor]:
    """Opens the first round as a second attempt, to have drawn once without a trace.

    Caught: rounds and attempts are numbered without gaps.
    Costs: the log convicts it, and the session ends.
    """
    del roles
    return _posts(AlteredOpen(attempt_of(0, 1)))


@_attack("unwitnessed-close", "04-C4", setup=WITNESSED, needs=(WITNESSES,))
def unwitnessed_close(roles: AttackRoles) -> Sequence[Actor]:
    """Rests a close on a checkpoint that only the log has signed, as a fork would have to.

    Caught: a close carries a checkpoint with a quorum of cosignatures.
    Costs: everybody stops; the log convicts it.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, _unwitnessed))


@_attack("close-without-checkpoint", "04-C4", setup=WITNESSED, needs=(WITNESSES,))
def close_without_checkpoint(roles: AttackRoles) -> Sequence[Actor]:
    """Posts a close that rests on no checkpoint at all.

    Caught: a close carries a checkpoint with a quorum of cosignatures.
    Costs: everybody stops; the log convicts it.
    """
    del roles
    return _posts(AlteredClose(Phase.COMMIT, without_checkpoint))


def _posts(behaviour: OrganiserBehaviour, *others: Actor) -> Sequence[Actor]:
    return [MaliciousOrganiser(behaviour), *others]


def _leaves(roles: AttackRoles) -> Malicious:
    return Malicious(roles.leaver, at="publish", do=leave())


def _of_publish(close: Close) -> Close:
    return replace(close, phase=Phase.PUBLISH)


def _without_and_open(close: Close) -> Close:
    """The list lacks somebody, and the others are to open the edges to it."""
    return with_final(final=False)(lacking(_ELSE)(close))


def _unwitnessed(close: Close) -> Close:
    note = SignedNote.parse(close.checkpoint)
    return replace(close, checkpoint=SignedNote(note.text, note.signatures[:1]).to_bytes())
