"""A `Source` over HTTP."""

from __future__ import annotations

from collections.abc import Callable

from bulletin_board.client.http import AGAIN, NetworkError, Transport
from bulletin_board.source import MissingResource, Source


class HttpSource:
    """The public files of a board or of a static mirror below `url`."""

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
    """A source that is asked again while the server is busy or out of reach."""

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
