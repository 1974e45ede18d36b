"""Attacks with two signatures for one place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import counted, delayed, unblamed
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import twice, twice_later
from gopa.adversary.malicious import Actor, Malicious
from gopa.adversary.setup import SMALL

_attack = partial(attack, family="equivocation", aim=counted, setup=SMALL)


@_attack("equivocate", "04-E3")
def equivocate(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two values for the slot of its publish, to show one to each half of the readers.

    Caught: the board keeps the second entry as evidence.
    Costs: it is struck from every list of the round, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="publish", do=twice())]


@_attack("equivocate-key", "04-E3")
def equivocate_key(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two joins, so that neighbours might share other keys with it.

    Caught: the board keeps the second entry as evidence.
    Costs: it is not on the roll, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="join", do=twice())]


@_attack("equivocate-nonce", "04-E3")
def equivocate_nonce(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two reveals, so that readers might compute other coins.

    Caught: the board keeps the second entry as evidence.
    Costs: it is no member, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="coins", do=twice())]


@_attack("equivocate-commitments", "04-E3")
def equivocate_commitments(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two commits, so that it could go on with either.

    Caught: the board keeps the second entry as evidence.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="commit", do=twice())]


@_attack("equivocate-confirmation", "04-E3", aim=unblamed)
def equivocate_confirmation(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two confirmations, as it would for two final closes of a fork.

    Caught: the board keeps the second entry as evidence.
    Costs: it is convicted and barred from what follows; the result stands.
    """
    return [Malicious(roles.liar, at="confirm", do=twice())]


@_attack("second-signature-after-the-final-close", "04-E3", aim=delayed)
def second_signature(roles: AttackRoles) -> Sequence[Actor]:
    """Signs a second value behind the final close: to be struck now would undo the final list.

    Caught: evidence counts below the cut of a list and changes none that is posted.
    Costs: it is convicted and barred from what follows; the result stands.
    """
    return [Malicious(roles.liar, at="publish", do=twice_later("publish"))]
