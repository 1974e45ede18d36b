"""Attacks on vectors that are proved row by row: `specs/14-long-vectors.md`, section 14."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gopa.adversary.aims import counted, gets_off, harmful, listed_at, unrecorded
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import (
    abuse_carries,
    add_to_the_sum,
    aim_noise,
    blind_for_another_close,
    copy_lengths,
    copy_rows,
    fill_padding,
    head_alone,
    leave,
    lengthen,
    mirrored_input,
    old_proof,
    other_noise,
    other_seed,
    overlook,
    skip,
    steal_permutation,
    twice,
    two_tails,
    wrap_entry,
)
from gopa.adversary.deeds.organising import AlteredClose, listing, with_final
from gopa.adversary.malicious import ROWS as IN_ROWS
from gopa.adversary.malicious import SEEDS, Actor, Malicious, MaliciousOrganiser
from gopa.adversary.setup import (
    ROWS,
    ROWS_RECOVERING,
    ROWS_SPARE,
    ROWS_TWICE,
    ROWS_WEIGHTED,
)
from gopa.contract.phases import Phase

_BIAS: Final = 1_000

_attack = partial(attack, family="rows", aim=counted, setup=ROWS, needs=(IN_ROWS,))


# Before the coins


@_attack("long-vector", "14-P3")
def long_vector(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes a vector that is ten times as long as it may be, and proves all else about it.

    Caught: no proof holds that says its squares add up to the bound at most.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="join", do=lengthen(100))]


@_attack("long-for-its-weight", "14-P3", setup=ROWS_WEIGHTED)
def long_for_its_weight(roles: AttackRoles) -> Sequence[Actor]:
    """Contributes a vector that is short enough for a large weight, beside a small weight.

    Caught: the proof says of the other coordinates that they are as short as the weight allows.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="join", do=lengthen(30))]


@_attack("spiked-noise", "14-P3")
def spiked_noise(roles: AttackRoles) -> Sequence[Actor]:
    """Has one entry of noise above the spike, which the coins will put into some coordinate.

    Caught: no proof holds that says its eighth powers add up to the bound at most.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="join", do=aim_noise(100, 1))]


@_attack("filled-padding", "14-P3", aim=listed_at(Phase.COMMIT))
def filled_padding(roles: AttackRoles) -> Sequence[Actor]:
    """Has a large entry behind the last coordinate, where squares might wrap unseen.

    Caught: what is proved is about all positions, padding included.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [
        Malicious(roles.liar, at="join", do=fill_padding(1 << 20)),
        Malicious(roles.liar, at="publish", do=leave()),
    ]


@_attack("wrapped-entry", "14-P3", aim=listed_at(Phase.COMMIT))
def wrapped_entry(roles: AttackRoles) -> Sequence[Actor]:
    """Has an entry of half the order of the group, twice of which is a small integer.

    Caught: a test takes or leaves each entry, and with it the proof does not hold.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="join", do=wrap_entry())]


@_attack("copied-rows", "14-P3", aim=listed_at(Phase.COMMIT))
def copied_rows(roles: AttackRoles) -> Sequence[Actor]:
    """Joins with the rows of the victim's vector, to be bound to the same input unseen.

    Caught: it cannot answer the tests of rows that it cannot open.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="join", do=copy_rows(roles.victim))]


@_attack("rows-changed-in-retry", "04-J5")
def rows_changed_in_retry(roles: AttackRoles) -> Sequence[Actor]:
    """Takes another vector in the second attempt, when its accomplice has seen the first sum.

    Caught: the rows of the vector are, byte for byte, those of the first attempt.
    Costs: it is out of the attempt, and convicted.
    """
    return [
        Malicious(roles.leaver, at="unmask", do=skip(), rounds={1}),
        Malicious(roles.liar, at="join", do=mirrored_input(), rounds={2}),
    ]


# Behind the coins


@_attack("copied-lengths", "14-P3", aim=listed_at(Phase.COMMIT))
def copied_lengths(roles: AttackRoles) -> Sequence[Actor]:
    """Commits with the tests and the proof of the victim.

    Caught: the proof begins with the rows and the name of its author.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="commit", do=copy_lengths(roles.victim))]


@_attack("replayed-lengths", "14-P3", setup=ROWS_TWICE)
def replayed_lengths(roles: AttackRoles) -> Sequence[Actor]:
    """Answers the tests of the second round with what it proved in the first one.

    Caught: the proof begins with the round and the close that it acts on.
    Costs: it is left out before its neighbours publish, and barred for good.
    """
    return [Malicious(roles.liar, at="commit", do=old_proof(), rounds={2})]


@_attack("head-alone", "04-K4", aim=unrecorded)
def head_without_a_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Posts the head of its commit, which is all that neighbours read, and no proof behind it.

    Caught: a message counts when it is whole; who is missing is recorded.
    Costs: it is left out before its neighbours publish.
    """
    return [Malicious(roles.liar, at="commit", do=head_alone())]


@_attack("two-proofs-behind-a-head", "04-E3")
def two_proofs(roles: AttackRoles) -> Sequence[Actor]:
    """Signs two proofs behind one head, which hold or not as it likes for each reader.

    Caught: two entries in one slot convict, also where the head stands in another one.
    Costs: it is left out before its neighbours publish, and convicted.
    """
    return [Malicious(roles.liar, at="commit", do=two_tails())]


@_attack("noise-after-the-coins", "14-P6")
def noise_after_the_coins(roles: AttackRoles) -> Sequence[Actor]:
    """Looks at the coins, draws noise until it likes it, and masks its vector with that.

    Caught: the words are proved to have the noise whose rows stand in its join.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=other_noise())]


@_attack("permutation-of-another", "14-P6")
def permutation_of_another(roles: AttackRoles) -> Sequence[Actor]:
    """Moves its noise as the coins decide it for the victim.

    Caught: the words are proved to have the noise as the coins move it for their author.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=steal_permutation(roles.victim))]


# Behind the words


@_attack("abused-carries", "14-P6")
def abused_carries(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes larger words, and has carries that make up for it mod the order of the group.

    Caught: such a carry is no small integer, and the tests of carries do not fit.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=abuse_carries(_BIAS))]


@_attack("words-changed-behind-the-close", "04-E3")
def words_changed(roles: AttackRoles) -> Sequence[Actor]:
    """Signs its words twice, to go on with those that fit the points when it knows them.

    Caught: two entries in one slot convict; the points follow from a root over both.
    Costs: it is struck, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="publish", do=twice())]


@_attack("two-answers-of-one-pad", "04-E3")
def two_answers(roles: AttackRoles) -> Sequence[Actor]:
    """Proves its words twice, to say later that either was not its own.

    Caught: two entries in one slot convict.
    Costs: it is struck, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="prove", do=twice())]


@_attack("withheld-proof", "14-P8", aim=unrecorded)
def withheld_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Looks at the points, and does not prove its words because others would suit it better.

    Caught: whoever has not proved its words counts as one that has not published; who is missing
    is recorded, and points are as many as there are choices of who may be.
    Costs: it is out, its neighbours open the edges to it, and it sits out the retry.
    """
    return [Malicious(roles.liar, at="prove", do=leave())]


@_attack("replayed-proof", "14-P6", setup=ROWS_TWICE)
def replayed_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Proves the words of the second round with the proof of the first one.

    Caught: the proof begins with the round and the close that it acts on.
    Costs: it is left out, its neighbours open the edges to it, and it is convicted.
    """
    return [Malicious(roles.liar, at="prove", do=old_proof(), rounds={2})]


# Masks


@_attack("false-edge", "14-K6", aim=harmful)
def false_edge(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes larger words, and says that the mask of the edge to the victim is to blame.

    Caught: both ends disagree about the edge and open it, and its key says who lied.
    Costs: it is left out, and barred for good.
    """
    return [Malicious(roles.liar, at="publish", do=add_to_the_sum(_BIAS, roles.victim))]


@_attack("false-edge-of-two", "14-K6", aim=harmful, setup=ROWS_SPARE)
def false_edge_of_two(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders say the same false thing about their edge; one of them leaves later.

    While both stay it cancels; when one is gone, what the other one added would stay in the sum.

    Caught: whoever stays owes the key of the edge, from which something else follows.
    Costs: both are out; who stayed is barred for good.
    """
    return [
        Malicious(roles.liar, at="publish", do=add_to_the_sum(_BIAS, roles.accomplice)),
        Malicious(roles.accomplice, at="publish", do=add_to_the_sum(-_BIAS, roles.liar)),
        Malicious(roles.accomplice, at="rollback", do=leave()),
        Malicious(roles.leaver, at="prove", do=leave()),
    ]


@_attack("unopened-dispute", "04-O3", aim=harmful, setup=ROWS_SPARE)
def unopened_dispute(roles: AttackRoles) -> Sequence[Actor]:
    """Two colluders disagree about their edge, and neither of them opens it.

    Caught: both owe the key, and whoever does not open what it owes is gone.
    Costs: both are out, and sit out the retry.
    """
    return [
        Malicious(roles.liar, at="publish", do=add_to_the_sum(_BIAS, roles.accomplice)),
        Malicious(roles.liar, at="prove", do=overlook(roles.accomplice)),
        Malicious(roles.accomplice, at="prove", do=overlook(roles.liar)),
    ]


@_attack("edge-of-another-close", "14-K6")
def edge_of_another_close(roles: AttackRoles) -> Sequence[Actor]:
    """Says what the mask of an edge is with the blinding that belongs to another close.

    Caught: both ends disagree about the edge and open it, and its key says who lied.
    Costs: it is left out, and barred for good.
    """
    return [Malicious(roles.liar, at="prove", do=blind_for_another_close(roles.victim))]


@_attack("false-self-mask", "14-K6", aim=harmful)
def false_self_mask(roles: AttackRoles) -> Sequence[Actor]:
    """Publishes larger words, and says that its own mask is to blame: a veto, or a wrong sum.

    Caught: its seed gives another mask than it proved, which convicts it and ends the attempt.
    Costs: it is barred for good; the others come to their result in the retry.
    """
    return [Malicious(roles.liar, at="publish", do=add_to_the_sum(_BIAS))]


@_attack(
    "another-seed-in-rows", "04-U5", aim=harmful, setup=ROWS_RECOVERING, needs=(IN_ROWS, SEEDS)
)
def another_seed(roles: AttackRoles) -> Sequence[Actor]:
    """Deals shares of another seed than its own and keeps its own, to shift the sum or to veto.

    Caught: the dealt seed does not have the hash of its self-mask, which convicts the dealer.
    Costs: it is barred for good; the others come to their result in the retry.
    """
    return [
        Malicious(roles.liar, at="commit", do=other_seed(), rounds={1}),
        Malicious(roles.liar, at="unmask", do=skip(), rounds={1}),
    ]


@_attack("final-in-spite-of-a-dispute", "14-P8", family="organiser", aim=gets_off)
def final_in_spite_of_a_dispute(roles: AttackRoles) -> Sequence[Actor]:
    """Calls a close of prove final though an accomplice and the victim disagree about their edge.

    Caught: whether a close is final follows from what both ends of each edge said.
    Costs: the log convicts it, and the session ends.
    """
    return [
        MaliciousOrganiser(AlteredClose(Phase.PROVE, with_final(final=True))),
        Malicious(roles.liar, at="publish", do=add_to_the_sum(_BIAS, roles.victim)),
    ]


@_attack("listed-without-a-proof", "04-C3", family="organiser", aim=gets_off)
def listed_without_a_proof(roles: AttackRoles) -> Sequence[Actor]:
    """Lists an accomplice whose commit is a head alone: neighbours are not shown what follows it.

    Caught: a list names those whose messages are whole and hold, whatever neighbours can see.
    Costs: the log convicts it, and the session ends.
    """
    return [
        MaliciousOrganiser(AlteredClose(Phase.COMMIT, listing(roles.liar))),
        Malicious(roles.liar, at="commit", do=head_alone()),
    ]


@_attack("listed-without-proving", "04-C3", family="organiser", aim=gets_off)
def listed_without_proving(roles: AttackRoles) -> Sequence[Actor]:
    """Lists an accomplice that says what its masks are, and does not prove its words.

    Caught: a list names those whose messages are whole and hold, whatever neighbours can see.
    Costs: the log convicts it, and the session ends.
    """
    return [
        MaliciousOrganiser(AlteredClose(Phase.PROVE, listing(roles.liar))),
        Malicious(roles.liar, at="prove", do=head_alone()),
    ]
