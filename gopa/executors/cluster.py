"""Joins or starts a cluster of Ray for this process. No other module imports Ray."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from gopa.executors.tasks import perform
from gopa.support.extras import missing
from wire.errors import BackendError, UsageError

_AGAIN: Final = 1
_PATIENCE: Final = 5.0
_OBJECT_STORE: Final = 256 * 2**20
_TOKEN: Final = secrets.token_hex(32)
_ONLY_HERE: Final = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # everything listens on loopback
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to Ray's makers
    "RAY_AUTH_MODE": "token",  # without, whoever reaches a port runs code here
    "RAY_AUTH_TOKEN": _TOKEN,
}


class _Joined:
    """Ray knows one cluster for each process: whoever leaves last ends what was begun here."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.members = 0
        self.begun = False
        self.directory: tempfile.TemporaryDirectory[str] | None = None


_JOINED: Final = _Joined()


class Cluster:
    """A membership of this process in a cluster; `leave` ends it.

    A process that has called `ray.init` itself stays connected as it is. Otherwise, without
    an address, a cluster of this machine is started: on loopback, behind a token that only its
    processes know, without dashboard and usage reports, its files in a directory of
    this user that goes away with it.

    Raises:
        BackendError: the extra `ray` is not installed, or Ray did not start.
        UsageError: an address, and the process belongs to a cluster already.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        with _JOINED.lock:
            ray = _join(address, workers)
            _JOINED.members += 1
        self._ray = ray
        self._member = True
        self._perform = ray.remote(num_cpus=1, max_retries=_AGAIN)(perform)
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.workers = max(1, cores if workers is None else workers)

    def perform(self, task: bytes) -> bytes:
        """Do a packed task on some worker and wait for the answer.

        Raises `BackendError` where Ray itself fails; it tries a task once more if a worker dies.
        """
        try:
            return bytes(self._ray.get(self._perform.remote(task)))
        except self._ray.exceptions.RayError as error:
            kind = type(error).__name__
            message = f"Ray lost a task ({kind}): its workers need the same Python and gopa"
            raise BackendError(message) from None

    def leave(self) -> None:
        """End the membership; again, it does nothing."""
        with _JOINED.lock:
            if not self._member:
                return
            self._member = False
            _JOINED.members -= 1
            if _JOINED.members == 0 and _JOINED.begun:
                self._ray.shutdown()
                _JOINED.begun = False
                if _JOINED.directory is not None:
                    _JOINED.directory.cleanup()
                    _JOINED.directory = None


def _join(address: str | None, workers: int | None) -> Any:
    if address is not None:
        ray = _imported()
        if ray.is_initialized():
            raise UsageError("this process is connected to Ray already: leave it out", "address")
        require_reachable(address)
        _connect(ray, address=address)
        return ray
    with _environment():
        ray = _imported()
        if not ray.is_initialized():
            _start(ray, workers)
    return ray


def require_reachable(address: str) -> None:
    """Refuses an address where nothing listens. Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # "auto" and the like: Ray knows where to look
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise BackendError(f"no cluster of Ray at {address}: {error}") from None


def _start(ray: Any, workers: int | None) -> None:
    # The paths of sockets must be short, and the usual place of temporary files may be deep.
    place = "/tmp" if Path("/tmp").is_dir() else None  # noqa: S108 - of this user alone
    directory = tempfile.TemporaryDirectory(prefix="gopa-", dir=place, ignore_cleanup_errors=True)
    try:
        _connect(
            ray,
            address="local",
            num_cpus=workers or os.cpu_count() or 1,
            object_store_memory=_OBJECT_STORE,
            include_dashboard=False,
            _temp_dir=f"{directory.name}/ray",  # Ray opens its own directory to everybody
        )
    except BaseException:
        directory.cleanup()
        raise
    _JOINED.directory = directory


def _connect(ray: Any, **settings: Any) -> None:
    try:
        ray.init(log_to_driver=False, configure_logging=False, **settings)
    except Exception as error:
        ray.shutdown()
        raise BackendError(f"Ray cannot be used: {error}") from error
    _JOINED.begun = True


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise missing("ray") from error
    return ray


@contextmanager
def _environment() -> Iterator[None]:
    """What Ray reads when it starts, and hands on to its processes. What the user set stays."""
    ours = {name: value for name, value in _ONLY_HERE.items() if name not in os.environ}
    if "RAY_AUTH_TOKEN_PATH" in os.environ:
        ours.pop("RAY_AUTH_TOKEN", None)
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
