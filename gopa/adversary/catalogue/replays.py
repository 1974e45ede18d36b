"""Attacks that say again what was said elsewhere, and messages that are none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gopa.adversary.aims import counted, unblamed
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    claim_another_log,
    garbage,
    half,
    key_of_another_session,
    old_key,
    oversized,
    replay,
    say_again,
    shift,
)
from gopa.adversary.malicious import Actor, Malicious
from gopa.adversary.setup import RECOVERING, SIGNED_TWICE, TWO_ROUNDS

_attack = partial(attack, family="replays", aim=counted, setup=RECOVERING)


@_attack("replay-round", "04-E4", setup=SIGNED_TWICE)
def replay_round(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes in the second round what it published in the first, with the masks of that one.

    No proof would notice: the session has none.

    Caught: every message names the close it acts on, and that one is of another round.
    Costs: it is left out, and its neighbours open the edges to it.
    """
    return [Malicious(roles.liar, at="publish", do=replay(), rounds={2})]


@_attack("replayed-possession", "04-J3", setup=TWO_ROUNDS)
def replayed_possession(roles: AttackRoles) -> Sequence[Actor]:
    """Joins the second round with its key of the first and the proof that came with it.

    With a static key an edge that is opened in one round would open it in others.

    Caught: the proof is bound to the round, and to the message that opened it.
    Costs: it is not on the roll, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="join", do=old_key(), rounds={2})]


@_attack("replay-session", "04-J3")
def replay_session(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with a key and a proof of possession that it made for another session.

    Caught: the proof is bound to the session.
    Costs: it is not on the roll, convicted, and barred from what follows.
    """
    return [Malicious(roles.liar, at="join", do=key_of_another_session())]


@_attack("second-message", "04-E2", aim=unblamed)
def second_message(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes twice, in two slots, so that readers might take one or the other.

    Caught: a party has one message in a phase, the first.
    Costs: the first one counts; it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=say_again())]


@_attack("garbage", "04-S4")
def garbage_(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes its value with a byte behind it: two readers might read two messages.

    Caught: no honest message is as long, and a message is consumed exactly.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=garbage())]


@_attack("oversized-message", "04-S4")
def oversized_message(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes its value with fifty thousand bytes behind it, for everybody to read and keep.

    Caught: the manifest bounds the size of every message, and no honest one is larger.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=oversized())]


@_attack("half-a-message", "04-S4", "04-P2", over_http=("04-E1",))
def half_a_message(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes its value as the second of two chunks of which the first never comes.

    Caught: no honest message of this phase has two chunks.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=half())]


@_attack("hides-behind-a-fork", "04-P1")
def hides_behind_a_fork(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes a larger value than it proved, and says that it was shown another log.

    Caught: the value does not open the product of its commitments.
    Costs: it is left out, and its neighbours open the edges to it. It is not convicted, since
    a fork could explain what it did.
    """
    return [
        Malicious(roles.liar, at="publish", do=shift(1000)),
        Malicious(roles.liar, at="publish", do=claim_another_log()),
    ]
