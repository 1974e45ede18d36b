"""What the reference backend needs to know of a curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

Element: TypeAlias = tuple[int, ...]
"""A group element in the curve's own coordinates. One element has many of them."""

Addend: TypeAlias = tuple[int, ...]
"""A group element in the form that is cheapest to add to another one."""


class Curve(Protocol):
    """A group of prime order, in coordinates.

    A curve is a module-level constant: two objects belong to the same group when
    they hold the same curve object, and pickling keeps that identity.
    """

    @property
    def name(self) -> str: ...
    @property
    def order(self) -> int: ...
    @property
    def scalar_size(self) -> int: ...
    @property
    def scalar_byteorder(self) -> Literal["little", "big"]: ...
    @property
    def point_size(self) -> int: ...
    @property
    def identity(self) -> Element: ...
    @property
    def generator(self) -> Element: ...
    @property
    def one_way_map(self) -> Callable[[bytes], Element] | None:
        """The map from 64 uniform bytes to an element nobody knows a logarithm of."""

    def encode(self, element: Element, /) -> bytes:
        """The one encoding; `UsageError` for an identity that has none."""

    def decode(self, data: bytes, /) -> Element | None:
        """The element of `point_size` bytes, or None if no element encodes to them."""

    def add(self, left: Element, right: Element, /) -> Element: ...
    def negate(self, element: Element, /) -> Element: ...
    def equal(self, left: Element, right: Element, /) -> bool: ...
    def is_identity(self, element: Element, /) -> bool: ...

    def double(self, element: Element, times: int, /) -> Element:
        """The element multiplied by 2^times."""

    def addends(self, elements: Sequence[Element], /) -> list[Addend]:
        """All elements made ready for `add_all`, with one field inversion."""

    def negate_addend(self, addend: Addend, /) -> Addend: ...

    def add_all(self, start: Element, addends: Iterable[Addend], /) -> Element:
        """Add all addends to `start`."""
