"""Attacks with accusations: to get somebody honest convicted, or thrown out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import counted, counted_later
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import accuse, hold, skip, wrong_edge
from gopa.adversary.malicious import RECOVERY, Actor, Malicious
from gopa.adversary.setup import RECOVERING, SMALL, TWO_ROUNDS
from gopa.contract.party import About

_attack = partial(attack, family="accusations", aim=counted, setup=RECOVERING)


@_attack("false-accusation", "04-A1", setup=SMALL)
def false_accusation(roles: AttackRoles) -> Sequence[Actor]:
    """Accuses the victim about an edge on which both agree, with the right key and its proof.

    Caught: only an edge that is void can be complained about.
    Costs: it is left out, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="accuse", do=accuse(roles.victim))]


@_attack("false-accusation-of-a-share", "04-A5", needs=(RECOVERY,))
def false_accusation_of_a_share(roles: AttackRoles) -> Sequence[Actor]:
    """Accuses the victim of having dealt a wrong share, with the right key and its proof.

    Caught: everybody opens the share with that key, and it fits.
    Costs: it is left out, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="accuse", do=accuse(roles.victim, About.SHARE))]


@_attack("forged-accusation", "04-A2", needs=(RECOVERY,))
def forged_accusation(roles: AttackRoles) -> Sequence[Actor]:
    """Accuses the victim of a wrong share, and shows a key with which it cannot be opened.

    Caught: the proof that this is the key of the two does not hold.
    Costs: it is left out, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="accuse", do=accuse(roles.victim, About.SHARE, forged=True))]


@_attack("frame-the-neighbour", "04-A3", setup=SMALL, over_http=("04-A2", "04-A3"))
def frame_the_neighbour(roles: AttackRoles) -> Sequence[Actor]:
    """Spoils the edge to the victim itself, then accuses the victim with a key that never was.

    Caught: the victim shows the right key, which convicts the liar; the forged one fails.
    Costs: it is left out, convicted, and barred from what follows.
    """
    return [
        Malicious(roles.liar, at="commit", do=wrong_edge(roles.victim)),
        Malicious(roles.liar, at="accuse", do=skip()),
        Malicious(roles.liar, at="accuse", do=accuse(roles.victim, forged=True)),
    ]


@_attack(
    "late-accusation",
    "04-A1",
    "04-X5",
    aim=counted_later,
    setup=TWO_ROUNDS,
    over_http=("04-C2",),
)
def late_accusation(roles: AttackRoles) -> Sequence[Actor]:
    """Accuses falsely behind the close of publish, where it changes no list any more.

    Caught: it is judged before the next round opens.
    Costs: it is convicted, and barred from what follows.
    """
    return [
        Malicious(roles.liar, at="accuse", do=accuse(roles.victim), rounds={1}),
        Malicious(roles.liar, at="accuse", do=hold("publish"), rounds={1}),
    ]
