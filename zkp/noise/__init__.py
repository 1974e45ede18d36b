"""The laws of noise, a file for each: its table, how it is drawn, and how it is proved.

`law.py` has what every law answers (`NoiseLaw`), `LAWS` lists those that terms may name. Read
first `no_noise.py`, the shortest. Specifications: `specs/03-privacy.md`, section 2, and
`specs/07-range-and-noise.md`, sections 3 and 4.

    >>> from zkp.noise import decode_noise_law, irwin_hall
    >>> law = irwin_hall(12, 4)
    >>> law.radius, decode_noise_law(law.to_bytes()) == law
    (90, True)
"""

from typing import Final

from wire.codec import Case, Codec, enumeration, select, u8
from zkp.noise.gaussian_table import (
    DEFAULT_BITS,
    GAUSSIAN_TABLE,
    MOST_BITS,
    MOST_ROWS,
    GaussianTable,
    NoiseSeeds,
)
from zkp.noise.law import (
    Enclosure,
    NoiseKind,
    NoiseLaw,
    NoiseSeed,
    NoiseSetting,
    PostedNoise,
    PublicCoins,
    check_law,
    exp_of_minus,
    key_of,
    product,
)
from zkp.noise.no_noise import NO_NOISE, NoNoise
from zkp.noise.weighted_bits import (
    LARGEST_TOTAL_WEIGHT,
    MOST_WEIGHTED_BITS,
    WEIGHTED_BITS,
    NoiseBits,
    WeightedBits,
    WeightRun,
    binomial,
    irwin_hall,
)

LAWS: Final[tuple[type[NoiseLaw], ...]] = (GaussianTable, WeightedBits, NoNoise)
"""Every law that terms may name."""

NOISE_LAW: Final[Codec[NoiseLaw]] = select(
    "NoiseLaw",
    enumeration(NoiseKind, u8),
    Case(GaussianTable.kind, GAUSSIAN_TABLE),
    Case(WeightedBits.kind, WEIGHTED_BITS),
    Case(NoNoise.kind, NO_NOISE),
)
"""The canonical encoding of a law's parameters."""


def decode_noise_law(data: bytes) -> NoiseLaw:
    """The law whose `to_bytes` is exactly `data`; else `MalformedMessage`."""
    return NOISE_LAW.decode(data)


__all__ = [
    "DEFAULT_BITS",
    "LARGEST_TOTAL_WEIGHT",
    "LAWS",
    "MOST_BITS",
    "MOST_ROWS",
    "MOST_WEIGHTED_BITS",
    "NOISE_LAW",
    "Enclosure",
    "GaussianTable",
    "NoNoise",
    "NoiseBits",
    "NoiseKind",
    "NoiseLaw",
    "NoiseSeed",
    "NoiseSeeds",
    "NoiseSetting",
    "PostedNoise",
    "PublicCoins",
    "WeightRun",
    "WeightedBits",
    "binomial",
    "check_law",
    "decode_noise_law",
    "exp_of_minus",
    "irwin_hall",
    "key_of",
    "product",
]
