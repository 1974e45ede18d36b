"""How often sessions get a result when parties fail as planned: what is printed and what is seen.

Whole sessions in full mode with all proofs, coins from nonces, and in every round each party
silent from one of its messages on with the planned probability.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Final

from bench.measure import Numbers, Scale, require
from gopa.aggregation import LocalAggregator, RoundAborted
from gopa.contract.phases import Phase
from gopa.planning import Plan, plan
from gopa.protocol.simulation import Script

DROPOUT: Final = 0.05
_PHASES: Final = (
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.PUBLISH,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
    Phase.RECOVER,
)
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Case:
    """So many sessions of so many parties."""

    parties: int
    sessions: int


def run(scale: Scale) -> dict[str, object]:
    """Five sessions of 40 parties; `full` has a hundred, and 20 of 200 parties."""
    cases = scale.of((Case(10, 2),), (Case(40, 5),), (Case(40, 100), Case(200, 20)))
    return {"bench": "liveness", "dropout": DROPOUT, "cases": [_case(each) for each in cases]}


def _case(case: Case) -> Numbers:
    made = plan(n=case.parties, epsilon=1, delta="1e-6", dropout=DROPOUT)
    start = time.perf_counter()
    attempts = [session(made, seed) for seed in range(case.sessions)]
    with_result = sum(each > 0 for each in attempts)
    require(with_result >= 0.95 * case.sessions, f"{with_result} of {case.sessions} with a result")
    first = sum(each == 1 for each in attempts)
    return {
        "parties": case.parties,
        "sessions": case.sessions,
        "with_result": with_result,
        "at_first_attempt": first,
        "planned_chance_of_a_result": made.liveness.session,
        "planned_chance_of_a_round": made.liveness.round,
        "wall_s_each": round((time.perf_counter() - start) / case.sessions, 2),
    }


def session(made: Plan, seed: int) -> int:
    """The attempts that a session took to its result; 0 if there is none."""
    script = failures(made.terms.parties, random.Random(seed))  # noqa: S311 - no secret
    values = [0.5] * made.terms.parties
    with LocalAggregator(
        made, script=script, beacon="commit-reveal", seed=seed, progress=False
    ) as aggregator:
        try:
            return aggregator.average(values).attempts
        except RoundAborted:
            return 0


def failures(parties: int, draws: random.Random) -> Script:
    """Who is silent from where on, anew in every round."""
    script = Script()
    for number in range(1, _ROUNDS + 1):
        for party in range(parties):
            if draws.random() < DROPOUT:
                script = script.drop(party, before=draws.choice(_PHASES), rounds=[number])
    return script
