"""HTTP requests to a board, also such as no client would send."""

from __future__ import annotations

import http.client
import json
import socket
from urllib.parse import urlsplit

from tests.board.waiting import LONG
from wire.domains import ENTRY_PAYLOAD_TYPE


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def problem(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        document = json.loads(self.body)
        assert document["status"] == self.status
        assert document["title"]
        return str(document["type"]).removeprefix("urn:gopa:board:")


def ask(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=LONG)
    try:
        connection.request(method, path, body, headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def post(url: str, body: bytes, media_type: str = ENTRY_PAYLOAD_TYPE) -> Answer:
    return ask(url, "POST", "/v1/entries", body, {"Content-Type": media_type})


def raw_exchange(url: str, *parts: bytes) -> bytes:
    """Send bytes as they are; what comes back until the server closes."""
    target = urlsplit(url)
    with socket.create_connection((str(target.hostname), target.port or 0), 20) as connection:
        received = b""
        try:
            for part in parts:
                connection.sendall(part)
            while data := connection.recv(65_536):
                received += data
        except OSError:
            pass
        return received


def head(*lines: str) -> bytes:
    first = ["POST /v1/entries HTTP/1.1", "Host: x", f"Content-Type: {ENTRY_PAYLOAD_TYPE}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()
