"""What colluding parties learn, measured against what a plan claims.

Best tests of one input against another, on views of coalitions: a bound from below on
epsilon and delta, with its confidence. It finds leaks and proves none absent. Read `views` (what
is drawn), `scenarios` and `coalitions` (who sees it), `distinguishers` (the tests), `measuring`
(the bounds); `evidence`, `live` and `linking` take what is seen from real logs.
"""

from gopa.adversary.privacy.broken import BREAKAGES, Breakage, broken_views
from gopa.adversary.privacy.coalitions import (
    COALITIONS,
    Coalition,
    default_views,
    read_plan,
    views_of,
)
from gopa.adversary.privacy.distinguishing import DistinguishResult, distinguish
from gopa.adversary.privacy.linking import ViewComparison, link, links
from gopa.adversary.privacy.measuring import (
    CONFIDENCE,
    MeasuredView,
    Measurement,
    ViewClaim,
    ViewResult,
    measure,
    measure_all,
    noticed,
)
from gopa.adversary.privacy.scenarios import ReleaseScenario
from gopa.adversary.privacy.views import Law, Masks, Release, World

__all__ = [
    "BREAKAGES",
    "COALITIONS",
    "CONFIDENCE",
    "Breakage",
    "Coalition",
    "DistinguishResult",
    "Law",
    "Masks",
    "MeasuredView",
    "Measurement",
    "Release",
    "ReleaseScenario",
    "ViewClaim",
    "ViewComparison",
    "ViewResult",
    "World",
    "broken_views",
    "default_views",
    "distinguish",
    "link",
    "links",
    "measure",
    "measure_all",
    "noticed",
    "read_plan",
    "views_of",
]
