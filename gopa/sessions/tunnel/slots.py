"""What is large in a state, in slots of its own: sealed once, and opened when it is used.

    slot = name (32 bytes) | size in four bytes | XSalsa20-Poly1305(content), without its nonce

The name is a keyed hash of place and content, the key follows from place and name, and the nonce
is the beginning of the name: so a slot opens under its own name only, and holds the one content
that was given it. 12-N4.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from gopa.sessions.vault.interface import VaultDamaged
from gopa.sessions.vault.protection import NONCE_SIZE, NotForThisKey, SealingKey, SecretBox
from wire.domains import TUNNEL_SLOT
from wire.secret import Guarded, SecretBytes

NAME_SIZE: Final = 32
_SIZE: Final = 4


class Slots(Guarded):
    """The slots of one state, from which those of the next are made."""

    def __init__(self, secret: SealingKey, place: bytes) -> None:
        self._secret, self._place = secret, place
        self._sealed: dict[bytes, memoryview] = {}
        self._opened: dict[bytes, bytes] = {}
        self._names: dict[int, tuple[bytes, bytes]] = {}

    def read(self, data: memoryview, names: Sequence[bytes]) -> None:
        """Take the slots behind a state; raises `VaultDamaged` unless they have these names."""
        start = 0
        for name in names:
            begin = start + NAME_SIZE + _SIZE
            end = begin + int.from_bytes(data[start + NAME_SIZE : begin])
            if data[start : start + NAME_SIZE] != name:
                raise VaultDamaged("a slot of the state is missing: use the last one returned")
            self._sealed[name] = data[begin:end]
            start = end
        if start != len(data):
            raise VaultDamaged("something stands behind the state: use the last one returned")

    def written(self, names: Sequence[bytes]) -> list[bytes | memoryview]:
        """The slots with these names, in parts."""
        parts: list[bytes | memoryview] = []
        for name in names:
            sealed = self._sealed[name]
            parts += [name, len(sealed).to_bytes(_SIZE), sealed]
        return parts

    def put(self, content: bytes) -> bytes:
        """The name of a slot with this content, which is sealed unless it was before."""
        known = self._names.get(id(content))
        if known is not None:
            return known[0]
        name = self._keyed(b"name", content)
        if name not in self._sealed:
            boxed = self._box(name).encrypt(content, name[:NONCE_SIZE])
            self._sealed[name] = memoryview(boxed)[NONCE_SIZE:]
        self._remember(name, content)
        return name

    def get(self, name: bytes) -> bytes:
        """What is in a slot; raises `VaultDamaged` if it is another one, or was changed."""
        found = self._opened.get(name)
        if found is not None:
            return found
        try:
            content = self._box(name).decrypt(b"".join([name[:NONCE_SIZE], self._sealed[name]]))
        except (NotForThisKey, KeyError):
            message = "a slot of the state was changed: use the last one returned"
            raise VaultDamaged(message) from None
        self._remember(name, content)
        return content

    def _remember(self, name: bytes, content: bytes) -> None:
        self._opened[name] = content
        self._names[id(content)] = name, content  # kept with it, so that no other has its id

    def _box(self, name: bytes) -> SecretBox:
        return SecretBox(SecretBytes(self._keyed(b"key", name)))

    def _keyed(self, purpose: bytes, data: bytes) -> bytes:
        label = TUNNEL_SLOT + bytes([len(purpose)]) + purpose + self._place
        hashed = hmac.new(self._secret.data.reveal(), label, "sha256")
        hashed.update(data)
        return hashed.digest()


class LateBytes(Guarded):
    """Bytes in a slot that is opened when they are asked for."""

    __slots__ = ("load", "name")

    def __init__(self, name: bytes, load: Callable[[bytes], bytes]) -> None:
        self.name, self.load = name, load

    def found(self) -> bytes:
        """The bytes; raises `VaultDamaged`."""
        return self.load(self.name)


class LateIntegers(Sequence[int], Guarded):
    """Integers in a slot that is opened when one of them is asked for."""

    __slots__ = ("_count", "_found", "_kind", "load", "name")

    def __init__(
        self, name: bytes, count: int, load: Callable[[bytes], bytes], kind: str = "<i8"
    ) -> None:
        self.name, self.load, self._kind = name, load, kind
        self._count = count
        self._found: npt.NDArray[np.integer] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        found: Any = self._array()[index].tolist()
        return tuple(found) if isinstance(index, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        return iter(self._array().tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = self._array()
        return (
            np.array(found, dtype=dtype) if copy else found.astype(dtype or found.dtype, copy=False)
        )

    def _array(self) -> npt.NDArray[np.integer]:
        if self._found is None:
            self._found = np.frombuffer(self.load(self.name), dtype=self._kind)
        return self._found
