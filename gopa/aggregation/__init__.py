"""Averages, sums, histograms and variances of private values: values in, results out.

Read `functions` (what users call), `values` and `columns` (what may be averaged), `encoding` and
`grid` (to integers), `engine` (a round), then `result`. Everything works on an `Aggregator`:
`LocalAggregator` runs all parties in this process, `gopa.sessions` has one for real sessions.

    >>> from gopa.aggregation import histogram
    >>> asked = {"epsilon": 4, "delta": 1e-5, "corrupt": 1, "seed": 1}
    >>> result = histogram([1, 2, 2, 3, 1] * 2, [0, 2, 4], **asked)
    >>> len(result.value)
    2

Specification: `specs/10-values.md`; for users: `docs/python.md`.
"""

from gopa.aggregation.aggregator import Aggregator, LocalAggregator
from gopa.aggregation.engine import RoundAborted
from gopa.aggregation.functions import average, average_async, sum, sum_async  # noqa: A004
from gopa.aggregation.histograms import Histogram, histogram, histogram_async, histograms
from gopa.aggregation.result import Result, WeightTooSmall
from gopa.aggregation.values import InvalidValue, InvalidWeight, OutOfRange
from gopa.aggregation.variances import Variance, variance, variance_async

__all__ = [
    "Aggregator",
    "Histogram",
    "InvalidValue",
    "InvalidWeight",
    "LocalAggregator",
    "OutOfRange",
    "Result",
    "RoundAborted",
    "Variance",
    "WeightTooSmall",
    "average",
    "average_async",
    "histogram",
    "histogram_async",
    "histograms",
    "sum",
    "sum_async",
    "variance",
    "variance_async",
]
