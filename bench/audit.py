"""Audits of whole sessions, each in a process of its own: wall time, CPU time, memory."""

from __future__ import annotations

import hashlib
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
from bench.measure import Numbers, Scale, require
from bench.protocol import scalar_terms
from commitments import backend_status
from gopa.auditing import Verdict
from gopa.auditing.report import EMBEDDED_CODE
from gopa.contract.manifest import TERMS

_SEED: Final = bytes(32)
_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    """What one audit took, start of the process included, and the memory of all its processes."""

    wall: float
    cpu: float
    peak_mb: float


def run(scale: Scale) -> Numbers:
    """Sessions of 1,000 and 10,000 parties; with `full` 100,000, made once in half an hour."""
    jobs = os.cpu_count() or 1
    sizes = scale.of((20, 30), (1_000, 10_000), (1_000, 10_000, 100_000))
    few = scale.of(20, 100, 100)
    costs = {parties: audited(parties, jobs) for parties in sizes}
    most = costs[sizes[1]]
    numbers: Numbers = {
        "bench": "audit",
        "backend": backend_status().active,
        "unit": f"wall seconds of `gopa audit --jobs {jobs}` in a process of its own, *_cpu_s CPU; "
        "*_mb of all its processes together, shared pages once",
        "cores": os.cpu_count(),
        "parameters": "full mode, scalar, commit-reveal, every party has a proof of its own; "
        "sessions are made in bulk, of plans for some five absent parties without recovery",
        "peers": {parties: scalar_terms(parties).k for parties in sizes},
        f"audit_{few}_reference_s": round(audited(few, jobs, "reference").wall, 2),
        "ms_per_party": round(most.cpu * 1e3 / sizes[1], 2),
    }
    for parties, cost in costs.items():
        numbers[f"audit_{parties}_s"] = round(cost.wall, 2)
        numbers[f"audit_{parties}_cpu_s"] = round(cost.cpu, 2)
        numbers[f"audit_{parties}_peak_mb"] = round(cost.peak_mb)
    if scale is Scale.FULL:
        grown = costs[sizes[-1]].peak_mb - most.peak_mb
        numbers["kb_per_party"] = round(grown * 1024 / (sizes[-1] - sizes[1]), 1)
    return numbers


def session_of(parties: int) -> Path:
    """Where the session of so many parties is kept: it takes minutes to make, seconds to audit."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    digest = hashlib.sha256(TERMS.encode(scalar_terms(parties))).hexdigest()
    return home / "gopa-bench" / f"bulk-{parties}-{digest[:16]}.gopa"


def made(parties: int) -> Path:
    """The session, made once."""
    path = session_of(parties)
    if not path.exists():
        made_session(scalar_terms(parties), path, seed=_SEED, jobs=os.cpu_count() or 1)
    return path


def audited(parties: int, jobs: int, backend: str = "") -> Cost:
    """Audit the session in a new process, which must find it valid with everybody in it."""
    path = made(parties)
    command = [sys.executable, "-m", "gopa", "audit", str(path), "--trust-embedded"]
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
        require(
            code == EMBEDDED_CODE,
            f"the audit ended with {code}; if other code made {path}, remove it",
        )
        said.seek(0)
        report = json.load(said)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    require(report["verdict"] == Verdict.VALID.value, "the session is not valid")
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
