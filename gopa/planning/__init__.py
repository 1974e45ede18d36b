"""Planning and accounting of privacy. Specification: `specs/03-privacy.md`."""

from gopa.planning.joined import Guarantee, guarantee
from gopa.planning.outcome import Claim, Outcome, PrivacyStatement, privacy
from gopa.planning.planner import plan
from gopa.planning.result import Cost, Errors, Plan, Reason
from gopa.planning.terms import Terms

__all__ = [
    "Claim",
    "Cost",
    "Errors",
    "Guarantee",
    "Outcome",
    "Plan",
    "PrivacyStatement",
    "Reason",
    "Terms",
    "guarantee",
    "plan",
    "privacy",
]
