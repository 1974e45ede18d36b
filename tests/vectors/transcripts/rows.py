"""Sessions that prove vectors row by row: honest ones, and parties that lie there in one way."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gopa.adversary.deeds import (
    abuse_carries,
    add_to_the_sum,
    head_alone,
    lengthen,
    twice,
    two_tails,
)
from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour, Script
from tests.lies import lying, says
from tests.vectors.transcripts.behaviours import cut_elsewhere, in_one_entry
from tests.vectors.transcripts.cases import Case, Ended, aborts, blame, sums
from tests.vectors.transcripts.worlds import ROWS, ROWS_RECOVERING, ROWS_WEIGHING, World

LIAR, VICTIM, LEAVER = 1, 0, 3
ALL, REST = (0, 1, 2, 3), (0, 2, 3)
VETO: Final = (aborts(AbortReason.NOT_UNMASKED, released=True), sums(*REST))


def lie(
    about: str,
    behaviour: Behaviour,
    *rules: str,
    ends: tuple[Ended, ...] = (sums(*REST),),
    world: World = ROWS,
    twin: str = "clean_rows",
) -> Case:
    """Party 1 lies in one way."""
    script = Script().misbehave(LIAR, behaviour)
    return Case(about, ends, script, world, 1, (LIAR,), twin, blame(LIAR, *rules))


CASES: Final = {
    "clean_rows": Case("Four vectors that are proved row by row.", (sums(*ALL),), world=ROWS),
    "clean_rows_weighted": Case(
        "Three private weights; lengths are measured from the middle of a range without zero.",
        (sums(0, 1, 2),),
        world=ROWS_WEIGHING,
    ),
    "clean_rows_recovery": Case(
        "The same where half of the neighbours recover a self-mask; nobody has to.",
        (sums(*ALL),),
        world=ROWS_RECOVERING,
    ),
    "rows_dropout_before_prove": Case(
        "Party 3 has not proved its words: it is rolled back like one that has none.",
        (sums(0, 1, 2),),
        Script().drop(LEAVER, before=Phase.PROVE),
        ROWS,
    ),
    "rows_identity": lie(
        "A row of noise that hides nothing.",
        says("join", lambda join: replace(join, noise=(bytes(32), *join.noise[1:]))),
        "14-L3",
    ),
    "rows_one_less": lie(
        "One row less than the vector has.",
        says("join", lambda join: replace(join, input=join.input[1:])),
        "14-M1",
    ),
    "rows_too_long": lie(
        "A vector that is too long, with tests of its own.", lying("join", lengthen(100)), "14-P3"
    ),
    "rows_abused_carries": lie(
        "Larger words, with carries that make up for it mod the order of the group.",
        lying("publish", abuse_carries(1000)),
        "14-P6",
    ),
    "rows_two_proofs": lie(
        "Two entries for the slot of its proof.", lying("prove", twice()), "04-E3"
    ),
    "rows_head_alone": Case(
        "Party 1 posts the head of its commit and no proof behind it.",
        (sums(*REST),),
        Script().misbehave(LIAR, lying("commit", head_alone())),
        ROWS,
        1,
        (LIAR,),
        "clean_rows",
    ),
    "rows_two_tails": lie(
        "Two proofs behind one head: two entries for the second slot of its commit.",
        lying("commit", two_tails()),
        "04-E3",
    ),
    "rows_in_one_entry": Case(
        "Party 1 has its commit in one entry, proof and all: it breaks no rule.",
        (sums(*ALL),),
        Script().misbehave(LIAR, lying("commit", in_one_entry())),
        ROWS,
        1,
        (LIAR,),
        "clean_rows",
    ),
    "rows_cut_elsewhere": Case(
        "The first entry of its commit has a byte of the proof as well: it is no message.",
        (sums(*REST),),
        Script().misbehave(LIAR, lying("commit", cut_elsewhere())),
        ROWS,
        1,
        (LIAR,),
        "clean_rows",
    ),
    "rows_false_edge": lie(
        "Larger words, and another mask of the edge to party 0 that makes up for it.",
        lying("publish", add_to_the_sum(1000, VICTIM)),
        "14-K6",
    ),
    "rows_false_self_mask": lie(
        "Larger words, and another mask of its own that makes up for it: a veto.",
        lying("publish", add_to_the_sum(1000)),
        "14-K6",
        ends=VETO,
    ),
    "rows_false_self_mask_recovered": replace(
        lie(
            "The same, and it keeps its seed: the shares of its neighbours convict it.",
            lying("publish", add_to_the_sum(1000)),
            "14-K6",
            ends=VETO,
            world=ROWS_RECOVERING,
            twin="clean_rows_recovery",
        ),
        script=Script()
        .misbehave(LIAR, lying("publish", add_to_the_sum(1000)))
        .drop(LIAR, before=Phase.UNMASK),
    ),
}
