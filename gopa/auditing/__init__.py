"""The offline auditor: what a transcript proves, what it does not, and who broke which rule.

Read `auditor` (`audit`, from a file to a verdict), `sources`, `reading`, then `checks` (the table
of questions) with `log_checks` and `session_checks`, `report`, and `proving` and `judging`
(evidence).

    >>> from gopa.auditing import audit
    >>> from gopa.auditing.checks import CHECKS
    >>> import gopa
    >>> votes = gopa.average([0, 1] * 5, epsilon=2, delta=1e-5, corrupt=1, seed=1).transcript
    >>> report = audit(votes.archive("votes.gopa"), anchors=votes.anchors("anchors.txt"))
    >>> report.verdict.name
    'VALID'
    >>> report.faults
    ()

Specification: `specs/11-audit.md`; for whoever received a file: `docs/audit/README.md`.
"""

from gopa.auditing.auditor import audit
from gopa.auditing.options import Anchors
from gopa.auditing.report import Report, Verdict

__all__ = ["Anchors", "Report", "Verdict", "audit"]
