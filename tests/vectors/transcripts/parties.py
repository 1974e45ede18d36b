"""Parties that lie, each in one way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from gopa.adversary.deeds import (
    accuse,
    another_nonce,
    claim_another_log,
    conspire,
    copy_key,
    copy_proof,
    copy_seed,
    half,
    hold,
    missing_edge,
    other_seed,
    spoil_proof,
    spoil_value,
    spoil_weighing,
    unproved_key,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.contract.organiser import AbortReason
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour, Script
from gopa.protocol.simulation.script import Garbage, PostsLate, Replay, Skip, Twice, TwiceLater
from tests.lies import lying
from tests.vectors.transcripts.behaviours import (
    GENERATOR,
    first_edge_is,
    flat_shares,
    generator_as_input,
    key_of_two,
    nothing_as,
    shifted,
    with_stranger,
)
from tests.vectors.transcripts.cases import Case, Ended, aborts, blame, sums
from tests.vectors.transcripts.worlds import (
    CURIOUS,
    LEAVING,
    PLAIN,
    RECOVERY,
    SEEDS,
    SIGNED,
    SIGNED_SEEDS,
    SIX,
    TWICE,
    VECTORS,
    WEIGHTED,
    World,
)

LIAR, LEAVER, VICTIM = 1, 3, 0
ALL, REST = (0, 1, 2, 3, 4), (0, 2, 3, 4)
FIRST, SECOND = frozenset({1}), frozenset({2})


def lie(
    about: str,
    behaviour: Behaviour,
    *rules: str,
    ends: tuple[Ended, ...] = (sums(*REST),),
    world: World = RECOVERY,
    twin: str = "clean_recovery",
    others: Callable[[Script], Script] = lambda script: script,
    verdict: str = "VALID",
    rounds: int = 1,
    exact: bool = True,
) -> Case:
    """Party 1 lies in one way."""
    script = others(Script()).misbehave(LIAR, behaviour)
    blamed = blame(LIAR, *rules)
    liars = (LIAR,)
    return Case(about, ends, script, world, rounds, liars, twin, blamed, verdict, exact=exact)


def leaves(script: Script) -> Script:
    return script.drop(LEAVER, before=Phase.PUBLISH)


def vetoes(script: Script) -> Script:
    return script.drop(LEAVER, before=Phase.UNMASK)


def _of_another_seed(world: World, twin: str, verdict: str) -> Case:
    return Case(
        "Deals shares of another seed and keeps its own: convicted, and the retry is without it.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(*REST)),
        Script().misbehave(LIAR, lying("commit", other_seed(), FIRST), Skip(Phase.UNMASK, FIRST)),
        world,
        liars=(LIAR,),
        twin=twin,
        blamed=blame(LIAR, "04-U5"),
        verdict=verdict,
    )


STAYERS: Final = (sums(0, 2, 4, 5),)
RETRY: Final = (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 2, 3))

of_six = partial(lie, ends=STAYERS, world=SIX, twin="dropout_of_six", others=leaves)
"""One of its neighbours is gone: it owes an opening."""

of_vectors = partial(lie, ends=(sums(0, 2, 3),), world=VECTORS, twin="clean_vector")
in_words = partial(lie, world=SIGNED, twin="clean_signed", verdict="SIGNED-ONLY")
recovered = partial(lie, ends=(sums(*ALL),))
"""The round stands: others give out shares of its self-mask."""

LIES: Final = {
    "join_key_without_possession": lie(
        "A Diffie-Hellman key with a proof of possession that fails.",
        lying("join", unproved_key()),
        "04-J3",
    ),
    "join_copied_key": lie(
        "Another party's key with its proof of possession.",
        lying("join", copy_key(VICTIM)),
        "04-J3",
    ),
    "join_key_of_two": Case(
        "Two parties join with one key, whose secret both have: both are removed.",
        (sums(0, 3, 4),),
        Script().misbehave(LIAR, key_of_two("two")).misbehave(2, key_of_two("two")),
        RECOVERY,
        liars=(1, 2),
        twin="clean_recovery",
        blamed=blame(LIAR, "04-J4") | blame(2, "04-J4"),
    ),
    "join_copied_noise_seed": lie(
        "Another party's commitment to its noise: the later one is removed.",
        lying("join", copy_seed(VICTIM)),
    ),
    "join_no_message": lie("Bytes that are no join.", Garbage(Phase.JOIN), "04-S4"),
    "join_with_a_stranger": Case(
        "Somebody who is not on the roster posts a join.",
        (sums(*ALL),),
        Script().misbehave(LIAR, with_stranger()),
        RECOVERY,
        liars=(LIAR,),
        twin="clean_recovery",
    ),
    "coins_wrong_nonce": lie(
        "Another nonce than the one whose hash is on the roll.",
        lying("coins", another_nonce()),
        "04-V1",
    ),
    "commit_flipped_proof": lie(
        "One bit of the proof of range and noise is flipped.",
        lying("commit", spoil_proof()),
        "04-K3",
    ),
    "commit_copied_proof": lie(
        "Output and proof of another party.", lying("commit", copy_proof(VICTIM)), "04-K3"
    ),
    "commit_input_out_of_range": lie(
        "The committed input is 1,000 steps above the one that the proof is about.",
        shifted("join", "input", 1000),
        "04-K3",
    ),
    "commit_input_negative": lie(
        "The committed input is 1,000 steps below the one that the proof is about.",
        shifted("join", "input", -1000),
        "04-K3",
    ),
    "commit_noise_not_drawn": lie(
        "The output has one unit of noise more than seed and coins decide.",
        shifted("commit", "output", 1),
        "04-K3",
    ),
    "commit_no_self_mask": lie(
        "The identity in place of a self-mask, so that there would be none.",
        nothing_as("commit", "self_mask"),
        "04-K2",
    ),
    "join_no_input": lie(
        "The identity as commitment to the input: anybody could open it.",
        nothing_as("join", "input"),
        "04-J2",
    ),
    "join_no_noise": lie(
        "The identity as commitment to the seed of the noise.", nothing_as("join", "seed"), "04-J2"
    ),
    "commit_no_output": lie(
        "The identity as commitment to the noisy value.", nothing_as("commit", "output"), "04-K2"
    ),
    "commit_no_coefficient": lie(
        "The identity as coefficient: fewer shares would open the self-mask.",
        flat_shares(),
        "04-K2",
    ),
    "commit_no_edge": lie(
        "The identity on one edge: void, accused and convicted.", first_edge_is(bytes(32)), "04-A3"
    ),
    "commit_edge_missing": lie(
        "One edge less than neighbours.", lying("commit", missing_edge()), "04-K1"
    ),
    "commit_wrong_edge": lie(
        "Another commitment than the neighbour's on one edge: accused and convicted.",
        first_edge_is(GENERATOR),
        "04-A3",
    ),
    "commit_wrong_share": lie(
        "A share that does not fit the coefficients: accused and convicted.",
        lying("commit", wrong_share()),
        "04-A4",
    ),
    "accuse_falsely": lie(
        "An honest edge, with a right proof that shows just that.",
        lying("accuse", accuse()),
        "04-A1",
    ),
    "accuse_without_proof": lie(
        "An honest edge, with a proof of equality that fails.",
        lying("accuse", accuse(proved=False)),
        "04-A1",
    ),
    "accuse_falsely_of_a_share": lie(
        "An honest share, with a right proof that shows just that.",
        lying("accuse", accuse(about=About.SHARE)),
        "04-A5",
    ),
    "accuse_of_a_share_without_proof": lie(
        "An honest share, with a proof of equality that fails.",
        lying("accuse", accuse(about=About.SHARE, proved=False)),
        "04-A2",
    ),
    "publish_wrong_value": lie(
        "A masked value that the commitments do not open to.",
        lying("publish", spoil_value()),
        "04-P1",
    ),
    "publish_no_message": lie("Bytes that are no value.", Garbage(Phase.PUBLISH), "04-S4"),
    "publish_lone_chunk": lie(
        "The second of two chunks, where no honest message has more than one.",
        lying("publish", half()),
        "04-S4",
    ),
    "publish_wrong_value_shown_another_log": Case(
        "A wrong value whose author names a root that this log never had: removed, not convicted.",
        (sums(*REST),),
        Script().misbehave(
            LIAR, lying("publish", spoil_value()), lying("publish", claim_another_log())
        ),
        RECOVERY,
        liars=(LIAR,),
        twin="clean_recovery",
        blamed=blame(LIAR, "04-P1"),
    ),
    "rollback_wrong_opening": of_six(
        "Another key than the edge's.", lying("rollback", wrong_key()), "04-O2"
    ),
    "rollback_refuses": of_six("Opens nothing although it has to.", Skip(Phase.ROLLBACK)),
    "rollback_opens_late": of_six("Opens behind the close.", PostsLate(Phase.ROLLBACK)),
    "rollback_residue_of_two": Case(
        "Two agree on a huge mask, one drops out, the other cannot open it: neither counts.",
        STAYERS,
        Script()
        .misbehave(LIAR, lying("commit", conspire(LEAVER)))
        .misbehave(LEAVER, lying("commit", conspire(LIAR)))
        .drop(LEAVER, before=Phase.PUBLISH),
        SIX,
        liars=(LIAR, LEAVER),
        twin="dropout_of_six",
    ),
    "confirm_refuses": recovered(
        "Does not confirm: its self-mask is recovered.", Skip(Phase.CONFIRM)
    ),
    "unmask_refuses": recovered("Keeps its seed: its self-mask is recovered.", Skip(Phase.UNMASK)),
    "unmask_wrong_seed": recovered(
        "Another seed than the committed one: its self-mask is recovered.",
        lying("unmask", wrong_seed()),
        "04-U1",
    ),
    "unmask_wrong_seed_and_retry": lie(
        "Another seed than the committed one, without recovery: an attempt is lost.",
        lying("unmask", wrong_seed(), FIRST),
        "04-U1",
        ends=RETRY,
        world=PLAIN,
        twin="clean_full",
    ),
    "unmask_refuses_and_changes_its_input": Case(
        "Party 3 vetoes; in the retry party 1 commits to another input.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 2, 4)),
        Script()
        .misbehave(LEAVER, Skip(Phase.UNMASK, FIRST))
        .misbehave(LIAR, generator_as_input(SECOND)),
        LEAVING,
        liars=(LIAR, LEAVER),
        twin="clean_five",
        blamed=blame(LIAR, "04-J5"),
    ),
    "recover_another_seed": _of_another_seed(SEEDS, "clean_recovery_of_vectors", "VALID"),
    "recover_another_seed_signed": _of_another_seed(
        SIGNED_SEEDS, "clean_recovery_signed", "SIGNED-ONLY"
    ),
    "recover_wrong_share": recovered(
        "Gives out another share than it received.",
        lying("recover", wrong_recovery()),
        "04-U3",
        twin="dropout_before_unmask",
        others=vetoes,
    ),
    "vector_flipped_proof": of_vectors(
        "One bit of the proof about a vector is flipped.", lying("commit", spoil_proof()), "04-K3"
    ),
    "vector_wrong_value": of_vectors(
        "A masked vector that the commitments do not open to.",
        lying("publish", spoil_value()),
        "04-P1",
    ),
    "weighted_not_proved": lie(
        "Does not prove that its weight is the largest coordinate.",
        lying("commit", spoil_weighing()),
        "04-K3",
        ends=(sums(0, 2, 3),),
        world=WEIGHTED,
        twin="clean_weighted",
    ),
    "signed_wrong_edge": in_words(
        "Another hash than the neighbour's on one edge.",
        first_edge_is(GENERATOR),
        "04-A3",
        ends=(sums(0, 2, 3),),
    ),
    "signed_wrong_words": in_words(
        "Other words than the masked ones: nothing shows it, and the sum moves.",
        lying("publish", spoil_value()),
        ends=(sums(0, 1, 2, 3),),
        exact=False,
    ),
    "signed_wrong_seed_and_retry": in_words(
        "Another seed than the one whose hash it posted.",
        lying("unmask", wrong_seed(), FIRST),
        "04-U1",
        ends=RETRY,
    ),
    "curious_wrong_words": lie(
        "Other words than the masked ones: lies are not found where parties are trusted.",
        lying("publish", spoil_value()),
        ends=(sums(0, 1, 2, 3),),
        world=CURIOUS,
        twin="clean_curious",
        verdict="SIGNED-ONLY",
        exact=False,
    ),
    "two_rounds_convict_is_barred": lie(
        "A bad proof in the first round: not admitted to the second.",
        lying("commit", spoil_proof(), FIRST),
        "04-K3",
        ends=(sums(0, 2, 3), sums(0, 2, 3)),
        world=TWICE,
        twin="clean_two_rounds",
        rounds=2,
    ),
    "two_rounds_late_false_accusation": Case(
        "Accuses falsely behind the close of publish: the round stands, the next is without it.",
        (sums(0, 1, 2, 3), sums(0, 2, 3)),
        Script().misbehave(
            LIAR, lying("accuse", accuse(), FIRST), lying("accuse", hold("publish"))
        ),
        TWICE,
        rounds=2,
        liars=(LIAR,),
        twin="clean_two_rounds",
        blamed=blame(LIAR, "04-A1"),
    ),
}


def _replay(phase: Phase, *second: Ended) -> Case:
    about = f"The second round's {phase.name.lower()} is that of the first: it does not count."
    ends = (sums(0, 1, 2, 3), *second)
    replayed = Replay(phase, SECOND)
    return lie(about, replayed, ends=ends, world=TWICE, twin="clean_two_rounds", rounds=2)


REPLAYS: Final = {
    "replay_join": _replay(Phase.JOIN, sums(0, 2, 3)),
    "replay_reveal": _replay(Phase.COINS, sums(0, 2, 3)),
    "replay_commit": _replay(Phase.COMMIT, sums(0, 2, 3)),
    "replay_publish": _replay(Phase.PUBLISH, sums(0, 2, 3)),
    "replay_confirm": _replay(Phase.CONFIRM, sums(0, 1, 2, 3)),
    "replay_unmask": _replay(
        Phase.UNMASK, aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 2, 3)
    ),
}


def _twice(phase: Phase, *included: int) -> Case:
    about = f"Two entries for the slot of its {phase.name.lower()}."
    return lie(about, Twice(phase), "04-E3", ends=(sums(*included),))


EQUIVOCATIONS: Final = {
    "equivocation_join": _twice(Phase.JOIN, *REST),
    "equivocation_reveal": _twice(Phase.COINS, *REST),
    "equivocation_commit": _twice(Phase.COMMIT, *REST),
    "equivocation_publish": _twice(Phase.PUBLISH, *REST),
    "equivocation_opening": of_six(
        "Two entries for the slot of its opening.", Twice(Phase.ROLLBACK), "04-E3"
    ),
    "equivocation_confirm": _twice(Phase.CONFIRM, *ALL),
    "equivocation_unmask": _twice(Phase.UNMASK, *ALL),
    "equivocation_after_the_final_close": recovered(
        "A second value behind the final close: reported, and the result stands.",
        TwiceLater(Phase.PUBLISH, Phase.PUBLISH),
        "04-E3",
    ),
}

CASES: Final = {**LIES, **REPLAYS, **EQUIVOCATIONS}
