"""What the server does, counted in the text format of Prometheus, and the log of requests."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send  # noqa: TC002 - a light module

from bulletin_board.display import metric_label as _label
from bulletin_board.display import visible
from bulletin_board.witness.asking import WitnessHealth, WitnessState

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts of requests, posts and lookups since the server started. Used by one event loop."""

    def __init__(self) -> None:
        self._posts: Counter[str] = Counter()
        self._seconds = 0.0
        self._below: Counter[float] = Counter()
        self._lookups: Counter[str] = Counter()
        self._lookup_seconds = 0.0
        self._lookup_bytes = 0
        self._answers: Counter[tuple[str, int]] = Counter()
        self._sent: Counter[str] = Counter()

    def count(self, outcome: str, seconds: float) -> None:
        """Count one post, answered after this time."""
        self._posts[outcome] += 1
        self._seconds += seconds
        for bound in _BUCKETS:
            if seconds <= bound:
                self._below[bound] += 1

    def count_lookup(self, outcome: str, seconds: float, size: int = 0) -> None:
        """Count one lookup, answered after this time with so many bytes."""
        self._lookups[outcome] += 1
        self._lookup_seconds += seconds
        self._lookup_bytes += size

    def count_answer(self, kind: str, status: int, size: int) -> None:
        """Count one request of whatever kind, and the bytes of the body that were sent for it."""
        self._answers[kind, status] += 1
        self._sent[kind] += size

    def render(
        self,
        gauges: Mapping[str, float],
        witnesses: Mapping[str, WitnessHealth] = MappingProxyType({}),
    ) -> str:
        """The page that a Prometheus server reads."""
        lines = ["# TYPE gopa_board_posts_total counter"]
        lines += [
            f'gopa_board_posts_total{{outcome="{name}"}} {count}'
            for name, count in sorted(self._posts.items())
        ]
        lines.append("# TYPE gopa_board_post_seconds histogram")
        total = sum(self._posts.values())
        for bound in _BUCKETS:
            lines.append(f'gopa_board_post_seconds_bucket{{le="{bound}"}} {self._below[bound]}')
        lines.append(f'gopa_board_post_seconds_bucket{{le="+Inf"}} {total}')
        lines.append(f"gopa_board_post_seconds_sum {self._seconds:.6f}")
        lines.append(f"gopa_board_post_seconds_count {total}")
        lines += self._lookup_lines()
        lines += self._answer_lines()
        for name, value in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            shown = value if type(value) is int else f"{value:.3f}"
            lines += [f"# TYPE gopa_board_{name} {kind}", f"gopa_board_{name} {shown}"]
        lines += _witness_lines(witnesses)
        return "\n".join(lines) + "\n"

    def _lookup_lines(self) -> list[str]:
        lines = ["# TYPE gopa_board_lookups_total counter"]
        lines += [
            f'gopa_board_lookups_total{{outcome="{name}"}} {count}'
            for name, count in sorted(self._lookups.items())
        ]
        return [
            *lines,
            "# TYPE gopa_board_lookup_seconds_total counter",
            f"gopa_board_lookup_seconds_total {self._lookup_seconds:.6f}",
            "# TYPE gopa_board_lookup_bytes_total counter",
            f"gopa_board_lookup_bytes_total {self._lookup_bytes}",
        ]

    def _answer_lines(self) -> list[str]:
        lines = ["# TYPE gopa_board_requests_total counter"]
        lines += [
            f'gopa_board_requests_total{{kind="{kind}",status="{status}"}} {count}'
            for (kind, status), count in sorted(self._answers.items())
        ]
        lines.append("# TYPE gopa_board_sent_bytes_total counter")
        lines += [
            f'gopa_board_sent_bytes_total{{kind="{kind}"}} {count}'
            for kind, count in sorted(self._sent.items())
        ]
        return lines


def _witness_lines(witnesses: Mapping[str, WitnessHealth]) -> list[str]:
    """Which state each witness is in, and how often it refused and failed."""
    if not witnesses:
        return []
    lines = ["# TYPE gopa_board_witness gauge"]
    for name, standing in sorted(witnesses.items()):
        for state in WitnessState:
            labels = f'witness="{_label(name)}",state="{state.value}"'
            lines.append(f"gopa_board_witness{{{labels}}} {int(standing.state is state)}")
    lines.append("# TYPE gopa_board_witness_refusals_total counter")
    for name, standing in sorted(witnesses.items()):
        count = standing.refusals
        lines.append(f'gopa_board_witness_refusals_total{{witness="{_label(name)}"}} {count}')
    lines.append("# TYPE gopa_board_witness_failures_total counter")
    for name, standing in sorted(witnesses.items()):
        count = standing.failures
        lines.append(f'gopa_board_witness_failures_total{{witness="{_label(name)}"}} {count}')
    lines.append("# TYPE gopa_board_witness_last_seen_timestamp_seconds gauge")
    for name, standing in sorted(witnesses.items()):
        if standing.seen is not None:
            label = f'{{witness="{_label(name)}"}}'
            lines.append(
                f"gopa_board_witness_last_seen_timestamp_seconds{label} {standing.seen:.3f}"
            )
    return lines


_LOG: Final = logging.getLogger("gopa.access")
_LONGEST_PATH: Final = 256
_KINDS: Final = (
    ("/checkpoint", "checkpoint"),
    ("/tile/entries/", "bundle"),
    ("/tile/", "tile"),
    ("/v1/entries", "post"),
    ("/v1/lookup", "lookup"),
)


class WatchedApp:
    """An application between requests and `log`, which names each of them when it was answered.

    A line has what a stranger said, so nothing in it can look like another line. Bodies,
    queries and headers are not in it, whatever they hold.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float], *, log: bool
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = sent = 0
        started = self._clock()

        async def passed_on(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, passed_on)
        finally:
            self._metrics.count_answer(_kind(scope["path"]), status, sent)
            if self._log:
                self._say(scope, status, sent, self._clock() - started)

    def _say(self, scope: Scope, status: int, sent: int, seconds: float) -> None:
        client = scope.get("client")
        facts = {
            "address": visible(client[0]) if client else "",
            "method": visible(scope["method"]),
            "path": visible(scope["raw_path"].decode("ascii", "replace"), _LONGEST_PATH),
            "status": status,
            "bytes": sent,
            "ms": round(1000 * seconds, 1),
        }
        text = "{address} {method} {path} {status} {bytes} bytes {ms} ms".format(**facts)
        _LOG.info("%s", text, extra={"event": "request", "facts": facts})


def _kind(path: str) -> str:
    return next((kind for start, kind in _KINDS if path.startswith(start)), "other")
