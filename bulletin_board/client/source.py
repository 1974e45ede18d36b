"""A `Source` over HTTP."""

from __future__ import annotations

from bulletin_board.client.http import Transport
from bulletin_board.source import MissingResource


class HttpSource:
    """The public files of a board or of a static mirror below `url`."""

    def __init__(self, url: str, transport: Transport) -> None:
        self._url = url.rstrip("/")
        self._transport = transport

    def fetch(self, path: str, limit: int) -> bytes:
        answer = self._transport.request(
            "GET", f"{self._url}/{path}", body=None, media_type="", limit=limit
        )
        if answer.status != 200:
            raise MissingResource(f"the server answers {answer.status}", path)
        return answer.body
