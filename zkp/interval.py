"""Integer intervals written in bits, with every combination of bits inside (specification 07)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from commitments.group import Group, SecretScalarVec
from wire.errors import UsageError


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included; at least two of them."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if type(self.low) is not int or type(self.high) is not int:
            raise UsageError("an interval has integer ends")
        if self.low >= self.high:
            raise UsageError("an interval holds two integers or more: open a constant instead")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """1, 2, 4, .. and a last weight such that all bits together give high - low.

        No sum of these weights leaves [0, high - low] and every number in it is one.
        """
        span = self.high - self.low
        top = span.bit_length() - 1
        return (*(1 << i for i in range(top)), span + 1 - (1 << top))

    def bits(self, value: int) -> list[int]:
        """The bits that give value - low.

        Raises:
            UsageError: the value is outside. The message does not say by how much.
        """
        offset = value - self.low
        if not 0 <= offset <= self.high - self.low:
            raise UsageError(f"a value is outside of [{self.low}, {self.high}]")
        *small, last = self.weights
        upper = offset >> len(small)
        offset -= upper * last
        return [*(offset >> i & 1 for i in range(len(small))), upper]


def require_unambiguous(interval: Interval, group: Group) -> None:
    """Residues stand for one integer of the interval at most.

    Raises:
        UsageError: the ends are not closer to zero than half the group order.
    """
    if max(-interval.low, interval.high) > group.order // 2:
        raise UsageError("the ends of an interval lie within half the group order")


def secret_bits(
    group: Group, values: SecretScalarVec, intervals: Iterable[Interval]
) -> SecretScalarVec:
    """The bits of all values, one value after the other.

    The values pass through Python integers on their way into bits, which takes no
    constant time: an attacker who times this process closely learns something about
    the sizes of values.

    Raises:
        UsageError: a value is outside of its interval.
    """
    half = group.order // 2
    bits: list[int] = []
    for residue, interval in zip(values.reveal().ints(), intervals, strict=True):
        bits += interval.bits(residue - group.order if residue > half else residue)
    return group.secret_scalars(bits)
