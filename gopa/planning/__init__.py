"""Plans the privacy of sessions and accounts for it. Specification: `specs/03-privacy.md`."""

from gopa.contract.terms import Terms
from gopa.planning.outcome import DeltaClaim, PrivacyStatement, RoundFacts, privacy
from gopa.planning.planner import plan
from gopa.planning.result import Errors, Plan, PlanCost, PlanReason
from gopa.planning.worth import Guarantee, guarantee

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
