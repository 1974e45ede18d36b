"""Attacks with inputs and noise: a liar that moves the mean, or hides less than it promised."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gopa.adversary.aims import counted, listed_at
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    copy_input,
    copy_proof,
    scale_noise,
    shift,
    spoil_proof,
    spoil_value,
    spoil_weighing,
)
from gopa.adversary.malicious import NOISE, PROOFS, WEIGHTS, Actor, Malicious
from gopa.adversary.setup import RECOVERING, VECTORS, WEIGHTED
from gopa.contract.phases import Phase

_BEYOND: Final = 1000

_attack = partial(attack, family="values", aim=counted, setup=RECOVERING, needs=(PROOFS,))


@_attack("out-of-range-input", "04-K3")
def out_of_range_input(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes an input far above the range, consistently from the join to the value.

    Caught: the proof of the commit is about an input in range, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return _everywhere(roles, _BEYOND)


@_attack("negative-input", "04-K3")
def negative_input(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes an input below zero, which would wrap around the order of the group.

    Caught: the proof of the commit is about an input in range, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return _everywhere(roles, -_BEYOND)


@_attack("zero-noise", "04-K3", needs=(PROOFS, NOISE))
def zero_noise(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes its input without the noise that its seed and the coins decide.

    Caught: the proof of the commit links the output to the draw, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [
        Malicious(roles.liar, at="commit", do=scale_noise(0)),
        Malicious(roles.liar, at="publish", do=scale_noise(0)),
    ]


@_attack("scale-noise", "04-K3", needs=(PROOFS, NOISE))
def scaled_noise(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes ten times its noise, to spoil the mean while it looks like chance.

    Caught: the proof of the commit links the output to the draw, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [
        Malicious(roles.liar, at="commit", do=scale_noise(10)),
        Malicious(roles.liar, at="publish", do=scale_noise(10)),
    ]


@_attack("late-change-of-value", "04-P1")
def late_change(roles: AttackRoles) -> Sequence[Actor]:
    """Proves everything, then publishes a value that is larger than the one it proved.

    Caught: the value does not open the product of its commitments.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=shift(_BEYOND))]


@_attack("spoiled-value", "04-P1")
def spoiled_value(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes a value in which one bit is wrong.

    Caught: the value does not open the product of its commitments.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=spoil_value())]


@_attack("spoiled-proof", "04-K3")
def spoiled_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Commits with a proof in which one bit is wrong.

    Caught: the proof does not hold.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="commit", do=spoil_proof())]


@_attack("copied-proof", "04-K3", aim=listed_at(Phase.COMMIT))
def copied_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Commits to a victim's output with the victim's proof.

    Caught: the proof is bound to the party, and fails for any other.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="commit", do=copy_proof(roles.victim))]


@_attack("copied-commitment", "04-K3")
def copied_commitment(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with the victim's commitment to its input, to be bound to the same input unseen.

    Caught: the proof of the commit is about that commitment, and only the victim can open it.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="join", do=copy_input(roles.victim))]


@_attack("out-of-range-vector", "04-K3", setup=VECTORS)
def out_of_range_vector(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes a vector with one coordinate far above the range, consistently.

    Caught: the proof of the commit is about every coordinate, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return _everywhere(roles, _BEYOND)


@_attack("value-above-weight", "04-K3", setup=WEIGHTED, needs=(PROOFS, WEIGHTS))
def value_above_weight(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes a value in range that is above its weight, and so counts more than it may.

    Caught: no coordinate may exceed the last one; the proof of that fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return _everywhere(roles, 1)


@_attack("spoiled-weighing", "04-K3", setup=WEIGHTED, needs=(PROOFS, WEIGHTS))
def spoiled_weighing(roles: AttackRoles) -> Sequence[Actor]:
    """Commits with one wrong bit in the proof that its weight is the largest coordinate.

    Caught: it is judged together with the proof about input and noise.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="commit", do=spoil_weighing())]


def _everywhere(roles: AttackRoles, by: int) -> Sequence[Actor]:
    return [
        Malicious(roles.liar, at=phase, do=shift(by)) for phase in ("join", "commit", "publish")
    ]
