"""Small noise laws for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import gopa
import gopa.planning
from gopa.accounting.convolution import UNIT_ROUNDOFF, Masses
from gopa.contract.terms import Terms
from gopa.planning import Plan
from gopa.planning.result import Worth, _guarantee, judge
from gopa.support.arrays import Floats


def log_concave(generator: np.random.Generator, radius: int) -> Floats:
    """A random symmetric log-concave law on [-radius, radius]."""
    slopes = np.sort(generator.exponential(0.8, radius))
    half = np.exp(-np.cumsum(slopes))
    law = np.concatenate((half[::-1], [1.0], half))
    return np.asarray(law / law.sum())


def masses_of(law: Floats) -> Masses:
    """The law as the accountant takes it."""
    return Masses(-(len(law) // 2), law, 2 * UNIT_ROUNDOFF, 0.0)


def sum_of(law: Floats, parties: int) -> Masses:
    return masses_of(law).times(parties, cut=0.0)


def exact_sum(law: Sequence[int], parties: int) -> list[int]:
    """The convolution power in integers."""
    result = [1]
    for _ in range(parties):
        grown = [0] * (len(result) + len(law) - 1)
        for i, left in enumerate(result):
            for j, right in enumerate(law):
                grown[i + j] += left * right
        result = grown
    return result


CLASSIC: Final[dict[str, Any]] = {
    "corrupt": 0,
    "mask": "gaussian",
    "charged": 1,
    "attempts": 3,
    "recovery": None,
    "beacon": "commit-reveal",
    "least_chance": 0,
}


def plan(**options: Any) -> Plan:
    """The plan for these options, the others as above."""
    return gopa.planning.plan(**{**CLASSIC, **options})


@dataclass(frozen=True, slots=True)
class TermsJudgement:
    """How terms were judged: delta if a little less and a little more chance is granted."""

    worth: Worth
    strict: float
    generous: float
    energies: tuple[int, int]


def explain_judgement(terms: Terms) -> TermsJudgement:
    """As `judge`, with the numbers behind the answer."""
    strict, generous = _guarantee(terms), _guarantee(terms, generous=True)
    return TermsJudgement(
        judge(terms), strict.total, generous.total, (strict.energy, generous.energy)
    )
