"""Verified sums inside Flower."""
