"""The client of a board: posts, reads, and believes only what it has checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bulletin_board.admission import Reason, Refused
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.client.http import NetworkError, Response, Transport
from bulletin_board.client.source import HttpSource
from bulletin_board.client.state import ClientState
from bulletin_board.note import SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.problems import parse_problem
from bulletin_board.proof import LARGEST_RECEIPT, Receipt, VerifiedReceipt, verify_receipt
from bulletin_board.reader import LogReader
from bulletin_board.source import CHECKPOINT, MissingResource, resource_limit
from bulletin_board.tree import tree_root
from bulletin_board.verified import VerifiedTiles
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import FaultyBoard, MalformedMessage, ProtocolError
from wire.randomness import Rng, draw

_AGAIN = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to try, and how long to wait between attempts."""

    attempts: int = 8
    first_seconds: float = 0.2
    most_seconds: float = 30.0


class BoardClient:
    """One board, one policy, one memory of what the board has shown.

    Every checkpoint, also those inside receipts, is compared with the newest one
    seen before. If they cannot belong to one log, the client stores evidence,
    raises `FaultyBoard` and refuses to go on. May be shared between threads.
    """

    def __init__(  # noqa: PLR0913 - every edge of the client is injected
        self,
        url: str,
        policy: TrustPolicy,
        state: ClientState,
        transport: Transport,
        *,
        rng: Rng,
        patience: Patience = Patience(),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`rng` spreads retries in time. Raises `ProtocolError`s if the stored state is damaged."""
        self._url = url.rstrip("/")
        self._policy = policy
        self._state = state
        self._transport = transport
        self._rng = rng
        self._patience = patience
        self._sleep = sleep
        self._source = HttpSource(self._url, transport)
        self._mutex = threading.RLock()
        self._fork: FaultyBoard | None = None
        stored = state.load()
        self._seen = None if stored is None else policy.open(stored)

    @property
    def seen(self) -> SignedCheckpoint | None:
        """The newest checkpoint that this client has verified, in this run or before."""
        return self._seen

    def submit(self, entry: bytes) -> VerifiedReceipt:
        """Post signed bytes until the board has proved that they are in the log.

        Safe to repeat with the same bytes, whatever happened before. Raises
        `Refused` if the board will not take them, `NetworkError` when patience
        ends, `FaultyBoard` if its proof shows a fork.
        """
        answer = self._persist(entry)
        receipt = verify_receipt(Receipt.parse(answer.body), entry, self._policy.log.key)
        self._accept(receipt.signed)
        return receipt

    def update(self) -> SignedCheckpoint:
        """Fetch the board's checkpoint and check it against everything seen before.

        Returns the newest one seen: a board that shows an older state of the
        same log, as caches do, changes nothing. Raises `FaultyBoard` on a fork.
        """
        data = self._source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))
        self._accept(self._policy.open(data))
        return self._newest()

    def reader(self) -> LogReader:
        """A reader of the newest checkpoint, updated first. Retries while the log moves on."""
        for attempt in range(self._patience.attempts):
            signed = self.update()
            try:
                return LogReader(self._source, signed)
            except MissingResource:
                self._pause(attempt, None)
        raise NetworkError("the board does not serve the tiles of its checkpoint")

    def entries(self, start: int = 0) -> Iterator[bytes]:
        """Every entry from `start` to the newest one, verified."""
        reader = self.reader()
        yield from reader.entries(min(start, reader.size))

    def _persist(self, entry: bytes) -> Response:
        last: ProtocolError = NetworkError("no attempt was made")
        for attempt in range(self._patience.attempts):
            self._check_not_forked()
            retry_after = None
            try:
                answer = self._transport.request(
                    "POST",
                    f"{self._url}/v1/entries",
                    body=entry,
                    media_type=ENTRY_PAYLOAD_TYPE,
                    limit=LARGEST_RECEIPT,
                )
                if answer.status in {200, 201}:
                    return answer
                retry_after = answer.retry_after
                last = _refusal(answer)
            except NetworkError as error:
                last = error
            else:
                if answer.status not in _AGAIN:
                    raise last
            if attempt + 1 < self._patience.attempts:
                self._pause(attempt, retry_after)
        raise last

    def _pause(self, attempt: int, retry_after: int | None) -> None:
        """Wait as long as the board asks, or twice as long as before, spread at random."""
        limit = min(self._patience.most_seconds, self._patience.first_seconds * 2**attempt)
        spread = int.from_bytes(draw(self._rng, 2)) / 65_536
        wanted = limit * (0.5 + spread / 2)
        if retry_after is not None:
            wanted = max(wanted, min(float(retry_after), self._patience.most_seconds))
        self._sleep(wanted)

    def _accept(self, signed: SignedCheckpoint) -> None:
        """Compare with the newest checkpoint seen; remember whichever is newer."""
        with self._mutex:
            self._check_not_forked()
            seen = self._seen
            if seen is None or seen.size == 0:
                self._remember(signed)
                return
            older, newer = (seen, signed) if seen.size <= signed.size else (signed, seen)
            if older.size == newer.size:
                self._compare(older, newer, newer.root, ())
            elif older.size:
                self._compare_trees(older, newer)
            if signed.size > seen.size:
                self._remember(signed)

    def _compare_trees(self, older: SignedCheckpoint, newer: SignedCheckpoint) -> None:
        tiles = VerifiedTiles(self._source, newer.checkpoint)
        shown = tree_root(older.size, tiles.node)
        proof = tuple(tiles.consistency_proof(older.size))
        if older.size & (older.size - 1) == 0:
            proof = (shown, *proof)
        self._compare(older, newer, shown, proof)

    def _compare(
        self,
        older: SignedCheckpoint,
        newer: SignedCheckpoint,
        shown: bytes,
        proof: tuple[bytes, ...],
    ) -> None:
        """`shown` is the root that the newer tree has at the older size."""
        if shown == older.root:
            return
        evidence = FORK_EVIDENCE.encode(ForkEvidence(older.to_bytes(), newer.to_bytes(), proof))
        where = self._state.keep_evidence(evidence)
        self._fork = FaultyBoard(f"the log has forked; both checkpoints are in {where}", evidence)
        raise self._fork

    def _newest(self) -> SignedCheckpoint:
        if self._seen is None:
            raise MalformedMessage("no checkpoint was verified", "checkpoint")
        return self._seen

    def _check_not_forked(self) -> None:
        if self._fork is not None:
            raise self._fork

    def _remember(self, signed: SignedCheckpoint) -> None:
        self._state.store(signed.to_bytes())
        self._seen = signed


def _refusal(answer: Response) -> ProtocolError:
    try:
        return parse_problem(answer.body, answer.retry_after)
    except MalformedMessage:
        return Refused(Reason.UNAVAILABLE, f"status {answer.status}", answer.retry_after)
