"""Why degrees above 2 r suffice for recovery, and what 2 r in place of r everywhere would cost.

For each plan: the chance granted to bad graphs, what of it goes to parties of degree 2 r or
less, to larger sets at r, and, for comparison, to all sets at 2 r; the neighbours as planned,
without recovered parties in mind, and with 2 r everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from bench.measure import Numbers, Scale, require
from gopa.contract.terms import MaskLaw
from gopa.planning import Plan, plan
from gopa.planning.neighbours.attendance import Attendance, never_above, worst_energy, worst_tries
from gopa.planning.neighbours.expansion import Population, degree_tail, disconnected
from gopa.planning.neighbours.liveness import OwedMessages, plan_dropouts
from gopa.planning.result import attendance_of

Graph = Callable[[Attendance], Attendance]


@dataclass(frozen=True, slots=True)
class Case:
    """What is planned."""

    parties: int
    corrupt: int
    dropout: float
    recovery: str
    epsilon: float
    delta: str
    mask: MaskLaw = "uniform"


_CASES: Final = (
    Case(10, 1, 0.1, "1/2", 4, "1e-5"),
    Case(20, 2, 0.1, "1/2", 2, "1e-5"),
    Case(50, 5, 0.1, "1/2", 2, "1e-5"),
    Case(100, 20, 0.05, "2/3", 1, "1e-6"),
    Case(100, 20, 0.05, "2/3", 1, "1e-6", "gaussian"),
    Case(1000, 200, 0.05, "2/3", 1, "1e-6"),
    Case(200, 20, 0.2, "1/2", 1, "1e-6"),
    Case(1000, 50, 0.2, "1/2", 1, "1e-6"),
)


def run(scale: Scale) -> dict[str, object]:
    """Every case; `full` adds other shares of corrupt parties."""
    more = (
        Case(1000, 100, 0.05, "4/5", 1, "1e-6"),
        Case(1000, 400, 0.05, "4/5", 1, "1e-6"),
        Case(10_000, 2000, 0.05, "4/5", 1, "1e-7"),
    )
    rows = [_row(case) for case in scale.of(_CASES[:1], _CASES, (*_CASES, *more))]
    return {"bench": "recovered", "rows": rows}


def _row(case: Case) -> Numbers:
    made = plan(
        n=case.parties,
        corrupt=case.corrupt,
        dropout=case.dropout,
        recovery=case.recovery,
        epsilon=case.epsilon,
        delta=case.delta,
        mask=case.mask,
        beacon="commit-reveal",
        least_chance=0,
    )
    terms = made.terms
    attendance = attendance_of(terms)
    granted = float(case.delta) / (20 * terms.tries)
    require(made.beta <= 2 * granted, "beta within its share of delta")
    require(attendance.complete_neighbours >= 1, "a mask left in every complete graph")
    low_degrees = [
        one.honest * degree_tail(one, one.loss + one.opened) for one in attendance.typical()
    ]
    require(max(low_degrees, default=0.0) <= granted, "degrees above 2 r")
    doubled = _doubled(attendance)
    return {
        "n": case.parties,
        "corrupt": case.corrupt,
        "dropout": case.dropout,
        "recovery": case.recovery,
        "mask": case.mask,
        "k": terms.k,
        "r": terms.loss,
        "survivors": terms.survivors,
        "granted": granted,
        "degree_at_most_2r": max(low_degrees, default=0.0),
        "sets_at_r": _disconnected(replace(attendance, recovery=False)),
        "all_sets_at_2r": _disconnected(doubled),
        "k_if_no_party_were_recovered": _smallest(
            case, made, lambda it: replace(it, recovery=False)
        ),
        "k_as_planned": _smallest(case, made, lambda it: it),
        "k_with_2r_everywhere": _smallest(case, made, _doubled),
    }


def _disconnected(attendance: Attendance) -> float:
    """What may disconnect survivors, for the worst of a few typical numbers of parties."""
    if attendance.isolates:
        return 1.0
    return max(map(disconnected, attendance.typical()), default=0.0)


class _Doubled(Attendance):
    """Every set may lose twice as many neighbours, also more than may be missing."""

    __slots__ = ()

    def population(self, low: int, high: int) -> Population:
        one = Attendance.population(self, low, high)
        return replace(one, loss=one.loss + one.opened, opened=0)


def _doubled(of: Attendance) -> Attendance:
    return _Doubled(of.fewest, of.most, of.corrupt, of.k, of.loss, of.recovery)


def _smallest(case: Case, made: Plan, graph: Graph) -> int:
    """The smallest k, by doubling and bisection, whose graph is good enough."""
    low, high = 0, 1
    while not _enough(case, made, high, graph):
        if high == case.parties - 1:
            return -1
        low, high = high, min(2 * high, case.parties - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(case, made, middle, graph) else (middle, high)
    return high


def _enough(case: Case, made: Plan, k: int, graph: Graph) -> bool:
    terms, tau = made.terms, made.terms.threshold
    course = OwedMessages(coins=True, recovery=True)
    losses = plan_dropouts(case.parties, k, case.dropout, course, terms.survivors)
    attendance = Attendance(
        terms.survivors, case.parties, case.corrupt, k, losses.loss, recovery=True
    )
    granted = float(case.delta) / (20 * terms.tries)
    tries = worst_tries(terms.beacon)
    if tau is None or not never_above(attendance, "recovery", granted, tau, tries):
        return False
    if case.mask == "gaussian":
        return worst_energy(graph(attendance), terms.steps, granted) is not None
    return never_above(graph(attendance), "connection", granted)
