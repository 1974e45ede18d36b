"""Nobody lies: every mode, and parties that leave."""

from __future__ import annotations

from typing import Final

from gopa.adversary.deeds import hold, wrong_seed
from gopa.adversary.deeds.organising import CutsOff, GivesUp
from gopa.contract.organiser import AbortReason, Released
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import PostsLate, Skip
from tests.lies import lying
from tests.vectors.transcripts.cases import Case, aborts, sums
from tests.vectors.transcripts.worlds import (
    COINS,
    CURIOUS,
    DRAND,
    EXACT,
    EXACT_RECOVERY,
    EXACT_SIGNED,
    EXACT_VECTORS,
    GAUSSIAN,
    IMPATIENT,
    LEAVING,
    LONG,
    ONCE,
    PLAIN,
    RECOVERY,
    SEEDS,
    SELDOM,
    SIGNED,
    SIGNED_SEEDS,
    SIGNED_SEEDS_ONCE,
    SIX,
    TWICE,
    VECTORS,
    WEIGHTED,
    WITNESSED,
    World,
)

LEAVER: Final = 3


def _clean(about: str, world: World, verdict: str = "VALID") -> Case:
    everybody = range(world.terms.parties)
    rounds = world.terms.rounds
    return Case(about, (sums(*everybody),) * rounds, world=world, rounds=rounds, verdict=verdict)


CLEAN: Final = {
    "clean_full": _clean("Four parties, one number each; nobody leaves and nobody lies.", PLAIN),
    "clean_five": _clean("The same with five parties, of whom two may be lost.", LEAVING),
    "clean_recovery": _clean("Shares of self-masks are dealt and nobody needs them.", RECOVERY),
    "clean_six": _clean("Six parties with recovery, of whom two may be lost.", SIX),
    "clean_recovery_of_vectors": _clean(
        "Three coordinates; shares of the seeds of self-masks are dealt.", SEEDS
    ),
    "clean_recovery_signed": _clean(
        "Signed mode; shares of the seeds of self-masks are dealt.", SIGNED_SEEDS, "SIGNED-ONLY"
    ),
    "clean_two_rounds": _clean("Two rounds of one session: fresh keys, masks, coins.", TWICE),
    "clean_gaussian_masks": _clean("Masks of edges are rounded Gaussians.", GAUSSIAN),
    "clean_sparse_graph": _clean("Seven parties choose three others each.", SELDOM),
    "clean_vector": _clean("Three coordinates, with noise from weighted bits.", VECTORS),
    "clean_weighted": _clean("Inputs with private weights in the last coordinate.", WEIGHTED),
    "clean_one_attempt": _clean("A plan with one attempt and nothing charged.", ONCE),
    "clean_test_coins": _clean("Coins from the close of join alone: simulations only.", COINS),
    "clean_witnessed": _clean("Closes carry checkpoints that two witnesses cosigned.", WITNESSED),
    "clean_drand": _clean("Coins from a published round of a drand network.", DRAND),
    "clean_signed": _clean("Signed mode: words and hashes, nothing proved.", SIGNED, "SIGNED-ONLY"),
    "clean_two_chunks": _clean(
        "Long vectors of words: every value has two chunks, and the sums of the result have one.",
        LONG,
        "SIGNED-ONLY",
    ),
    "clean_curious": _clean(
        "Honest-but-curious trust: no self-masks, the close of publish is final.",
        CURIOUS,
        "SIGNED-ONLY",
    ),
}

EXACT_SUMS: Final = {
    "exact_full": _clean("Without noise: four parties, one number each.", EXACT),
    "exact_signed": _clean("Without noise, in signed mode.", EXACT_SIGNED, "SIGNED-ONLY"),
    "exact_weighted": _clean(
        "Without noise: vectors whose last coordinate is a private weight; shares of seeds.",
        EXACT_VECTORS,
    ),
    "exact_dropouts": Case(
        "Without noise: party 3 is gone before publish, and party 1 before unmask.",
        (sums(0, 1, 2, 4),),
        Script().drop(3, before=Phase.PUBLISH).drop(1, before=Phase.UNMASK),
        EXACT_RECOVERY,
    ),
    "exact_veto": Case(
        "Without noise: the organiser ends the round behind the final close. No attempt follows.",
        (aborts(AbortReason.ORGANISER, released=True),),
        Script().organise(GivesUp(Phase.CONFIRM, Released.MASKED)),
        EXACT,
    ),
}

FULL_HOUSE: Final = (0, 1, 2, 3, 4)
WITHOUT: Final = (0, 1, 2, 4)


def _drop(phase: Phase, included: tuple[int, ...], what: str) -> Case:
    script = Script().drop(LEAVER, before=phase)
    about = f"Party {LEAVER} is gone before {phase.name.lower()}: {what}."
    return Case(about, (sums(*included),), script, RECOVERY)


def _unpublished(
    about: str, included: tuple[int, ...], world: World, verdict: str = "VALID", exact: bool = True
) -> Case:
    """Party 3 is gone before publish."""
    script = Script().drop(LEAVER, before=Phase.PUBLISH)
    return Case(about, (sums(*included),), script, world, verdict=verdict, exact=exact)


ABSENCE: Final = {
    "dropout_before_join": _drop(Phase.JOIN, WITHOUT, "never on the roll"),
    "dropout_before_coins": _drop(Phase.COINS, WITHOUT, "its nonce is withheld"),
    "dropout_before_commit": _drop(Phase.COMMIT, WITHOUT, "it has no edge that masks anything"),
    "dropout_before_publish": _drop(Phase.PUBLISH, WITHOUT, "its edges are opened"),
    "dropout_before_confirm": _drop(Phase.CONFIRM, FULL_HOUSE, "its self-mask is recovered"),
    "dropout_before_unmask": _drop(Phase.UNMASK, FULL_HOUSE, "its self-mask is recovered"),
    "dropout_of_six": _unpublished(
        "Party 3 is gone before publish, in a session that could lose one more.",
        (0, 1, 2, 4, 5),
        SIX,
    ),
    "dropout_without_recovery": _unpublished(
        "Party 3 is gone before publish, in a session without recovery.", (0, 1, 2), PLAIN
    ),
    "dropout_before_rollback": Case(
        "Party 1 is gone before publish and party 3 before it opens its edge to party 1.",
        (sums(0, 2, 4, 5),),
        Script().drop(1, before=Phase.PUBLISH).drop(LEAVER, before=Phase.ROLLBACK),
        SIX,
    ),
    "dropout_before_recover": Case(
        "Party 1 is gone before unmask and party 3 before it gives out its share: three are left.",
        (sums(*FULL_HOUSE),),
        Script().drop(1, before=Phase.UNMASK).drop(LEAVER, before=Phase.RECOVER),
        RECOVERY,
    ),
    "dropout_late_publish": Case(
        "Party 3 publishes behind the close: its edges are opened, its self-mask is not.",
        (sums(*WITHOUT),),
        Script().misbehave(LEAVER, PostsLate(Phase.PUBLISH)),
        RECOVERY,
    ),
    "dropout_very_late_publish": Case(
        "Party 3 publishes when everybody has confirmed: nothing changes.",
        (sums(*WITHOUT),),
        Script().misbehave(LEAVER, lying("publish", hold("confirm"))),
        RECOVERY,
    ),
    "dropout_late_commit": Case(
        "Party 3 commits behind the close.",
        (sums(*WITHOUT),),
        Script().misbehave(LEAVER, PostsLate(Phase.COMMIT)),
        RECOVERY,
    ),
    "dropout_gaussian_masks": _unpublished(
        "Opened edges take rounded Gaussians back.", (0, 1, 2), GAUSSIAN
    ),
    "dropout_sparse_graph": _unpublished(
        "Only the neighbours of party 3 open edges.", (0, 1, 2, 4, 5, 6), SELDOM
    ),
    "dropout_vector": _unpublished(
        "Opened edges take back masks of three coordinates.", (0, 1, 2), VECTORS
    ),
    "dropout_weighted": _unpublished("A party with a weight is rolled back.", (0, 1, 2), WEIGHTED),
    "dropout_signed": _unpublished(
        "Opened edges take back masks of words.", (0, 1, 2), SIGNED, "SIGNED-ONLY"
    ),
    "dropout_curious": _unpublished(
        "Nobody opens anything: masks towards party 3 stay in the sum as noise.",
        (0, 1, 2),
        CURIOUS,
        "SIGNED-ONLY",
        exact=False,
    ),
}


UNJOINED: Final = (aborts(AbortReason.TOO_FEW_JOINED),) * 2
"""All attempts that were left."""


def _gone(before: Phase, *parties: int, round_only: int = 1) -> Script:
    script = Script()
    for party in parties:
        script = script.drop(party, before=before, rounds={round_only})
    return script


ABORTS: Final = {
    "abort_too_few_joined": Case(
        "Two parties stay away; the next attempt has everybody.",
        (aborts(AbortReason.TOO_FEW_JOINED), sums(0, 1, 2, 3)),
        _gone(Phase.JOIN, 2, 3),
    ),
    "abort_too_many_withheld": Case(
        "Two nonces are withheld where one may be; the next attempt has everybody.",
        (aborts(AbortReason.TOO_MANY_WITHHELD), sums(0, 1, 2, 3)),
        _gone(Phase.COINS, 2, 3),
    ),
    "abort_too_few_left": Case(
        "Two parties of four do not publish; both are barred from the attempts that follow.",
        (aborts(AbortReason.TOO_FEW_LEFT), *UNJOINED),
        _gone(Phase.PUBLISH, 2, 3),
    ),
    "abort_too_many_rollbacks": Case(
        "One rollback is allowed and two would be needed; the retry is without both culprits.",
        (aborts(AbortReason.TOO_MANY_ROLLBACKS), sums(0, 2, 4)),
        _gone(Phase.PUBLISH, LEAVER).misbehave(1, Skip(Phase.ROLLBACK, frozenset({1}))),
        IMPATIENT,
    ),
    "abort_not_confirmed": Case(
        "Two of four do not confirm: nobody unmasks, and there are too few for a retry.",
        (aborts(AbortReason.NOT_CONFIRMED, released=True), *UNJOINED),
        _gone(Phase.CONFIRM, 2, 3),
    ),
    "abort_not_unmasked_and_retry": Case(
        "Party 3 vetoes by silence; the retry is without it, with the same inputs of the others.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 1, 2)),
        _gone(Phase.UNMASK, LEAVER),
    ),
    "abort_releases_used_up": Case(
        "Two vetoes of different parties: the plan charges for no third release.",
        (
            aborts(AbortReason.NOT_UNMASKED, released=True),
            aborts(AbortReason.NOT_UNMASKED, released=True),
        ),
        Script().drop(3, before=Phase.UNMASK, rounds={1}).drop(4, before=Phase.UNMASK, rounds={2}),
        LEAVING,
    ),
    "abort_by_the_organiser": Case(
        "The organiser gives up at the close of commit, as it always may; there is no retry.",
        (aborts(AbortReason.ORGANISER),),
        Script().organise(GivesUp(Phase.COMMIT)),
        ONCE,
    ),
    "abort_cut_off_a_seed": Case(
        "The cut of the abort lies below the last seed, which the log has: nobody is to blame and "
        "nobody barred, and the abort is the organiser's veto.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 1, 2, 3)),
        Script().organise(CutsOff(Phase.UNMASK)),
    ),
    "abort_cut_off_a_confirmation": Case(
        "Party 1 does not confirm and the last one who does is cut off: a veto; party 1 is barred.",
        (aborts(AbortReason.NOT_CONFIRMED, released=True), sums(0, 2, 3)),
        Script().misbehave(1, Skip(Phase.CONFIRM, frozenset({1}))).organise(CutsOff(Phase.CONFIRM)),
    ),
    "abort_cut_off_a_value": Case(
        "The last value is cut off, then a seed is kept back: only its owner is barred.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 2, 3)),
        _gone(Phase.UNMASK, 1).organise(CutsOff(Phase.PUBLISH)),
    ),
    "abort_cut_off_a_wrong_seed": Case(
        "A wrong seed stands behind the cut as well: its author is to blame and barred.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(0, 1, 2)),
        Script()
        .misbehave(LEAVER, lying("unmask", wrong_seed(), frozenset({1})))
        .organise(CutsOff(Phase.UNMASK)),
    ),
    "abort_cut_off_before_recovery": Case(
        "A seed is cut off, then two neighbours keep their shares: the log has all that is needed.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(*FULL_HOUSE)),
        Script()
        .organise(CutsOff(Phase.UNMASK))
        .misbehave(0, Skip(Phase.RECOVER, frozenset({1})))
        .misbehave(1, Skip(Phase.RECOVER, frozenset({1}))),
        RECOVERY,
    ),
    "abort_cut_off_shares_of_who_keep_seeds": Case(
        "Two keep their seeds and post shares of each other's in the gap below the abort: both are "
        "to blame, and it is no veto.",
        (aborts(AbortReason.NOT_UNMASKED, released=True),),
        _gone(Phase.RECOVER, 0, 1)
        .misbehave(3, Skip(Phase.UNMASK))
        .misbehave(4, Skip(Phase.UNMASK))
        .organise(CutsOff(Phase.RECOVER, messages=2)),
        SIGNED_SEEDS_ONCE,
        verdict="SIGNED-ONLY",
    ),
    "abort_for_no_reason_of_a_confirmed_round": Case(
        "The organiser gives up behind the final close though everybody confirmed: a veto.",
        (aborts(AbortReason.ORGANISER, released=True), sums(0, 1, 2, 3)),
        Script().organise(GivesUp(Phase.CONFIRM, Released.MASKED)),
    ),
    "dropout_cut_off_nonce": Case(
        "The last nonce is cut off: its owner is out, and the report says by whose doing.",
        (sums(0, 1, 2),),
        Script().organise(CutsOff(Phase.COINS)),
    ),
    "recovery_of_two": Case(
        "Two self-masks are recovered from three shares each.",
        (sums(*FULL_HOUSE),),
        _gone(Phase.UNMASK, 3, 4),
        RECOVERY,
    ),
    "recovery_of_a_vector": Case(
        "Party 3 is gone: the seed of its mask of three coordinates is recovered from shares.",
        (sums(*FULL_HOUSE),),
        _gone(Phase.UNMASK, LEAVER),
        SEEDS,
    ),
    "recovery_signed": Case(
        "Party 3 is gone: the seed of its mask of words is recovered from shares.",
        (sums(*FULL_HOUSE),),
        _gone(Phase.UNMASK, LEAVER),
        SIGNED_SEEDS,
        verdict="SIGNED-ONLY",
    ),
    "recovery_fails": Case(
        "Party 3 is gone and two neighbours keep their shares: too few are left; then a retry.",
        (aborts(AbortReason.NOT_UNMASKED, released=True), sums(*WITHOUT)),
        _gone(Phase.UNMASK, LEAVER)
        .misbehave(0, Skip(Phase.RECOVER, frozenset({1})))
        .misbehave(1, Skip(Phase.RECOVER, frozenset({1}))),
        RECOVERY,
    ),
}

CASES: Final = {**CLEAN, **EXACT_SUMS, **ABSENCE, **ABORTS}
