"""Parties that work at once: nothing of the log depends on who was ready first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest

from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from tests.protocol.simulation.worlds import FULL, RECOVERING, SCALAR, SIGNED, inputs_for
from tests.randomness import seeded

WORLDS = {"full": (SCALAR, FULL), "recovering": (RECOVERING, FULL), "signed": (SCALAR, SIGNED)}
SILENT = Script().drop(1, before=Phase.PUBLISH).drop(4, after=Phase.COINS)


def log(terms: Terms, setting: SessionSetting, threads: ThreadPoolExecutor | None) -> bytes:
    simulation = Simulation(
        terms,
        rng=seeded(7),
        setting=setting,
        script=SILENT,
        options=SimulationOptions(threads=threads),
    )
    for seed in (1, 2):
        simulation.run_round(inputs_for(terms, seed))
    out = BytesIO()
    simulation.archive(out)
    return out.getvalue()


@pytest.mark.thirds
@pytest.mark.parametrize("name", WORLDS)
def test_threads_change_no_byte_of_the_log(name: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        assert log(*WORLDS[name], threads) == log(*WORLDS[name], None)


def test_parties_work_in_the_threads_and_are_shown_in_order() -> None:
    seen: list[int] = []
    phases: list[tuple[Phase, int, int]] = []
    names: set[str] = set()

    def clock() -> float:
        names.add(threading.current_thread().name)
        return 0.0

    def watch(actor: SimulatedParty) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append(actor.index)

    with ThreadPoolExecutor(3, "parties") as pool:
        options = SimulationOptions(
            threads=pool,
            clock=clock,
            watch=watch,
            progress=lambda phase, done, total: phases.append((phase, done, total)),
        )
        simulation = Simulation(SCALAR, rng=seeded(1), options=options)
        assert simulation.run_round(inputs_for(SCALAR)).sums is not None
    assert len([name for name in names if name.startswith("parties")]) > 1
    rounds = len(seen) // SCALAR.parties
    assert seen == list(range(SCALAR.parties)) * rounds
    assert phases[: SCALAR.parties] == [
        (Phase.JOIN, number + 1, SCALAR.parties) for number in range(SCALAR.parties)
    ]


def test_an_error_in_a_thread_is_the_callers() -> None:
    def clock() -> float:
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool:
        assert Simulation(SCALAR, rng=seeded(1), options=SimulationOptions(threads=pool)).parties
        with pytest.raises(ZeroDivisionError):
            Simulation(SCALAR, rng=seeded(1), options=SimulationOptions(threads=pool, clock=clock))
