"""Attacks on the draw of noise: seeds that are copied, shared, used again or chosen too late."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gopa.adversary.aims import all_counted, counted, listed_at
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import common_seed, copy_seed, lucky_noise, old_seed, shift
from gopa.adversary.malicious import NOISE, PROOFS, Actor, Malicious
from gopa.adversary.setup import RECOVERING, SMALL, TWO_ROUNDS
from gopa.contract.phases import Phase

_LEAST: Final = 2

_attack = partial(attack, family="noise", setup=RECOVERING, needs=(PROOFS, NOISE))


@_attack("noise-off-by-one", "04-K3", aim=counted)
def noise_off_by_one(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes one unit of noise more than seed and coins decide.

    Caught: the proof of the commit links the output to the draw, and fails.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at=phase, do=shift(1)) for phase in ("commit", "publish")]


@_attack("noise-chosen-after-coins", "04-K3", aim=counted)
def noise_chosen_after_coins(roles: AttackRoles) -> Sequence[Actor]:
    """Looks at the coins, tries seeds until the noise is large, and proves that one right.

    Caught: the proof is checked for the seed that was committed in the join.
    Costs: it is left out before its neighbours publish, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="commit", do=lucky_noise(_LEAST))]


@_attack("copied-noise-seed", "04-J5", aim=listed_at(Phase.JOIN), setup=SMALL)
def copied_noise_seed(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with the victim's commitment to its seed, so that two noises would be related.

    Caught: no seed appears twice in a session; the later join is removed.
    Costs: it takes no part in the round. It is not convicted: a board that delays an honest
    join could have put a copy in front of it.
    """
    return [Malicious(roles.liar, at="join", do=copy_seed(roles.victim))]


@_attack("shared-noise-seed", "04-J5", aim=all_counted)
def shared_noise_seed(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders join with one seed that both know, and prove everything about it.

    Caught: no seed appears twice in a session; the later join is removed.
    Costs: one of the two takes no part in the round.
    """
    deed = common_seed(b"a seed of two")
    return [Malicious(each, at="join", do=deed) for each in (roles.liar, roles.accomplice)]


@_attack("reused-noise-seed", "04-J5", aim=counted, setup=TWO_ROUNDS)
def reused_noise_seed(roles: AttackRoles) -> Sequence[Actor]:
    """Uses the seed of its noise again in the next round, where it knows what comes of it.

    Caught: no seed appears twice in a session; the later join is removed.
    Costs: it is convicted, since nobody else could have opened that seed.
    """
    return [Malicious(roles.liar, at="join", do=old_seed(), rounds={2})]
