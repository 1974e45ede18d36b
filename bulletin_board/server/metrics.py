"""Counts what the server does, and shows it in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from bulletin_board.display import metric_label as _label
from bulletin_board.witness.health import WitnessHealth, WitnessState

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
