"""Shows what an organiser or a party does as figures that a Prometheus server reads."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Final, TypeVar

import click

from gopa.cli.session_progress import CurrentActivity, ProgressDisplay, ProgressEvent, Several
from gopa.contract.phases import CLOSED, ORDER
from wire.errors import UsageError

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PATH: Final = "/metrics"
_SECONDS: Final = 10.0
_COUNTED: Final = {"result": "results", "abort": "aborts", "board-lost": "board_losses"}
PHASES: Final = [phase.name.lower() for phase in ORDER if phase in CLOSED]
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Where figures are served."""

    host: str
    port: int


def _address(context: click.Context, option: click.Parameter, text: str | None) -> object:
    """Reads PORT or HOST:PORT; a port alone is served on this machine only."""
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        message = f"{text!r} is neither PORT nor HOST:PORT, such as 9100"
        raise click.BadParameter(message, context, option)
    return MetricsAddress(host.strip("[]") or "127.0.0.1", int(port))


def figures_option(command: _Command) -> _Command:
    """Adds `--metrics`: where to serve figures for Prometheus."""
    return click.option(
        "--metrics",
        callback=_address,
        metavar="[HOST:]PORT",
        help="Serve figures for Prometheus at http://HOST:PORT/metrics while this runs.",
    )(command)


class Figures(ProgressDisplay):
    """Counts of what happens; `render` may be called by any thread."""

    def __init__(self, who: str) -> None:
        """`who` is what the names of the figures begin with: organiser or party."""
        self._prefix = f"gopa_{who}"
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._gauges: dict[str, float] = {"board_lost": 0, "round": 0}
        self._phase = ""
        self._started = time.time()

    def add_event(self, what: ProgressEvent) -> None:
        with self._lock:
            if what.event in _COUNTED:
                self._counts[_COUNTED[what.event]] += 1
            if what.event in {"board-lost", "board-found"}:
                self._gauges["board_lost"] = float(what.event == "board-lost")
            if what.event in {"phase", "round over", "abort", "result"}:
                self._take_round(what)

    def set_activity(self, now: CurrentActivity | None) -> None:
        with self._lock:
            if now is not None and now.total is not None:
                self._gauges["posted"] = now.done
                self._gauges["expected"] = now.total
            if now is not None and now.ends is not None:
                self._gauges["phase_ends_timestamp_seconds"] = now.ends

    def _take_round(self, what: ProgressEvent) -> None:
        number, phase = what.facts.get("round"), what.facts.get("phase")
        if isinstance(number, int):
            self._gauges["round"] = number
        self._phase = phase if what.event == "phase" and isinstance(phase, str) else ""
        present = what.facts.get("present", what.facts.get("parties"))
        if isinstance(present, int):
            self._gauges["parties"] = present
        if "part" in what.facts:
            self._gauges["takes_part"] = float(what.facts["part"] in {None, "active"})

    def render(self) -> str:
        """The page that a Prometheus server reads."""
        with self._lock:
            gauges = self._gauges | {"start_time_seconds": round(self._started, 3)}
            counts = {f"{name}_total": self._counts[name] for name in _COUNTED.values()}
            phase = self._phase
        lines = []
        for name, count in counts.items():
            lines += [f"# TYPE {self._prefix}_{name} counter", f"{self._prefix}_{name} {count}"]
        for name, value in sorted(gauges.items()):
            shown = f"{value:.3f}".rstrip("0").rstrip(".")
            lines += [f"# TYPE {self._prefix}_{name} gauge", f"{self._prefix}_{name} {shown}"]
        lines.append(f"# TYPE {self._prefix}_phase gauge")
        for each in PHASES:
            lines.append(f'{self._prefix}_phase{{phase="{each}"}} {int(each == phase)}')
        return "\n".join(lines) + "\n"


@contextmanager
def watched(
    screen: ProgressDisplay, address: MetricsAddress | None, who: str
) -> Iterator[ProgressDisplay]:
    """Opens the display, and serves figures beside it if there is an address.

    Raises `UsageError` if the address cannot be had.
    """
    if address is None:
        with screen:
            yield screen
        return
    figures = Figures(who)
    with serving(figures, address), Several(screen, figures) as both:
        yield both


@contextmanager
def serving(figures: Figures, address: MetricsAddress) -> Iterator[int]:
    """Serves the figures from a thread of its own; gives the port, which 0 leaves open."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def version_string(self) -> str:
            """Which Python this is, is nobody's business."""
            return "gopa"

        def do_GET(self) -> None:
            found = self.path == _PATH
            body = figures.render().encode() if found else b"not found: ask for /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", MEDIA_TYPE if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            """Requests are not logged."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        daemon_threads = True

        def server_bind(self) -> None:
            """Without the question to a name server that `HTTPServer` asks, and may wait for."""
            TCPServer.server_bind(self)

    try:
        server = Server((address.host, address.port), Handler)
    except OSError as error:
        raise UsageError(
            f"{address.host} port {address.port} cannot be listened on:"
            f" {error.strerror or error}. Choose another address",
            "--metrics",
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="gopa-metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
