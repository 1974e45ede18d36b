"""Attacks with keys, and on who takes part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import counted, listed_at, stranger_listed
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    bring_stranger,
    common_key,
    copy_key,
    last_word,
    no_key,
    related_key,
    unproved_key,
)
from gopa.adversary.malicious import Actor, Malicious
from gopa.adversary.setup import RECOVERING, SMALL
from gopa.contract.phases import Phase

_attack = partial(attack, family="keys", aim=listed_at(Phase.JOIN), setup=SMALL)


@_attack("unproved-key", "04-J3", aim=counted)
def unproved_key_(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with a key and a proof of possession that does not hold.

    Caught: possession is proved before anybody is on the roll.
    Costs: it is not on the roll, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="join", do=unproved_key())]


@_attack("copied-dh-key", "04-J3")
def copied_key(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with the victim's key and the victim's proof of possession.

    Without the check both would hold one key, and the victim would be thrown out as well.

    Caught: the proof is bound to the party, and fails for any other.
    Costs: it is not on the roll, convicted, and barred from what follows. The victim stays.
    """
    return [Malicious(roles.liar, at="join", do=copy_key(roles.victim))]


@_attack("related-dh-key", "04-J3", aim=listed_at(Phase.COMMIT))
def related_key_(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with twice the victim's key, and commits to edges that nobody can agree with.

    Each neighbour then shows the key that it shares with the liar, which is twice the victim's.

    Caught: it cannot prove possession of a key whose secret is the victim's.
    Costs: it is not on the roll, convicted, and barred from what follows.
    """
    return [
        Malicious(roles.liar, at="join", do=related_key(roles.victim)),
        Malicious(roles.liar, at="commit", do=last_word()),
    ]


@_attack("key-of-two", "04-J4", setup=RECOVERING)
def key_of_two(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders join with one key, whose secret both have and prove.

    Caught: holders of one key are all removed.
    Costs: neither is on the roll; both are convicted.
    """
    deed = common_key(b"a key of two")
    return [Malicious(each, at="join", do=deed) for each in (roles.liar, roles.accomplice)]


@_attack("no-key", "04-J2")
def no_key_(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with the identity for a key: everybody would know all masks with it.

    Caught: a key is a canonical point and not the identity; besides, nothing proves possession.
    Costs: it is not on the roll, and convicted.
    """
    return [Malicious(roles.liar, at="join", do=no_key())]


@_attack("stranger", "04-J1", aim=stranger_listed)
def stranger(roles: AttackRoles) -> Sequence[Actor]:
    """Brings somebody along who is not on the roster, with a key and proofs of its own.

    Caught: only entries of the roster count.
    Costs: nothing; the stranger is passed over.
    """
    return [Malicious(roles.liar, at="join", do=bring_stranger())]
