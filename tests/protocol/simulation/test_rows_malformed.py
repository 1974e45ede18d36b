"""Messages about long vectors that are malformed by their form alone: proofs are doubles that hold.

So what refuses them is what reads them, and not the proof behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.simulation import Script
from gopa.rounds.toolkit import Toolkit
from tests.lies import says
from tests.protocol.simulation.row_worlds import (
    RECOVERING,
    ROWS,
    simulate_rows,
    vectors_for,
)
from tests.protocol.simulation.worlds import culprits
from tests.rounds.doubles import ProofDoubles

LIAR: Final = 2
IDENTITY: Final = bytes(32)
LARGE: Final = b"\x02" + bytes(14)
"""A test of 2^113: the least that is too large."""

Alter = Callable[[Any], Any]


def fewer(name: str) -> Alter:
    """One item less of a field."""
    return lambda said: replace(said, **{name: getattr(said, name)[1:]})


def more(name: str) -> Alter:
    """Its last item twice."""
    return lambda said: replace(said, **{name: (*getattr(said, name), getattr(said, name)[-1])})


def first(name: str, item: bytes) -> Alter:
    """Another first item."""
    return lambda said: replace(said, **{name: (item, *getattr(said, name)[1:])})


def large_test(said: Any) -> Any:
    """The first test is too large."""
    return replace(said, tests=LARGE + said.tests[len(LARGE) :])


def no_mask(said: Any) -> Any:
    """Says nothing about its own mask."""
    return replace(said, self_mask=IDENTITY)


MALFORMED: Final[dict[str, tuple[Terms, Phase, Alter, str]]] = {
    "one edge less": (ROWS, Phase.COMMIT, fewer("edges"), "04-K1"),
    "one edge more": (ROWS, Phase.COMMIT, more("edges"), "04-K1"),
    "one coefficient less": (RECOVERING, Phase.COMMIT, fewer("coefficients"), "04-K1"),
    "one share more": (RECOVERING, Phase.COMMIT, more("shares"), "04-K1"),
    "no coefficient": (RECOVERING, Phase.COMMIT, first("coefficients", IDENTITY), "04-K2"),
    "a large test": (ROWS, Phase.COMMIT, large_test, "14-P3"),
    "one row of carries less": (ROWS, Phase.PUBLISH, fewer("carries"), "14-M1"),
    "one row of carries more": (ROWS, Phase.PUBLISH, more("carries"), "04-S4"),
    "no row of carries": (ROWS, Phase.PUBLISH, first("carries", IDENTITY), "14-L3"),
    "one row of pads less": (ROWS, Phase.PUBLISH, fewer("pads"), "14-M1"),
    "no row of pads": (ROWS, Phase.PUBLISH, first("pads", IDENTITY), "14-L3"),
    "one edge less to prove": (ROWS, Phase.PROVE, fewer("edges"), "14-P6"),
    "no mask of an edge": (ROWS, Phase.PROVE, first("edges", IDENTITY), "14-P6"),
    "no mask of one's own": (ROWS, Phase.PROVE, no_mask, "14-P6"),
    "a large test of carries": (ROWS, Phase.PROVE, large_test, "14-P6"),
}


def blamed(terms: Terms, phase: Phase, alter: Alter) -> dict[int, set[str]]:
    """Whom the log of a round convicts in which one party says something else."""
    script = Script().misbehave(LIAR, says(phase, alter))
    simulation = simulate_rows(terms, script, toolkit=Toolkit(proofs=ProofDoubles()))
    record = simulation.run_round(vectors_for(terms))
    assert record.sums is not None
    assert (LIAR in record.included) is (LIAR not in culprits(simulation, record))
    return culprits(simulation, record)


@pytest.mark.slow
@pytest.mark.parametrize("lie", MALFORMED)
def test_who_posts_what_is_malformed_is_out(lie: str) -> None:
    terms, phase, alter, rule = MALFORMED[lie]
    assert blamed(terms, phase, lambda said: said) == {}
    assert blamed(terms, phase, alter) == {LIAR: {rule}}
