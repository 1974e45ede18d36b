"""A server that answers everything, and never comes to an end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
_PIECE: Final = b"[" * 65_536
_SECONDS: Final = 10.0


@contextmanager
def endless_server() -> Iterator[str]:
    """Its address. An answer goes on until the reader has had enough, or the server is closed."""
    over = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.2)
        thread = threading.Thread(target=_accept, args=(listener, over), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join(_SECONDS)


def _accept(listener: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(TimeoutError):
            connection, _ = listener.accept()
            threading.Thread(target=_talk, args=(connection, over), daemon=True).start()


def _talk(connection: socket.socket, over: threading.Event) -> None:
    with suppress(OSError), closing(connection):
        connection.settimeout(_SECONDS)
        connection.recv(65_536)
        connection.sendall(_HEAD)
        while not over.is_set():
            connection.sendall(_PIECE)
