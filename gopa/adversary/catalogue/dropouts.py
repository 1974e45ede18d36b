"""Attacks by leaving, by coming back, and by keeping honest messages from the log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import (
    all_counted,
    counted,
    harmful,
    in_the_final_list,
    redrawn,
    unrecorded,
)
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import hold, late, leave, listen, mirrored_input, skip, spoil_proof
from gopa.adversary.malicious import PROOFS, Actor, Malicious
from gopa.adversary.setup import ROOMY, SMALL, SPARSE, TWO_ROUNDS

_attack = partial(attack, family="dropouts", setup=SMALL)


@_attack("abort-after-coins", "04-K4", aim=unrecorded)
def abort_after_coins(roles: AttackRoles) -> Sequence[Actor]:
    """Looks at the coins, and so at its noise, and leaves because it does not like it.

    Caught: its absence is in the log, and in the result, which names everybody that is not in it.
    Costs: it is out, recorded as lost after the coins, and counts towards the bound of the plan.
    """
    return [Malicious(roles.liar, at="commit", do=leave())]


@_attack("withheld-nonce", "04-V1", aim=unrecorded)
def withheld_nonce(roles: AttackRoles) -> Sequence[Actor]:
    """Keeps its nonce when it has seen those of the others, to choose between two coins.

    Caught: who reveals nothing is no member; the coins it could choose from are reported.
    Costs: it is out, and its neighbours are those that chose it no more.
    """
    return [Malicious(roles.liar, at="coins", do=skip())]


@_attack("draws-until-it-likes", "04-L3", aim=redrawn, setup=TWO_ROUNDS)
def draws_until_it_likes(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders leave after the coins in every attempt, until the coins suit them.

    Caught: each abort names them, and a result has no more attempts than the plan pays for.
    Costs: there is no first result; the next one is theirs to take part in.
    """
    rounds = {1, 2, 3}
    return [
        Malicious(each, at="commit", do=leave(), rounds=rounds)
        for each in (roles.liar, roles.accomplice)
    ]


@_attack("late-return", "04-P2", "04-C2", aim=in_the_final_list)
def late_return(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes behind the close, when the others are about to open its edges, to be taken back.

    Caught: what comes behind the close changes no list, and lists never grow.
    Costs: it is rolled back and out of the result; not convicted, as a slow board is no lie.
    """
    return [Malicious(roles.liar, at="publish", do=late())]


@_attack("withheld-publish", "04-P2", aim=harmful)
def withheld_publish(roles: AttackRoles) -> Sequence[Actor]:
    """A board holds the victim's value back until all its edges are open, then shows it.

    Caught: the victim is not in the final list, sees that, and never opens its self-mask.
    Costs: the victim is out of the result. Its receipt convicts a board that had given one.
    """
    return [Malicious(roles.victim, at="publish", do=hold("rollback"), board=True)]


@_attack("selective-dropping", "04-L2", "04-P2", aim=harmful, setup=SPARSE)
def selective_dropping(roles: AttackRoles) -> Sequence[Actor]:
    """A board drops all neighbours of the victim but one, who tells it their mask.

    Caught: whoever lost more neighbours than the plan allows is removed, and stops by itself.
    Costs: an attempt without a result, at most; the dropped values are rolled back.
    """
    dropped = (roles.accomplice, roles.leaver)
    return [
        Malicious(roles.liar, at="publish", do=listen()),
        *(Malicious(each, at="publish", do=skip(), board=True) for each in dropped),
    ]


@_attack("return-after-conviction", "04-K3", "04-X5", aim=all_counted, setup=TWO_ROUNDS)
def return_after_conviction(roles: AttackRoles) -> Sequence[Actor]:
    """Is convicted of a false proof in the first round, and takes part in the second.

    Caught: whoever posted an invalid proof is barred from all later rounds.
    Costs: it takes no part any more.
    """
    return [Malicious(roles.liar, at="commit", do=spoil_proof(), rounds={1})]


@_attack("changed-input-in-retry", "04-J5", aim=counted, setup=ROOMY, needs=(PROOFS,))
def changed_input_in_retry(roles: AttackRoles) -> Sequence[Actor]:
    """Takes another input in the second attempt, when its accomplice has seen the first sum.

    Caught: the commitment to the input is, byte for byte, that of the first attempt.
    Costs: it is out of the attempt, and convicted.
    """
    return [
        Malicious(roles.leaver, at="unmask", do=skip(), rounds={1}),
        Malicious(roles.liar, at="join", do=mirrored_input(), rounds={2}),
    ]
