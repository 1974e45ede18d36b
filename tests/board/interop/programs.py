"""The Go programs of these tests, built once for all workers, and processes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LITEWITNESS = "filippo.io/torchwood/cmd/litewitness"
SECONDS = 300


@dataclass(frozen=True)
class Programs:
    interop: Path
    litewitness: Path


def built() -> Programs:
    """Skips where Go is not installed, or its modules cannot be had; elsewhere a failure counts."""
    go = shutil.which("go")
    if go is None or sys.platform == "win32":
        pytest.skip("Go is not installed: interoperability was not checked")
    import fcntl

    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.go")))
    locks = (HERE / "go.sum").read_bytes() + (HERE / "go.mod").read_bytes()
    name = f"gopa-interop-{os.getuid()}-{sha256(sources + locks).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()) / name
    place.mkdir(mode=0o700, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        pytest.fail(f"{place} is somebody else's")
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build(go, place)
    return Programs(place / "interop", place / "litewitness")


def _build(go: str, place: Path) -> None:
    if (place / "done").exists():
        return
    environment = os.environ | {"GOFLAGS": "-mod=readonly -buildvcs=false"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [go, *arguments], cwd=HERE, env=environment, capture_output=True, text=True, check=False
        )

    # Not all modules of the graph can be had everywhere, and not all are needed.
    fetched = run("list", "-deps", ".", LITEWITNESS)
    if fetched.returncode:
        pytest.skip(f"Go modules cannot be had, interoperability was not checked: {fetched.stderr}")
    for name, package in (("interop", "."), ("litewitness", LITEWITNESS)):
        done = run("build", "-o", str(place / name), package)
        assert done.returncode == 0, done.stderr
    (place / "done").touch()


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [str(each) for each in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(SECONDS)
