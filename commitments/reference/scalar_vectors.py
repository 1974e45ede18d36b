"""Implements vectors of scalars, public and secret."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TypeAlias, overload

from commitments.group import (
    AnyScalar,
    AnyScalarVec,
    Scalar,
    ScalarVec,
    SecretScalar,
    SecretScalarVec,
)
from commitments.reference.arguments import foreign, item_at, items_at, items_in, same_length
from commitments.reference.bigint import invert_all
from commitments.reference.curve import Curve
from commitments.reference.scalars import (
    Concealed,
    ReferenceScalar,
    ReferenceSecretScalar,
    decode_residues,
    encode_residue,
)
from wire.errors import UsageError

_Operation: TypeAlias = Callable[[int, int], int]
_PublicOperand: TypeAlias = Scalar | ScalarVec
_SecretOperand: TypeAlias = SecretScalar | SecretScalarVec
_Operand: TypeAlias = _PublicOperand | _SecretOperand


class ReferenceScalarVec:
    """A vector of public scalars. Implements `commitments.group.ScalarVec`."""

    __slots__ = ("curve", "residues")

    def __init__(self, curve: Curve, residues: tuple[int, ...]) -> None:
        self.curve = curve
        self.residues = residues

    def __len__(self) -> int:
        return len(self.residues)

    @overload
    def __getitem__(self, index: int, /) -> ReferenceScalar: ...
    @overload
    def __getitem__(self, index: slice, /) -> ReferenceScalarVec: ...
    def __getitem__(self, index: int | slice, /) -> ReferenceScalar | ReferenceScalarVec:
        if isinstance(index, slice):
            return self._with(items_in(self.residues, index))
        return ReferenceScalar(self.curve, item_at(self.residues, index))

    def __iter__(self) -> Iterator[ReferenceScalar]:
        return (ReferenceScalar(self.curve, residue) for residue in self.residues)

    @overload
    def __add__(self, other: _PublicOperand, /) -> ReferenceScalarVec: ...
    @overload
    def __add__(self, other: _SecretOperand, /) -> ReferenceSecretScalarVec: ...
    def __add__(self, other: _Operand, /) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        return self._combined(operator.add, other)

    @overload
    def __sub__(self, other: _PublicOperand, /) -> ReferenceScalarVec: ...
    @overload
    def __sub__(self, other: _SecretOperand, /) -> ReferenceSecretScalarVec: ...
    def __sub__(self, other: _Operand, /) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        return self._combined(operator.sub, other)

    @overload
    def __mul__(self, other: _PublicOperand, /) -> ReferenceScalarVec: ...
    @overload
    def __mul__(self, other: _SecretOperand, /) -> ReferenceSecretScalarVec: ...
    def __mul__(self, other: _Operand, /) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        return self._combined(operator.mul, other)

    def __neg__(self) -> ReferenceScalarVec:
        order = self.curve.order
        return self._with(tuple(-residue % order for residue in self.residues))

    def inverse(self) -> ReferenceScalarVec:
        if not all(self.residues):
            raise UsageError("zero has no inverse")
        return self._with(tuple(invert_all(list(self.residues), self.curve.order)))

    @overload
    def inner(self, other: ScalarVec, /) -> ReferenceScalar: ...
    @overload
    def inner(self, other: SecretScalarVec, /) -> ReferenceSecretScalar: ...
    def inner(self, other: AnyScalarVec, /) -> ReferenceScalar | ReferenceSecretScalar:
        if isinstance(other, ReferenceSecretScalarVec):
            return self.inner(other.reveal()).secret()
        others = public_residues(self.curve, other)
        same_length(len(self), len(others), "inner product")
        products = map(operator.mul, self.residues, others)
        return ReferenceScalar(self.curve, sum(products) % self.curve.order)

    def sum(self) -> ReferenceScalar:
        return ReferenceScalar(self.curve, sum(self.residues) % self.curve.order)

    def gather(self, indices: Sequence[int], /) -> ReferenceScalarVec:
        return self._with(items_at(self.residues, indices))

    @overload
    def concat(self, other: ScalarVec, /) -> ReferenceScalarVec: ...
    @overload
    def concat(self, other: SecretScalarVec, /) -> ReferenceSecretScalarVec: ...
    def concat(self, other: AnyScalarVec, /) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        if isinstance(other, ReferenceSecretScalarVec):
            return self.concat(other.reveal()).secret()
        return self._with(self.residues + public_residues(self.curve, other))

    def to_bytes(self) -> bytes:
        return b"".join(encode_residue(self.curve, residue) for residue in self.residues)

    def ints(self) -> list[int]:
        return [int(residue) for residue in self.residues]

    def __eq__(self, other: object, /) -> bool:
        if isinstance(other, ReferenceScalarVec):
            return self.curve is other.curve and self.residues == other.residues
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def secret(self) -> ReferenceSecretScalarVec:
        return ReferenceSecretScalarVec(self)

    def __repr__(self) -> str:
        return f"<ScalarVec of {self.curve.name}: {len(self)} scalars>"

    def __reduce__(self) -> tuple[object, ...]:
        return load_scalars, (self.curve, self.to_bytes())

    def _with(self, residues: tuple[int, ...]) -> ReferenceScalarVec:
        return ReferenceScalarVec(self.curve, residues)

    def _combined(
        self, operation: _Operation, other: _Operand
    ) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        if isinstance(other, ReferenceSecretScalar | ReferenceSecretScalarVec):
            return ReferenceSecretScalarVec(self.combined(operation, other.reveal()))
        return self.combined(operation, other)

    def combined(self, operation: _Operation, other: object) -> ReferenceScalarVec:
        """Apply an operation element by element; a public scalar is broadcast."""
        order = self.curve.order
        if isinstance(other, ReferenceScalar) and other.curve is self.curve:
            pairs = zip(self.residues, repeat(other.residue))
        else:
            others = public_residues(self.curve, other)
            same_length(len(self), len(others), "vectors")
            pairs = zip(self.residues, others, strict=True)
        return self._with(tuple(operation(a, b) % order for a, b in pairs))


class ReferenceSecretScalarVec(Concealed):
    """A vector of secret scalars. Implements `commitments.group.SecretScalarVec`."""

    __slots__ = ("_public",)

    def __init__(self, public: ReferenceScalarVec) -> None:
        self._public = public

    @property
    def curve(self) -> Curve:
        return self._public.curve

    def __len__(self) -> int:
        return len(self._public)

    @overload
    def __getitem__(self, index: int, /) -> ReferenceSecretScalar: ...
    @overload
    def __getitem__(self, index: slice, /) -> ReferenceSecretScalarVec: ...
    def __getitem__(
        self, index: int | slice, /
    ) -> ReferenceSecretScalar | ReferenceSecretScalarVec:
        return self._public[index].secret()

    def __add__(self, other: AnyScalar | AnyScalarVec, /) -> ReferenceSecretScalarVec:
        return self._public.combined(operator.add, _disclosed(other)).secret()

    def __sub__(self, other: AnyScalar | AnyScalarVec, /) -> ReferenceSecretScalarVec:
        return self._public.combined(operator.sub, _disclosed(other)).secret()

    def __mul__(self, other: AnyScalar | AnyScalarVec, /) -> ReferenceSecretScalarVec:
        return self._public.combined(operator.mul, _disclosed(other)).secret()

    def __neg__(self) -> ReferenceSecretScalarVec:
        return (-self._public).secret()

    def inner(self, other: AnyScalarVec, /) -> ReferenceSecretScalar:
        return self._public.inner(any_vector(self.curve, other)).secret()

    def sum(self) -> ReferenceSecretScalar:
        return self._public.sum().secret()

    def gather(self, indices: Sequence[int], /) -> ReferenceSecretScalarVec:
        return self._public.gather(indices).secret()

    def concat(self, other: AnyScalarVec, /) -> ReferenceSecretScalarVec:
        return self._public.concat(any_vector(self.curve, other)).secret()

    def reveal(self) -> ReferenceScalarVec:
        return self._public

    def __repr__(self) -> str:
        return f"<SecretScalarVec of {self.curve.name}: {len(self)} scalars>"


def _disclosed(operand: object) -> object:
    if isinstance(operand, ReferenceSecretScalar | ReferenceSecretScalarVec):
        return operand.reveal()
    return operand


def public_residues(curve: Curve, vector: object) -> tuple[int, ...]:
    """The residues of a public vector of this curve.

    Raises:
        UsageError: it is secret, no vector, or one of another group or backend.
    """
    if isinstance(vector, ReferenceScalarVec) and vector.curve is curve:
        return vector.residues
    raise foreign(curve, "public vector of scalars", vector)


def any_vector(curve: Curve, vector: object) -> ReferenceScalarVec:
    """A vector of this curve, public or secret, as a public one."""
    public = _disclosed(vector)
    if isinstance(public, ReferenceScalarVec) and public.curve is curve:
        return public
    raise foreign(curve, "vector of scalars", vector)


def load_scalars(curve: Curve, data: bytes) -> ReferenceScalarVec:
    """Unpickle a vector as strictly as any received one."""
    count = len(data) // curve.scalar_size
    return ReferenceScalarVec(curve, decode_residues(curve, data, count))
