"""Three logs behind one address, after all have published: recovery spends the loss twice.

The victim opens edges on a log of its own, some of its neighbours open theirs to it on
another one. On the third everybody else finishes the round and recovers the victim, which
just seems to be gone; the organiser keeps the rules there. `specs/04-protocol.md`, section 11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

import gopa
from bulletin_board import Entry
from bulletin_board.tree import leaf_hash
from commitments import Commitment, Pedersen
from gopa.contract.framing import MessageSlot, sign_message
from gopa.contract.organiser import CLOSE, Close, Members, pack_members
from gopa.contract.party import COMMIT, RECOVER
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.party.reading import RoundView
from gopa.protocol.party.states import Published
from gopa.rounds.masks import decode_commitments, decode_share, recover
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.contribution import Contribution
from tests.auditing.negatives import ANY_TERMS
from tests.protocol.simulation.worlds import RECOVERING
from tests.sessions.hostile.observer import Observer
from tests.sessions.hostile.worlds import World, closing, of, root_of, sooner, world

VICTIM = 3
ONCE = replace(RECOVERING, rounds=1, attempts=1, charged=0)
GRANTED_ONCE = replace(ONCE, survivors=4, loss=4)
"""Seven neighbours: after any four are lost there are others, after twice four there is none."""


def planned() -> Terms:
    """What a plan with recovery gives to eight parties, many of which may drop out."""
    terms = gopa.plan(
        n=8, epsilon=4, delta="1e-5", corrupt=1, dropout=0.1, recovery="1/2", mask="uniform"
    ).terms
    return replace(terms, attempts=1, charged=0)


@dataclass(frozen=True)
class Sides:
    """Who opens an edge to the victim on a log of their own, and to whom the victim opens."""

    led_away: tuple[int, ...]
    opened: tuple[int, ...]
    rest: tuple[int, ...]

    @classmethod
    def most(cls, view: RoundView, terms: Terms) -> Sides:
        """As many as parties go along with, so that the round still ends without them."""
        everybody = [u for u in range(terms.parties) if u != VICTIM]
        needed = terms.shares_needed(len(view.neighbours))
        assert needed is not None
        away: tuple[int, ...] = ()
        for v in view.neighbours:
            more = (*away, v)
            rest = [u for u in everybody if u not in more]
            few = all(view.lost_of(u, rest) <= terms.loss for u in range(terms.parties))
            helpers = len(set(view.neighbours).intersection(rest))
            if few and len(rest) >= terms.survivors and helpers >= needed:
                away = more
        rest = [u for u in everybody if u not in away]
        opened = [v for v in view.neighbours if v in rest][: terms.loss]
        return cls(away, tuple(opened), tuple(rest))


async def forked_in_three(here: World) -> tuple[Sides, RoundView, list[object]]:
    """What the parties got that are on the side which ends with a result."""
    organiser_run = here.start_organiser(stops=closing(Phase.PUBLISH))
    here.gather()
    offers = here.offers()
    everybody = range(here.terms.parties)
    await sooner(lambda: bool(organiser_run.gate.stopped))
    raws = await asyncio.to_thread(here.raws)
    published = [isinstance(here.state(u).stage, Published) for u in everybody]
    assert all(published)
    stage = here.state(VICTIM).stage
    assert isinstance(stage, Published)
    sides = Sides.most(stage.view, here.terms)
    without_some = [u for u in everybody if u not in sides.opened]
    without_one = [u for u in everybody if u != VICTIM]
    for parties, members in (((VICTIM,), without_some), (sides.led_away, without_one)):
        side = await asyncio.to_thread(here.fork, [*raws, close_of_publish(here, raws, members)])
        for number in parties:
            await asyncio.to_thread(here.ways[number].gate.show, side)
    organiser_run.gate.stops = lambda _: False
    await sooner(lambda: len(of(here.sent(), Phase.ROLLBACK)) == 1 + len(sides.led_away))
    ending = [offers[u] for u in sides.rest]
    for phase in (Phase.CONFIRM, Phase.UNMASK):
        await sooner(partial(have_said, here, phase, sides.rest))
        await here.overdue(organiser_run, phase)
    while not all(offer.done() for offer in ending):
        await here.pass_time(organiser_run, Phase.RECOVER)
        await asyncio.wait(ending, timeout=0.5)
    got = await asyncio.gather(*ending, return_exceptions=True)
    await here.leave(*offers, organiser_run.task)
    return sides, stage.view, list(got)


def have_said(here: World, phase: Phase, parties: Collection[int]) -> bool:
    """Whether these parties' messages of a phase are in the log that ends."""
    authors = {here.identities[u].public.data for u in parties}
    return authors <= {each.author.data for each in of(here.entries(), phase)}


def close_of_publish(here: World, raws: list[bytes], members: Iterable[int]) -> bytes:
    """One that leaves somebody out who has published: whoever stays owes them its edges."""
    entries = here.entries()[: len(raws)]
    last = next(i for i in reversed(range(len(raws))) if entries[i].author == here.organiser.public)
    leaf = leaf_hash(raws[last])
    packed = pack_members(members, here.terms.parties)
    close = Close(leaf, len(raws), root_of(raws), Phase.PUBLISH, b"", Members(packed, final=False))
    place = MessageSlot(
        here.ticket.session,
        Phase.ORGANISER,
        Kind.CLOSE,
        1,
        entries[last].seq + 1,
        leaf,
        entries[last].seen_size,
        entries[last].seen_root,
    )
    return sign_message(CLOSE.encode(close), place, here.organiser).entries[0]


def stripped(here: World, seen: list[Entry], degree: int) -> tuple[int, int]:
    """The victim's value without every mask that was given away, and how many edges these were."""
    observer, group = Observer.of(here, seen), Toolkit().group
    order = group.order
    plain = observer.left_over(VICTIM, {}, None) - recovered(here, seen, degree)
    centred = (plain + order // 2) % order - order // 2
    return centred, sum(VICTIM in ends for ends in observer.keys)


def recovered(here: World, seen: list[Entry], degree: int) -> int:
    """The victim's self-mask, from the shares that its neighbours gave away."""
    group = Toolkit().group
    place = {key.public: u for u, key in enumerate(here.identities)}
    body = next(e.body for e in of(seen, Phase.COMMIT) if place[e.author] == VICTIM)
    commit = COMMIT.decode(body)
    shares = {
        place[each.author] + 1: decode_share(group, share.share)
        for each in of(seen, Phase.RECOVER)
        for share in RECOVER.decode(each.body).shares
        if share.dealer == VICTIM
    }
    needed = here.terms.shares_needed(degree)
    assert needed is not None
    assert len(shares) >= needed
    own = Commitment(Pedersen(group), group.decode_points(commit.self_mask, 1))
    dealt = decode_commitments(own, b"".join(commit.coefficients), needed)
    return int(recover(dealt, shares).values[0].reveal())


@pytest.mark.slow
@pytest.mark.parametrize("granted", ["once", "as planned"])
def test_three_histories_open_twice_the_loss_and_no_more(
    granted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exposes a party where a plan grants the loss once, and nobody where it grants it twice.

    Everybody keeps the rules on the side that ends, and an audit of it finds nothing.
    """
    terms = GRANTED_ONCE if granted == "once" else planned()
    if granted == "once":
        ANY_TERMS(monkeypatch)  # else nobody would join
    with world(tmp_path, terms) as here:
        sides, view, got = asyncio.run(forked_in_three(here))
        seen = [*here.entries(), *here.sent()]
        found = here.findings()
    degree = len(view.neighbours)
    for each in got:
        assert isinstance(each, Contribution)
        assert each.count == terms.parties
    assert found.faults == ()
    value, known = stripped(here, seen, degree)
    assert known == len(sides.led_away) + len(sides.opened)
    assert terms.loss < known <= 2 * terms.loss
    if granted == "once":
        assert known == degree
        assert abs(value) < 2**20
    else:
        assert degree > 2 * terms.loss
        assert abs(value) > 2**64
