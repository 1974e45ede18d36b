"""The integers of gmpy2, which carries no type hints, with a type that the checker knows.

To the type checker an `mpz` is an `int`. The one difference that matters is that
an `mpz` has no `to_bytes` in every supported version of gmpy2, hence `int(...)`
in front of each encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from builtins import int as mpz

    def invert(value: int, modulus: int, /) -> int:
        """The inverse modulo `modulus`; `ZeroDivisionError` where there is none."""

    def powmod(base: int, exponent: int, modulus: int, /) -> int:
        """`base ** exponent` modulo `modulus`."""
else:
    from gmpy2 import invert, mpz, powmod

__all__ = ["invert", "invert_all", "mpz", "powmod"]


def invert_all(values: list[int], modulus: int) -> list[int]:
    """The inverses of all values with one inversion. No value may be zero."""
    if not values:
        return []
    running = mpz(1)
    before = []
    for value in values:
        before.append(running)
        running = running * value % modulus
    tail = invert(running, modulus)
    inverses = []
    for value, product in zip(reversed(values), reversed(before), strict=True):
        inverses.append(tail * product % modulus)
        tail = tail * value % modulus
    inverses.reverse()
    return inverses
