"""A witness over HTTP, and its memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bulletin_board.display import metric_label, visible
from bulletin_board.note import Checkpoint, KeyKind, NoteSigner, VerifierKey, checkpoint_lines
from bulletin_board.storage import StorageError
from bulletin_board.storage.sqlite import Database
from bulletin_board.witness.judging import (
    LARGEST_REQUEST,
    CosignatureRequest,
    WitnessAnswer,
    cosigned,
    judge,
    read_request,
)
from wire.errors import MalformedMessage, UsageError

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS cosigned (origin TEXT PRIMARY KEY, text TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS clock (
        id INTEGER PRIMARY KEY CHECK (id = 1), time INTEGER NOT NULL
    )""",
)

Judge = Callable[[CosignatureRequest, Checkpoint | None], WitnessAnswer | None]


class WitnessStore:
    """The newest cosigned checkpoint of each log, and the last time stated.

    May be called by several threads.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)
        self._mutex = threading.Lock()

    def update(self, proposal: CosignatureRequest, now: int, judge: Judge) -> WitnessAnswer | int:
        """Judge and store in one durable step; return the refusal, or the time to state.

        The time never runs backwards, also when the clock does: a witness that
        stated a time has promised that nothing newer was known to it then.
        """
        with self._mutex, self._database.transaction():
            # In one transaction: two requests at once could else both extend the same tree.
            refusal = judge(proposal, self._known(proposal.signed.checkpoint.origin))
            if refusal is not None:
                return refusal
            rows = self._database.execute("SELECT time FROM clock")
            last = rows[0][0] if rows else 0
            time = max(now, last if type(last) is int else 0)
            self._database.execute("INSERT OR REPLACE INTO clock VALUES (1, ?)", (time,))
            self._database.execute(
                "INSERT OR REPLACE INTO cosigned VALUES (CAST(? AS TEXT), CAST(? AS TEXT))",
                (
                    proposal.signed.checkpoint.origin.encode(),
                    proposal.signed.note.text.encode(),
                ),
            )
            return time

    def sizes(self) -> dict[str, int]:
        """How far each log was cosigned."""
        with self._mutex:
            rows = self._database.execute("SELECT text FROM cosigned ORDER BY origin")
        found = (Checkpoint(*checkpoint_lines(str(row[0]))) for row in rows)
        return {each.origin: each.size for each in found}

    def try_to_write(self) -> None:
        """Write what is there already; raises `StorageError` where nothing can be remembered."""
        with self._mutex, self._database.transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO clock SELECT 1, coalesce(max(time), 0) FROM clock"
            )

    def close(self) -> None:
        self._database.close()

    def _known(self, origin: str) -> Checkpoint | None:
        rows = self._database.execute(
            "SELECT text FROM cosigned WHERE origin = CAST(? AS TEXT)", (origin.encode(),)
        )
        if not rows:
            return None
        try:
            return Checkpoint(*checkpoint_lines(str(rows[0][0])))
        except MalformedMessage as error:
            raise StorageError(f"the witness's memory is damaged: {error}") from error


_BODY_SECONDS = 20.0
METRICS: Final = "text/plain; version=0.0.4"
OUTCOMES: Final = ("cosigned", "refused", "failed")
"""What came of requests: a cosignature, a reason why not, a memory that could not be written."""


class Witness:
    """The cosigner of checkpoints of known logs; it remembers before it answers."""

    def __init__(
        self,
        signer: NoteSigner,
        logs: Collection[VerifierKey],
        store: WitnessStore,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if signer.verifier.kind is not KeyKind.WITNESS:
            raise UsageError("a witness needs a key of type 0x04")
        self._signer = signer
        self._logs = {log.name: log for log in logs}
        if len(self._logs) != len(set(logs)):
            raise UsageError("two logs have one name: a witness remembers one history of each name")
        self._store = store
        self._clock = clock
        self._counts = Counter[str]()
        self._times = dict[str, float]()
        self._failure = ""

    def add_checkpoint(self, data: bytes) -> WitnessAnswer:
        """Answer one request. Raises `StorageError` if nothing could be remembered."""
        proposal = read_request(data, self._logs)
        if isinstance(proposal, WitnessAnswer):
            self._counts["refused"] += 1
            return proposal
        try:
            stored = self._store.update(proposal, int(self._clock()), judge)
        except StorageError as error:
            self._counts["failed"] += 1
            self._failure = str(error)
            raise
        self._failure = ""
        if isinstance(stored, WitnessAnswer):
            self._counts["refused"] += 1
            return stored
        self._counts["cosigned"] += 1
        self._times[proposal.signed.checkpoint.origin] = self._clock()
        return cosigned(proposal, self._signer, stored)

    def status(self) -> str:
        """What `/healthz` says: in the first line whether it works, then how far each log is."""
        problem, held = self._look()
        logs = (
            f"log {visible(name)} is cosigned up to {held.get(name, 0)} entries"
            for name in sorted(self._logs)
        )
        return "\n".join([problem or "ok", *logs]) + "\n"

    def metrics(self) -> str:
        """The page that a Prometheus server reads."""
        problem, held = self._look()
        lines = ["# TYPE gopa_witness_healthy gauge", f"gopa_witness_healthy {int(not problem)}"]
        lines.append("# TYPE gopa_witness_requests_total counter")
        for outcome in OUTCOMES:
            label = f'{{outcome="{outcome}"}}'
            lines.append(f"gopa_witness_requests_total{label} {self._counts[outcome]}")
        for figure, values in (
            ("gopa_witness_cosigned_entries", held),
            ("gopa_witness_cosigned_timestamp_seconds", self._times),
        ):
            lines.append(f"# TYPE {figure} gauge")
            for name, value in sorted(values.items()):
                lines.append(f'{figure}{{log="{metric_label(name)}"}} {value}')
        return "\n".join(lines) + "\n"

    def _look(self) -> tuple[str, dict[str, int]]:
        """Why it cannot cosign, or nothing, and how far logs are. What failed is tried again."""
        try:
            if self._failure:
                self._store.try_to_write()
                self._failure = ""
            return "", self._store.sizes()
        except (StorageError, MalformedMessage) as error:
            return f"nothing can be remembered: {error}", {}

    def close(self) -> None:
        self._store.close()


def build_witness_app(witness: Witness) -> Starlette:
    """The witness as an ASGI application; closing its lifespan closes the witness."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        witness.close()

    async def add_checkpoint(request: Request) -> Response:
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > LARGEST_REQUEST:
                        return PlainTextResponse("too large\n", 400, {"Connection": "close"})
            answer = await run_in_threadpool(witness.add_checkpoint, bytes(body))
        except (StorageError, TimeoutError):
            return PlainTextResponse("try again\n", 503, {"Retry-After": "1"})
        except ClientDisconnect:
            return Response(status_code=400)
        # As `media_type`, text gets a charset, which clients of the standard do not take.
        return Response(answer.body, answer.status, {"Content-Type": answer.media_type})

    async def health(_: Request) -> Response:
        said = await run_in_threadpool(witness.status)
        return PlainTextResponse(said, 200 if said.startswith("ok\n") else 503)

    async def metrics(_: Request) -> Response:
        return Response(await run_in_threadpool(witness.metrics), media_type=METRICS)

    return Starlette(
        routes=[
            Route("/add-checkpoint", add_checkpoint, methods=["POST"]),
            Route("/healthz", health),
            Route("/metrics", metrics),
        ],
        lifespan=lifespan,
    )
