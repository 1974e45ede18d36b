"""Tasks for workers in other processes: functions with names."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.board.waiting import until
from wire.errors import MalformedMessage


class Unlike(Exception):
    """An error whose constructor does not take what it hands on."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one}{two}")


def double(number: int) -> int:
    return 2 * number


def add(left: int, right: int = 0) -> int:
    return left + right


def process() -> int:
    return os.getpid()


def fails(error: Exception) -> None:
    raise error


def fails_unlike() -> None:
    raise Unlike("one", "two")


def refuses(content: bytes) -> None:
    raise MalformedMessage(content.decode(), "content", len(content))


def waits(gate: Path, number: int) -> int:
    """Its number, once there is a file."""
    assert until(gate.exists)
    return number


def sleeps(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def size(content: object) -> int:
    return len(content) if isinstance(content, bytes) else -1


def dies() -> None:
    os._exit(1)


def opened() -> object:
    """What no pickle can hold."""
    return Path(__file__).open()
