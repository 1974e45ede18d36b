"""Audits transcripts offline: what one proves, what it does not, and who broke which rule.

Specification: `specs/11-audit.md`.
"""

from gopa.auditing.auditor import audit
from gopa.auditing.options import Anchors
from gopa.auditing.report import Report, Verdict

__all__ = ["Anchors", "Report", "Verdict", "audit"]
