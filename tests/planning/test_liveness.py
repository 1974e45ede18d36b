"""The chance of a result: against rounds played out, and what a plan makes of it."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gopa
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.graph import k_out_graph
from gopa.planning.liveness import Liveness, LivenessTerms, liveness
from tests.planning.classic import plan
from tests.planning.lists import Conditions, follow
from wire.errors import UsageError

_PHASES = {
    "join": Phase.JOIN,
    "coins": Phase.COINS,
    "commit": Phase.COMMIT,
    "publish": Phase.PUBLISH,
    "rollback": Phase.ROLLBACK,
    "confirm": Phase.CONFIRM,
    "unmask": Phase.UNMASK,
    "recover": Phase.RECOVER,
}


def _played(terms: Terms, dropout: float, rounds: int, *, one_close: bool = False) -> float:
    """The part of rounds with a result, by the rules themselves: every list, every neighbour."""
    draws = random.Random(7)
    course = LivenessTerms.of(terms, one_close=one_close).course
    conditions = Conditions(terms, one_close, 8)
    done = 0
    for number in range(rounds):
        silent = {
            party: _PHASES[draws.choice(course.messages)]
            for party in range(terms.parties)
            if draws.random() < dropout
        }
        roll = [party for party in range(terms.parties) if silent.get(party) is not Phase.JOIN]
        withheld = sum(silent.get(party) is Phase.COINS for party in roll)
        members = [party for party in roll if silent.get(party) is not Phase.COINS]
        if len(roll) < terms.survivors or withheld > terms.loss:
            continue
        graph = k_out_graph(number.to_bytes(32, "big"), len(roll), min(terms.k, len(roll) - 1))
        places = {party: place for place, party in enumerate(roll)}
        kept = graph.induced(np.array([places[party] for party in members]))
        leaving = {at: silent[party] for at, party in enumerate(members) if party in silent}
        tighter = replace(terms, loss=terms.loss - withheld)
        done += follow(kept, leaving, replace(conditions, terms=tighter)).abort is None
    return done / rounds


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("target", "dropout"),
    [
        ({"n": 40, "recovery": "4/5"}, 0.05),
        ({"n": 40, "recovery": "4/5"}, 0.15),
        ({"n": 12, "recovery": "2/3"}, 0.1),
        ({"n": 40, "recovery": "4/5", "dimension": 5, "noise": "irwin-hall"}, 0.08),
        ({"n": 40}, 0.05),
        ({"n": 40}, 0.01),
        ({"n": 100, "recovery": "1/2", "beacon": "drand"}, 0.12),
    ],
)
def test_the_printed_chance_of_a_round_is_what_rounds_do(
    target: dict[str, Any], dropout: float
) -> None:
    made = plan(**{"epsilon": 1, "delta": "1e-6", "mask": "uniform", "corrupt": 0.1, **target})
    printed = liveness(LivenessTerms.of(made.terms), dropout).round
    played = _played(made.terms, dropout, 200)
    assert abs(printed - played) < 0.08, (printed, played)


def test_a_single_close_needs_no_confirmations() -> None:
    terms = plan(n=40, epsilon=1, delta="1e-6", corrupt=0.1).terms
    rules = LivenessTerms.of(terms)
    assert liveness(rules, 0.05).round < 0.6
    curious = replace(rules, one_close=True)
    assert liveness(curious, 0.05).round > 0.99


def test_nobody_fails_without_dropout() -> None:
    terms = plan(n=40, epsilon=1, delta="1e-6").terms
    assert liveness(LivenessTerms.of(terms), 0.0) == Liveness(0.0, 1.0, 1.0, 1.0)


def test_chances_move_as_they_should() -> None:
    rules = LivenessTerms.of(plan(n=40, epsilon=1, delta="1e-6", recovery="2/3").terms)
    worse = [liveness(rules, dropout).session for dropout in (0.02, 0.1, 0.2, 0.4)]
    assert worse == sorted(worse, reverse=True)
    bare = replace(rules, threshold=None, charged=0)
    assert liveness(bare, 0.05).session < liveness(rules, 0.05).session
    more = [liveness(replace(bare, charged=c, attempts=4), 0.05).session for c in range(4)]
    assert more == sorted(more)
    assert more[3] > more[0] + 0.1
    assert 1 < liveness(replace(bare, charged=3, attempts=4), 0.05).attempts < 4


@pytest.mark.slow
def test_withheld_nonces_end_large_rounds() -> None:
    large = plan(n=100_000, epsilon=1, delta="1e-7", recovery="2/3", mask="uniform", beacon="drand")
    assert large.liveness.round > 0.9
    nonces = replace(LivenessTerms.of(large.terms), beacon="commit-reveal")
    assert liveness(nonces, 0.05).round < 0.01


def test_unlikely_results_are_refused_and_rare_ones_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    target: dict[str, Any] = {"n": 200, "epsilon": 1, "delta": "1e-6", "recovery": None}
    assert gopa.plan(**{**target, "dropout": 0.0}).warnings == ()
    with pytest.raises(UsageError) as refused:
        gopa.plan(**target)
    assert refused.value.field == "least_chance"
    taken = gopa.plan(**target, least_chance=0)
    assert taken.liveness.session < 0.5
    assert taken.warnings
    caplog.clear()
    with caplog.at_level(logging.WARNING, "gopa.planning"):
        some = gopa.plan(**{**target, "n": 40, "charged": 1})
    assert 0.5 <= some.liveness.session < 0.9
    assert some.warnings
    assert len(caplog.records) == 1


@pytest.mark.parametrize("chance", [-0.1, 1.1, True, "0.5", float("nan")])
def test_the_least_chance_is_a_probability(chance: Any) -> None:
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=40, epsilon=1, delta="1e-6", least_chance=chance)
    assert refused.value.field == "least_chance"
    assert gopa.plan(n=40, epsilon=1, delta="1e-6", least_chance=1 / 2).liveness.session > 0.9
