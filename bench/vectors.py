"""Rounds of long vectors with everything proved: what a party spends, and what an audit of it does.

Plans are those that `gopa.plan` makes, twenty parties carry a round out in one process, and the
sum is checked against inputs and noise. Then one party's events are replayed in a process of its
own, which measures its time and memory alone, and a third process audits the log.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import pickle
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Numbers, Scale, ms, require
from bench.protocol import play
from bench.randomness import seeded
from gopa.auditing import Verdict, audit
from gopa.contract.lengths import word_width
from gopa.contract.manifest import Mode
from gopa.contract.row_terms import origin
from gopa.contract.terms import Terms
from gopa.planning import Plan, plan
from gopa.planning.target import PathName, PlannedMode
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Event, Output, Post, Supplied
from gopa.protocol.rules import check, read_session
from gopa.protocol.simulation import RoundRecord, Simulation, SimulationOptions
from gopa.rounds.proofs import LengthClaim, MaskClaim
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.rows.statements import KNOWN_POINTS
from gopa.rounds.toolkit import Toolkit

PARTIES = 20
USUAL = (1_000, 100_000)
ALL = (1_000, 10_000, 100_000, 1_000_000)
PRIO3 = Path(__file__).parent / "prio3"

_REPLAYS = 3
_MB = 1e6


def run(scale: Scale) -> Numbers:
    """The numbers of each dimension, with mode signed and Prio3SumVec of the same size."""
    parties = scale.of(5, PARTIES, PARTIES)
    found: Numbers = {
        "bench": "vectors",
        "unit": "CPU time; peaks are those of a process with one party, or of an audit",
        "parties": parties,
    }
    prio3 = _built_prio3(found, build=scale is not Scale.TINY)
    for dimension in scale.of((20,), USUAL, ALL):
        found |= _proved(dimension, parties)
        found |= _signed(dimension, parties)
        if prio3 is not None:
            found |= _prio3(prio3, dimension)
    return found


def plan_of(dimension: int, mode: PlannedMode = "full", parties: int = PARTIES) -> Plan:
    """The plan for vectors of length 1 that nobody tuned for this benchmark."""
    asked: dict[str, Any] = {"n": parties, "epsilon": 8, "delta": "1e-6", "norm": 1}
    path: PathName | None = "rows" if mode == "full" else None
    return plan(mode=mode, path=path, dimension=dimension, range=(-1, 1), **asked)


def vector_for(terms: Terms, party: int) -> list[int]:
    """A vector in a random direction, almost as long as it may be."""
    vector = np.random.default_rng(party).standard_normal(terms.dimension)
    vector *= 0.99 * (terms.steps / 2) / np.linalg.norm(vector)
    found: list[int] = (np.rint(vector).astype(np.int64) + origin(terms)).tolist()
    return found


@dataclass(slots=True)
class Recorded:
    """Steps a party and writes down what it is told, and which messages it posts."""

    party: Any
    events: Any
    posts: list[bytes] = field(default_factory=list)

    def step(self, state: Any, event: Event) -> tuple[Any, Sequence[Output]]:
        """One step of the party."""
        if not isinstance(event, Supplied):  # it is secret, and known
            pickle.dump(event, self.events)
        state, outputs = self.party.step(state, event)
        self.posts += _posted(outputs)
        return state, outputs


class TimedProofs(RealProofs):
    """Counts the time that checks of proofs take, and keeps their claims."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.lengths: list[LengthClaim] = []
        self.masks: list[MaskClaim] = []

    def bad_lengths(self, claims: Any, *given: Any) -> frozenset[int]:
        """As in `RealProofs`."""
        self.lengths += claims
        return self._timed(lambda: RealProofs.bad_lengths(self, claims, *given))

    def bad_masks(self, claims: Any, *given: Any) -> frozenset[int]:
        """As in `RealProofs`."""
        self.masks += claims
        return self._timed(lambda: RealProofs.bad_masks(self, claims, *given))

    def _timed(self, work: Callable[[], frozenset[int]]) -> frozenset[int]:
        begun = time.process_time()
        found = work()
        self.seconds += time.process_time() - begun
        return found


def _proved(dimension: int, parties: int) -> Numbers:
    """The numbers of one dimension, with the dimension in their names."""
    found = measured(dimension, parties)
    renamed: Numbers = {}
    for name, value in found.items():
        stem, cut, unit = name.rpartition("_")
        plain = unit not in {"s", "ms", "mb"}
        renamed[f"{name}_{dimension}" if plain else f"{stem}{cut}{dimension}_{unit}"] = value
    return renamed


def measured(dimension: int, parties: int) -> Numbers:
    """One round of a plan, one party of it alone, and its audit."""
    terms = plan_of(dimension, parties=parties).terms
    inputs = [vector_for(terms, party) for party in range(parties)]
    with tempfile.TemporaryDirectory() as directory:
        events, log = Path(directory, "events"), Path(directory, "log.gopa")
        begun = time.process_time()
        with events.open("wb") as out:
            simulation = _simulation(terms)
            first = simulation.parties[0]
            first.party = recorded = Recorded(first.party, out)  # type: ignore[assignment]
            record = simulation.run_round(inputs)
        spent = time.process_time() - begun
        _require_right(simulation, record, inputs)
        with log.open("wb") as archive:
            simulation.archive(archive)
        alone = [_elsewhere(_replayed, terms, events) for _ in range(_REPLAYS)]
        require(all(each["posts"] == recorded.posts for each in alone), "the party says the same")
        audited = _elsewhere(_audited, log)
        proofs = _proofs(simulation, record)
    law = terms.noise.variance
    width = word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike)
    words = -(-dimension * width // 8)
    return {
        "client_s": round(min(each["cpu"] for each in alone), 3),
        "audit_ms": ms(audited["cpu"] / parties),
        **{f"{name}_ms": value for name, value in proofs.items()},
        "round_ms": ms(spent / parties),
        "proof_bytes": record.usage[0].posted - words,
        "word_bytes": words,
        "read_bytes": record.usage[0].read,
        "peak_mb": round(max(each["peak"] for each in alone) / _MB),
        "audit_peak_mb": round(audited["peak"] / _MB),
        "parameters": f"n={parties}, k={terms.k}, epsilon={terms.epsilon}, "
        f"steps={terms.steps}, noise of deviation {law**0.5:.0f}, words of {width} bits",
    }


def _simulation(terms: Terms) -> Simulation:
    return Simulation(terms, rng=seeded(1), options=SimulationOptions(remember_noise=True))


def _require_right(
    simulation: Simulation, record: RoundRecord, inputs: Sequence[Sequence[int]]
) -> None:
    """Everybody is in, nobody is at fault, and the sum is that of inputs and noise."""
    require(record.included == tuple(range(len(inputs))), "somebody is missing")
    require(not record.findings.faults, "an honest party is at fault")
    zero = origin(simulation.manifest.terms)
    total = np.zeros(len(inputs[0]), np.int64)
    for party, vector in enumerate(inputs):
        total += np.array(vector) - zero + np.array(simulation.noise_for_tests[1, party])
    require(record.sums == tuple(total.tolist()), "the sum is wrong")


def _proofs(simulation: Simulation, record: RoundRecord) -> Numbers:
    """What a party costs those who check the rules, signatures too, and its two proofs of that.

    Proofs are checked in batches, as audits do, and those of one party alone. Bases are there
    already: an audit of few parties derives them as well, and more than half of its time is that.
    Points that the simulation has decoded are forgotten, and its objects are kept from the garbage
    collector, which would walk through them in the middle of a check: an audit has none of them.
    """
    gc.collect()
    gc.freeze()
    raws, parties = list(simulation.log().entries()), len(record.included)
    measured: list[tuple[float, TimedProofs]] = []
    for _ in range(_REPLAYS):
        timed = TimedProofs()
        KNOWN_POINTS.clear()
        begun = time.process_time()
        found = check(read_session(raws), Toolkit(proofs=timed), rng=seeded(2))
        measured.append((time.process_time() - begun, timed))
        require(found.rounds[0].sums == record.sums, "the rules found another sum")
    whole, timed = min(measured, key=lambda each: each[0])
    claims, together = (timed.lengths[0], timed.masks[0]), timed.seconds
    spent = []
    for _ in range(_REPLAYS):
        KNOWN_POINTS.clear()
        begun, real = time.process_time(), RealProofs()
        bad = real.bad_lengths(claims[:1], seeded(3)) | real.bad_masks(claims[1:], seeded(3))
        spent.append(time.process_time() - begun)
        require(not bad, "a proof holds alone")
    return {
        "verify": ms(whole / parties),
        "proofs_in_batches": ms(together / parties),
        "proofs_alone": ms(min(spent)),
    }


def _posted(outputs: Sequence[Output]) -> list[bytes]:
    return [entry for each in outputs if isinstance(each, Post) for entry in each.entries]


def _elsewhere(work: Callable[..., Numbers], *given: Any) -> Any:
    """What a process finds that has imported this module and done nothing else."""
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload([__name__])
    with fresh.Pool(1) as pool:
        return pool.apply(work, given)


def _replayed(terms: Terms, events: Path) -> Numbers:
    """Tells one party of a simulation what it was told before; only its steps are timed."""
    simulated = _simulation(terms).parties[0]
    supplied = Supplied(0, tuple(vector_for(terms, 0)))
    begun = time.process_time()
    state, outputs = simulated.party.step(simulated.state, supplied)
    seconds, posts = time.process_time() - begun, _posted(outputs)
    with events.open("rb") as told:
        while True:
            try:
                event = pickle.load(told)  # noqa: S301 - written a moment ago
            except EOFError:
                break
            begun = time.process_time()
            state, outputs = simulated.party.step(state, event)
            seconds += time.process_time() - begun
            posts += _posted(outputs)
    return {"cpu": seconds, "peak": _peak(), "posts": posts}


def _audited(log: Path) -> Numbers:
    begun = time.process_time()
    report = audit(log, trust_embedded=True)
    seconds = time.process_time() - begun
    require(report.verdict is Verdict.VALID, "the log is valid")
    return {"cpu": seconds, "peak": _peak()}


def _peak() -> int:
    """The most memory of this process since its program began, not that of who started it."""
    said = Path("/proc/self/status").read_text()
    (line,) = (each for each in said.splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _signed(dimension: int, parties: int) -> Numbers:
    """The same vectors in mode signed, where nothing is proved about them."""
    terms = plan_of(dimension, "signed", parties).terms
    setting = SessionSetting(mode=Mode.SIGNED, word_width=32)
    middle = terms.steps // 2
    played = play(terms, setting, [[middle] * dimension] * parties)
    return {
        f"signed_client_{dimension}_s": round(played.party_cpu, 3),
        f"signed_bytes_{dimension}": round(played.posted),
    }


def _built_prio3(found: Numbers, *, build: bool) -> Path | None:
    """The program beside this file, if cargo builds it; else `found` says why it is missing."""
    target = Path(tempfile.gettempdir(), "gopa-bench-prio3")
    program = target / "release" / "prio3-sum-vec"
    if not build and not program.exists():
        found["prio3"] = "skipped: not built"
        return None
    cargo = shutil.which("cargo")
    if cargo is None:
        found["prio3"] = "skipped: there is no cargo"
        return None
    command = [cargo, "build", "--release", "--locked", "--quiet", "--target-dir", str(target)]
    built = subprocess.run(  # noqa: S603 - cargo and fixed words
        command, cwd=PRIO3, capture_output=True, text=True, check=False
    )
    if built.returncode:
        found["prio3"] = f"skipped: cargo says {built.stderr.strip().splitlines()[-1]!r}"
        return None
    found["prio3"] = "Prio3SumVec of libprio 0.18.1, 16 bits, two aggregators, one of them honest"
    return program


def _prio3(program: Path, dimension: int) -> Numbers:
    repeat = max(1, USUAL[-1] // dimension)
    command = [str(program), str(dimension), "16", str(repeat)]
    said = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - built above
    found = json.loads(said)
    return {
        f"prio3_client_{dimension}_s": found["client_s"],
        f"prio3_aggregator_{dimension}_ms": ms(found["aggregator_s"]),
        f"prio3_bytes_{dimension}": found["bytes"],
    }
