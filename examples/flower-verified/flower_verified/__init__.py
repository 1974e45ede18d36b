"""Learns to read digits inside Flower, on verified sums."""
