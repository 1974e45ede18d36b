"""Learning algorithms as clients of the aggregation API."""
