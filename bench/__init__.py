"""Benchmarks: `python -m bench NAME --json`. Never timed tests, never installed."""
