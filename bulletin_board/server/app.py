"""Translates between HTTP and the board's service, which decides everything."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bulletin_board.admission import PROBLEM_TYPE, RefusalReason, Refused, problem_body
from bulletin_board.compression import GZIP, gzipped, takes_gzip
from bulletin_board.display import visible
from bulletin_board.entry import LARGEST_ENTRY
from bulletin_board.lookup import LOOKUP
from bulletin_board.lookup import MEDIA_TYPE as LOOKUP_TYPE
from bulletin_board.note import parse_decimal
from bulletin_board.receipt import MEDIA_TYPE as RECEIPT
from bulletin_board.server.accepting import OpenConnections
from bulletin_board.server.metrics import MEDIA_TYPE as METRICS
from bulletin_board.server.metrics import WatchedApp
from bulletin_board.server.page import CONTENT_SECURITY_POLICY, PAGE, overview
from bulletin_board.server.public_files import (
    BINARY,
    IMMUTABLE,
    MUTABLE,
    TEXT,
    BudgetedResponse,
    PiecesResponse,
    ResourceInPieces,
    SendingBudget,
)
from bulletin_board.server.service import BoardService
from bulletin_board.tree import Bundle
from bulletin_board.witness.asking import WitnessHealth
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import MalformedMessage, ProtocolError


class OverviewCache:
    """The document behind the page, made once in a while however many people look.

    Counting sessions takes time that grows with their number, and strangers may ask.
    Used by one event loop; the counting happens in a thread.
    """

    def __init__(self, service: BoardService) -> None:
        self._service = service
        self._making = asyncio.Lock()
        self._document: bytes | None = None
        self._expires = float("-inf")

    async def get(self) -> bytes | None:
        """The document in JSON, or None while the log is closed."""
        async with self._making:
            if self._service.clock() >= self._expires:
                self._document = await run_in_threadpool(self._make)
                self._expires = self._service.clock() + self._service.limits.overview_seconds
            return self._document

    def _make(self) -> bytes | None:
        service = self._service
        sequencer = service.committer.sequencer
        if sequencer is None:
            return None
        signed = sequencer.signed
        document = overview(
            signed.checkpoint.origin,
            signed.note.to_bytes().decode(),
            signed.size,
            sequencer.census,
            service.witnesses(),
            service.view,
            service.times,
        )
        return json.dumps(document).encode()


_LENGTH = re.compile(r"[0-9]{1,20}")
_FILE_READERS = 8
MOST_ZIPPED = 2**20
"""Bytes of a bundle that is compressed: a few milliseconds of work."""
_SAFE = {"X-Content-Type-Options": "nosniff"}
_PAGE = _SAFE | {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
}


def build_app(service: BoardService) -> Starlette:
    """The board as an ASGI application; closing its lifespan closes the service."""
    handlers = _Handlers(service)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = Starlette(
        lifespan=lifespan,
        routes=[
            Route("/v1/entries", handlers.post_entry, methods=["POST"]),
            Route("/v1/lookup", handlers.look_up, methods=["POST"]),
            Route("/v1/consistency/{older}/{newer}", handlers.consistency),
            Route("/checkpoint", handlers.static),
            Route("/tile/{rest:path}", handlers.static),
            Route("/v1/manifest", handlers.manifest),
            Route("/v1/policy", handlers.policy),
            Route("/v1/cosigned", handlers.cosigned),
            Route("/v1/overview", handlers.overview),
            Route("/healthz", handlers.health),
            Route("/metrics", handlers.metrics),
            Route("/", handlers.page),
        ],
    )
    app.add_middleware(
        WatchedApp, metrics=service.metrics, clock=service.clock, log=service.access_log
    )
    app.router.redirect_slashes = False  # its redirects lead wherever the Host header says
    return app


class _Handlers:
    def __init__(self, service: BoardService) -> None:
        self._service = service
        self._overview = OverviewCache(service)
        self._readers = asyncio.Semaphore(_FILE_READERS)
        self._zipping = asyncio.Lock()
        self._sending = SendingBudget(service.limits.sending_bytes)

    async def post_entry(self, request: Request) -> Response:
        service = self._service
        started = service.clock()
        try:
            address = "" if request.client is None else request.client.host
            service.quota.ask(address)
            limit = service.limits.body_bytes
            raw = await self._body(request, ENTRY_PAYLOAD_TYPE, limit)
            accepted = await service.post(raw, address)
        except Refused as refusal:
            service.metrics.count(refusal.reason.code, service.clock() - started)
            return refusal_response(refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        outcome = "created" if accepted.fresh else "repeated"
        service.metrics.count(outcome, service.clock() - started)
        status = 201 if accepted.fresh else 200
        return Response(accepted.receipt, status, _SAFE, RECEIPT)

    async def look_up(self, request: Request) -> Response:
        """Answer a lookup. Never cached: an answer is as good as the checkpoint it names."""
        service = self._service
        started = service.clock()
        try:
            body = await self._body(request, LOOKUP_TYPE, LOOKUP.max_size)
            answer = await service.look_up(body)
            self._hold(answer)
        except Refused as refusal:
            service.metrics.count_lookup(refusal.reason.code, service.clock() - started)
            return refusal_response(refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        service.metrics.count_lookup("answered", service.clock() - started, len(answer))
        headers = _SAFE | {"Cache-Control": "no-store"}
        return BudgetedResponse(answer, headers, LOOKUP_TYPE, self._sending)

    async def consistency(self, request: Request) -> Response:
        """Answer with a consistency proof, which never changes once the log has the newer size."""
        try:
            sizes = [parse_decimal(request.path_params[name], name) for name in ("older", "newer")]
            proof = await self._service.consistency(*sizes)
        except MalformedMessage as error:
            return refusal_response(Refused(RefusalReason.LOOKUP, str(error)))
        except Refused as refusal:
            return refusal_response(refusal)
        return Response(proof, 200, _SAFE | {"Cache-Control": IMMUTABLE}, BINARY)

    async def _body(self, request: Request, media_type: str, most: int) -> bytes:
        """The body, never more of it than `most`, never waiting longer than the limit."""
        # Of two types a proxy may look at the other one, and what is encoded is not what it seems.
        if request.headers.getlist("content-type") != [media_type]:
            raise Refused(RefusalReason.MEDIA_TYPE, f"send {media_type}, and say so once")
        if request.headers.getlist("content-encoding") not in ([], ["identity"]):
            raise Refused(RefusalReason.MEDIA_TYPE, "send it without Content-Encoding")
        announced = request.headers.get("content-length", "0")
        # Refused before it is read; a number of a million digits would take long to parse.
        if _LENGTH.fullmatch(announced) is None or int(announced) > most:
            raise _too_large(media_type)
        limits = self._service.limits
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds) as clock:
                least = clock.when() or 0.0
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise _too_large(media_type)
                    clock.reschedule(least + len(body) / limits.body_rate)
        except TimeoutError:
            raise Refused(RefusalReason.BUSY, "the body came too slowly", 1) from None
        return bytes(body)

    async def static(self, request: Request) -> Response:
        service = self._service
        path = str(request.scope["path"]).removeprefix("/")
        pieces = ResourceInPieces(path, service.public)
        try:
            first = pieces.begin_quickly() or await self._read(pieces.begin)
            headers = _SAFE | {"Cache-Control": pieces.cache}
            if not isinstance(pieces.wanted, Bundle):
                return Response(first, 200, headers, pieces.media_type)
            headers |= {"Vary": "Accept-Encoding"}
            if takes_gzip(request.headers.get("accept-encoding", "")):
                zipped = await self._zipped(pieces)
                if zipped is not None:
                    headers |= {"Content-Encoding": GZIP}
                    return BudgetedResponse(zipped, headers, pieces.media_type, self._sending)
        except ProtocolError:
            return PlainTextResponse("not found\n", 404, _SAFE | {"Cache-Control": "no-store"})
        return PiecesResponse(pieces, first, headers, self._read)

    async def _read(self, work: Callable[[], bytes]) -> bytes:
        """What a thread reads; few do at a time, and none while a peer is being waited for."""
        async with self._readers:
            return await run_in_threadpool(work)

    async def _zipped(self, pieces: ResourceInPieces) -> bytes | None:
        """A bundle in gzip; None if it is large, or as much is being compressed or sent already."""
        if pieces.length > MOST_ZIPPED or self._zipping.locked():
            return None
        async with self._zipping:
            zipped = await self._read(lambda: gzipped(pieces.part(0, pieces.length)))
        if len(zipped) >= pieces.length or not self._sending.take(len(zipped)):
            return None
        return zipped

    def _hold(self, data: bytes) -> None:
        """Count bytes that are about to be sent, or raise `Refused`."""
        if not self._sending.take(len(data)):
            raise Refused(RefusalReason.BUSY, "too much is being read", 1)

    async def manifest(self, _: Request) -> Response:
        service = self._service
        log = service.policy.log.key
        return JSONResponse(
            {
                "origin": log.name,
                "log": str(log),
                "entry_type": ENTRY_PAYLOAD_TYPE,
                "lookup_type": LOOKUP_TYPE,
                "largest_entry": LARGEST_ENTRY,
                "posts_per_second": service.limits.posts_per_second,
            },
            headers=_SAFE,
        )

    async def policy(self, _: Request) -> Response:
        return Response(self._service.policy.to_bytes(), 200, _SAFE, TEXT)

    async def cosigned(self, _: Request) -> Response:
        """The newest checkpoint that a quorum has cosigned since this server started."""
        collector = self._service.collector
        latest = None if collector is None else collector.latest
        headers = _SAFE | {"Cache-Control": MUTABLE}
        if latest is None:
            return PlainTextResponse("no quorum yet\n", 404, headers)
        return Response(latest.to_bytes(), 200, headers, TEXT)

    async def overview(self, _: Request) -> Response:
        document = await self._overview.get()
        if document is None:
            return refusal_response(Refused(RefusalReason.UNAVAILABLE, "", 1))
        headers = _SAFE | {"Cache-Control": "no-store"}
        return Response(document, 200, headers, "application/json")

    async def health(self, _: Request) -> Response:
        """Say in the first line whether the board works, in the others what its witnesses do."""
        problem = self._service.problem()
        lines = [problem or "ok", *map(_witness_line, self._service.witnesses().items())]
        return PlainTextResponse("\n".join(lines) + "\n", 503 if problem else 200, _SAFE)

    async def metrics(self, request: Request) -> Response:
        service = self._service
        gauges = service.gauges()
        table: OpenConnections | None = getattr(request.state, "connections", None)
        if table is not None:
            gauges |= table.gauges()
        return Response(service.metrics.render(gauges, service.witnesses()), 200, _SAFE, METRICS)

    async def page(self, _: Request) -> Response:
        return HTMLResponse(PAGE, headers=_PAGE)


def _too_large(media_type: str) -> Refused:
    most = LARGEST_ENTRY if media_type == ENTRY_PAYLOAD_TYPE else LOOKUP.max_size
    return Refused(RefusalReason.TOO_LARGE, f"at most {most} bytes of {media_type}")


def refusal_response(refusal: Refused) -> Response:
    """Problem details with the status and headers that belong to them."""
    headers = dict(_SAFE)
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if refusal.reason is RefusalReason.TOO_LARGE:
        headers["Connection"] = "close"  # the rest of the body is not read
    return Response(problem_body(refusal), refusal.reason.status, headers, PROBLEM_TYPE)


def _witness_line(item: tuple[str, WitnessHealth]) -> str:
    name, standing = item
    reason = f": {standing.reason}" if standing.reason else ""
    return f"witness {visible(name)} is {standing.state.value}{reason}"
