"""A witness as an HTTP service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bulletin_board.note import KeyKind, NoteSigner, VerifierKey
from bulletin_board.storage import StorageError
from bulletin_board.witness.core import Answer, cosigned, judge, read_request
from bulletin_board.witness.request import LARGEST_REQUEST
from bulletin_board.witness.store import WitnessStore
from wire.errors import UsageError

_BODY_SECONDS = 20.0


class Witness:
    """Cosigns checkpoints of known logs; remembers before it answers."""

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

    def add_checkpoint(self, data: bytes) -> Answer:
        """Answer one request. Raises `StorageError` if nothing could be remembered."""
        proposal = read_request(data, self._logs)
        if isinstance(proposal, Answer):
            return proposal
        stored = self._store.update(proposal, int(self._clock()), judge)
        if isinstance(stored, Answer):
            return stored
        return cosigned(proposal, self._signer, stored)

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

    return Starlette(
        routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])], lifespan=lifespan
    )
