"""Holds what learning algorithms share: clocks, objectives, clipping; public names only."""
