"""The binary form of a plan's terms. `specs/04-protocol.md`, section 1."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from typing import Final, TypeVar

from gopa.planning.terms import BeaconKind, MaskLaw, Terms
from wire.codec import Codec, converted, opaque, record, u8, u16, u32, u64
from wire.errors import MalformedMessage, UsageError
from zkp.noise_table import NOISE_LAW

_LONGEST_NUMBER: Final = 64
_PLAIN: Final = Context(capitals=1)
"""Spelling does not depend on the context that a program has set."""

_Name = TypeVar("_Name", bound=str)


def _decimal_text(value: Decimal) -> bytes:
    if type(value) is not Decimal or not value.is_finite():
        raise UsageError("a finite Decimal")
    return _PLAIN.to_sci_string(value).encode()


def _parse_decimal(data: bytes) -> Decimal:
    """One spelling for each value of `Decimal`: what `str` writes."""
    try:
        value = Decimal(data.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        raise MalformedMessage("not a decimal number") from None
    if not value.is_finite() or _decimal_text(value) != data:
        raise MalformedMessage("not the one spelling of a finite decimal number")
    return value


def _one_of(*names: _Name) -> Codec[_Name]:
    """A name by its position in this list."""

    def parse(number: int) -> _Name:
        if number >= len(names):
            raise MalformedMessage(f"a number below {len(names)}")
        return names[number]

    def unparse(name: _Name) -> int:
        if name not in names:
            raise UsageError(f"one of {', '.join(names)}")
        return names.index(name)

    return converted(u8, parse, unparse)


_DECIMAL: Final = converted(opaque(1, _LONGEST_NUMBER), _parse_decimal, _decimal_text)
_MASK: Final[Codec[MaskLaw]] = _one_of("gaussian", "uniform")
_BEACON: Final[Codec[BeaconKind]] = _one_of("commit-reveal", "drand")

TERMS: Codec[Terms] = record(
    Terms,
    parties=u32,
    corrupt=u32,
    survivors=u32,
    loss=u32,
    k=u32,
    dimension=u32,
    low=_DECIMAL,
    high=_DECIMAL,
    steps=u64,
    squared_sensitivity=u64,
    noise=NOISE_LAW,
    mask=_MASK,
    mask_deviation=u64,
    epsilon=_DECIMAL,
    delta=_DECIMAL,
    beta=_DECIMAL,
    rounds=u16,
    charged=u16,
    attempts=u16,
    beacon=_BEACON,
    threshold_numerator=u16,
    threshold_denominator=u16,
)
