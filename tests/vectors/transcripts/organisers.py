"""Organisers that break a rule: from there on nothing counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Final

from bulletin_board.note import SignedNote
from gopa.adversary.deeds.organising import (
    AbortsInstead,
    AlteredAbort,
    AlteredClose,
    AlteredOpen,
    AlteredResult,
    AnotherResult,
    ClosedAnyway,
    ClosesAgain,
    CutsOff,
    ForeignRoot,
    GivesUp,
    Vanishes,
    lacking,
    listing,
    with_cut,
    with_final,
)
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import (
    Abort,
    AbortReason,
    Close,
    Members,
    Open,
    Released,
    Removal,
    RemovalCause,
    ResultMessage,
    Roll,
)
from gopa.contract.phases import Phase
from gopa.protocol.simulation import OrganiserBehaviour, Script
from tests.vectors.transcripts.cases import ORGANISER, Case, Ended, aborts, blame, stops
from tests.vectors.transcripts.worlds import (
    DRAND,
    EXACT,
    PLAIN,
    RECOVERY,
    SIGNED,
    WITNESSED,
    World,
    drand_witnesses,
)

FOUR: Final = 4
RELEASED: Final = (stops(released=True),)


def cheat(
    about: str,
    behaviour: OrganiserBehaviour,
    *rules: str,
    ends: tuple[Ended, ...] = (stops(),),
    world: World = PLAIN,
    twin: str = "clean_full",
    script: Script | None = None,
) -> Case:
    """The organiser departs from the rules in one way."""
    whole = (script or Script()).organise(behaviour)
    blamed = blame(ORGANISER, *rules)
    return Case(about, ends, whole, world, 1, (ORGANISER,), twin, blamed, "INVALID")


def wrong_list(phase: Phase, *rules: str, released: bool = False) -> Case:
    """A close that lacks one honest party."""
    about = f"The close of {phase.name.lower()} leaves an honest party out."
    lie = AlteredClose(phase, lacking(2))
    return cheat(about, lie, *rules, ends=(stops(released=released),))


def renamed(close: Close) -> Close:
    """A roll with another hash for the nonce of its first party."""
    assert isinstance(close.content, Roll)
    first, *rest = close.content.parties
    wrong = replace(first, nonce_hash=bytes(32))
    return replace(close, content=replace(close.content, parties=(wrong, *rest)))


def added(result: ResultMessage) -> ResultMessage:
    """A sum that is one step larger."""
    return replace(result, sums=(result.sums[0] + 1,))


def hidden(result: ResultMessage) -> ResultMessage:
    """A result that says nothing about who was removed."""
    return replace(result, removed=())


def invented(result: ResultMessage) -> ResultMessage:
    """A result that says that somebody was removed who was not."""
    return replace(result, removed=(Removal(2, Phase.PUBLISH, RemovalCause.ABSENT),))


def blames_somebody_else(abort: Abort) -> Abort:
    """Another culprit than the one who was silent."""
    return replace(abort, culprits=(0,))


def second_attempt(content: Open) -> Open:
    """A round that begins with its second attempt."""
    return replace(content, attempt=1)


def confirmed_by_all(close: Close) -> Close:
    """What a close of confirm says when everybody has confirmed."""
    assert isinstance(close.content, Members)
    return replace(close, phase=Phase.CONFIRM, content=replace(close.content, final=False))


def without_checkpoint(close: Close) -> Close:
    """A close that rests on no checkpoint."""
    return replace(close, checkpoint=b"")


def unwitnessed(close: Close) -> Close:
    """A close whose checkpoint has the log's signature and no other."""
    note = SignedNote.parse(close.checkpoint)
    return replace(close, checkpoint=SignedNote(note.text, note.signatures[:1]).to_bytes())


def cosigned_late(close: Close) -> Close:
    """A checkpoint that the witnesses cosigned one period too late."""
    note = SignedNote.parse(close.checkpoint)
    bare = SignedNote(note.text, note.signatures[:1]).to_bytes()
    return replace(close, checkpoint=drand_witnesses(1).cosigned(bare))


def worth_more(manifest: Manifest) -> Manifest:
    """A manifest that claims a smaller delta than its terms are worth."""
    return replace(manifest, terms=replace(manifest.terms, delta=Decimal("0.000001")))


def with_a_charged_retry(manifest: Manifest) -> Manifest:
    """A manifest that lets a logical round release twice."""
    return replace(manifest, terms=replace(manifest.terms, charged=1))


after_release = partial(cheat, ends=RELEASED)
GONE: Final = Script().drop(3, before=Phase.PUBLISH)
VETO: Final = Script().drop(3, before=Phase.UNMASK)
VETO_ONCE: Final = Script().drop(3, before=Phase.UNMASK, rounds={1})

CASES: Final = {
    "organiser_stops": Case(
        "The organiser is gone before it closes publish: nothing is wrong, and nothing ended.",
        (stops(),),
        Script().organise(Vanishes(Phase.PUBLISH)),
        liars=(ORGANISER,),
        twin="clean_full",
        verdict="INCOMPLETE",
    ),
    "organiser_wrong_roll": wrong_list(Phase.JOIN, "04-J6"),
    "organiser_wrong_nonce_hash": cheat(
        "The roll has another hash than a party joined with.",
        AlteredClose(Phase.JOIN, renamed),
        "04-J6",
    ),
    "organiser_wrong_commit_list": wrong_list(Phase.COMMIT, "04-C3"),
    "organiser_wrong_publish_list": wrong_list(Phase.PUBLISH, "04-C3"),
    "organiser_wrong_confirm_list": wrong_list(Phase.CONFIRM, "04-C3", released=True),
    "organiser_takes_a_party_back": cheat(
        "The close of rollback lists a party again whose edges are open: parties that see it stop.",
        AlteredClose(Phase.ROLLBACK, lambda close: with_final(final=False)(listing(3)(close))),
        "04-C3",
        world=SIGNED,
        twin="dropout_signed",
        script=GONE,
    ),
    "organiser_wrong_rollback_list": cheat(
        "The close of rollback leaves out a party that opened what it owed.",
        AlteredClose(Phase.ROLLBACK, lacking(2)),
        "04-C3",
        twin="dropout_without_recovery",
        script=GONE,
    ),
    "organiser_wrong_unmask_list": after_release(
        "The close of unmask leaves out a party that opened its seed.",
        AlteredClose(Phase.UNMASK, lacking(2)),
        "04-C3",
        world=RECOVERY,
        twin="dropout_before_unmask",
        script=VETO,
    ),
    "organiser_final_too_early": cheat(
        "A close of publish calls itself final although edges have to be opened.",
        AlteredClose(Phase.PUBLISH, with_final(final=True)),
        "04-P3",
        twin="dropout_without_recovery",
        script=GONE,
    ),
    "organiser_final_too_late": cheat(
        "A close of publish asks for openings although nothing is owed.",
        AlteredClose(Phase.PUBLISH, with_final(final=False)),
        "04-P3",
    ),
    "organiser_cut_beyond_the_log": cheat(
        "A close with a cut above its own index.", AlteredClose(Phase.COMMIT, with_cut(5)), "04-C2"
    ),
    "organiser_cut_below_what_it_saw": after_release(
        "An abort below a seed that the organiser says it has seen.",
        CutsOff(Phase.UNMASK, admits=True),
        "04-C2",
    ),
    "organiser_cut_goes_back": cheat(
        "A close with a cut below the one before.",
        AlteredClose(Phase.COMMIT, with_cut(-8)),
        "04-C2",
    ),
    "organiser_foreign_root": cheat(
        "A close over the root of another log than it says it has seen.",
        ForeignRoot(Phase.PUBLISH),
        "04-C7",
    ),
    "organiser_root_of_another_size": cheat(
        "A close over the root before the last entry below its cut, from who has seen nothing.",
        ForeignRoot(Phase.PUBLISH, before=1, admits=False),
        "04-C7",
    ),
    "organiser_two_closes_in_one_slot": cheat(
        "Two closes of publish in one slot: the first stands; who sees the second stops.",
        AlteredClose(Phase.PUBLISH, lacking(2), beside=True),
        "04-E3",
        ends=(
            aborts(AbortReason.NOT_UNMASKED, released=True),
            aborts(AbortReason.TOO_FEW_JOINED),
            aborts(AbortReason.TOO_FEW_JOINED),
        ),
    ),
    "organiser_two_closes_in_a_row": after_release(
        "Two closes of publish at two indexes of one log.",
        ClosesAgain(Phase.PUBLISH, lacking(2)),
        "04-E4",
    ),
    "organiser_skips_the_confirmations": after_release(
        "The close of confirm is there before anybody confirmed.",
        ClosesAgain(Phase.PUBLISH, confirmed_by_all, follows=True),
        "04-F2",
    ),
    "organiser_wrong_sum": after_release(
        "A sum that is one step too large.", AlteredResult(added), "04-Z1"
    ),
    "organiser_hides_an_exclusion": after_release(
        "A result that does not say who was removed.",
        AlteredResult(hidden),
        "04-Z3",
        twin="dropout_without_recovery",
        script=GONE,
    ),
    "organiser_invents_an_exclusion": after_release(
        "A result that says that an honest party was removed.", AlteredResult(invented), "04-Z3"
    ),
    "organiser_result_instead_of_an_abort": after_release(
        "A sum where a self-mask is still closed.",
        AnotherResult((7,)),
        "04-U4",
        twin="abort_not_unmasked_and_retry",
        script=VETO_ONCE,
    ),
    "organiser_goes_on_with_too_few": cheat(
        "A list below n_min where the rules demand an abort.",
        ClosedAnyway(Phase.PUBLISH, (0, 1), FOUR),
        "04-L3",
        twin="abort_too_few_left",
        script=Script()
        .drop(2, before=Phase.PUBLISH, rounds={1})
        .drop(3, before=Phase.PUBLISH, rounds={1}),
    ),
    "organiser_aborts_without_reason": cheat(
        "An abort for too few parties where there are enough.",
        AbortsInstead(Phase.COMMIT, AbortReason.TOO_FEW_LEFT),
        "04-X1",
    ),
    "organiser_blames_the_innocent": after_release(
        "An abort that names an honest party as culprit.",
        AlteredAbort(blames_somebody_else),
        "04-X1",
        twin="abort_not_unmasked_and_retry",
        script=VETO_ONCE,
    ),
    "organiser_abort_denies_a_release": after_release(
        "An abort of its own after the final close that says nothing was released.",
        GivesUp(Phase.CONFIRM, Released.NONE),
        "04-X2",
    ),
    "organiser_wrong_attempt": cheat(
        "Opens the first round as a second attempt.", AlteredOpen(second_attempt), "04-X3", ends=()
    ),
    "organiser_manifest_claims_too_much": Case(
        "The manifest claims a smaller delta than its terms are worth.",
        (),
        liars=(ORGANISER,),
        twin="clean_full",
        blamed=blame(ORGANISER, "04-S3"),
        verdict="INVALID",
        manifest=worth_more,
    ),
    "organiser_exact_sums_with_a_charged_retry": Case(
        "The manifest has no noise and a charged retry: two exact sums could show who differs.",
        (),
        liars=(ORGANISER,),
        world=EXACT,
        twin="exact_full",
        blamed=blame(ORGANISER, "04-S5"),
        verdict="INVALID",
        manifest=with_a_charged_retry,
    ),
    "organiser_checkpoint_missing": cheat(
        "A close without the cosigned checkpoint that the manifest's witnesses make due.",
        AlteredClose(Phase.COMMIT, without_checkpoint),
        "04-C4",
        world=WITNESSED,
        twin="clean_witnessed",
    ),
    "organiser_checkpoint_without_witnesses": cheat(
        "A close with a checkpoint that only the log signed.",
        AlteredClose(Phase.COMMIT, unwitnessed),
        "04-C4",
        world=WITNESSED,
        twin="clean_witnessed",
    ),
    "organiser_drand_cosigned_late": cheat(
        "The list of parties was cosigned one period before the beacon's value, not two.",
        AlteredClose(Phase.COINS, cosigned_late),
        "04-V4",
        world=DRAND,
        twin="clean_drand",
    ),
}
