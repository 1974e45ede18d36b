"""Scratch space in memory where there is some."""

from tests.board.conftest import scratch, tmp_path

__all__ = ["scratch", "tmp_path"]
