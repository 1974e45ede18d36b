"""A board that shows two histories: nobody opens anything, and everybody can prove it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.client.forks import verify_fork
from bulletin_board.note import open_checkpoint
from gopa.auditing.evidence import Evidence, FaultStatement, Fork
from gopa.auditing.judging import judge
from gopa.auditing.report import Culprit
from gopa.cli import main
from gopa.contract.phases import Phase
from gopa.sessions.contribution import Contribution
from tests.board.live import live_witness, witnessed
from tests.board.tools import entry_bytes, log_key, trust
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.worlds import (
    Crowd,
    Gate,
    World,
    closing,
    journal,
    of,
    said,
    sooner,
    world,
)
from wire.errors import FaultyBoard, ProtocolError

ONCE = replace(FEW, rounds=1, attempts=1, charged=0)
VICTIM = 0
OTHERS = range(1, ONCE.parties)


def kept(home: Path) -> list[Path]:
    """The evidence in the vaults of a client."""
    return sorted(home.glob("*/board/**/fork-*.evidence"))


async def forked_at(
    phase: Phase, world: World, homes: Path, *, close_first: bool, crowd: Collection[int] = ()
) -> list[object]:
    """Everybody knows the log up to this phase; then all but the victim are shown another one.

    The other log lacks what the victim said in this phase.
    """
    organiser_run = world.start_organiser(stops=closing(phase))
    world.gather(homes, crowd)
    offers = world.offers()
    await sooner(lambda: bool(organiser_run.gate.stopped))
    raws = await asyncio.to_thread(world.raws)
    if close_first:
        confirmed = said(Phase.CONFIRM)
        for way in world.ways:
            way.gate.stops = confirmed
        organiser_run.gate.stops = lambda _: False
        await sooner(lambda: all(way.gate.stopped for way in world.ways))
    await sooner(lambda: all(way.seen >= len(raws) for way in world.ways))
    victim = world.clients[VICTIM].key
    without = [
        raw
        for raw, entry in zip(raws, await asyncio.to_thread(world.entries), strict=False)
        if (entry.author.data, entry.phase) != (victim, phase)
    ]
    filler = [entry_bytes(i, author=99, phase=9) for i in range(40)]
    side = await asyncio.to_thread(world.fork, [*without, *filler])
    for number in OTHERS:
        await asyncio.to_thread(world.ways[number].gate.show, side)
        world.ways[number].gate.stops = lambda _: False
    got = await asyncio.gather(*(offers[i] for i in OTHERS), return_exceptions=True)
    await organiser_run.stop()
    for number in OTHERS:
        await world.clients[number].close()
    for number in OTHERS:
        again = world.client(number, home=homes / str(number))
        with pytest.raises(FaultyBoard):
            await again.contribute(world.ticket, 0.5)
    await world.leave(*offers)
    return list(got)


@pytest.mark.slow
@pytest.mark.parametrize("witnesses", [0, 1])
@pytest.mark.parametrize(
    ("phase", "close_first"),
    [(Phase.COMMIT, False), (Phase.PUBLISH, False), (Phase.PUBLISH, True)],
    ids=["before the close of commit", "before the close of publish", "after the final close"],
)
def test_whoever_sees_two_histories_stops_and_can_prove_it(
    phase: Phase, close_first: bool, witnesses: int, tmp_path: Path
) -> None:
    homes = tmp_path / "homes"
    with ExitStack() as stack:
        policy = None
        if witnesses:
            policy = witnessed(1, stack.enter_context(live_witness(tmp_path, 1)))
        here = stack.enter_context(world(tmp_path, ONCE, policy=policy))
        got = asyncio.run(forked_at(phase, here, homes, close_first=close_first))
        both = [*here.entries(), *here.entries(here.gate_to(here.sides[0])), *here.sent()]
    for error in got:
        assert isinstance(error, FaultyBoard)
        verify_fork(error.evidence, log_key())
    assert not of(both, Phase.ROLLBACK)
    assert not of(both, Phase.UNMASK)
    for number in OTHERS:
        (file,) = kept(homes / str(number))
        require_convicted(file)
        assert journal(homes / str(number)) == ()
    assert not kept(homes / str(VICTIM))
    assert journal(homes / str(VICTIM))


def test_parties_that_read_together_stop_together(tmp_path: Path) -> None:
    """Each has the evidence in its own vault, and stops there also when it comes back."""
    homes = tmp_path / "homes"
    with world(tmp_path, ONCE) as here:
        work = forked_at(Phase.PUBLISH, here, homes, close_first=False, crowd=OTHERS)
        got = asyncio.run(work)
        assert len({id(way) for way in here.ways[: ONCE.parties]}) == 2
        both = [*here.entries(), *here.entries(here.gate_to(here.sides[0])), *here.sent()]

        async def again_together() -> None:
            fresh, known = Crowd(Gate(here.ticket.board)), here.enter
            clean = known(VICTIM, fresh, tmp_path / "clean")
            assert await clean.join(here.ticket)
            for number in OTHERS:
                with pytest.raises(FaultyBoard):
                    await known(number, fresh, homes / str(number)).join(here.ticket)
            await here.leave()

        asyncio.run(again_together())
    for error in got:
        assert isinstance(error, FaultyBoard)
        verify_fork(error.evidence, log_key())
    assert not of(both, Phase.ROLLBACK)
    assert not of(both, Phase.UNMASK)
    for number in OTHERS:
        (file,) = kept(homes / str(number))
        require_convicted(file)
        assert journal(homes / str(number)) == ()


def require_convicted(file: Path) -> None:
    """What a vault keeps is proof for anybody who has the log's key, and for nobody else's log."""
    data = file.read_bytes()
    older, newer = verify_fork(data, log_key())
    assert open_checkpoint(older.to_bytes(), log_key()).root != newer.root
    wrapped = Evidence(FaultStatement(bytes(32), b"05-C4", 0), Fork(data)).to_bytes()
    judgement = judge(wrapped, policy=trust())
    assert judgement.convicts
    assert judgement.culprit is Culprit.BOARD
    honest = Evidence(
        FaultStatement(bytes(32), b"05-C4", 0), Fork(data[:-1] + bytes([data[-1] ^ 1]))
    )
    assert not judge(honest.to_bytes(), policy=trust()).convicts


@pytest.mark.slow
def test_the_command_line_says_what_a_vault_has_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(*line: object) -> int:
        monkeypatch.setattr(sys, "argv", ["gopa", *map(str, line)])
        with pytest.raises(SystemExit) as ending:
            main()
        return int(ending.value.code or 0)

    def audited(evidence: Path) -> int:
        return ended("audit", "--evidence", evidence, "--anchors", anchors)

    homes = tmp_path / "homes"
    with world(tmp_path, ONCE) as here:
        asyncio.run(forked_at(Phase.COMMIT, here, homes, close_first=False))
    (file,) = kept(homes / "1")
    capsys.readouterr()
    assert ended("board", "evidence", file, "--json", "--log", log_key()) == 0
    assert "forked" in json.loads(capsys.readouterr().out)["proves"]
    anchors = tmp_path / "anchors"
    anchors.write_text(f"log {log_key()}\nquorum none\n")
    assert audited(file) == 0
    damaged = tmp_path / "damaged"
    data = file.read_bytes()
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert audited(damaged) == 1
    damaged.write_bytes(data[:-1])
    assert audited(damaged) == 2


@pytest.mark.slow
def test_the_same_session_without_a_fork_has_a_result(tmp_path: Path) -> None:
    async def work(here: World) -> list[object]:
        organiser_run = here.start_organiser()
        here.gather(tmp_path / "homes")
        offers = here.offers()
        got = await asyncio.gather(*offers)
        await here.leave(*offers)
        await organiser_run.task
        return list(got)

    with world(tmp_path, ONCE) as here:
        got = asyncio.run(work(here))
        findings = here.findings()
    assert findings.faults == ()
    assert all(isinstance(each, Contribution) and each.included for each in got)
    assert not kept(tmp_path / "homes")
    assert not any(isinstance(each, ProtocolError) for each in got)
