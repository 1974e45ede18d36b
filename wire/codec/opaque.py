"""Byte strings: of fixed length, or with a length in front."""

from __future__ import annotations

from wire.codec.base import Codec, Fault, Notation, Reader, checked_sizes


class LengthPrefix:
    """The length in bytes of what follows, in as few bytes as hold the maximum."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum = minimum
        self._maximum = maximum
        self.width = max(1, (maximum.bit_length() + 7) // 8)

    def read(self, reader: Reader) -> int:
        """Consume the length; return the offset where the content ends.

        Compares numbers only, so that an absurd length costs nothing.
        """
        start = reader.position
        length = int.from_bytes(reader.take(self.width))
        if not self._minimum <= length <= self._maximum:
            raise Fault(f"a length of {self._minimum} to {self._maximum}, not {length}", start)
        left = reader.limit - reader.position
        if length > left:
            raise Fault(f"announces {length} bytes, {left} are left", start)
        return reader.position + length


class Fixed(Codec[bytes]):
    """Byte strings of one length."""

    def __init__(self, size: int) -> None:
        checked_sizes(size, size, "fixed")
        self.min_size = self.max_size = self._size = size

    @property
    def notation(self) -> Notation:
        return Notation("opaque", f"[{self._size}]")

    def read(self, reader: Reader) -> bytes:
        return reader.take(self._size)

    def write(self, value: bytes, out: bytearray) -> None:
        if type(value) is not bytes:
            raise Fault(f"needs bytes, not {type(value).__name__}")
        if len(value) != self._size:
            raise Fault(f"needs {self._size} bytes, not {len(value)}")
        out += value


class Opaque(Codec[bytes]):
    """Byte strings of bounded length behind their length."""

    def __init__(self, minimum: int, maximum: int) -> None:
        checked_sizes(minimum, maximum, "opaque")
        self._minimum = minimum
        self._maximum = maximum
        self._prefix = LengthPrefix(minimum, maximum)
        self.min_size = self._prefix.width + minimum
        self.max_size = self._prefix.width + maximum

    @property
    def notation(self) -> Notation:
        return Notation("opaque", f"<{self._minimum}..{self._maximum}>")

    def read(self, reader: Reader) -> bytes:
        stop = self._prefix.read(reader)
        return reader.take(stop - reader.position)

    def write(self, value: bytes, out: bytearray) -> None:
        if type(value) is not bytes:
            raise Fault(f"needs bytes, not {type(value).__name__}")
        if not self._minimum <= len(value) <= self._maximum:
            raise Fault(f"needs {self._minimum} to {self._maximum} bytes, not {len(value)}")
        out += len(value).to_bytes(self._prefix.width)
        out += value


def fixed(size: int) -> Codec[bytes]:
    """Exactly `size` bytes, nothing in front of them."""
    return Fixed(size)


def opaque(minimum: int, maximum: int) -> Codec[bytes]:
    """`minimum` to `maximum` bytes behind their length."""
    return Opaque(minimum, maximum)
