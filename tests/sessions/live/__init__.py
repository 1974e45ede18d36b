"""Whole sessions against a real board on loopback."""
