"""Reading a log strictly: from a directory, from memory, from an archive's files, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

from bulletin_board.note import SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.proof import Receipt
from bulletin_board.source import CHECKPOINT, Source, resource_limit
from bulletin_board.tree import TILE_WIDTH
from bulletin_board.verified import VerifiedTiles
from wire.errors import UsageError


class LogReader:
    """One checkpoint of a log and everything under it, verified as it is read.

    Not thread-safe.
    """

    def __init__(self, source: Source, signed: SignedCheckpoint) -> None:
        """Of a checkpoint that the caller has verified; reads its right edge now."""
        self.signed = signed
        self._tiles = VerifiedTiles(source, signed.checkpoint)

    @classmethod
    def open(cls, source: Source, policy: TrustPolicy) -> LogReader:
        """Of the source's checkpoint.

        Raises `ProtocolError`s if it, its signatures or the quorum do not hold.
        """
        return cls(source, policy.open(source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))))

    @property
    def size(self) -> int:
        return self.signed.size

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The entries from `start` to `stop`, in order, each verified before it is handed out."""
        end = self.size if stop is None else stop
        if not 0 <= start <= end <= self.size:
            raise UsageError(f"entries {start} to {end} of a log of {self.size}")
        while start < end:
            number, offset = divmod(start, TILE_WIDTH)
            part = self._tiles.bundle(number)[offset : offset + end - start]
            yield from part
            start += len(part)

    def bundles(self) -> Iterator[list[bytes]]:
        """All entries, one verified bundle at a time."""
        for number in range(-(-self.size // TILE_WIDTH)):
            yield self._tiles.bundle(number)

    def leaf(self, index: int) -> bytes:
        return self._tiles.leaf(index)

    def node(self, height: int, index: int) -> bytes:
        """The node above the leaves from index * 2^height to (index + 1) * 2^height."""
        return self._tiles.node(height, index)

    def receipt(self, index: int) -> Receipt:
        """The proof that this checkpoint covers entry `index`."""
        proof = tuple(self._tiles.inclusion_proof(index))
        return Receipt(index, proof, self.signed.to_bytes())

    def consistency_proof(self, older: int) -> list[bytes]:
        """From the tree of size `older` to this checkpoint's."""
        return self._tiles.consistency_proof(older)
