"""Threads, processes and Ray: the same logs, the same reports, and nothing but public data."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

import gopa
from bulletin_board import VerifierKey
from gopa import LocalAggregator
from gopa.executors import RayExecutor
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import Simulation, SimulationOptions
from tests.cli.test_simulate import SMALL, facts, refused
from tests.protocol.simulation.worlds import FULL, RECOVERING, inputs_for
from tests.randomness import seeded
from tests.vectors.registry import TRANSCRIPTS
from tests.vectors.test_transcripts import stated
from tests.vectors.transcripts.made import read
from wire.errors import UsageError

_T = TypeVar("_T")


_P = ParamSpec("_P")


class Recording(Executor):
    """Does every task at once, from its pickle; `named` are the functions and types in it."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        self.tasks = 0

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        reader = _Reader(io.BytesIO(pickle.dumps((fn, args, kwargs))), self.named)
        function, positional, named = reader.load()
        self.tasks += 1
        done: Future[_T] = Future()
        done.set_result(function(*positional, **named))
        return done


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, named: set[str]) -> None:
        super().__init__(file)
        self._named = named

    def find_class(self, module: str, name: str) -> Any:
        self._named.add(f"{module}.{name}")
        return super().find_class(module, name)


WORLD = replace(RECOVERING, rounds=1)


KINDS = ("threads", "processes", "ray")


PUBLIC = {
    "commitments._native.RISTRETTO255",
    "decimal.Decimal",
    "functools.partial",
    "gopa.auditing.reading._wrong",
    "gopa.contract.parameters.CommitReveal",
    "gopa.contract.manifest.Manifest",
    "gopa.contract.parameters.OpenAdmission",
    "gopa.contract.parameters.Roster",
    "gopa.contract.parameters.Trust",
    "gopa.contract.parameters.Mode",
    "gopa.contract.parameters.Path",
    "gopa.contract.terms.Terms",
    "gopa.rounds.context.RoundContext",
    "gopa.rounds.proofs.NoiseClaim",
    "gopa.rounds.proofs.PossessionClaim",
    "gopa.rounds.proofs.SharedKeyClaim",
    "wire.ed25519.PublicKey",
    "wire.ed25519.SignatureClaim",
    "zkp.noise.gaussian_table.GaussianTable",
}


"""Types that may leave the process: what stands in a log."""


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    """Spawned: a fork of a process with threads may stand still."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as spawned:
        yield spawned


@contextmanager
def pool(kind: str, on_ray: RayExecutor, processes: Executor) -> Iterator[Executor]:
    """Threads are closed afterwards; the cluster and the processes serve other tests, too."""
    if kind == "ray":
        yield on_ray
    elif kind == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        yield processes


def archive(executor: Executor | None, threads: ThreadPoolExecutor | None = None) -> bytes:
    """A small session in full mode, with recovery, all of it from one seed."""
    options = SimulationOptions(executor=executor, threads=threads)
    simulation = Simulation(WORLD, rng=seeded("executors"), setting=FULL, options=options)
    record = simulation.run_round(inputs_for(WORLD))
    assert record.sums is not None
    assert len(record.included) == WORLD.parties
    out = BytesIO()
    simulation.archive(out)
    return out.getvalue()


@cache
def expected() -> bytes:
    """The log without any executor."""
    return archive(None)


@cache
def report(path: Path) -> bytes:
    """The report without any executor."""
    found = gopa.audit(path, trust_embedded=True)
    assert found.verdict.value == "VALID"
    return found.to_json()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "session.gopa"
    path.write_bytes(expected())
    return path


@pytest.mark.together("ray")
@pytest.mark.parametrize("kind", KINDS)
def test_every_executor_gives_the_same_log_and_the_same_report(
    kind: str, on_ray: RayExecutor, processes: Executor, log: Path
) -> None:
    with pool(kind, on_ray, processes) as executor:
        assert archive(executor) == expected()
        found = gopa.audit(log, trust_embedded=True, executor=executor)
    assert found.to_json() == report(log)


@pytest.mark.together("ray")
@pytest.mark.parametrize("kind", KINDS)
def test_every_executor_finds_the_same_faults(
    kind: str, on_ray: RayExecutor, processes: Executor
) -> None:
    raws = entries("accuse_of_a_share_without_proof")
    plain = check_log(raws, rng=seeded("reader"))
    assert plain.faults
    with pool(kind, on_ray, processes) as executor:
        found = check_log(raws, rng=seeded("reader"), executor=executor)
    assert found.to_json() == plain.to_json()


@pytest.mark.together("ray")
@pytest.mark.parametrize("kind", KINDS)
def test_aggregators_take_any_executor(kind: str, on_ray: RayExecutor, processes: Executor) -> None:
    values = [party / 8 for party in range(WORLD.parties)]
    with LocalAggregator(WORLD, seed=4) as plain:
        means = plain.average(values).mean
    with (
        pool(kind, on_ray, processes) as executor,
        LocalAggregator(WORLD, seed=4, executor=executor, jobs=2) as aggregator,
    ):
        assert aggregator.average(values).mean == means


@pytest.mark.together("ray")
@pytest.mark.slow
def test_jobs_are_threads_and_at_least_one() -> None:
    values = [party / 8 for party in range(WORLD.parties)]
    with (
        LocalAggregator(WORLD, seed=4, jobs=1) as plain,
        LocalAggregator(WORLD, seed=4, jobs=3) as threaded,
    ):
        assert plain.average(values).mean == threaded.average(values).mean
    for jobs in (0, -1, True, 1_025):
        with pytest.raises(UsageError) as caught:
            LocalAggregator(WORLD, seed=4, jobs=jobs)
        assert caught.value.field == "jobs"


@pytest.mark.together("ray")
@pytest.mark.slow
def test_tasks_can_be_pickled_and_hold_nothing_but_what_stands_in_a_log(log: Path) -> None:
    executor = Recording()
    assert archive(executor) == expected()
    simulated = executor.tasks
    assert gopa.audit(log, trust_embedded=True, executor=executor).to_json() == report(log)
    audited = executor.tasks
    assert 0 < simulated < audited
    for name in ("clean_full", "accuse_falsely", "accuse_of_a_share_without_proof"):
        check_log(entries(name), rng=os.urandom, executor=executor)
    assert executor.tasks > audited
    types = {name for name in executor.named if not name.rpartition(".")[2].startswith("_")}
    claims = {name for name in types if name.startswith("gopa.rounds.proofs.")}
    assert claims == {name for name in PUBLIC if name.startswith("gopa.rounds.proofs.")}
    assert types - PUBLIC == set()


def entries(name: str) -> list[bytes]:
    """A published transcript."""
    key = VerifierKey.parse(stated(name)["anchors"]["log"])
    return read((TRANSCRIPTS / f"{name}.gopa").read_bytes(), key)[1]


@pytest.mark.together("ray")
@pytest.mark.slow
def test_ray_changes_no_byte(tmp_path: Path, on_ray: RayExecutor) -> None:
    plain, spread = tmp_path / "plain.gopa", tmp_path / "spread.gopa"
    assert facts(*SMALL, "--archive", plain)["rounds"]
    facts(*SMALL, "--archive", spread, "--ray")
    assert plain.read_bytes() == spread.read_bytes()
    assert on_ray.submit(abs, -3).result() == 3
    assert refused(*SMALL, "--ray", "127.0.0.1:1").field == "address"
