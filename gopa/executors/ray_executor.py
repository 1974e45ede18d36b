"""The workers of a Ray cluster behind the interface of Python's own pools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Any, Final, ParamSpec, TypeVar

from gopa.executors.cluster import Cluster
from gopa.executors.tasks import packed, unpacked
from wire.errors import UsageError

_T = TypeVar("_T")
_P = ParamSpec("_P")

_FOR_EACH_WORKER: Final = 2
"""Tasks at Ray for each worker: one that runs and one that is there when it ends."""

_MOST_WORKERS: Final = 4_096


class RayExecutor(Executor):
    """Checks on Ray: `gopa.audit(log, executor=executor)`. Usable as a context manager.

    Without an address a cluster is started on this machine, reachable by its own processes
    only, and stopped by `shutdown`. `address` joins a cluster that runs: "auto", "host:port"
    or "ray://host:port". `workers` is how many tasks run at once, all cores without it.

    **Only public data may go there.** Arguments and answers lie in Ray's object store, in
    clear, and travel between machines as the cluster sends them. The library submits proofs,
    commitments, signatures and manifests, which stand in the log for everybody, and seeds of
    weights that are drawn after the proofs are fixed. Values, openings and keys are never among
    them, and their types refuse to be pickled; plain numbers do not, so a caller's own
    tasks are the caller's duty. For the same reason `gopa.Client` takes threads, and not this.

    **A cluster is trusted with the verdict.** A worker that lies passes bad proofs, and
    answers are unpickled here: join clusters of your own only.

    Differences from a pool of processes: what cannot be pickled is refused by `submit`, and
    if Ray itself fails a future raises `BackendError`. Tasks that wait can be cancelled; a
    bounded number is with Ray at any time.

    Raises:
        BackendError: the extra `ray` is not installed, or Ray did not start.
        UsageError: an address, and this process belongs to a cluster already.
    """

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        if workers is not None and (type(workers) is not int or not 1 <= workers <= _MOST_WORKERS):
            raise UsageError(f"must be a number from 1 to {_MOST_WORKERS}", "workers")
        if address is not None and (type(address) is not str or not address):
            raise UsageError('such as "auto" or "ray://host:10001"', "address")
        self._cluster = Cluster(address, workers)
        most = min(_FOR_EACH_WORKER * self._cluster.workers, _MOST_WORKERS)
        self._waiting = ThreadPoolExecutor(most, "ray-tasks")

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return self._cluster.workers

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """The future of one call, as `Executor.submit` has it.

        Raises:
            UsageError: the call cannot be pickled, or holds a secret.
            RuntimeError: after `shutdown`.
        """
        return self._waiting.submit(self._perform, packed(fn, args, kwargs))

    def map(
        self,
        fn: Callable[..., _T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[_T]:
        """The results in order, as `Executor.map` has them; `chunksize` calls are one task."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        chunks = _chunks(zip(*iterables, strict=False), chunksize)
        answers = super().map(partial(_each, fn), chunks, timeout=timeout)
        return chain.from_iterable(answers)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End as `Executor.shutdown` does; leave the cluster, and stop it if it is ours."""
        self._waiting.shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            self._end()
        else:
            threading.Thread(target=self._end, name="ray-shutdown").start()

    def _perform(self, task: bytes) -> Any:
        return unpacked(self._cluster.perform(task))

    def _end(self) -> None:
        self._waiting.shutdown(wait=True)
        self._cluster.leave()

    def __repr__(self) -> str:
        return f"<RayExecutor: {self.workers} workers>"


def _each(function: Callable[..., _T], arguments: list[tuple[Any, ...]]) -> list[_T]:
    return [function(*each) for each in arguments]


def _chunks(items: Iterable[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
