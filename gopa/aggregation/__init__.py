"""Computes averages, sums, histograms and variances of private values."""

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
