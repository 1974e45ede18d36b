"""The report as one page for people: `to_html` renders the JSON report and nothing else."""

from gopa.auditing.html.page import CONTENT_SECURITY_POLICY, to_html

__all__ = ["CONTENT_SECURITY_POLICY", "to_html"]
