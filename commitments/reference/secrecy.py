"""What every secret value refuses to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from wire.secret import refuse


class Concealed:
    """Base of the secret types: stops the accidental ways out of secrecy.

    Python keeps no memory private, so this guards against mistakes and not
    against code that goes looking.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return refuse("compared")

    def __lt__(self, other: object) -> bool:
        return refuse("compared")

    __le__ = __gt__ = __ge__ = __lt__

    def __hash__(self) -> NoReturn:  # noqa: PLE0309  refusing is the point
        refuse("hashed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse("pickled or copied")

    def __iter__(self) -> Iterator[NoReturn]:
        return refuse("iterated over")

    def __reversed__(self) -> Iterator[NoReturn]:
        return refuse("iterated over")

    def __int__(self) -> int:
        return refuse("turned into a number")

    def __index__(self) -> int:
        return refuse("turned into a number")

    def __float__(self) -> float:
        return refuse("turned into a number")

    def __complex__(self) -> complex:
        return refuse("turned into a number")

    def __bytes__(self) -> bytes:
        return refuse("turned into bytes")
