"""Sequences whose items are made when they are asked for, and not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class Made(Sequence[_Item], Generic[_Key, _Item]):
    """One item for each key, equal whenever it is made: of many only a few are in memory."""

    def __init__(self, make: Callable[[_Key], _Item], keys: Sequence[_Key]) -> None:
        self._make, self._keys = make, keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> _Item: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[_Item]: ...
    def __getitem__(self, at: int | slice) -> _Item | Sequence[_Item]:
        if isinstance(at, slice):
            return Made(self._make, self._keys[at])
        return self._make(self._keys[at])
