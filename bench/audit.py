"""Audits of whole sessions, each in a process of its own: wall time, CPU time, memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.measure import require
from bench.protocol import PEERS, scalar_terms
from bench.randomness import seeded
from commitments import backend_status
from gopa.organiser import Setting
from gopa.simulation import Simulation

Numbers = dict[str, object]

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gopa-bench"
"""Sessions take minutes to make and seconds to audit: they are kept."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one audit took, start of the process included."""

    wall: float
    cpu: float
    peak_mb: float


def run(full: bool) -> Numbers:
    """All numbers; sessions of 10,000 parties with `full`, or if one is in the cache."""
    jobs = os.cpu_count() or 1
    thousand = audited(1000, jobs)
    numbers: Numbers = {
        "bench": "audit",
        "backend": backend_status().active,
        "unit": f"wall seconds of `gopa audit --jobs {jobs}` in a process of its own, *_cpu_s CPU",
        "cores": os.cpu_count(),
        "parameters": f"full mode, scalar, k={PEERS}, every party has a proof of its own",
        "audit_1000_s": round(thousand.wall, 2),
        "audit_1000_cpu_s": round(thousand.cpu, 2),
        "audit_1000_peak_mb": round(thousand.peak_mb),
        "ms_per_party": round(thousand.cpu, 2),
        "audit_100_reference_s": round(audited(100, jobs, "reference").wall, 2),
    }
    if full or session_of(10_000).exists():
        large = audited(10_000, jobs)
        numbers["audit_10000_s"] = round(large.wall, 1)
        numbers["audit_10000_cpu_s"] = round(large.cpu, 1)
        numbers["ms_per_party"] = round(large.cpu / 10, 2)
        numbers["peak_mb"] = round(large.peak_mb)
    return numbers


def session_of(parties: int) -> Path:
    """Where the session of so many parties is kept."""
    return CACHE / f"session-{parties}-{PEERS}.gopa"


def made(parties: int) -> Path:
    """The session, played once by as many honest parties."""
    path = session_of(parties)
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    terms = scalar_terms(parties, PEERS)
    simulation = Simulation(terms, rng=seeded(3), setting=Setting())
    record = simulation.run_round([[party % (terms.steps + 1)] for party in range(parties)])
    require(len(record.included) == parties, "somebody is missing")
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        simulation.archive(out)
    unfinished.rename(path)
    return path


def audited(parties: int, jobs: int, backend: str = "") -> Cost:
    """Audit the session in a new process, which must find it valid with everybody in it."""
    command = [sys.executable, "-m", "gopa", "audit", str(made(parties)), "--trust-embedded"]
    command += ["--json", "--jobs", str(jobs)]
    environment = os.environ | ({"GOPA_BACKEND": backend} if backend else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=environment, capture_output=True, check=False
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    require(done.returncode == 0, f"the audit ended with {done.returncode}")
    report = json.loads(done.stdout)
    require(len(report["rounds"][0]["included"]) == parties, "the report misses somebody")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, after.ru_maxrss / 1024)
