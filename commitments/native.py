"""What the Rust core offers: the group ristretto255, and kernels over gates and tables.

The classes of `commitments._native` implement the interfaces of `commitments.group`
themselves; all that is left for Python is to name them. All of it is fast, and constant-time for
secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commitments._native import (
    RISTRETTO255,
    combine_bits,
    combine_rows,
    combine_tables,
    equality_moved,
    equality_sum,
    equality_table,
    equality_words,
    evaluate_gates,
    garble_gates,
    hash_blocks,
    integer_power_sums,
    integer_table,
    product_table,
    row_bit_sums,
    scalar_table,
    set_threads,
    threads,
)
from commitments._native import Ristretto255 as NativeGroup

if TYPE_CHECKING:
    from commitments.group import Group

    _CONFORMS: Group = RISTRETTO255  # and with it every class it hands out

__all__ = [
    "NativeGroup",
    "combine_bits",
    "combine_rows",
    "combine_tables",
    "equality_moved",
    "equality_sum",
    "equality_table",
    "equality_words",
    "evaluate_gates",
    "garble_gates",
    "hash_blocks",
    "integer_power_sums",
    "integer_table",
    "native_ristretto255",
    "product_table",
    "row_bit_sums",
    "scalar_table",
    "set_threads",
    "threads",
]


def native_ristretto255() -> NativeGroup:
    """The group on the native backend: one instance, found again by unpickling."""
    return RISTRETTO255
