"""Laws of masks as bytes."""

from __future__ import annotations

import pytest

from gopa.rounds.masks import MASK_LAW, MaskLaw, RoundedGaussian, UniformMask
from wire.errors import MalformedMessage


@pytest.mark.parametrize(
    ("law", "data"),
    [
        (UniformMask(), "01"),
        (RoundedGaussian(1), "0200000001"),
        (RoundedGaussian(2**16), "0200010000"),
    ],
    ids=["uniform", "smallest", "largest"],
)
def test_encodings(law: MaskLaw, data: str) -> None:
    assert MASK_LAW.encode(law).hex() == data
    assert MASK_LAW.decode(bytes.fromhex(data)) == law


@pytest.mark.parametrize(
    "data", ["", "00", "03", "0100", "02", "02000000", "0200000000", "0200010001", "020000000100"]
)
def test_malformed_encodings(data: str) -> None:
    with pytest.raises(MalformedMessage):
        MASK_LAW.decode(bytes.fromhex(data))
