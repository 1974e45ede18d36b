"""Strangers who take no part in a session and want to keep a board from having one."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from bulletin_board.client.http import HttpTransport
from bulletin_board.entry import LARGEST_BODY, VERSION, Entry, sign_entry
from gopa.adversary.boards.tampering import ENTRIES
from gopa.contract.framing import NO_LEAF
from gopa.contract.phases import Kind, Phase
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SigningKey

if TYPE_CHECKING:
    from gopa.contract.manifest import Manifest

_MOST: Final = 2**17
_SECONDS: Final = 10.0


class Squatters:
    """Each begins a session of its own, or a manifest of several entries, and says no more."""

    def __init__(self, address: str) -> None:
        self._url = address + ENTRIES
        self._transport = HttpTransport()
        self._known: list[tuple[SigningKey, bytes]] = []

    def begin(self, count: int) -> list[int]:
        """So many more come; what the board answers them."""
        found = [(SigningKey.generate(os.urandom), os.urandom(32)) for _ in range(count)]
        self._known += found
        return [self._post(key, session, 0) for key, session in found]

    def begin_whole(self, count: int, like: Manifest) -> list[int]:
        """So many more come, each with a whole manifest like this one; what the board answers."""
        return [self._post_whole(SigningKey.generate(os.urandom), like) for _ in range(count)]

    def go_on(self, number: int) -> int:
        """One that began has another entry of its manifest; what the board answers."""
        return self._post(*self._known[number], 1)

    def close(self) -> None:
        """Close the squatters' connections."""
        self._transport.close()

    def _post(self, key: SigningKey, session: bytes, chunk: int) -> int:
        return self._say(key, session, chunk, 3, bytes(LARGEST_BODY))

    def _post_whole(self, key: SigningKey, like: Manifest) -> int:
        agreed = replace(like, organiser=key.public.data, salt=os.urandom(32))
        return self._say(key, agreed.session, 0, 1, agreed.to_bytes())

    def _say(self, key: SigningKey, session: bytes, chunk: int, chunks: int, body: bytes) -> int:
        place = int(Phase.ORGANISER), int(Kind.MANIFEST), 0, chunk, chunks
        entry = Entry(VERSION, session, *place, key.public, chunk, NO_LEAF, 0, bytes(32), body)
        raw = sign_entry(entry, key)
        answer = self._transport.request(
            "POST", self._url, body=raw, media_type=ENTRY_PAYLOAD_TYPE, limit=_MOST
        )
        return answer.status


class Crowd:
    """Connections to a board that are silent, or begin to speak and stop."""

    def __init__(self, address: str, count: int) -> None:
        """Open so many connections, some of which may be refused."""
        target = urlsplit(address)
        place = str(target.hostname), target.port or 0
        self._sockets = []
        for number in range(count):
            with suppress(OSError):
                connection = socket.create_connection(place, _SECONDS)
                self._sockets.append(connection)
                if number % 2:
                    connection.sendall(b"POST /v1/entries HTTP/1.1\r\nHost: x\r\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._sockets:
            connection.close()

    def dropped(self) -> int:
        """How many of them the board has closed."""
        return sum(map(_is_closed, self._sockets))


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return not connection.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
