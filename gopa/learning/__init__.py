"""Keeps a place free for learning algorithms, which may import public names only; it is empty."""
