"""Makes sure of the memory for the libraries below an audit before it begins."""

from __future__ import annotations

import mmap
import os
from typing import Final

LEAST: Final = 352 << 20
"""Bytes of address space that the libraries take with one thread, and some for the audit."""


class NoRoom(MemoryError):
    """There is too little memory to load what an audit needs."""


def make_room() -> None:
    """Load the linear algebra of an audit with all of its buffers, or raise `NoRoom`.

    Where OpenBLAS gets no memory for a buffer it ends the process with 1, which would say INVALID,
    or tries for ever. So the buffers are taken now, while there is room: it keeps them, and what is
    lacking later is lacking in Python, which raises. One thread needs one buffer, however many
    cores there are, and adds numbers up in one order.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        mmap.mmap(-1, LEAST).close()
    except (OSError, MemoryError, ValueError):
        raise NoRoom(f"an audit needs {LEAST >> 20} MiB of address space") from None

    import numpy as np
    from scipy import linalg

    square = np.eye(128)
    np.linalg.eigvalsh(square @ square)
    linalg.eigvalsh(square)
