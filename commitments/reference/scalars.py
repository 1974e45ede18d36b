"""Implements single scalars, public and secret, and what every secret value refuses to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, overload

from commitments.group import AnyScalar, Scalar, SecretScalar
from commitments.reference.arguments import foreign
from commitments.reference.bigint import invert, mpz
from commitments.reference.curve import Curve
from wire.errors import MalformedMessage, UsageError
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


class ReferenceScalar:
    """A public integer mod the group order. Implements `commitments.group.Scalar`."""

    __slots__ = ("curve", "residue")

    def __init__(self, curve: Curve, residue: int) -> None:
        self.curve = curve
        self.residue = residue

    @overload
    def __add__(self, other: Scalar, /) -> ReferenceScalar: ...
    @overload
    def __add__(self, other: SecretScalar, /) -> ReferenceSecretScalar: ...
    def __add__(self, other: AnyScalar, /) -> ReferenceScalar | ReferenceSecretScalar:
        if isinstance(other, ReferenceSecretScalar):
            return (self + other.reveal()).secret()
        return self._with(self.residue + public_residue(self.curve, other))

    @overload
    def __sub__(self, other: Scalar, /) -> ReferenceScalar: ...
    @overload
    def __sub__(self, other: SecretScalar, /) -> ReferenceSecretScalar: ...
    def __sub__(self, other: AnyScalar, /) -> ReferenceScalar | ReferenceSecretScalar:
        if isinstance(other, ReferenceSecretScalar):
            return (self - other.reveal()).secret()
        return self._with(self.residue - public_residue(self.curve, other))

    @overload
    def __mul__(self, other: Scalar, /) -> ReferenceScalar: ...
    @overload
    def __mul__(self, other: SecretScalar, /) -> ReferenceSecretScalar: ...
    def __mul__(self, other: AnyScalar, /) -> ReferenceScalar | ReferenceSecretScalar:
        if isinstance(other, ReferenceSecretScalar):
            return (self * other.reveal()).secret()
        return self._with(self.residue * public_residue(self.curve, other))

    def __neg__(self) -> ReferenceScalar:
        return self._with(-self.residue)

    def inverse(self) -> ReferenceScalar:
        if self.residue == 0:
            raise UsageError("zero has no inverse")
        return self._with(invert(self.residue, self.curve.order))

    def is_zero(self) -> bool:
        return self.residue == 0

    def __int__(self) -> int:
        return int(self.residue)

    def __eq__(self, other: object, /) -> bool:
        if isinstance(other, ReferenceScalar):
            return self.curve is other.curve and self.residue == other.residue
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.curve.name, self.residue))

    def to_bytes(self) -> bytes:
        return encode_residue(self.curve, self.residue)

    def secret(self) -> ReferenceSecretScalar:
        return ReferenceSecretScalar(self)

    def __repr__(self) -> str:
        return f"<Scalar of {self.curve.name}: {int(self)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return load_scalar, (self.curve, self.to_bytes())

    def _with(self, value: int) -> ReferenceScalar:
        return ReferenceScalar(self.curve, value % self.curve.order)


class ReferenceSecretScalar(Concealed):
    """A secret integer mod the group order. Implements `commitments.group.SecretScalar`."""

    __slots__ = ("_public",)

    def __init__(self, public: ReferenceScalar) -> None:
        self._public = public

    @property
    def curve(self) -> Curve:
        return self._public.curve

    def __add__(self, other: AnyScalar, /) -> ReferenceSecretScalar:
        return (self._public + disclosed(other)).secret()

    def __sub__(self, other: AnyScalar, /) -> ReferenceSecretScalar:
        return (self._public - disclosed(other)).secret()

    def __mul__(self, other: AnyScalar, /) -> ReferenceSecretScalar:
        return (self._public * disclosed(other)).secret()

    def __neg__(self) -> ReferenceSecretScalar:
        return (-self._public).secret()

    def __bool__(self) -> bool:
        return refuse("tested for truth")

    def reveal(self) -> ReferenceScalar:
        return self._public

    def __repr__(self) -> str:
        return f"<SecretScalar of {self.curve.name}>"


def disclosed(scalar: AnyScalar) -> Scalar:
    """The public value, for arithmetic whose result is made secret again."""
    return scalar.reveal() if isinstance(scalar, ReferenceSecretScalar) else scalar  # type: ignore[return-value]


def public_residue(curve: Curve, scalar: object) -> int:
    """The residue of a public scalar of this curve.

    Raises:
        UsageError: it is a secret, no scalar, or one of another group or backend.
    """
    if isinstance(scalar, ReferenceScalar) and scalar.curve is curve:
        return scalar.residue
    raise foreign(curve, "public scalar", scalar)


def any_residue(curve: Curve, scalar: AnyScalar) -> int:
    """The residue of a scalar of this curve, public or secret."""
    return public_residue(curve, disclosed(scalar))


def encode_residue(curve: Curve, residue: int) -> bytes:
    """The one encoding of a reduced integer."""
    return int(residue).to_bytes(curve.scalar_size, curve.scalar_byteorder)


def decode_residues(curve: Curve, data: bytes, count: int) -> tuple[int, ...]:
    """Strict: exactly `count` encodings of reduced integers.

    Raises:
        MalformedMessage: the length is wrong, or an integer is not reduced.
    """
    size = curve.scalar_size
    check_length(data, count, size)
    residues = []
    for offset in range(0, len(data), size):
        residue = int.from_bytes(data[offset : offset + size], curve.scalar_byteorder)
        if residue >= curve.order:
            raise MalformedMessage("a scalar is not reduced mod the group order", offset=offset)
        residues.append(mpz(residue))
    return tuple(residues)


def check_length(data: bytes, count: int, size: int) -> None:
    """Refuse received bytes that are not `count` items of `size` bytes."""
    if not isinstance(data, bytes):
        raise UsageError(f"decode bytes, not {type(data).__name__}")
    if len(data) != count * size:
        raise MalformedMessage(
            f"expected {count} items of {size} bytes, got {len(data)} bytes",
            offset=min(len(data), count * size),
        )


def load_scalar(curve: Curve, data: bytes) -> ReferenceScalar:
    """Unpickle a scalar as strictly as any received one."""
    return ReferenceScalar(curve, decode_residues(curve, data, 1)[0])
