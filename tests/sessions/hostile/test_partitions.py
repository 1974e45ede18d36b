"""Two logs that nobody can compare: the confirmations stop whoever is alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bulletin_board.tree import leaf_hash
from gopa.aggregation.engine import RoundAborted
from gopa.contract.framing import MessageSlot, sign_message
from gopa.contract.organiser import CLOSE, Close, Members, pack_members
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party.states import Confirmed
from gopa.sessions.contribution import Contribution
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.observer import Observer
from tests.sessions.hostile.worlds import (
    World,
    closing,
    journal,
    of,
    root_of,
    said,
    sooner,
    vaults,
    world,
)
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import FaultyParty

ONCE = replace(FEW, rounds=1, attempts=1, charged=0)
VICTIM = 0
OTHERS = range(1, ONCE.parties)


@dataclass(frozen=True)
class Alone:
    """What the victim got, its seed, and its round secret, which stood in its vault."""

    got: object
    seed: bytes
    secret: bytes


async def parted(here: World, homes: Path, *, lies: bool) -> tuple[Alone, list[object]]:
    """The victim alone sees one log, all others another one, in which it has not published."""
    organiser_run = here.start_organiser()
    here.gather(homes)
    here.ways[VICTIM].gate.stops = said(Phase.PUBLISH)
    offers = here.offers()
    await sooner(lambda: len(of(here.entries(), Phase.PUBLISH)) == len(OTHERS))
    await sooner(lambda: bool(here.ways[VICTIM].gate.stopped))
    await organiser_run.stop()
    side = await asyncio.to_thread(here.fork, here.raws())
    for number in OTHERS:
        await asyncio.to_thread(here.ways[number].gate.show, side)
    there = here.start_organiser(side)
    alone = here.start_organiser(stops=closing(Phase.CONFIRM))
    here.ways[VICTIM].gate.stops = lambda _: False
    await sooner(lambda: len(of(here.entries(), Phase.CONFIRM)) == 1)
    stage = here.state(VICTIM).stage
    assert isinstance(stage, Confirmed)
    seed, secret = stage.seed.reveal(), here.party(VICTIM)._secret.reveal()
    assert secret in b"".join(vaults(homes / str(VICTIM)))
    await here.overdue(there, Phase.PUBLISH, side)
    got = await asyncio.gather(*(offers[i] for i in OTHERS), return_exceptions=True)
    await asyncio.wait({there.task})
    if lies:
        await alone.stop()
        await asyncio.to_thread(close_as_if_all_had_confirmed, here)
    else:
        alone.gate.stops = lambda _: False
        while not offers[VICTIM].done():
            await here.pass_time(alone, Phase.CONFIRM)
            await asyncio.wait({offers[VICTIM]}, timeout=0.5)
    (alone_got,) = await asyncio.gather(offers[VICTIM], return_exceptions=True)
    await here.leave(*offers, alone.task)
    return Alone(alone_got, seed, secret), list(got)


def close_as_if_all_had_confirmed(here: World) -> None:
    """The organiser says what the log does not."""
    raws, entries = here.raws(), here.entries()
    own = [i for i, each in enumerate(entries) if each.author == here.organiser.public]
    last = entries[own[-1]]
    members = Members(pack_members(range(ONCE.parties), ONCE.parties), final=False)
    close = Close(leaf_hash(raws[own[-1]]), len(raws), root_of(raws), Phase.CONFIRM, b"", members)
    place = MessageSlot(
        here.ticket.session,
        Phase.ORGANISER,
        Kind.CLOSE,
        1,
        last.seq + 1,
        leaf_hash(raws[own[-1]]),
        last.seen_size,
        last.seen_root,
    )
    signed = sign_message(CLOSE.encode(close), place, here.organiser)
    gate = type(here.ways[0].gate)(here.ticket.board)
    answer = gate.request(
        "POST",
        f"{here.ticket.board}/v1/entries",
        body=signed.entries[0],
        media_type=ENTRY_PAYLOAD_TYPE,
        limit=2**16,
    )
    assert answer.status in {200, 201}, answer


@pytest.mark.slow
@pytest.mark.parametrize("lies", [False, True], ids=["closes rightly", "claims confirmations"])
def test_whoever_is_alone_with_a_history_opens_nothing(*, lies: bool, tmp_path: Path) -> None:
    """Others open all their edges to the victim: its own mask is all that hides its value.

    Whether the round has ended or the party has halted, what made its secrets is erased.
    """
    with world(tmp_path, ONCE) as here:
        alone, others = asyncio.run(parted(here, tmp_path / "homes", lies=lies))
        seen = [*here.entries(), *here.entries(here.gate_to(here.sides[0])), *here.sent()]
    for each in others:
        assert isinstance(each, Contribution)
        assert each.count == len(OTHERS)
    if lies:
        assert isinstance(alone.got, FaultyParty)
        assert alone.got.party == here.organiser.public.data
    else:
        assert isinstance(alone.got, RoundAborted)
        assert alone.got.reason == "NOT_CONFIRMED"
    observer = Observer.of(here, seen)
    assert {ends for ends in observer.keys if VICTIM in ends} == {
        frozenset((VICTIM, other)) for other in OTHERS
    }
    assert VICTIM not in observer.seeds
    assert not [ends for ends in observer.keys if VICTIM not in ends]
    observer.require_hidden(VICTIM, {}, alone.seed)
    for number in range(ONCE.parties):
        assert journal(tmp_path / "homes" / str(number)) == ()
    assert alone.secret not in b"".join(vaults(tmp_path / "homes"))
