"""Attacks behind the masked values: refusing to open, opening something else, opening too much."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import counted, delayed, harmful, stopped, unblamed
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    betray,
    late,
    leave,
    open_more,
    other_seed,
    skip,
    wrong_key,
    wrong_recovery,
    wrong_seed,
)
from gopa.adversary.malicious import RECOVERY, SEEDS, Actor, Deed, Malicious
from gopa.adversary.setup import (
    IMPATIENT,
    RECOVERING,
    RECOVERING_SIGNED,
    RECOVERING_VECTORS,
    ROOMY,
    SIGNED,
    SIGNED_ROOMY,
    SMALL,
    STRICT,
)

_attack = partial(attack, family="openings", aim=harmful, setup=SIGNED_ROOMY)


@_attack("refuse-open", "04-O3")
def refuse_open(roles: AttackRoles) -> Sequence[Actor]:
    """Does not open the edge to somebody who left, so that its mask stays in the sum.

    Caught: whoever owes an edge and does not open it is removed too; its other edges are opened.
    Costs: it is out of the result.
    """
    return _after_somebody_left(roles, skip())


@_attack("late-opening", "04-O3")
def late_opening(roles: AttackRoles) -> Sequence[Actor]:
    """Opens the edge to somebody who left behind the close, to say later that it did.

    Caught: an opening counts below the cut; whoever owes one is removed.
    Costs: it is out of the result.
    """
    return _after_somebody_left(roles, late())


@_attack("wrong-opening", "04-O2")
def wrong_opening(roles: AttackRoles) -> Sequence[Actor]:
    """Opens the edge to somebody who left with another key, which shifts the sum.

    Caught: the key does not make what both ends committed to.
    Costs: it is out of the result, and convicted.
    """
    return _after_somebody_left(roles, wrong_key())


@_attack("opens-more", "04-O1", aim=counted, setup=ROOMY)
def opens_more(roles: AttackRoles) -> Sequence[Actor]:
    """Opens the edge to the victim, who is still there, beside the one that it owes.

    Caught: an opening has exactly the edges that are owed.
    Costs: it is out of the result, and convicted.
    """
    return _after_somebody_left(roles, open_more(roles.victim))


@_attack("betray", "04-O5", aim=unblamed, setup=SMALL, over_http=("04-C2",))
def betray_(roles: AttackRoles) -> Sequence[Actor]:
    """Confirms the final close, and then opens its edges inside of the list all the same.

    Caught: both messages are signed; nothing is left to open that is not its own.
    Costs: it is convicted. The others stay hidden behind the edges among them.
    """
    return [Malicious(roles.liar, at="confirm", do=betray())]


@_attack("endless-refusals", "04-O4", "04-X5", aim=stopped, setup=IMPATIENT)
def endless_refusals(roles: AttackRoles) -> Sequence[Actor]:
    """One leaves and another refuses to open, in every attempt, so that rollbacks never end.

    Caught: rollbacks are bounded; whoever left or refused sits out the next attempt.
    Costs: both are out, and one attempt without a release is lost.
    """
    return _after_somebody_left(roles, skip())


@_attack("refuse-confirm", "04-F2", "04-X5", aim=stopped, setup=STRICT)
def refuse_confirm(roles: AttackRoles) -> Sequence[Actor]:
    """Does not confirm the final list, in every attempt, so that nobody unmasks.

    Caught: the abort names it, and it sits out the next attempt.
    Costs: it is out, and one attempt is lost.
    """
    return [Malicious(roles.liar, at="confirm", do=skip())]


@_attack("refuse-unmask", "04-U4", "04-X5", aim=stopped, setup=SMALL)
def refuse_unmask(roles: AttackRoles) -> Sequence[Actor]:
    """Sees the result, which it alone still hides, and keeps its self-mask, again and again.

    Caught: the abort names it, and it sits out the next attempt.
    Costs: it is out, and one charged release is lost.
    """
    return [Malicious(roles.liar, at="unmask", do=skip())]


@_attack("veto-against-recovery", "04-U4", aim=delayed, setup=RECOVERING, needs=(RECOVERY,))
def veto_against_recovery(roles: AttackRoles) -> Sequence[Actor]:
    """Keeps its self-mask closed where its neighbours hold shares of it.

    Caught: enough of them give theirs, and the round has its result.
    Costs: nothing is lost; it stays in the result, and would sit out a retry.
    """
    return [Malicious(roles.liar, at="unmask", do=skip())]


@_attack("wrong-seed", "04-U1", setup=SIGNED)
def wrong_seed_(roles: AttackRoles) -> Sequence[Actor]:
    """Opens another seed than the one that it committed to, which shifts the sum.

    Caught: the seed does not make its self-mask.
    Costs: it is convicted and sits out the next attempt; one charged release is lost.
    """
    return [Malicious(roles.liar, at="unmask", do=wrong_seed())]


@_attack("wrong-recovery", "04-U3", aim=unblamed, setup=RECOVERING, needs=(RECOVERY,))
def wrong_recovery_(roles: AttackRoles) -> Sequence[Actor]:
    """Gives out another share than it was dealt, to keep the mask of a vetoing accomplice closed.

    Caught: the share does not fit the dealer's coefficients; those of others are enough.
    Costs: it is convicted.
    """
    return [
        Malicious(roles.leaver, at="unmask", do=leave()),
        Malicious(roles.liar, at="recover", do=wrong_recovery()),
    ]


@_attack("another-seed", "04-U5", aim=unblamed, setup=RECOVERING_VECTORS, needs=(SEEDS,))
def another_seed(roles: AttackRoles) -> Sequence[Actor]:
    """Deals shares of another seed than its own and keeps its own, to veto in spite of recovery.

    Caught: what the neighbours recover does not make its self-mask.
    Costs: it is convicted, and out for good; one charged release is lost.
    """
    return _dealing_another_seed(roles)


@_attack("another-seed-signed", "04-U5", setup=RECOVERING_SIGNED, needs=(SEEDS,))
def another_seed_signed(roles: AttackRoles) -> Sequence[Actor]:
    """The same where self-masks are hashes of seeds, and another seed would shift the sum.

    Caught: what the neighbours recover does not make its self-mask.
    Costs: it is convicted, and out for good; one charged release is lost.
    """
    return _dealing_another_seed(roles)


def _dealing_another_seed(roles: AttackRoles) -> Sequence[Actor]:
    return [
        Malicious(roles.liar, at="commit", do=other_seed()),
        Malicious(roles.liar, at="unmask", do=skip()),
    ]


def _after_somebody_left(roles: AttackRoles, deed: Deed) -> Sequence[Actor]:
    return [
        Malicious(roles.leaver, at="publish", do=leave()),
        Malicious(roles.liar, at="rollback", do=deed),
    ]
