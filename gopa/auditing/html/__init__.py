"""The report for people: `to_html` makes a page of the JSON report, `to_card` the head of one.

`view` is all that `page.html` shows, `figures` and `details` fill it, `drawing` draws, `page` puts
them together. The page runs no script:

    >>> from gopa.auditing.html import CONTENT_SECURITY_POLICY
    >>> "script-src" in CONTENT_SECURITY_POLICY
    False
"""

from gopa.auditing.html.page import CONTENT_SECURITY_POLICY, to_card, to_html

__all__ = ["CONTENT_SECURITY_POLICY", "to_card", "to_html"]
