"""Tests of what trains modules of PyTorch: `make test-torch` runs them where that is."""
