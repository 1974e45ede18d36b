"""Files that convict one author of one fault, for a reader who has no log; evidence of a fork.

`specs/11-audit.md`, 11-E5 and section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

from bulletin_board import SignedCheckpoint, TrustPolicy
from bulletin_board.client.forks import FORK_EVIDENCE
from bulletin_board.entry import LARGEST_ENTRY
from bulletin_board.note import LARGEST_NOTE, VerifierKey, verify_note
from bulletin_board.tree import node_hash
from wire.codec import (
    Case,
    Codec,
    enumeration,
    fixed,
    opaque,
    record,
    select,
    u8,
    u16,
    u64,
    vector,
)
from wire.errors import InvalidSignature, MalformedMessage

MAGIC: Final = b"gopa-evidence/v1\n"
MOST_ENTRIES: Final = 65_000
LARGEST_EVIDENCE: Final = 2**26
"""Of what takes more entries or bytes the archive is the evidence (11-E6)."""
LARGEST_FORK: Final = 2**18


@dataclass(frozen=True, slots=True)
class FaultStatement:
    """States who broke which rule, in which round (0: none). It is read, and never believed."""

    __spec_name__ = "Statement"

    author: bytes
    rule: bytes
    round: int


FORKED: Final = FaultStatement(bytes(32), b"05-C4", 0)
"""What is said with a fork: it has no author among those who write entries."""


@dataclass(frozen=True, slots=True)
class TwoEntries:
    """Shows two signed entries for one slot (11-E2)."""

    first: bytes
    second: bytes


@dataclass(frozen=True, slots=True)
class Placed:
    """Holds a signed entry and the index that it is said to have."""

    index: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Messages:
    """Shows what the rule reads, in the order of the log (11-E3)."""

    entries: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """Shows the beginning of the log, and proves that the signed tree extends it (11-E4)."""

    note: bytes
    proof: tuple[bytes, ...]
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """Shows a fork, by what 05, section 9 calls evidence (11-E5)."""

    evidence: bytes


Shown: TypeAlias = TwoEntries | Messages | Prefix | Fork


class ShownTag(IntEnum):
    """Says what kind of evidence a file holds."""

    TWO_ENTRIES = 1
    MESSAGES = 2
    PREFIX = 3
    FORK = 4


@dataclass(frozen=True, slots=True)
class Evidence:
    """Holds a statement, and what is to show it."""

    statement: FaultStatement
    shown: Shown

    def to_bytes(self) -> bytes:
        """The file."""
        return MAGIC + EVIDENCE.encode(self)

    @classmethod
    def parse(cls, data: bytes) -> Evidence:
        """From a file; raises `MalformedMessage`."""
        if not data.startswith(MAGIC):
            raise MalformedMessage("this is no evidence", "evidence", 0)
        return EVIDENCE.decode(data[len(MAGIC) :])


_ENTRY: Final = opaque(1, LARGEST_ENTRY)

EVIDENCE: Final[Codec[Evidence]] = record(
    Evidence,
    statement=record(FaultStatement, author=fixed(32), rule=opaque(1, 16), round=u16),
    shown=select(
        "Shown",
        enumeration(ShownTag, u8),
        Case(ShownTag.TWO_ENTRIES, record(TwoEntries, first=_ENTRY, second=_ENTRY)),
        Case(
            ShownTag.MESSAGES,
            record(
                Messages,
                entries=vector(record(Placed, index=u64, raw=_ENTRY), 1, MOST_ENTRIES),
            ),
        ),
        Case(
            ShownTag.PREFIX,
            record(
                Prefix,
                note=opaque(1, LARGEST_NOTE),
                proof=vector(fixed(32), 0, 63),
                entries=vector(_ENTRY, 1, MOST_ENTRIES),
            ),
        ),
        Case(ShownTag.FORK, record(Fork, evidence=opaque(1, LARGEST_FORK))),
    ),
)


Node = Callable[[int, int], bytes]


def cosigners_of_both(
    policy: TrustPolicy, older: SignedCheckpoint, newer: SignedCheckpoint
) -> tuple[VerifierKey, ...]:
    """Names the witnesses of the policy that cosigned both checkpoints of a fork (11-K3).

    One good line convicts: a broken one beside it, which a board could add to its note, clears
    nobody.
    """
    both = [
        each.key
        for each in policy.witnesses.values()
        if _cosigned(older, each.key) and _cosigned(newer, each.key)
    ]
    return tuple(sorted(both, key=lambda key: (key.name, key.key.data)))


def _cosigned(signed: SignedCheckpoint, witness: VerifierKey) -> bool:
    for line in signed.note.signatures:
        with suppress(InvalidSignature):
            if verify_note(replace(signed.note, signatures=(line,)), [witness]):
                return True
    return False


def evidence_from_board(data: bytes) -> bytes:
    """Turns what a client of the board has kept about a fork into a file of evidence.

    Raises `MalformedMessage` for other bytes. Nothing is judged here.
    """
    FORK_EVIDENCE.decode(data)
    return Evidence(FORKED, Fork(data)).to_bytes()


def nodes_above(leaf: Callable[[int], bytes]) -> Node:
    """Computes the nodes of a tree whose leaf hashes are known."""

    @lru_cache(maxsize=4_096)
    def node(height: int, index: int) -> bytes:
        if not height:
            return leaf(index)
        return node_hash(node(height - 1, 2 * index), node(height - 1, 2 * index + 1))

    return node
