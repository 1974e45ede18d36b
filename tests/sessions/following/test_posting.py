"""Posting through a link: few connections for many parties, order, what is raised."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulletin_board import RefusalReason, Refused, Submission
from bulletin_board.admission import problem_body
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import MemoryState
from gopa.sessions.following import BoardLink, PollingPace, WholeLog
from gopa.sessions.following.follower import passes
from tests.board.live import client, live_board
from tests.board.tools import SESSION, entry_bytes, trust
from tests.randomness import seeded
from tests.sessions.following.worlds import link_to


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    with live_board(scratch / "log") as url:
        yield url


class Crowded(HttpTransport):
    """Counts how many requests are on their way at once."""

    def __init__(self) -> None:
        super().__init__(connections=20)
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            return super().request(method, url, body=body, media_type=media_type, limit=limit)
        finally:
            with self._lock:
                self._now -= 1


@pytest.mark.slow
def test_a_crowd_posts_through_few_connections(url: str) -> None:
    transport = Crowded()
    messages = [
        tuple(entry_bytes(seq, author=n, body=b"m%d" % n) for seq in range(3)) for n in range(100)
    ]

    async def work() -> None:
        link = BoardLink(
            url, trust(), MemoryState(), rng=seeded("crowd"), transport=transport, posters=5
        )
        await asyncio.gather(*(link.submit(message) for message in messages))
        assert link.bytes_posted == sum(len(raw) for message in messages for raw in message)
        assert link.bytes_read > 0
        await link.close()

    asyncio.run(work())
    assert 1 < transport.most <= 5
    stands: dict[bytes, list[int]] = {}
    for raw in client(url).entries():
        entry = Submission.decode(raw).entry
        if entry.body.startswith(b"m"):
            stands.setdefault(entry.author.data, []).append(entry.seq)
    assert len(stands) == 100
    assert all(order == [0, 1, 2] for order in stands.values())


class Refusing(HttpTransport):
    """Refuses posts for a reason, or has no answer."""

    def __init__(self, reason: RefusalReason | None, retry_after: int | None) -> None:
        super().__init__()
        self.reason = reason
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self.asked = 0
        self.kind = False

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        if self.kind or not url.endswith("/v1/entries"):
            return super().request(method, url, body=body, media_type=media_type, limit=limit)
        self.asked += 1
        if self.reason is None:
            raise NetworkError("gone")
        refusal = Refused(self.reason)
        return Response(self.reason.status, self.headers, problem_body(refusal))


LASTING = [
    RefusalReason.MALFORMED,
    RefusalReason.SIGNATURE,
    RefusalReason.UNREGISTERED,
    RefusalReason.SESSION,
    RefusalReason.PHASE,
    RefusalReason.SEQUENCE,
    RefusalReason.CONFLICT,
    RefusalReason.TOO_LARGE,
    RefusalReason.MEDIA_TYPE,
    RefusalReason.QUOTA,
    RefusalReason.FULL,
]


@pytest.mark.parametrize("reason", LASTING, ids=lambda reason: reason.code)
def test_reasons_that_do_not_pass_are_raised(reason: RefusalReason, url: str) -> None:
    raw = entry_bytes(0, author=200 + LASTING.index(reason))
    transport = Refusing(reason, None)

    async def work() -> None:
        log = WholeLog(link_to(url, transport), SESSION)
        with pytest.raises(Refused) as caught:
            await log.submit((raw,))
        assert caught.value.reason is reason
        transport.kind = True
        await log.submit((raw,))
        await log.close()

    asyncio.run(work())
    assert not passes(Refused(reason))
    if reason not in {RefusalReason.QUOTA, RefusalReason.FULL}:
        assert transport.asked == 1


@pytest.mark.parametrize(
    ("reason", "retry_after"),
    [
        (RefusalReason.BUSY, 1),
        (RefusalReason.UNAVAILABLE, None),
        (RefusalReason.QUORUM, 1),
        (RefusalReason.QUOTA, 1),
        (RefusalReason.ADDRESS, 1),
        (RefusalReason.STORAGE, 30),
        (None, None),
    ],
    ids=["busy", "unavailable", "quorum", "rate", "address", "storage", "no answer"],
)
def test_what_may_pass_is_tried_again_and_says_so(
    reason: RefusalReason | None, retry_after: int | None, url: str
) -> None:
    raw = entry_bytes(0, author=300)
    transport = Refusing(reason, retry_after)

    async def work() -> None:
        log = WholeLog(link_to(url, transport), SESSION)
        with pytest.raises(NetworkError):
            await log.submit((raw,))
        transport.kind = True
        await log.submit((raw,))
        await log.close()

    asyncio.run(work())
    assert transport.asked == 4  # as often as the client's patience says


def test_a_post_is_followed_by_a_look(url: str) -> None:
    """However long the nap is that it is in."""
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(seconds if seconds < 1 else 10_000)

    async def work() -> None:
        pace = PollingPace(least=0.001, most=100.0, factor=10.0)
        log = WholeLog(link_to(url), SESSION, pace=pace, sleep=sleep)
        await log.submit((entry_bytes(0, author=400),))
        size = (await log.grown(0)).size
        while not naps or naps[-1] < 1:
            await asyncio.wait({asyncio.ensure_future(log.grown(10**9))}, timeout=0.05)
        await log.submit((entry_bytes(0, author=401),))
        assert (await asyncio.wait_for(log.grown(size), 30)).size > size
        await log.close()

    asyncio.run(work())


def test_pace_grows_while_nothing_happens_and_has_an_end(url: str) -> None:
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0)

    async def work() -> None:
        pace = PollingPace(least=1.0, most=8.0, factor=2.0)
        log = WholeLog(link_to(url), SESSION, pace=pace, sleep=sleep)
        waiting = asyncio.ensure_future(log.grown(10**9))
        while len(naps) < 6:
            await asyncio.wait({waiting}, timeout=0.01)
        waiting.cancel()
        await log.close()

    asyncio.run(work())
    assert naps[:6] == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
