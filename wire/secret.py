"""Hides secrets that must not leak by accident."""

from __future__ import annotations

from typing import NoReturn

from wire.errors import UsageError


def refuse(what: str) -> NoReturn:
    """The one refusal that every secret type raises."""
    raise UsageError(f"a secret cannot be {what}; call reveal() where that is really meant")


class Guarded:
    """The base of secrets of any class: they do not print, pickle, hash or compare."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: secret>"

    def __eq__(self, other: object) -> bool:
        refuse("compared")

    def __hash__(self) -> NoReturn:  # noqa: PLE0309  refusing is the point
        refuse("hashed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse("pickled or copied")


class SecretBytes(Guarded):
    """Bytes that never print, pickle, hash or compare; `reveal` is the only way out.

    CPython copies and moves objects, so erasure from memory is not promised:
    the type stops accidents, not a debugger.
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        if not isinstance(data, bytes):
            raise UsageError(f"SecretBytes holds bytes, not {type(data).__name__}")
        self._data = data

    def reveal(self) -> bytes:
        """The bytes themselves. The caller keeps them out of logs and errors."""
        return self._data

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"<SecretBytes: {len(self._data)} bytes>"
