"""The report for people: `to_html` makes a page of the JSON report, `to_card` the head of one."""

from gopa.auditing.html.page import CONTENT_SECURITY_POLICY, to_card, to_html

__all__ = ["CONTENT_SECURITY_POLICY", "to_card", "to_html"]
