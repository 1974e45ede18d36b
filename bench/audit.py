"""Audits of whole sessions, each in a process of its own: wall time, CPU time, memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.audit_session import made_session
from bench.measure import Numbers, require
from bench.protocol import PEERS, scalar_terms
from commitments import backend_status

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gopa-bench"
"""Sessions take minutes to make and seconds to audit: they are kept."""

_SEED: Final = bytes(32)
_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    """What one audit took, start of the process included, and the memory of all its processes."""

    wall: float
    cpu: float
    peak_mb: float


def run(full: bool) -> Numbers:
    """Sessions of 1,000 and 10,000 parties; with `full` 100,000, made once in half an hour."""
    jobs = os.cpu_count() or 1
    thousand, large = audited(1000, jobs), audited(10_000, jobs)
    numbers: Numbers = {
        "bench": "audit",
        "backend": backend_status().active,
        "unit": f"wall seconds of `gopa audit --jobs {jobs}` in a process of its own, *_cpu_s CPU; "
        "*_mb of all its processes together, shared pages once",
        "cores": os.cpu_count(),
        "parameters": f"full mode, scalar, k={PEERS}, commit-reveal, every party has a proof of "
        "its own; sessions are made in bulk",
        "audit_1000_s": round(thousand.wall, 2),
        "audit_1000_cpu_s": round(thousand.cpu, 2),
        "audit_1000_peak_mb": round(thousand.peak_mb),
        "audit_10000_s": round(large.wall, 1),
        "audit_10000_cpu_s": round(large.cpu, 1),
        "ms_per_party": round(large.cpu / 10, 2),
        "peak_mb": round(large.peak_mb),
        "audit_100_reference_s": round(audited(100, jobs, "reference").wall, 2),
    }
    if full:
        huge = audited(100_000, jobs)
        numbers["audit_100000_s"] = round(huge.wall, 1)
        numbers["audit_100000_cpu_s"] = round(huge.cpu, 1)
        numbers["audit_100000_peak_mb"] = round(huge.peak_mb)
        numbers["kb_per_party"] = round((huge.peak_mb - large.peak_mb) * 1024 / 90_000, 1)
    return numbers


def session_of(parties: int) -> Path:
    """Where the session of so many parties is kept."""
    return CACHE / f"bulk-{parties}-{PEERS}.gopa"


def made(parties: int) -> Path:
    """The session, made once."""
    path = session_of(parties)
    if not path.exists():
        terms = scalar_terms(parties, PEERS)
        made_session(terms, path, seed=_SEED, jobs=os.cpu_count() or 1)
    return path


def audited(parties: int, jobs: int, backend: str = "") -> Cost:
    """Audit the session in a new process, which must find it valid with everybody in it."""
    command = [sys.executable, "-m", "gopa", "audit", str(made(parties)), "--trust-embedded"]
    command += ["--json", "--jobs", str(jobs)]
    environment = os.environ | ({"GOPA_BACKEND": backend} if backend else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=said)  # noqa: S603 - our own
        memory = _Memory(process.pid)
        memory.start()
        code = process.wait()
        wall = time.perf_counter() - begun
        memory.stop()
        require(code == 0, f"the audit ended with {code}")
        said.seek(0)
        report = json.load(said)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    require(len(report["rounds"][0]["included"]) == parties, "the report misses somebody")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, memory.most / 1024)


class _Memory:
    """Looks again and again at what a process and those that it started hold in memory."""

    def __init__(self, process: int) -> None:
        self.most = 0
        self._process = process
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        require(self.most > 0, "memory can be measured on Linux only")

    def _watch(self) -> None:
        while not self._over.wait(_SECONDS):
            self.most = max(self.most, sum(map(_kilobytes, _family(self._process))))


def _family(process: int) -> list[int]:
    """The process and those that it started."""
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [process, *(each for child in text.split() for each in _family(int(child)))]


def _kilobytes(process: int) -> int:
    """What the process holds; of a page that several have, each has its share."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
