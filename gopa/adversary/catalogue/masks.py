"""Attacks with masks: edges, self-masks and shares that are not what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gopa.adversary.aims import counted, harmful, listed_at
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    conspire,
    copy_self_mask,
    leave,
    missing_edge,
    no_self_mask,
    no_shares,
    same_edge_twice,
    skip,
    wrong_edge,
    wrong_share,
)
from gopa.adversary.malicious import PROOFS, RECOVERY, Actor, Deed, Malicious
from gopa.adversary.setup import RECOVERING, ROOMY, SIGNED, SMALL
from gopa.contract.phases import Phase

_BIAS: Final = 1_000_000

_attack = partial(attack, family="masks", aim=counted, setup=RECOVERING)


@_attack("wrong-mask", "04-A3")
def wrong_mask(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to another mask on the edge to the victim than their keys give.

    Caught: the edge is void and masks nothing; the victim shows the key, which convicts the liar.
    Costs: it is left out and convicted; its neighbours open the edges to it.
    """
    return _quietly(roles, wrong_edge(roles.victim))


@_attack("wrong-mask-signed", "04-A3", setup=SIGNED)
def wrong_mask_signed(roles: AttackRoles) -> Sequence[Actor]:
    """The same in a session without proofs, where edges are hashes of keys.

    Caught: the edge is void and masks nothing; the victim shows the key, which convicts the liar.
    Costs: it is left out and convicted; its neighbours open the edges to it.
    """
    return _quietly(roles, wrong_edge(roles.victim))


@_attack("one-mask-twice", "04-A3")
def one_mask_twice(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to one mask for two of its edges.

    Caught: the neighbour that finds another mask than its own shows the key.
    Costs: it is left out and convicted; its neighbours open the edges to it.
    """
    return _quietly(roles, same_edge_twice())


@_attack("missing-edge", "04-K1", aim=listed_at(Phase.COMMIT), setup=SMALL)
def missing_edge_(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to one edge less than it has neighbours, so that one of them has no mask with it.

    Caught: there is exactly one edge for each neighbour.
    Costs: it is left out before its neighbours publish, and convicted.
    """
    return [Malicious(roles.liar, at="commit", do=missing_edge())]


@_attack("no-shares", "04-K1", aim=listed_at(Phase.COMMIT), needs=(RECOVERY,))
def no_shares_(roles: AttackRoles) -> Sequence[Actor]:
    """Deals nobody a share of its self-mask, so that nobody could recover it after a veto.

    Caught: there is exactly one share for each neighbour.
    Costs: it is left out before its neighbours publish, and convicted.
    """
    return [Malicious(roles.liar, at="commit", do=no_shares())]


@_attack("wrong-share", "04-A4", needs=(RECOVERY,))
def wrong_share_(roles: AttackRoles) -> Sequence[Actor]:
    """Deals the victim a share that does not fit, so that fewer could recover its self-mask.

    Caught: the victim checks the share and shows the key it was sealed with.
    Costs: it is left out and convicted; its neighbours open the edges to it.
    """
    return [Malicious(roles.liar, at="commit", do=wrong_share(roles.victim))]


@_attack("zero-self-mask", "04-K2", aim=listed_at(Phase.COMMIT), setup=SMALL, needs=(PROOFS,))
def zero_self_mask(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to no self-mask: a value that is rolled back would be bare once its edges are open.

    Caught: a self-mask is a canonical point and not the identity.
    Costs: it is left out before its neighbours publish, and convicted.
    """
    return [
        Malicious(roles.liar, at="commit", do=no_self_mask()),
        Malicious(roles.liar, at="publish", do=no_self_mask()),
        Malicious(roles.liar, at="unmask", do=skip()),
    ]


@_attack("copied-self-mask", "04-P1", aim=listed_at(Phase.PUBLISH), setup=SMALL, needs=(PROOFS,))
def copied_self_mask(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to the victim's self-mask, to take part with one that it never has to open.

    Caught: its value does not open the product of its commitments.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="commit", do=copy_self_mask(roles.victim))]


@_attack("hidden-residual", "04-O3", aim=harmful, setup=ROOMY)
def hidden_residual(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders agree on a huge mask that cancels; one leaves, the other does not open it.

    The mask of an edge that stays closed would stay in the sum: any bias they like.

    Caught: whoever does not open an edge that it owes is removed as well, and its mask with it.
    Costs: both are out of the result.
    """
    return [
        Malicious(roles.liar, at="commit", do=conspire(roles.leaver, _BIAS)),
        Malicious(roles.leaver, at="commit", do=conspire(roles.liar, _BIAS)),
        Malicious(roles.leaver, at="publish", do=leave()),
    ]


def _quietly(roles: AttackRoles, deed: Deed) -> Sequence[Actor]:
    """A lie about an edge, by somebody who does not complain that the edge is void."""
    return [
        Malicious(roles.liar, at="commit", do=deed),
        Malicious(roles.liar, at="accuse", do=skip()),
    ]
