"""Secret bytes come out through `reveal` and no other way."""

from __future__ import annotations

import copy
import json
import logging
import operator
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from tests.randomness import seeded
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import SecretBytes

DATA = b"correct horse battery staple, 32"
SECRET = SecretBytes(DATA)


@dataclass
class Holder:
    secret: SecretBytes


def leaks(text: str) -> bool:
    return any(part in text for part in ("horse", DATA.hex(), str(list(DATA))))


def test_reveal_and_length() -> None:
    assert SECRET.reveal() == DATA
    assert len(SECRET) == 32
    assert not SecretBytes(b"")


def test_no_text_holds_the_bytes(caplog: pytest.LogCaptureFixture) -> None:
    assert leaks(repr(DATA))
    texts = [repr(SECRET), str(SECRET), f"{SECRET}", f"{SECRET!r:>80}", f"{[SECRET]}"]
    texts += [repr(Holder(SECRET)), "%s %r" % (SECRET, SECRET), repr({1: SECRET})]  # noqa: UP031 - one more way to print
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("%s", SECRET)
    assert "SecretBytes" in caplog.text
    assert not any(map(leaks, [*texts, caplog.text]))


REFUSED: dict[str, Callable[[], object]] = {
    "itself": lambda: operator.eq(SECRET, SECRET),
    "the same bytes": lambda: operator.eq(SECRET, SecretBytes(DATA)),
    "not equal": lambda: operator.ne(SECRET, SecretBytes(DATA)),
    "plain bytes": lambda: operator.eq(SECRET, DATA),
    "plain bytes first": lambda: operator.eq(DATA, SECRET),
    "search in a list": lambda: operator.contains([SecretBytes(DATA)], SECRET),
    "hash": lambda: hash(SECRET),
    "set": lambda: {SECRET},
    "copy": lambda: copy.copy(SECRET),
    "deepcopy": lambda: copy.deepcopy(SECRET),
    "asdict": lambda: asdict(Holder(SECRET)),
    "dataclass equality": lambda: Holder(SECRET) == Holder(SecretBytes(DATA)),
}

IMPOSSIBLE: dict[str, Callable[[Any], object]] = {
    "bytes": bytes,
    "iter": iter,
    "index": lambda secret: secret[0],
    "slice": lambda secret: secret[:4],
    "concatenate": lambda secret: secret + b"",
    "order": lambda secret: operator.lt(secret, secret),
    "memoryview": memoryview,
    "vars": vars,
    "json": json.dumps,
    "contains": lambda secret: 3 in secret,
}


@pytest.mark.parametrize("act", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(act: Callable[[], object]) -> None:
    with pytest.raises(UsageError) as caught:
        act()
    assert not leaks(str(caught.value))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_protocol_works(protocol: int) -> None:
    with pytest.raises(UsageError):
        pickle.dumps(SECRET, protocol)


@pytest.mark.parametrize("act", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_python_refuses_by_itself(act: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError) as caught:
        act(SECRET)
    assert not leaks(str(caught.value))


@pytest.mark.parametrize("data", ["text", bytearray(b"x"), None, [1, 2], SECRET])
def test_only_bytes_are_kept(data: Any) -> None:
    SecretBytes(b"x")
    with pytest.raises(UsageError) as caught:
        SecretBytes(data)
    assert not leaks(str(caught.value))


def test_draw_returns_what_the_source_gives() -> None:
    assert draw(lambda n: bytes(range(n)), 5) == bytes(range(5))
    assert draw(seeded(1), 0) == b""


@pytest.mark.parametrize("answer", [b"", b"four", b"sixsix", bytearray(5), "fiver", None])
def test_draw_refuses_a_source_that_does_not_deliver(answer: Any) -> None:
    assert draw(lambda _: b"fiver", 5) == b"fiver"
    with pytest.raises(UsageError) as caught:
        draw(lambda _: answer, 5)
    assert "four" not in str(caught.value)
