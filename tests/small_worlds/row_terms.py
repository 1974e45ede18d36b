"""Terms of small worlds whose vectors are proved row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gopa.adversary.setup import IN_ROWS

SHORT: Final = replace(IN_ROWS, dimension=2, noise_square=1568, spike=31)
"""As short as vectors are in this path."""
