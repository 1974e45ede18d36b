"""Reads from a board over HTTP: public files, entries by place, short consistency proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bulletin_board.client.http import AGAIN, NetworkError, Transport
from bulletin_board.lookup import Lookup, VerifiedEntry, open_answer
from bulletin_board.note import Checkpoint
from bulletin_board.reader import MissingResource, Source
from bulletin_board.tree import HASH_SIZE, decode_tile, verify_consistency
from wire.errors import InvalidProof, MalformedMessage

_MOST_HASHES = 64
_NOT_OFFERED = frozenset({404, 405, 501})

Ask = Callable[[Lookup], bytes]


def page_through(ask: Ask, wanted: Lookup, root: bytes) -> tuple[VerifiedEntry, ...]:
    """Ask for all pages of an answer, and verify each under (wanted.size, root).

    It ends: every page but the last shows an entry of the log that none before has shown.
    """
    found: list[VerifiedEntry] = []
    question = wanted
    while True:
        page = open_answer(ask(question), question, root)
        found += page.found
        if page.until == wanted.below:
            return tuple(found)
        question = replace(question, start=page.until)


class ShortProofs:
    """Consistency proofs of a board, as long as it offers them.

    A proof that holds spares reading tiles. One that does not hold, or none, shows nothing.
    """

    def __init__(self, url: str, transport: Transport) -> None:
        self._url = url
        self._transport = transport
        self._offered = True

    def show(self, older: Checkpoint, newer: Checkpoint) -> bool:
        """Whether it was proved that the newer tree extends the older one."""
        if not self._offered:
            return False
        url = f"{self._url}/v1/consistency/{older.size}/{newer.size}"
        try:
            answer = self._transport.request(
                "GET", url, body=None, media_type="", limit=_MOST_HASHES * HASH_SIZE
            )
            if answer.status != 200:
                self._offered = answer.status not in _NOT_OFFERED
                return False
            proof = decode_tile(answer.body, len(answer.body) // HASH_SIZE)
            verify_consistency(older.size, newer.size, proof, older.root, newer.root)
        except (NetworkError, MalformedMessage, InvalidProof):
            return False
        return True


class HttpSource:
    """The public files of a board, or of a static mirror, below `url`."""

    def __init__(self, url: str, transport: Transport) -> None:
        self._url = url.rstrip("/")
        self._transport = transport

    def fetch(self, path: str, limit: int) -> bytes:
        answer = self._transport.request(
            "GET", f"{self._url}/{path}", body=None, media_type="", limit=limit
        )
        if answer.status in AGAIN:
            raise NetworkError(f"{path}: the server answers {answer.status}")
        if answer.status != 200:
            raise MissingResource(f"the server answers {answer.status}", path)
        return answer.body


class PatientSource:
    """Another source, asked again while the server is busy or out of reach."""

    def __init__(self, source: Source, attempts: int, pause: Callable[[int], None]) -> None:
        """`pause` is given the number of the attempt that failed, from 0."""
        self._source = source
        self._attempts = attempts
        self._pause = pause

    def fetch(self, path: str, limit: int) -> bytes:
        for attempt in range(self._attempts - 1):
            try:
                return self._source.fetch(path, limit)
            except NetworkError:
                self._pause(attempt)
        return self._source.fetch(path, limit)


class PathRecordingSource:
    """Another source, with the last path that it was asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.last = ""

    def fetch(self, path: str, limit: int) -> bytes:
        self.last = path
        return self._source.fetch(path, limit)
