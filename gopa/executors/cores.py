"""How workers share the cores of a machine."""

from __future__ import annotations

from functools import cache

from commitments.backends import NATIVE, backend_status


@cache
def keep_to_one_core() -> None:
    """Every worker has a core of its own: threads inside of it would take those of the others."""
    if backend_status().active == NATIVE:
        from commitments.native import set_threads

        set_threads(1)
