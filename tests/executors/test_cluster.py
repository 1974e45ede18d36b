"""What happens around a cluster that does not start, or was started by somebody else."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from gopa.executors import cluster as module
from gopa.executors.cluster import _TOKEN, Cluster, _environment, _Joined
from wire.errors import BackendError, UsageError


class Ray:
    """As much of Ray as a membership needs."""

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.settings: list[dict[str, Any]] = []
        self.running = False

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **settings: Any) -> None:
        self.settings.append(settings)
        self.running = True
        if not self.works:
            raise RuntimeError("no")

    def shutdown(self) -> None:
        self.running = False

    def remote(self, **_: Any) -> Any:
        return lambda function: function

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 3.0}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    found = Ray()
    monkeypatch.setattr(module, "_imported", lambda: found)
    monkeypatch.setattr(module, "_JOINED", _Joined())
    return found


def test_a_cluster_of_somebody_else_is_joined_and_left(ray: Ray) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        member = Cluster(address, None)
        with pytest.raises(UsageError):
            Cluster(address, None)
    assert [each["address"] for each in ray.settings] == [address]
    assert member.workers == 3
    assert "_temp_dir" not in ray.settings[0]
    member.leave()
    assert not ray.running


def test_a_cluster_that_was_there_before_stays(ray: Ray) -> None:
    ray.running = True
    member = Cluster(None, 2)
    member.leave()
    assert ray.running
    assert ray.settings == []


def test_a_cluster_that_does_not_start_leaves_nothing_behind(ray: Ray) -> None:
    member = Cluster(None, 1)
    place = Path(ray.settings[0]["_temp_dir"]).parent
    assert place.is_dir()
    member.leave()
    assert not place.exists()
    ray.works = False
    with pytest.raises(BackendError):
        Cluster(None, 1)
    assert not ray.running
    assert not Path(ray.settings[1]["_temp_dir"]).parent.exists()
    assert module._JOINED.directory is None
    assert module._JOINED.members == 0


def test_a_token_of_the_user_s_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with _environment():
        assert os.environ["RAY_AUTH_TOKEN"] == _TOKEN
    place = "/nowhere/token"
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", place)
    with _environment():
        assert "RAY_AUTH_TOKEN" not in os.environ
        assert os.environ["RAY_AUTH_TOKEN_PATH"] == place
    assert "RAY_AUTH_TOKEN" not in os.environ
