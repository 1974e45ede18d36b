"""The interface of a group of prime order: scalars, points and vectors of both.

Everything above this file is written against these types only. Two backends
implement them for ristretto255 (`commitments.native`, `commitments.reference`);
tests add a third group to run foreign vectors through the same protocols.

Rules that hold for every implementation:

* Values are immutable. Operators return new objects and never change operands.
* A `Point` is always a valid group element, a `Scalar` always reduced.
* Scalars come in two kinds. `Scalar` and `ScalarVec` are public. `SecretScalar`
  and `SecretScalarVec` never print, pickle, hash, compare or iterate, are erased
  when dropped (native backend), and spread: any arithmetic that touches a secret
  gives a secret. Only `reveal()` ends secrecy.
* Methods whose name starts with `vartime_` take time that depends on their
  scalars, so they accept public scalars only. All other methods run in constant
  time on the native backend. The reference backend is never constant-time.
* An integer argument v must satisfy -order < v < order; it is taken mod order.
* Wrong lengths, mixed backends, index errors and secrets where a public value is
  needed raise `UsageError`. Received bytes that do not decode raise
  `MalformedMessage`, with `offset` at the first bad element. Nothing is half-done.
* Large batches release the GIL and use all cores (`GOPA_THREADS` limits them).
* The native core uses AVX-512 IFMA where the CPU has it (`GOPA_LANES=0` leaves it unused).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeAlias, overload

from wire.randomness import Rng
from wire.secret import SecretBytes

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Buffer  # collections.abc.Buffer from Python 3.12 on

Words: TypeAlias = "Buffer | np.ndarray[tuple[int], np.dtype[np.integer]]"
"""A one-dimensional buffer of 32- or 64-bit integers, for example a numpy array."""


class Scalar(Protocol):
    """A public integer mod the group order."""

    @overload
    def __add__(self, other: Scalar, /) -> Scalar: ...
    @overload
    def __add__(self, other: SecretScalar, /) -> SecretScalar: ...
    @overload
    def __sub__(self, other: Scalar, /) -> Scalar: ...
    @overload
    def __sub__(self, other: SecretScalar, /) -> SecretScalar: ...
    @overload
    def __mul__(self, other: Scalar, /) -> Scalar: ...
    @overload
    def __mul__(self, other: SecretScalar, /) -> SecretScalar: ...
    def __neg__(self) -> Scalar: ...
    def inverse(self) -> Scalar:
        """The multiplicative inverse; `UsageError` for zero."""

    def is_zero(self) -> bool: ...
    def __int__(self) -> int:
        """The representative in [0, order)."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def to_bytes(self) -> bytes: ...
    def secret(self) -> SecretScalar:
        """The same value, treated as a secret from here on."""


class SecretScalar(Protocol):
    """A secret integer mod the group order."""

    def __add__(self, other: AnyScalar, /) -> SecretScalar: ...
    def __sub__(self, other: AnyScalar, /) -> SecretScalar: ...
    def __mul__(self, other: AnyScalar, /) -> SecretScalar: ...
    def __neg__(self) -> SecretScalar: ...
    def __hash__(self) -> NoReturn: ...
    def reveal(self) -> Scalar:
        """Make the value public. The one place where secrecy ends."""


class ScalarVec(Protocol):
    """A vector of public scalars. A single scalar operand is broadcast."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> Scalar: ...
    @overload
    def __getitem__(self, index: slice, /) -> ScalarVec: ...
    def __iter__(self) -> Iterator[Scalar]: ...
    @overload
    def __add__(self, other: Scalar | ScalarVec, /) -> ScalarVec: ...
    @overload
    def __add__(self, other: SecretScalar | SecretScalarVec, /) -> SecretScalarVec: ...
    @overload
    def __sub__(self, other: Scalar | ScalarVec, /) -> ScalarVec: ...
    @overload
    def __sub__(self, other: SecretScalar | SecretScalarVec, /) -> SecretScalarVec: ...
    @overload
    def __mul__(self, other: Scalar | ScalarVec, /) -> ScalarVec: ...
    @overload
    def __mul__(self, other: SecretScalar | SecretScalarVec, /) -> SecretScalarVec: ...
    def __neg__(self) -> ScalarVec: ...
    def inverse(self) -> ScalarVec:
        """Element-wise inverses with one field inversion; `UsageError` if any is zero."""

    @overload
    def inner(self, other: ScalarVec, /) -> Scalar: ...
    @overload
    def inner(self, other: SecretScalarVec, /) -> SecretScalar: ...
    def sum(self) -> Scalar:
        """Zero for the empty vector."""

    def gather(self, indices: Sequence[int], /) -> ScalarVec:
        """The elements at these positions (0 <= i < len), in this order; repeats allowed."""

    @overload
    def concat(self, other: ScalarVec, /) -> ScalarVec: ...
    @overload
    def concat(self, other: SecretScalarVec, /) -> SecretScalarVec: ...
    def to_bytes(self) -> bytes: ...
    def ints(self) -> list[int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def secret(self) -> SecretScalarVec: ...


class SecretScalarVec(Protocol):
    """A vector of secret scalars. A single scalar operand is broadcast."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> SecretScalar: ...
    @overload
    def __getitem__(self, index: slice, /) -> SecretScalarVec: ...
    def __add__(self, other: AnyScalar | AnyScalarVec, /) -> SecretScalarVec: ...
    def __sub__(self, other: AnyScalar | AnyScalarVec, /) -> SecretScalarVec: ...
    def __mul__(self, other: AnyScalar | AnyScalarVec, /) -> SecretScalarVec: ...
    def __neg__(self) -> SecretScalarVec: ...
    def inner(self, other: AnyScalarVec, /) -> SecretScalar: ...
    def sum(self) -> SecretScalar: ...
    def gather(self, indices: Sequence[int], /) -> SecretScalarVec: ...
    def concat(self, other: AnyScalarVec, /) -> SecretScalarVec: ...
    def __hash__(self) -> NoReturn: ...
    def reveal(self) -> ScalarVec:
        """Make all values public. The one place where secrecy ends."""


AnyScalar: TypeAlias = Scalar | SecretScalar
AnyScalarVec: TypeAlias = ScalarVec | SecretScalarVec


class Point(Protocol):
    """A group element. Multiplication by a scalar takes constant time."""

    def __add__(self, other: Point, /) -> Point: ...
    def __sub__(self, other: Point, /) -> Point: ...
    def __neg__(self) -> Point: ...
    def __mul__(self, scalar: AnyScalar, /) -> Point: ...
    def is_identity(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def to_bytes(self) -> bytes: ...


class PointVec(Protocol):
    """A vector of group elements. A single point operand is broadcast."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> Point: ...
    @overload
    def __getitem__(self, index: slice, /) -> PointVec: ...
    def __iter__(self) -> Iterator[Point]: ...
    def __add__(self, other: Point | PointVec, /) -> PointVec: ...
    def __sub__(self, other: Point | PointVec, /) -> PointVec: ...
    def __neg__(self) -> PointVec: ...
    def __mul__(self, scalars: AnyScalar | AnyScalarVec, /) -> PointVec:
        """Element-wise scalar multiplication, constant-time."""

    def sum(self) -> Point:
        """The identity for the empty vector."""

    def msm(self, scalars: AnyScalarVec, /) -> Point:
        """Sum of scalars[i] * self[i], constant-time."""

    def msms(self, rows: Iterable[AnyScalarVec], /, *, bits: int | None = None) -> PointVec:
        """The sums of row[i] * self[i], one for each row, constant-time.

        `bits` (1..58) promises that every scalar lies in [-2^bits, 2^bits), counted from
        zero to both sides; sums with few bits cost a fraction. `UsageError` if one does
        not (that there is one leaks).
        """

    def vartime_msm(self, scalars: ScalarVec, /) -> Point:
        """Sum of scalars[i] * self[i]; much faster when all |scalars| are small.

        "Small" counts from both ends: order - 3 costs as little as 3.
        """

    def vartime_segment_msm(self, scalars: ScalarVec, lengths: Sequence[int], /) -> PointVec:
        """One sum for each consecutive run of `lengths[k]` terms.

        The lengths are >= 0 and add up to len(self); an empty run gives the identity.
        """

    def gather(self, indices: Sequence[int], /) -> PointVec: ...
    def concat(self, other: PointVec, /) -> PointVec: ...
    def find_identity(self) -> int | None:
        """The first position that holds the identity, or None."""

    def to_bytes(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...


class FixedBases(Protocol):
    """Precomputed tables for a few bases that are multiplied very often."""

    def __len__(self) -> int: ...
    def combine(self, *columns: AnyScalarVec) -> PointVec:
        """Row i is the sum over j of columns[j][i] * bases[j]; constant-time.

        One column for each base, all of one length.
        """


class WideTable(Protocol):
    """The table of a symmetric law with 128-bit precision, prepared for draws. Public.

    With F_0 = 0, F_J = 2^128, J = 2 radius + 1 and F_{J-i} = 2^128 - F_i a draw y gives
    the value i - radius with F_i <= y < F_{i+1}.
    """

    @property
    def radius(self) -> int:
        """Draws lie in -radius .. radius."""


class Stream(Protocol):
    """The deterministic stream of secret values that a 32-byte seed stands for.

    ChaCha20 (RFC 8439) with the seed as key, the 12-byte domain as nonce and the
    block counter from zero. Every call continues where the last one stopped, at
    byte granularity. Both backends give identical values on every machine.
    At most 2^32 blocks; `UsageError` beyond.
    """

    def bytes(self, n: int, /) -> bytes: ...
    def scalars(self, n: int, /) -> SecretScalarVec:
        """n uniform scalars: 64 stream bytes each, little-endian, mod the order."""

    def bits(self, width: int, n: int, /) -> list[int]:
        """n uniform integers of `width` bits (1..64).

        ceil(width / 8) stream bytes each, little-endian, top bits dropped.
        """

    def permutation(self, n: int, /) -> builtins.bytes:
        """A uniform permutation of n places, as 32-bit integers in native byte order.

        From the identity; for i = n - 1, .., 1 entry i is exchanged with entry g mod (i + 1), where
        g takes 4 stream bytes, little-endian, and those from 2^32 - (2^32 mod (i + 1)) on are
        skipped. The time depends on it: for public seeds.
        """

    def add_to(self, array: Words, sign: int, /) -> None:
        """Add (sign = 1) or subtract (sign = -1) one uniform word per element, in place.

        `array` is a writable C-contiguous one-dimensional buffer of 32-bit or
        64-bit integers (signed or not); arithmetic wraps mod 2^32 or 2^64. The
        words are the stream's bytes, little-endian.
        """

    def wide_table_draws(self, table: WideTable, n: int, /) -> list[int]:
        """n draws from a wide table, each from 16 stream bytes, little-endian.

        Takes as many comparisons as the table has bits in its number of rows, without
        branches; which rows are read depends on the draws.
        """

    def wide_table_scalars(self, table: WideTable, n: int, /) -> SecretScalarVec:
        """The same draws as scalars, constant-time: every draw reads the whole table."""

    def add_wide_draws_to(self, array: Words, sign: int, table: WideTable, /) -> None:
        """Add or subtract one draw per element, in place, as `add_to` does.

        The array and the wrapping are those of `add_to`, the draws and what depends on
        them those of `wide_table_draws`.
        """


class Group(Protocol):
    """The values and constants of one group on one backend."""

    def __hash__(self) -> int:
        """A hash by which caches know the group."""

    @property
    def name(self) -> str:
        """The group's name, for example "ristretto255"."""

    @property
    def backend(self) -> str:
        """The backend's name, for example "native" or "reference"."""

    @property
    def details(self) -> str:
        """What the backend runs on, for reports; in words."""

    @property
    def order(self) -> int: ...
    @property
    def scalar_size(self) -> int:
        """Bytes in the encoding of a scalar."""

    @property
    def point_size(self) -> int:
        """Bytes in the encoding of a point."""

    @property
    def generator(self) -> Point: ...
    @property
    def identity(self) -> Point: ...

    def scalar(self, value: int, /) -> Scalar: ...
    def secret_scalar(self, value: int, /) -> SecretScalar: ...
    def scalars(self, values: Iterable[int] | Buffer, /) -> ScalarVec:
        """Scalars from integers, or from a one-dimensional buffer of 32- or 64-bit integers."""

    def secret_scalars(self, values: Iterable[int] | Buffer, /) -> SecretScalarVec: ...
    def random_scalars(self, n: int, rng: Rng, /) -> SecretScalarVec:
        """n uniform scalars from 64 * n bytes of `rng`."""

    def hedged_scalars(
        self, n: int, session: bytes, fresh: bytes, witness: AnyScalarVec, /
    ) -> SecretScalarVec:
        """n uniform scalars from all three (specification 02, F9).

        The native backend leaves no copy of the witness or of the result in memory that
        it gives back.
        """

    def reduce_scalars(self, data: bytes, width: int, /) -> ScalarVec:
        """Consecutive little-endian integers of `width` bytes (1..64), mod the order."""

    def decode_scalars(self, data: bytes, count: int, /) -> ScalarVec:
        """Strict: exactly `count` canonical encodings, nothing before or after."""

    def powers(self, base: Scalar, n: int, /) -> ScalarVec:
        """1, base, base^2, ..., base^(n-1)."""

    def combine_scalars(
        self, coefficients: ScalarVec, vectors: Sequence[AnyScalarVec], /
    ) -> AnyScalarVec:
        """Sum over k of coefficients[k] * vectors[k]; secret if any vector is."""

    def points(self, values: Iterable[Point], /) -> PointVec: ...
    def decode_point(self, data: bytes, /, *, allow_identity: bool = False) -> Point: ...
    def decode_points(
        self, data: bytes, count: int, /, *, allow_identity: bool = False
    ) -> PointVec:
        """Strict: exactly `count` canonical encodings, nothing before or after.

        The identity is refused unless the caller's protocol gives it a meaning.
        """

    def map_to_points(self, data: bytes, /) -> PointVec:
        """The one-way map (RFC 9496, 4.3.4) of consecutive 64-byte strings."""

    def fixed_bases(self, bases: PointVec, /) -> FixedBases: ...
    def wide_table(self, lower: Sequence[int], /) -> WideTable:
        """The table of F_1 .. F_radius: not decreasing, from 1 or more to at most 2^127.

        The other bounds follow by symmetry. Rows between equal bounds are never drawn.
        """

    def stream(self, seed: SecretBytes, domain: bytes, /) -> Stream:
        """`seed` has 32 bytes and is used with one purpose per 12-byte `domain`."""
