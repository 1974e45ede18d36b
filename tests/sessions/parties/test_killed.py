"""A party that is killed anywhere and started again says what it would have said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gopa.adversary.deeds import wrong_edge, wrong_seed
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party.states import Done
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import Script, Simulation
from gopa.protocol.simulation.script import Skip
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.vault import DirectoryVault, SealingKey, Vault
from tests.board.faults import Plan
from tests.lies import lying
from tests.protocol.simulation.worlds import (
    CURIOUS,
    FULL,
    LENIENT,
    RECOVERING,
    RECOVERING_VECTOR,
    SCALAR,
    SIGNED,
    VECTOR,
    inputs_for,
    require_sound,
)
from tests.randomness import seeded
from tests.sessions.parties.worlds import (
    DOUBLES,
    DyingVault,
    Restarting,
    durable,
    replace_party,
    require_one_voice,
    world,
)
from tests.sessions.vault.faults import StoppingFiles
from tests.sessions.vault.tools import LOG
from wire.secret import SecretBytes

SUBJECT, LIAR = 3, 6
CASES: dict[str, tuple[Terms, SessionSetting, Script]] = {
    "honest": (SCALAR, FULL, Script()),
    "rollback": (SCALAR, FULL, Script().drop(LIAR, before=Phase.PUBLISH, rounds={1})),
    "accusation": (SCALAR, FULL, Script().misbehave(LIAR, lying("commit", wrong_edge()))),
    "recovery": (RECOVERING, FULL, Script().misbehave(LIAR, Skip(Phase.UNMASK))),
    "recovery of words": (RECOVERING_VECTOR, SIGNED, Script().misbehave(LIAR, Skip(Phase.UNMASK))),
    "retry": (
        SCALAR,
        FULL,
        Script().misbehave(LIAR, lying("unmask", wrong_seed(), frozenset({1}))),
    ),
    "vector": (VECTOR, FULL, Script()),
    "signed": (SCALAR, SIGNED, Script()),
    "curious": (CURIOUS, LENIENT, Script()),
}
EVERY_CASE = pytest.mark.parametrize("name", CASES)


def play(
    name: str,
    vaults: dict[int, Vault],
    *,
    toolkit: Toolkit = DOUBLES,
    rounds: int = 1,
) -> tuple[Simulation, dict[int, Restarting]]:
    """A session in which these parties have vaults; what holds for every one holds."""
    terms, setting, script = CASES[name]
    simulation = world(terms, setting, script, toolkit=toolkit)
    replaced = {}
    for index, vault in vaults.items():
        replaced[index] = process(simulation, index, vault, toolkit)
    for logical in range(rounds):
        inputs = inputs_for(terms, logical)
        record = simulation.run_round(inputs)
        require_sound(simulation, record, inputs, {LIAR}, exact=name != "curious")
    for restarting in replaced.values():
        require_one_voice(restarting.sent)
    return simulation, replaced


def process(simulation: Simulation, index: int, vault: Vault, toolkit: Toolkit) -> Restarting:
    actor = simulation.parties[index]

    def revive() -> None:
        if isinstance(vault, DyingVault):
            vault.at = -1

    restarting = Restarting(lambda: durable(actor, vault, f"of {index}", toolkit), revive)
    replace_party(actor, restarting)
    return restarting


def log_of(simulation: Simulation) -> list[bytes]:
    return [posted.leaf for posted in simulation.parties[0].access.board.entries]


def require_right(simulation: Simulation, toolkit: Toolkit = DOUBLES) -> None:
    """Whoever reads the log finds what the organiser found: nobody but the liar is blamed."""
    found = check_log(simulation.log().entries(), rng=seeded("auditor"), toolkit=toolkit)
    assert found.to_json() == simulation.findings().to_json()


def killed_around_records(name: str, *, after: bool, first: int, stride: int) -> None:
    vault = DyingVault()
    whole, _ = play(name, {SUBJECT: vault})
    require_right(whole)
    assert vault.stored > 12
    for at in range(first, vault.stored, stride):
        dying = DyingVault()
        dying.at, dying.after = at, after
        simulation, replaced = play(name, {SUBJECT: dying})
        assert replaced[SUBJECT].deaths == 1, at
        assert log_of(simulation) == log_of(whole), at


BOTH = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@pytest.mark.thirds
@pytest.mark.parametrize("part", range(3))
@BOTH
def test_killed_around_every_record(after: bool, part: int) -> None:
    killed_around_records("honest", after=after, first=part, stride=3)


@pytest.mark.thirds
@pytest.mark.parametrize("name", [name for name in CASES if name != "honest"])
@BOTH
def test_killed_around_some_records(name: str, after: bool) -> None:
    killed_around_records(name, after=after, first=len(name) % 9, stride=9)


@pytest.mark.soak
@EVERY_CASE
@BOTH
def test_killed_around_every_record_of_every_case(name: str, after: bool) -> None:
    killed_around_records(name, after=after, first=0, stride=1)


class DyingDirectory(DirectoryVault):
    """A vault on a disk; opened again when its process has died."""

    def __init__(self, path: Path, plan: Plan) -> None:
        key = SealingKey(SecretBytes(bytes(32)))
        super().__init__(path, LOG, rng=seeded("disk"), secret=key, files=StoppingFiles(plan))


def on_disk(path: Path, name: str, plan: Plan) -> tuple[Simulation, Restarting]:
    terms, setting, script = CASES[name]
    simulation = world(terms, setting, script)
    actor = simulation.parties[SUBJECT]
    held: list[DirectoryVault] = []

    def make() -> DirectoryVault:
        held.append(DyingDirectory(path, plan))
        return held[-1]

    def revive() -> None:
        for vault in held:
            vault.close()
        held.clear()
        plan.dead, plan.at = False, -1

    restarting = Restarting(lambda: durable(actor, make(), f"of {SUBJECT}"), revive)
    plan.armed = True
    replace_party(actor, restarting)
    inputs = inputs_for(terms, 0)
    record = simulation.run_round(inputs)
    plan.armed = False
    require_sound(simulation, record, inputs, {LIAR}, exact=name != "curious")
    revive()
    require_one_voice(restarting.sent)
    return simulation, restarting


def killed_on_disk(tmp_path: Path, name: str, stride: int) -> None:
    plan = Plan()
    whole, _ = on_disk(tmp_path / "whole", name, plan)
    steps = plan.steps
    assert {"short write", "sync", "rename", "unlink"} <= set(steps)
    for at in range(12, len(steps), stride):  # behind the creation of the vault
        plan = Plan(at=at)
        simulation, restarting = on_disk(tmp_path / str(at), name, plan)
        assert restarting.deaths == 1, at
        assert log_of(simulation) == log_of(whole), at


@pytest.mark.slow
def test_killed_in_the_middle_of_writes(tmp_path: Path) -> None:
    killed_on_disk(tmp_path, "rollback", 41)


@pytest.mark.soak
@EVERY_CASE
def test_killed_in_the_middle_of_every_write(name: str, tmp_path: Path) -> None:
    killed_on_disk(tmp_path, name, 1)


def test_all_parties_go_on_behind_three_rounds() -> None:
    vaults = {index: DyingVault() for index in range(8)}
    for index, vault in vaults.items():
        vault.at, vault.after = 3 + 5 * index, bool(index % 2)
    simulation, replaced = play("honest", dict(vaults), rounds=3)
    require_right(simulation)
    assert [each.deaths for each in replaced.values()] == [1] * 8
    assert all(isinstance(each.durable.state.stage, Done) for each in replaced.values())


def test_real_proofs_are_the_same_after_a_crash() -> None:
    """The one party dies right behind the record of its commit, another before it."""
    toolkit = Toolkit()
    whole, _ = play("honest", {1: DyingVault(), SUBJECT: DyingVault()}, toolkit=toolkit)
    require_right(whole, toolkit)
    first, second = DyingVault(), DyingVault()
    first.at, first.after, second.at = 10, True, 10
    simulation, replaced = play("honest", {1: first, SUBJECT: second}, toolkit=toolkit)
    assert [each.deaths for each in replaced.values()] == [1, 1]
    assert log_of(simulation) == log_of(whole)


class OftenDying(DyingVault):
    """Dies again and again, at random."""

    def __init__(self, source: random.Random) -> None:
        super().__init__()
        self._source = source
        self.left = 12

    def _stored(self, store: object) -> None:
        if self.left and self._source.random() < 0.2:
            self.left -= 1
            self.at, self.after = self.stored, self._source.random() < 0.5
        super()._stored(store)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schedules", [2, pytest.param(200, marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_random_deaths_of_everybody(schedules: int) -> None:
    whole: dict[str, list[bytes]] = {}
    for number in range(schedules):
        source = random.Random(number)
        name = list(CASES)[number % len(CASES)]
        real = number % 40 == 7
        toolkit = Toolkit() if real else DOUBLES
        key = f"{name} {real}"
        if key not in whole:
            calm, _ = play(name, {i: DyingVault() for i in range(8) if i != LIAR}, toolkit=toolkit)
            whole[key] = log_of(calm)
        vaults = {index: OftenDying(source) for index in range(8) if index != LIAR}
        simulation, replaced = play(name, dict(vaults), toolkit=toolkit)
        assert log_of(simulation) == whole[key]
        require_right(simulation, toolkit)
        assert sum(each.deaths for each in replaced.values()) > 7
