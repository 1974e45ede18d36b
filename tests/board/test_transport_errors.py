"""What is said when nobody answers: the address and what happened, no Python objects."""

from __future__ import annotations

import socket

import pytest

from bulletin_board.client.http import HttpTransport, NetworkError


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def ask(url: str) -> str:
    transport = HttpTransport(seconds=1)
    try:
        with pytest.raises(NetworkError) as caught:
            transport.request("GET", url, body=None, media_type="", limit=100)
    finally:
        transport.close()
    return str(caught.value)


def test_a_closed_port_is_named_without_objects(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/checkpoint"
    said = ask(url)
    assert said.startswith(url)
    assert "Connection(" not in said
    assert "refused" in said


def test_silence_is_told_apart_from_refusal(closed_port: int) -> None:
    """Somebody who listens and never answers is not nobody."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silence = ask(f"http://127.0.0.1:{silent.getsockname()[1]}/checkpoint")
    refusal = ask(f"http://127.0.0.1:{closed_port}/checkpoint")
    assert "Connection(" not in silence
    assert silence.partition(" ")[2] != refusal.partition(" ")[2]
