"""Plans of sessions, and what they are worth: how much noise, how many neighbours, which epsilon.

Read `target` (what may be asked, and what is assumed unasked), `request` (what is asked, checked),
`planner` (`plan`, with its defaults), `parameters` (noise and graph that meet it), `result` (the
plan, and `guarantee`, the judge of other people's terms), `explanation`, and `outcome`, the privacy
statement of a finished round. `noise/` and `neighbours/` say how much of each is enough.

    >>> from gopa.planning import plan
    >>> found = plan(1000, epsilon=1, delta=1e-6, corrupt=0.2)
    >>> found.terms.epsilon <= 1
    True

Specification: `specs/03-privacy.md`; in plain words: `docs/privacy.md`.
"""

from gopa.contract.terms import Terms
from gopa.planning.outcome import DeltaClaim, PrivacyStatement, RoundFacts, privacy
from gopa.planning.planner import plan
from gopa.planning.result import Errors, Guarantee, Plan, PlanCost, PlanReason, guarantee

__all__ = [
    "DeltaClaim",
    "Errors",
    "Guarantee",
    "Plan",
    "PlanCost",
    "PlanReason",
    "PrivacyStatement",
    "RoundFacts",
    "Terms",
    "guarantee",
    "plan",
    "privacy",
]
