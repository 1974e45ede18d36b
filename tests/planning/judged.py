"""How terms are judged, with the numbers behind the answer."""

from __future__ import annotations

from dataclasses import dataclass

from gopa.contract.terms import Terms
from gopa.planning.worth import Worth, _guarantee, judge


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
