"""Honest sessions in every mode: the result is the plain sum of inputs and noise."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import ArchiveReader, TrustPolicy, VerifierKey
from bulletin_board.storage.directory import BoardDirectory
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import Simulation, SimulationOptions
from tests.protocol.simulation.worlds import (
    CURIOUS,
    FULL,
    LENIENT,
    RECOVERING,
    SCALAR,
    SIGNED,
    TEST_COINS,
    VECTOR,
    inputs_for,
    plain_sum,
    require_checked,
    require_sound,
    simulate,
)
from tests.randomness import seeded

WORLDS = {
    "full": (SCALAR, FULL),
    "full, recovery": (RECOVERING, FULL),
    "full, test coins": (SCALAR, TEST_COINS),
    "full, vectors": (VECTOR, FULL),
    "full, weights": (replace(VECTOR, squared_sensitivity=1200), replace(FULL, weighted=True)),
    "signed": (SCALAR, SIGNED),
    "signed, vectors": (VECTOR, SIGNED),
    "signed, test coins": (SCALAR, replace(SIGNED, beacon=TEST_COINS.beacon)),
    "signed, wide words": (VECTOR, replace(SIGNED, word_width=40)),
    "honest but curious": (CURIOUS, LENIENT),
}


@pytest.mark.parametrize(("terms", "setting"), WORLDS.values(), ids=WORLDS)
def test_sum_is_exact_and_nobody_is_blamed(terms: Terms, setting: SessionSetting) -> None:
    simulation, inputs = simulate(terms, setting), inputs_for(terms)
    if setting.weighted:
        inputs = [
            [value * row[-1] // terms.steps for value in row[:-1]] + row[-1:] for row in inputs
        ]
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert record.sums == plain_sum(simulation, record, inputs)
    assert record.included == tuple(range(terms.parties))
    assert not record.findings.notes
    require_checked(simulation)


def test_many_rounds_have_fresh_keys_and_noise() -> None:
    simulation, noises = simulate(), set()
    for number in range(SCALAR.rounds):
        inputs = inputs_for(SCALAR, number)
        record = simulation.run_round(inputs)
        require_sound(simulation, record, inputs)
        assert record.sums is not None
        noises.add(tuple(simulation.noise_for_tests[number + 1, i] for i in range(8)))
    assert len(noises) == SCALAR.rounds
    assert simulation.over
    assert record.findings.complete
    keys = [
        key
        for number in range(1, SCALAR.rounds + 1)
        for actor in simulation.parties
        for key in _join_keys(simulation, actor.author, number)
    ]
    assert len(set(keys)) == len(keys) == 8 * SCALAR.rounds


def _join_keys(simulation: Simulation, author: bytes, number: int) -> list[bytes]:
    from gopa.contract.party import JOIN

    posted = simulation.parties[0].access.board.stream(author, Phase.JOIN, number)
    return [JOIN.decode(each.entry.body).key for each in posted]


def test_same_seed_gives_the_same_log_and_another_one_another() -> None:
    archives = []
    for seed in (1, 1, 2):
        simulation, out = simulate(seed=seed), io.BytesIO()
        simulation.run_round(inputs_for(SCALAR))
        simulation.archive(out)
        archives.append(out.getvalue())
    assert archives[0] == archives[1] != archives[2]


def test_archive_holds_the_whole_log() -> None:
    simulation, out = simulate(), io.BytesIO()
    simulation.run_round(inputs_for(SCALAR))
    simulation.archive(out)
    out.seek(0)
    log = VerifierKey.parse(simulation.manifest.log.decode())
    archived = list(ArchiveReader(out, TrustPolicy.single_log(log)).entries())
    assert archived == list(simulation.log().entries())
    assert len(archived) > 6 * SCALAR.parties


def test_log_can_live_in_a_directory(tmp_path: Path) -> None:
    in_memory = simulate()
    on_disk = Simulation(
        SCALAR, rng=seeded(1), options=SimulationOptions(directory=tmp_path / "log")
    )
    inputs = inputs_for(SCALAR)
    assert in_memory.run_round(inputs).sums == on_disk.run_round(inputs).sums
    assert list(on_disk.log().entries()) == list(in_memory.log().entries())
    on_disk.close()
    signed = (BoardDirectory(tmp_path / "log").public / "checkpoint").read_bytes()
    assert signed == in_memory.log().signed.to_bytes()


def test_manifest_says_that_it_is_a_simulation() -> None:
    assert simulate().manifest.simulation


def test_cost_of_one_party() -> None:
    """Bytes of entries with about 36 neighbours would be four times those of 7."""
    options = SimulationOptions(clock=time.process_time)
    simulation = Simulation(SCALAR, rng=seeded(1), options=options)
    record = simulation.run_round(inputs_for(SCALAR))
    for usage in record.usage:
        assert 1_500 < usage.posted < 4_000
        assert usage.read > usage.posted
        assert usage.cpu_seconds > 0


def test_progress_reports_every_phase_once_for_each_party() -> None:
    seen: list[tuple[Phase, int, int]] = []
    options = SimulationOptions(progress=lambda *at: seen.append(at))
    Simulation(SCALAR, rng=seeded(1), options=options).run_round(inputs_for(SCALAR))
    phases = [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK]
    assert seen == [(phase, number, 8) for phase in phases for number in range(1, 9)]
