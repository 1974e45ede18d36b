"""Encodings of 00, sections 1 to 3, and every format of 03, 04, 05 and 09 in them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeAlias


class Malformed(Exception):
    """Bytes that come from no correct encoder."""


class Broken(Exception):
    """What is well-formed and does not hold; names the rule."""

    def __init__(self, rule: str, what: str = "") -> None:
        super().__init__(f"{what} [{rule}]".lstrip())
        self.rule = rule


def require(holds: object, rule: str) -> None:
    """Broken by this rule, unless it holds."""
    if not holds:
        raise Broken(rule)


class Unsupported(Exception):
    """A version that this program does not know."""


class Record(SimpleNamespace):
    """The fields of a struct, by name. Two records are equal if all fields are."""


class Reader:
    """What is left of an input."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        """The next bytes ([C13]: the size is compared before anything is read)."""
        if size > len(self.data) - self.at:
            raise Malformed(f"{size} bytes at {self.at}")
        self.at += size
        return self.data[self.at - size : self.at]


Format: TypeAlias = Callable[[Reader], Any]


def decode(form: Format, data: bytes) -> Any:
    """[C15]: the whole input, exactly."""
    reader = Reader(data)
    value = form(reader)
    if reader.at != len(data):
        raise Malformed(f"bytes after the end, at {reader.at}")
    return value


def uint(size: int) -> Format:
    """[C1]."""
    return lambda reader: int.from_bytes(reader.take(size))


def int64(reader: Reader) -> int:
    """[C1]."""
    return int.from_bytes(reader.take(8), signed=True)


def one_of(*members: int) -> Format:
    """[C2], [C3]: a byte that names a member."""

    def read(reader: Reader) -> int:
        (value,) = reader.take(1)
        if value not in members:
            raise Malformed(f"{value} names no member, before {reader.at}")
        return int(value)

    return read


def fixed(size: int) -> Format:
    """[C4]."""
    return lambda reader: reader.take(size)


def opaque(low: int, high: int) -> Format:
    """[C5]: the width of the length follows from the largest one."""

    def read(reader: Reader) -> bytes:
        size = int.from_bytes(reader.take((high.bit_length() + 7) // 8))
        if not low <= size <= high:
            raise Malformed(f"{size} bytes where {low} to {high} are allowed")
        return reader.take(size)

    return read


def vector(item: Format, low: int, high: int, most: int = 2**32) -> Format:
    """[C7]: bounds in bytes; `most` items, where the bytes do not say it."""
    outer = opaque(low, high)

    def read(reader: Reader) -> list[Any]:
        inner, items = Reader(outer(reader)), []
        while inner.at < len(inner.data):
            items.append(item(inner))
        if len(items) > most:
            raise Malformed(f"more than {most} items")
        return items

    return read


def struct(**fields: Format) -> Format:
    """[C9]."""
    return lambda reader: Record(**{name: form(reader) for name, form in fields.items()})


def select(**cases: Format) -> Format:
    """[C10]: members count from 1 in the order of the cases; the record has its `tag`."""
    names = list(cases)
    member = one_of(*range(1, len(names) + 1))

    def read(reader: Reader) -> Record:
        name = names[member(reader) - 1]
        return Record(tag=name, **vars(cases[name](reader)))

    return read


U8, U16, U32, U64, LEAF, FLAG = uint(1), uint(2), uint(4), uint(8), fixed(32), one_of(0, 1)
HASH, DECIMAL, MILLION = opaque(0, 32), opaque(1, 64), 2**20

# 05, sections 3 and 7

ENTRY = struct(
    version=U16, session=LEAF, phase=U8, kind=U8, round=U16, chunk=U16, chunks=U16, author=LEAF,
    seq=U32, prev_own_leaf=LEAF, seen_size=U64, seen_root=LEAF, body=opaque(0, 60_000),
)  # fmt: skip
HEADER = struct(session=LEAF, log=opaque(0, 1024))

# 03 [V6], 09 [D1] and 04, section 1

LAW = select(
    gaussian_table=struct(numerator=U64, denominator=U64, bits=U8, rows=U16),
    weighted_bits=struct(runs=vector(struct(weight=U16, count=U16), 4, 4096)),
)
TERMS = struct(
    parties=U32, corrupt=U32, survivors=U32, loss=U32, k=U32, dimension=U32, low=DECIMAL,
    high=DECIMAL, steps=U64, squared_sensitivity=U64, noise=LAW, mask=one_of(0, 1),
    mask_deviation=U64, epsilon=DECIMAL, delta=DECIMAL, beta=DECIMAL, rounds=U16, charged=U16,
    attempts=U16, beacon=one_of(0, 1), threshold_numerator=U16, threshold_denominator=U16,
)  # fmt: skip
CHAIN = struct(
    scheme=one_of(1, 2, 3, 4), public_key=opaque(48, 96), period=U32, genesis=U64,
    group_hash=LEAF, beacon_id=opaque(1, 64), chain_hash=LEAF,
)  # fmt: skip
BEACON = select(commit_reveal=struct(), drand=struct(chain=CHAIN), test=struct())
ADMISSION = select(roster=struct(keys=vector(LEAF, 32, 32 * MILLION)), open=struct(most=U32))
FULL, SIGNED, MALICIOUS, CURIOUS = 1, 2, 1, 2
MANIFEST = struct(
    version=U16, salt=LEAF, title=opaque(0, 255), organiser=LEAF, log=opaque(1, 1024),
    policy=opaque(0, 65_535), simulation=FLAG, mode=one_of(FULL, SIGNED),
    trust=one_of(MALICIOUS, CURIOUS), terms=TERMS, weighted=FLAG, word_width=U8, beacon=BEACON,
    admission=ADMISSION, max_rollbacks=U16,
)  # fmt: skip

# 04: the organiser's messages

BITS, POSITION = opaque(1, MILLION // 8), U32
ENROLLED = struct(author=LEAF, key=LEAF, nonce_hash=HASH)
CONTENT = select(
    roll=struct(parties=vector(ENROLLED, 65, 97 * MILLION, MILLION), beacon_round=U64),
    coins=struct(members=BITS, nonces=vector(LEAF, 0, 32 * MILLION), signature=opaque(0, 96),
                 previous=opaque(0, 96)),
    members=struct(members=BITS, final=FLAG),
)  # fmt: skip
PHASE = one_of(*range(10))
OPEN = struct(acts_on=LEAF, logical=U16, attempt=U16)
CLOSE = struct(acts_on=LEAF, cut=U64, phase=PHASE, checkpoint=opaque(0, 65_535), content=CONTENT)
REMOVAL = struct(position=POSITION, phase=PHASE, cause=one_of(1, 2, 3, 4, 5))
RESULT = struct(
    acts_on=LEAF, cut=U64, sums=vector(int64, 8, 8 * MILLION),
    removed=vector(REMOVAL, 0, 6 * MILLION), attempt=U16, releases=U16,
)  # fmt: skip
ABORT = struct(
    acts_on=LEAF, cut=U64, reason=one_of(*range(1, 8)), released=one_of(0, 1),
    culprits=vector(POSITION, 0, 4 * MILLION),
)  # fmt: skip

# 04: the parties' messages, sections 4 to 11; many<n> is a vector of items of n bytes

MOST = 65_535
JOIN = struct(acts_on=LEAF, key=LEAF, possession=fixed(64), nonce_hash=HASH, input=HASH, seed=HASH)
REVEAL = struct(acts_on=LEAF, nonce=LEAF)
COMMIT = struct(
    acts_on=LEAF, edges=vector(LEAF, 0, 32 * MOST), self_mask=LEAF, output=HASH,
    proof=opaque(0, 16_384), weighing=opaque(0, 16_384), coefficients=vector(LEAF, 0, 32 * MOST),
    shares=vector(fixed(64), 0, 64 * MOST),
)  # fmt: skip
ACCUSATION = struct(
    acts_on=LEAF, about=one_of(1, 2), accused=POSITION, shared=LEAF, proof=opaque(0, 256)
)
PUBLISH = struct(acts_on=LEAF, value=opaque(1, 2**28), blinding=HASH)
OPENING = struct(acts_on=LEAF, edges=vector(struct(neighbour=POSITION, key=LEAF), 36, 36 * MOST))
CONFIRM = struct(acts_on=LEAF)
UNMASK = struct(acts_on=LEAF, seed=LEAF)
RECOVER = struct(
    acts_on=LEAF, shares=vector(struct(dealer=POSITION, share=fixed(64)), 68, 68 * MOST)
)
