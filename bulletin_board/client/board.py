"""Posts to a board and reads it, and believes only what it has checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from bulletin_board.admission import RefusalReason, Refused, parse_problem
from bulletin_board.client.forks import (
    FORK_EVIDENCE,
    ForkEvidence,
    StaleMirror,
    UnprovenHistory,
    open_pair,
    verify_fork,
)
from bulletin_board.client.http import AGAIN, NetworkError, Response, Transport
from bulletin_board.client.reading import (
    HttpSource,
    PathRecordingSource,
    PatientSource,
    ShortProofs,
    page_through,
)
from bulletin_board.client.state import ClientState
from bulletin_board.lookup import LARGEST_ANSWER, LOOKUP, Lookup, VerifiedEntry
from bulletin_board.lookup import MEDIA_TYPE as LOOKUP_TYPE
from bulletin_board.note import Checkpoint, SignedCheckpoint, open_checkpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import (
    CHECKPOINT,
    COSIGNED,
    LogReader,
    MissingResource,
    VerifiedTiles,
    resource_limit,
)
from bulletin_board.receipt import LARGEST_RECEIPT, Receipt, VerifiedReceipt, verify_receipt
from bulletin_board.tree import tree_root
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import FaultyBoard, InvalidProof, MalformedMessage, ProtocolError, UsageError
from wire.randomness import Rng, draw

_UNPROVEN = (
    "the log has signed {newer} entries and does not show that they extend the {older} seen"
    " before; both checkpoints are kept. The network, a cache or the log is at fault ({error})"
)
_STALE = (
    "this copy of the log shows {older} entries, {newer} were seen before, and it does not"
    " have those: wait until it has caught up, or ask the board itself ({error})"
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to try, and how long to wait between attempts."""

    attempts: int = 8
    first_seconds: float = 0.2
    most_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:  # without an attempt nothing would be judged
            raise UsageError("at least one attempt", "attempts")


class BoardClient:
    """A client of one board under one trust policy, with a memory of what the board has shown.

    Every checkpoint, also those inside receipts, is compared with the newest one
    seen before. If they cannot belong to one log, the client stores evidence,
    raises `FaultyBoard` and refuses to go on, for good. If it is not shown that they do,
    it stores both, raises `UnprovenHistory` or, for an older copy, `StaleMirror`, and goes
    on only when the board has shown it. May be shared between threads.
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
        short_proofs: bool = False,
    ) -> None:
        """`rng` spreads retries in time. Raises `ProtocolError`s if the stored state is damaged.

        With `short_proofs` the board is asked for consistency proofs before tiles are read:
        fewer bytes for a client that does not read the log.
        """
        self._url = url.rstrip("/")
        self._policy = policy
        self._state = state
        self._transport = transport
        self._rng = rng
        self._patience = patience
        self._sleep = sleep
        self._short = ShortProofs(self._url, transport) if short_proofs else None
        self._source = PathRecordingSource(HttpSource(self._url, transport))
        self._mutex = threading.RLock()
        self._fork: FaultyBoard | None = None
        self._seen: SignedCheckpoint | None = None
        self._trusted: SignedCheckpoint | None = None
        self._unproven: tuple[SignedCheckpoint, ...] = ()
        self._load()

    @property
    def seen(self) -> SignedCheckpoint | None:
        """The newest checkpoint that the log has signed for this client, in this run or before.

        It may come from a receipt and miss the quorum: `update` returns one that does not.
        """
        return self._seen

    def submit(self, entry: bytes) -> VerifiedReceipt:
        """Post signed bytes until the board has proved that they are in the log.

        Safe to repeat with the same bytes, whatever happened before. Raises
        `Refused` if the board will not take them, `NetworkError` when patience
        ends, `FaultyBoard` if its proof shows a fork, `UnprovenHistory` if it does
        not show that its checkpoint belongs to the log seen before.
        """
        if self._unproven:
            self._accept([])
        answer = self._persist("v1/entries", entry, ENTRY_PAYLOAD_TYPE, LARGEST_RECEIPT)
        receipt = verify_receipt(Receipt.parse(answer.body), entry, self._policy.log.key)
        self._accept([receipt.signed])
        return receipt

    def update(self) -> SignedCheckpoint:
        """Fetch the board's checkpoint and check it against everything seen before.

        Returns the newest one that holds under the policy: a board that shows an
        older state of the same log, as caches do, changes nothing. Waits while
        witnesses have not cosigned, while the board does not answer, and while a copy
        lags behind. Raises `FaultyBoard` on a fork, `UnprovenHistory` or `StaleMirror`
        if what is shown cannot be compared with what was seen.
        """
        failure: ProtocolError = NetworkError("no attempt was made")
        for attempt in range(self._patience.attempts):
            if attempt:
                self._pause(attempt - 1, None)
            try:
                for path in (CHECKPOINT, COSIGNED):
                    signed = self._fetch(path)
                    self._judge([signed])
                    if self._holds(signed):
                        return self._trust(signed)
                failure = _no_quorum()
            except (NetworkError, UnprovenHistory) as error:
                failure = error
            except MissingResource as error:
                if error.path != COSIGNED:
                    raise
                failure = _no_quorum()
        self._suspect(failure)
        raise failure

    def reader(self) -> LogReader:
        """A reader of the newest checkpoint, updated first. Retries while the log moves on.

        It asks again while the board is busy or out of reach, also later.
        """
        attempts = self._patience.attempts
        source = PatientSource(self._source, attempts, lambda n: self._pause(n, None))
        failure = MissingResource("no attempt was made")
        for attempt in range(attempts):
            if attempt:
                self._pause(attempt - 1, None)
            signed = self.update()
            try:
                return LogReader(source, signed)
            except MissingResource as error:
                failure = error
        raise failure

    def root_at(self, size: int, claimed: bytes) -> bytes:
        """The root that the log had at this size, below the newest checkpoint of `update`.

        `claimed` is what somebody says: if it is right, a short proof may show it. Raises what
        reading tiles does.
        """
        newest = self._trusted
        if newest is None or not 0 < size <= newest.size:
            raise UsageError("a size below the newest checkpoint", "size")
        if size == newest.size:
            return newest.root
        older = Checkpoint(newest.checkpoint.origin, size, claimed)
        if self._short is not None and self._short.show(older, newest.checkpoint):
            return claimed
        return tree_root(size, VerifiedTiles(self._source, newest.checkpoint).node)

    def entries(self, start: int = 0) -> Iterator[bytes]:
        """Every entry from `start` to the newest one, verified."""
        reader = self.reader()
        yield from reader.entries(min(start, reader.size))

    def look_up(self, wanted: Lookup, root: bytes) -> tuple[VerifiedEntry, ...]:
        """Ask the board for the entries in some places, and verify what it shows.

        Each is verified: its place, its signature, its inclusion under the tree
        (wanted.size, root), which the caller has from `update`. That the board shows all of
        them is not. Raises `Refused` if it will not look, `NetworkError` when patience ends,
        and `MalformedMessage` or `InvalidProof` if an answer does not hold: then too,
        reading the log is the way to know.
        """

        def ask(question: Lookup) -> bytes:
            body = LOOKUP.encode(question)
            return self._persist("v1/lookup", body, LOOKUP_TYPE, LARGEST_ANSWER).body

        return page_through(ask, wanted, root)

    def _persist(self, path: str, body: bytes, media_type: str, limit: int) -> Response:
        """Ask until there is an answer, which is 200 or 201."""
        last: ProtocolError = NetworkError("no attempt was made")
        for attempt in range(self._patience.attempts):
            self._check_not_forked()
            retry_after = None
            try:
                answer = self._transport.request(
                    "POST",
                    f"{self._url}/{path}",
                    body=body,
                    media_type=media_type,
                    limit=limit,
                )
                if answer.status in {200, 201}:
                    return answer
                retry_after = answer.retry_after
                last = _refusal(answer)
            except NetworkError as error:
                last = error
            else:
                if answer.status not in AGAIN:
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

    def _fetch(self, path: str) -> SignedCheckpoint:
        data = self._source.fetch(path, resource_limit(CHECKPOINT))
        return open_checkpoint(data, self._policy.log.key)

    def _holds(self, signed: SignedCheckpoint) -> bool:
        try:
            self._policy.check_quorum(signed)
        except InvalidProof:
            return False
        return True

    def _accept(self, claims: list[SignedCheckpoint]) -> None:
        """`_judge`, again while the tiles that it needs cannot be had.

        From the second time on together with what the board shows then: it may have
        grown, and a copy of it has the tiles of its newest checkpoint only.
        """
        shown: list[SignedCheckpoint] = []
        for attempt in range(self._patience.attempts):
            try:
                return self._judge([*claims, *shown])
            except UnprovenHistory as error:
                if attempt + 1 == self._patience.attempts:
                    self._suspect(error)
                    raise
            self._pause(attempt, None)
            with suppress(NetworkError, MissingResource):
                shown = [self._fetch(CHECKPOINT)]
        return None

    def _judge(self, claims: list[SignedCheckpoint]) -> None:
        """Show that the claims, and everything seen before, are one log; remember the newest."""
        with self._mutex:
            self._check_not_forked()
            seen = [] if self._seen is None else [self._seen]
            known = sorted([*seen, *self._unproven, *claims], key=lambda signed: signed.size)
            newest = known[-1]
            # Of equal size and another root: a log that forked without growing.
            for older in known:
                if older.size == newest.size:
                    self._compare(older, newest, newest.root, ())
            for older in known:
                if 0 < older.size < newest.size:
                    self._compare_trees(older, newest, stale=newest not in claims)
            if self._seen is None or newest.size > self._seen.size:
                self._remember(newest)
            if self._unproven:
                self._state.clear_unproven()
                self._unproven = ()

    def _compare_trees(
        self, older: SignedCheckpoint, newer: SignedCheckpoint, *, stale: bool
    ) -> None:
        """Raises `UnprovenHistory` if the newer tree cannot be had, `StaleMirror` if `stale`."""
        if self._short is not None and self._short.show(older.checkpoint, newer.checkpoint):
            return
        try:
            tiles = VerifiedTiles(self._source, newer.checkpoint)
            shown = tree_root(older.size, tiles.node)
            proof = tuple(tiles.consistency_proof(older.size))
        except (NetworkError, MissingResource, MalformedMessage, InvalidProof) as error:
            kind, what = (StaleMirror, _STALE) if stale else (UnprovenHistory, _UNPROVEN)
            message = what.format(older=older.size, newer=newer.size, error=error)
            signed = older.to_bytes(), newer.to_bytes()
            raise kind(message, *signed, f"{self._url}/{self._source.last}") from error
        if older.size & (older.size - 1) == 0:
            proof = (shown, *proof)
        self._compare(older, newer, shown, proof)

    def _suspect(self, failure: ProtocolError) -> None:
        """Patience has ended: keep two checkpoints of which it was not shown that they agree."""
        if isinstance(failure, UnprovenHistory):
            with self._mutex:
                self._state.keep_unproven(failure.evidence)
                self._unproven = open_pair(failure.evidence, self._policy.log.key)

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
        verify_fork(evidence, self._policy.log.key)  # nobody is accused of what is not proved
        where = self._state.keep_evidence(evidence)
        self._fork = FaultyBoard(f"the log has forked; both checkpoints are in {where}", evidence)
        raise self._fork

    def _trust(self, signed: SignedCheckpoint) -> SignedCheckpoint:
        """Keep the newest checkpoint that holds under the policy; it is part of the seen log."""
        with self._mutex:
            if self._trusted is None or signed.size > self._trusted.size:
                self._trusted = signed
            return self._trusted

    def _load(self) -> None:
        """Take up the memory of earlier runs, also that the log has forked."""
        evidence = self._state.kept_evidence()
        if evidence is not None:
            verify_fork(evidence, self._policy.log.key)
            self._fork = FaultyBoard("the log has forked, says evidence kept before", evidence)
        pair = self._state.unproven()
        if pair is not None:
            self._unproven = open_pair(pair, self._policy.log.key)
        stored = self._state.load()
        if stored is not None:
            self._seen = open_checkpoint(stored, self._policy.log.key)

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
        return Refused(RefusalReason.UNAVAILABLE, f"status {answer.status}", answer.retry_after)


def _no_quorum() -> InvalidProof:
    return InvalidProof("too few witnesses cosigned what this board shows", "05-P2")
