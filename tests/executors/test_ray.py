"""`RayExecutor`: what `concurrent.futures` promises, on a cluster of this machine."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from concurrent.futures import CancelledError, Executor, wait
from pathlib import Path
from typing import Any

import pytest

from gopa.executors import RayExecutor
from gopa.executors.cluster import _JOINED, _ONLY_HERE, _TOKEN, Cluster, require_reachable
from tests.board.waiting import LONG, until
from tests.executors import work
from tests.executors.conftest import WORKERS
from tests.executors.processes import below, listening
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import (
    Aborted,
    BackendError,
    GopaError,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    UsageError,
)
from wire.secret import SecretBytes

pytestmark = pytest.mark.together("ray")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
AT_ONCE = 2 * WORKERS
ERRORS: list[GopaError] = [
    UsageError("so", "there"),
    BackendError("none"),
    Aborted("over", "masked"),
    MalformedMessage("bytes", "field", 7),
    InvalidProof("proofs", "06-A11", (1, 5)),
    InvalidSignature("signatures", "00-E8", (2,)),
]


def place() -> Path:
    """The cluster's own directory."""
    assert _JOINED.directory is not None
    return Path(_JOINED.directory.name)


def test_tasks_run_in_other_processes_and_answer(on_ray: RayExecutor) -> None:
    assert isinstance(on_ray, Executor)
    assert on_ray.workers == WORKERS
    assert str(WORKERS) in repr(on_ray)
    assert on_ray.submit(work.add, 2, right=3).result() == 5
    assert on_ray.submit(work.process).result() != os.getpid()


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_map_keeps_the_order_whatever_the_chunks(on_ray: RayExecutor, size: int) -> None:
    assert list(on_ray.map(work.double, range(10), chunksize=size)) == list(range(0, 20, 2))
    sums = on_ray.map(work.add, [1, 2, 3], [10, 20], chunksize=size)
    assert list(sums) == [11, 22]


def test_map_needs_chunks_of_something_and_ends_in_time(on_ray: RayExecutor) -> None:
    assert list(on_ray.map(work.sleeps, [0.0], timeout=LONG)) == [0.0]
    with pytest.raises(ValueError):  # noqa: PT011 - as pools of Python raise it
        on_ray.map(work.double, [1], chunksize=0)
    with pytest.raises(TimeoutError):
        list(on_ray.map(work.sleeps, [1.0], timeout=0.01))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_of_the_library_come_back_whole(on_ray: RayExecutor, error: GopaError) -> None:
    found = on_ray.submit(work.fails, error).exception()
    assert type(found) is type(error)
    assert found.args == error.args
    assert vars(found) == vars(error)


def test_errors_that_do_not_survive_the_journey_are_named(on_ray: RayExecutor) -> None:
    assert on_ray.submit(work.double, 1).exception() is None
    found = on_ray.submit(work.fails_unlike).exception()
    assert type(found) is RuntimeError
    assert "Unlike" in str(found)
    assert isinstance(on_ray.submit(work.opened).exception(), TypeError)


def test_a_bounded_number_is_at_ray_and_the_others_can_be_cancelled(
    on_ray: RayExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = _counting(on_ray, monkeypatch)
    gate = tmp_path / "open"
    futures = [on_ray.submit(work.waits, gate, number) for number in range(3 * AT_ONCE)]
    assert until(lambda: there.now == AT_ONCE)
    last = futures[-1]
    assert last.cancel()
    assert not futures[0].cancel()
    gate.touch()
    answered = wait(futures, LONG).done
    assert len(answered) == len(futures)
    assert [each.result() for each in futures[:-1]] == list(range(3 * AT_ONCE - 1))
    with pytest.raises(CancelledError):
        last.result()
    assert there.most == AT_ONCE


class _Counter:
    """How many calls are under way, and how many were at most."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.lock = threading.Lock()


def _counting(executor: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> _Counter:
    counter, cluster = _Counter(), executor._cluster
    perform = cluster.perform

    def counted(task: bytes) -> bytes:
        with counter.lock:
            counter.now += 1
            counter.most = max(counter.most, counter.now)
        try:
            return perform(task)
        finally:
            with counter.lock:
                counter.now -= 1

    monkeypatch.setattr(cluster, "perform", counted)
    return counter


def test_whoever_leaves_last_stops_the_cluster(on_ray: RayExecutor, tmp_path: Path) -> None:
    with RayExecutor() as other:
        running = [other.submit(work.double, number) for number in range(5)]
    assert [each.result() for each in running] == [0, 2, 4, 6, 8]
    with pytest.raises(RuntimeError):
        other.submit(work.double, 1)
    other.shutdown()
    assert on_ray.submit(work.double, 4).result() == 8
    third, gate = RayExecutor(), tmp_path / "open"
    futures = [third.submit(work.waits, gate, number) for number in range(3 * AT_ONCE)]
    assert until(futures[0].running)
    third.shutdown(wait=False, cancel_futures=True)
    assert futures[-1].cancelled()
    gate.touch()
    assert futures[0].result(LONG) == 0
    assert on_ray.submit(work.double, 5).result() == 10


@pytest.mark.parametrize(
    "secret",
    [
        SecretBytes(b"0123456789abcdef"),
        SigningKey.generate(seeded("no task")),
        [{"inside": SecretBytes(b"0123456789abcdef")}],
    ],
    ids=["bytes", "key", "inside"],
)
def test_secrets_are_refused(on_ray: RayExecutor, secret: Any) -> None:
    assert on_ray.submit(work.size, b"0123456789abcdef").result() == 16
    with pytest.raises(UsageError) as caught:
        on_ray.submit(work.size, secret)
    assert "0123456789abcdef" not in repr(caught.value)


def test_what_has_no_name_is_refused_without_showing_what_it_holds(on_ray: RayExecutor) -> None:
    """Ray's own packer would take the closure, with all that it holds."""
    held = b"held by a closure"
    assert on_ray.submit(work.size, held).result() == len(held)
    with pytest.raises(UsageError) as caught:
        on_ray.submit(lambda: work.size(held))
    assert caught.value.field == "executor"
    assert "held" not in repr(caught.value)
    assert caught.value.__suppress_context__


def test_no_argument_and_no_error_stands_in_a_log_of_ray(on_ray: RayExecutor) -> None:
    content = b"unmistakable-content-of-a-task"
    found = on_ray.submit(work.refuses, content).exception()
    assert isinstance(found, MalformedMessage)
    assert content.decode() in str(found)
    files = [path for path in place().rglob("*") if path.is_file()]
    assert any("worker" in path.name for path in files)
    assert [path.name for path in files if content in path.read_bytes()] == []


@LINUX
def test_the_cluster_is_for_this_machine_and_user_only(on_ray: RayExecutor) -> None:
    assert on_ray.submit(work.double, 1).result() == 2
    assert stat.S_IMODE(place().stat().st_mode) == 0o700
    assert not _ONLY_HERE.keys() & os.environ.keys()
    places = listening([os.getpid(), *below()])
    assert len(places) > 4
    assert {address for address, _ in places} == {"127.0.0.1"}
    assert 8265 not in {port for _, port in places}


@LINUX
def test_nobody_gets_in_without_the_token(on_ray: RayExecutor) -> None:
    assert on_ray.submit(work.double, 1).result() == 2
    wanted = {b"RAY_AUTH_MODE=token", b"RAY_AUTH_TOKEN=" + _TOKEN.encode()}
    servers = [pid for pid, name in below().items() if "raylet" in name or "gcs_server" in name]
    assert len(servers) > 1
    for pid in servers:
        assert wanted <= set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))


def test_a_worker_that_dies_takes_no_other_task_along(on_ray: RayExecutor) -> None:
    assert on_ray.submit(work.double, 1).result() == 2
    assert isinstance(on_ray.submit(work.dies).exception(), BackendError)
    assert on_ray.submit(work.double, 2).result() == 4


def test_wrong_settings_are_refused(on_ray: RayExecutor) -> None:
    for workers in (0, -1, 1.5, True, 10_000):
        with pytest.raises(UsageError) as caught:
            RayExecutor(workers=workers)  # type: ignore[arg-type]
        assert caught.value.field == "workers"
    for address in ("", 5, "127.0.0.1:1"):  # this process is in a cluster already
        with pytest.raises(UsageError) as caught:
            RayExecutor(address)  # type: ignore[arg-type]
        assert caught.value.field == "address"
    assert on_ray.submit(work.double, 2).result() == 4


def test_an_address_where_nothing_listens_is_refused_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for address in ("auto", f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            require_reachable(address)
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999"):
        with pytest.raises(BackendError):
            require_reachable(address)


def test_without_the_extra_an_error_says_what_to_install(
    on_ray: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_ray.submit(work.double, 2).result() == 4
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendError):
        RayExecutor()


def test_a_membership_ends_once(on_ray: RayExecutor) -> None:
    member = Cluster(None, None)
    member.leave()
    member.leave()
    assert on_ray.submit(work.double, 2).result() == 4
