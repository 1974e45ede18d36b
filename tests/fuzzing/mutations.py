"""Changes that have broken parsers elsewhere: lengths, cuts, splices, repetition, depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

_COUNTS: Final = tuple(
    number.to_bytes(size)
    for size in (1, 2, 4, 8)
    for number in (0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1)
)
"""Numbers at the ends of their fields: the lengths that parsers believe."""

Change = Callable[[st.DrawFn, bytes, Sequence[bytes]], bytes]


@st.composite
def changed(draw: st.DrawFn, corpus: Sequence[bytes], most: int = 3) -> bytes:
    """One of the corpus after a few changes."""
    data: bytes = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(1, most))):
        change: Change = draw(st.sampled_from(_CHANGES))
        data = change(draw, data, corpus)
    return data


def _flipped(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, 8 * len(data) - 1))
    return data[: at // 8] + bytes([data[at // 8] ^ (1 << at % 8)]) + data[at // 8 + 1 :]


def _cut(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _extended(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    return data + draw(st.binary(min_size=1, max_size=8))


def _counted(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    at = draw(st.integers(0, len(data)))
    count: bytes = draw(st.sampled_from(_COUNTS))
    return data[:at] + count + data[at + len(count) :]


def _spliced(draw: st.DrawFn, data: bytes, corpus: Sequence[bytes]) -> bytes:
    other = draw(st.sampled_from(corpus))
    return data[: draw(st.integers(0, len(data)))] + other[draw(st.integers(0, len(other))) :]


def _repeated(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    start = draw(st.integers(0, len(data)))
    part = data[start : start + draw(st.integers(0, 64))]
    return data[:start] + part * draw(st.integers(2, 4)) + data[start:]


def _without(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    start = draw(st.integers(0, len(data)))
    return data[:start] + data[start + draw(st.integers(1, 40)) :]


def _overwritten(draw: st.DrawFn, data: bytes, _: Sequence[bytes]) -> bytes:
    start, new = draw(st.integers(0, len(data))), draw(st.binary(max_size=8))
    return data[:start] + new + data[start + len(new) :]


_CHANGES: Final[Sequence[Change]] = (
    _flipped,
    _cut,
    _extended,
    _counted,
    _spliced,
    _repeated,
    _without,
    _overwritten,
)
