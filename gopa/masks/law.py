"""What masks are drawn from: uniform, or a rounded Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from gopa.masks.gaussian import RoundedGaussian
from wire.codec import Case, Codec, enumeration, record, select, u8, u32
from wire.errors import UsageError


class MaskKind(Enum):
    """The law's number in encodings."""

    UNIFORM = 1
    ROUNDED_GAUSSIAN = 2


@dataclass(frozen=True, slots=True)
class UniformMask:
    """Uniform over all scalars, or over all words: a masked value alone tells nothing."""


MaskLaw: TypeAlias = UniformMask | RoundedGaussian

MASK_LAW: Final[Codec[MaskLaw]] = select(
    "MaskLaw",
    enumeration(MaskKind, u8),
    Case(MaskKind.UNIFORM, record(UniformMask)),
    Case(MaskKind.ROUNDED_GAUSSIAN, record(RoundedGaussian, deviation=u32)),
)
"""The canonical encoding of a law."""


def require_law(law: MaskLaw) -> None:
    """Raises `UsageError` for anything but a law of masks."""
    if not isinstance(law, UniformMask | RoundedGaussian):
        raise UsageError(f"a law of masks is needed, not {type(law).__name__}", "law")
