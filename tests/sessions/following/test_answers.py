"""Both ways to follow a session give what the log holds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import cast

import pytest

from bulletin_board import LogReader, Submission
from bulletin_board.client.board import BoardClient
from bulletin_board.entry import sign_entry
from bulletin_board.tree import PastRoots
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.manifest import OpenAdmission, session_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch
from gopa.protocol.rules import Ledger
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.following import Horizon, SelectiveLog, SessionLog, WholeLog
from gopa.sessions.following.selective import Trail
from gopa.sessions.following.whole import EntryStreams, ManifestSearch, read_session
from gopa.sessions.ticket import Ticket, checked_manifest
from tests.board.live import client
from tests.board.tools import entry_bytes, log_key, party
from tests.contract.samples import manifest, signing_key
from tests.protocol.simulation.worlds import SCALAR, SIGNED, inputs_for, simulate
from tests.randomness import seeded
from tests.sessions.following.worlds import (
    QUICK,
    Recorded,
    asked_for,
    board_with,
    by,
    fetches,
    link_to,
    record_of,
    recorded,
    said,
    selective,
    whole,
)
from wire.errors import MalformedMessage, UsageError

Open = Callable[[str, bytes], WholeLog | SelectiveLog]


BOTH = pytest.mark.parametrize("opened", [whole, selective], ids=["whole", "selective"])


def mixed(*records: Recorded) -> list[bytes]:
    """The entries of several sessions in one log, in turns."""
    rows = zip_longest(*(record.raws for record in records))
    return [raw for raw in chain.from_iterable(rows) if raw is not None]


async def require_same(log: SessionLog, record: Recorded, raws: list[bytes], seed: int) -> None:
    posted = record.posted(raws)
    horizon = await log.grown(len(raws) - 1)
    assert horizon.size == len(raws)
    assert await log.manifest() == record.manifest
    choice = random.Random(seed)
    starts = {0, len(raws), *(choice.randrange(len(raws)) for _ in range(4))}
    for start in sorted(starts):
        found = await said(log, start, horizon)
        assert found == by(record.organiser, posted, start, len(raws))
        for author in choice.sample(record.parties, 2):
            assert await log.own(author, start, horizon.size, horizon) == by(
                author, posted, start, len(raws)
            )
    for wanted in fetches(record, lambda parties: choice.sample(parties, choice.randint(1, 8))):
        places = {each.entry.slot[:2]: each.index for each in posted}
        assert places
        moved = Fetch(wanted.phase, wanted.round, min(wanted.cut * 2, len(raws)), wanted.authors)
        right = asked_for(posted, moved)
        assert await log.answer(moved, horizon) == right
        assert await log.complete(moved, 0, horizon) == right


@BOTH
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_answers_are_those_of_the_log(opened: Open, seed: int, tmp_path: Path) -> None:
    record, other = recorded(seed, 3), recorded(seed + 10)
    raws = mixed(record, other)

    async def work(url: str) -> None:
        log = opened(url, record.session)
        try:
            await require_same(log, record, raws, seed)
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))


@BOTH
def test_roots_are_those_of_the_log_whatever_is_claimed(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many who wait ask the board once."""
    asked: list[int] = []
    root_at = BoardClient.root_at

    def counted(board: BoardClient, size: int, claimed: bytes) -> bytes:
        asked.append(size)
        return root_at(board, size, claimed)

    monkeypatch.setattr(BoardClient, "root_at", counted)
    record = recorded()
    leaves = [Submission.decode(raw).leaf for raw in record.raws]
    past = PastRoots(leaves)

    async def work(url: str) -> None:
        log = opened(url, record.session)
        try:
            horizon = await log.grown(len(leaves) - 1)
            sizes = [1, 7, 8, len(leaves) - 1, len(leaves)]
            for size in sizes:
                right = past.at(size)
                assert right is not None
                waiting = [log.root(size, right, horizon) for _ in range(20)]
                assert set(await asyncio.gather(*waiting)) == {right}
            assert asked == sizes
            assert await log.root(9, bytes(32), horizon) == past.at(9)
            with pytest.raises(UsageError):
                await log.root(9, bytes(32), Horizon(horizon.size + 1, bytes(32)))
        finally:
            await log.close()

    with board_with(tmp_path / "log", record.raws) as url:
        asyncio.run(work(url))


def test_a_selective_reader_reads_no_bundles_of_an_honest_board(tmp_path: Path) -> None:
    record = recorded(1, 3)

    async def work(url: str) -> int:
        log = selective(url, record.session)
        try:
            horizon = await log.spoken(0)
            assert await log.manifest() == record.manifest
            await said(log, 0, horizon)
            await log.own(record.parties[0], 0, horizon.size, horizon)
            for wanted in fetches(record, lambda parties: parties[:3]):
                await log.answer(wanted, horizon)
            before = log.readings
            await log.complete(wanted, 0, horizon)
            assert log.readings == before + 1
            return before
        finally:
            await log.close()

    with board_with(tmp_path / "log", record.raws) as url:
        assert asyncio.run(work(url)) == 0


@pytest.mark.slow
@pytest.mark.thirds
@BOTH
def test_a_log_that_grows_while_it_is_read(opened: Open, tmp_path: Path) -> None:
    record = recorded(3, 2)
    posted = record.posted()

    async def post(url: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            board = client(url)
            for raw in record.raws:
                await asyncio.get_running_loop().run_in_executor(pool, board.submit, raw)

    async def follow(log: SessionLog) -> None:
        """As a party does: from control to control."""
        assert await log.manifest() == record.manifest
        seen: list[int] = []
        last = by(record.organiser, posted, 0, len(posted))[-1].index
        while not seen or seen[-1] < last:
            start = seen[-1] + 1 if seen else 0
            horizon = await log.spoken(start)
            found = await said(log, start, horizon)
            assert found == by(record.organiser, posted, start, horizon.size)
            seen += [each.index for each in found]
            for author in record.parties[:2]:
                assert await log.own(author, 0, horizon.size, horizon) == by(
                    author, posted, 0, horizon.size
                )
            for wanted in fetches(record, lambda parties: parties[2:5]):
                if wanted.cut <= horizon.size:
                    assert await log.answer(wanted, horizon) == asked_for(posted, wanted)

    async def work(url: str) -> None:
        log = opened(url, record.session)
        try:
            await asyncio.gather(post(url), follow(log))
        finally:
            await log.close()

    with board_with(tmp_path / "log", []) as url:
        asyncio.run(work(url))


def test_a_whole_log_keeps_two_rounds_and_reads_again_what_it_forgot(tmp_path: Path) -> None:
    record = recorded(1, 3)

    async def work(url: str) -> tuple[int, int]:
        log = whole(url, record.session)
        try:
            horizon = await log.grown(len(record.raws) - 1)
            kept = log._streams
            rounds = {each.entry.round for entries in kept._authors.values() for each in entries}
            assert rounds == {2, 3}
            before = log.bytes_read
            await said(log, kept.floor, horizon)
            assert log.bytes_read - before < 1_000  # nothing but looks at the checkpoint
            found = await said(log, 0, horizon)
            assert found == by(record.organiser, record.posted(), 0, horizon.size)
            return before, log.bytes_read
        finally:
            await log.close()

    with board_with(tmp_path / "log", record.raws) as url:
        before, after = asyncio.run(work(url))
        assert after - before > sum(map(len, record.raws)) / 2


@pytest.mark.slow
def test_a_selective_log_keeps_two_rounds_however_many_there_were(tmp_path: Path) -> None:
    """A party that comes late hears them one after another; one that comes back skips them."""
    terms = replace(SCALAR, rounds=8)
    simulation = simulate(terms, SIGNED)
    for number in range(terms.rounds):
        simulation.run_round(inputs_for(terms, number))
    record = record_of(simulation)
    posted = by(record.organiser, record.posted(), 0, len(record.raws))
    last = posted[-1].entry.round
    begun = min(each.index for each in posted if each.entry.round == last)
    size = len(record.raws)

    async def work(url: str) -> tuple[int, int]:
        late, back = selective(url, record.session), selective(url, record.session)
        try:
            horizon = await late.grown(len(record.raws) - 1)
            start, pieces = 0, 0
            while piece := await late.controls(start, horizon):
                assert piece == by(record.organiser, posted, piece[0].index, piece[-1].index + 1)
                assert len({each.entry.round for each in piece}) <= 2
                assert len(late._trail._entries) <= 2 * len(posted) // terms.rounds + 2
                start, pieces = piece[-1].index + 1, pieces + 1
            assert start == posted[-1].index + 1
            assert pieces >= terms.rounds - 1
            assert await said(late, 0, horizon) == posted
            back.skip(last)
            await back.grown(len(record.raws) - 1)
            assert await said(back, 0, horizon) == by(
                record.organiser, record.posted(), begun, size
            )
            return late.bytes_read, back.bytes_read
        finally:
            await late.close()
            await back.close()

    with board_with(tmp_path / "log", record.raws) as url:
        all_rounds, one_round = asyncio.run(work(url))
    assert one_round < all_rounds / 4


def test_strangers_do_not_fill_the_memory(tmp_path: Path) -> None:
    record = recorded(1)
    strangers = [entry_bytes(n, author=n, session=record.session, phase=2) for n in range(20)]
    raws = [*strangers[:5], *record.raws, *strangers[5:]]

    async def work(url: str) -> set[bytes]:
        log = whole(url, record.session)
        try:
            horizon = await log.grown(len(raws) - 1)
            found = await said(log, 0, horizon)
            assert found == by(record.organiser, record.posted(raws), 0, horizon.size)
            return set(log._streams._authors)
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        assert asyncio.run(work(url)) == {record.organiser, *record.parties}


@BOTH
def test_a_stranger_who_came_first_hides_no_manifest(opened: Open, tmp_path: Path) -> None:
    record = recorded(1)
    raws = [entry_bytes(0, author=5, session=record.session, phase=0), *record.raws]

    async def work(url: str) -> None:
        log = opened(url, record.session)
        try:
            assert await log.manifest() == record.manifest
            horizon = await log.spoken(0)
            found = await said(log, 0, horizon)
            assert found == by(record.organiser, record.posted(raws), 0, len(raws))
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))


def test_an_entry_that_nobody_signed_is_no_entry(tmp_path: Path) -> None:
    record = recorded(1)
    forged = Submission.decode(record.raws[-1])
    bad = forged.raw[:-1] + bytes([forged.raw[-1] ^ 1])
    raws = [*record.raws[:-1], bad]

    async def work(url: str) -> None:
        log = whole(url, record.session)
        try:
            horizon = await log.grown(len(raws) - 1)
            author = forged.entry.author.data
            last = await log.own(author, 0, horizon.size, horizon) + await said(log, 0, horizon)
            assert last
            assert len(raws) - 1 not in {each.index for each in last}
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))


@BOTH
def test_questions_beyond_the_horizon(opened: Open, tmp_path: Path) -> None:
    record = recorded(1)
    wanted = fetches(record, lambda parties: parties)[-1]

    async def work(url: str) -> None:
        log = opened(url, record.session)
        try:
            horizon = await log.grown(0)
            assert await log.answer(wanted, horizon)
            ahead = Horizon(horizon.size + 1, bytes(32))
            late = Fetch(wanted.phase, wanted.round, horizon.size + 1, wanted.authors)
            for asked in (
                log.controls(0, ahead),
                log.own(record.parties[0], 0, ahead.size, ahead),
                log.answer(wanted, ahead),
                log.complete(wanted, 0, ahead),
                log.answer(late, horizon),
                log.complete(late, 0, horizon),
            ):
                with pytest.raises(UsageError):
                    await asked
        finally:
            await log.close()

    with board_with(tmp_path / "log", record.raws) as url:
        asyncio.run(work(url))


def test_one_look_wakes_a_thousand(tmp_path: Path) -> None:
    """Parties that wait ask the board nothing."""
    record = recorded(1)
    half = len(record.raws) // 2

    async def work(url: str) -> None:
        log = WholeLog(link_to(url), record.session, pace=QUICK)
        try:
            horizon = await log.grown(half - 1)
            spoken = (await said(log, 0, horizon))[-1].index + 1
            waiting = [asyncio.ensure_future(log.spoken(spoken)) for _ in range(1_000)]
            growing = [asyncio.ensure_future(log.grown(horizon.size)) for _ in range(1_000)]
            board = client(url)
            for raw in record.raws[half:]:
                await asyncio.to_thread(board.submit, raw)
            found = await asyncio.gather(*waiting, *growing)
            assert min(each.size for each in found) > half
            before = log.bytes_read
            await asyncio.gather(*(log.controls(0, each) for each in found))
            assert log.bytes_read - before < 100_000  # some looks; the log for each were 100 MB
        finally:
            await log.close()

    with board_with(tmp_path / "log", record.raws[:half]) as url:
        asyncio.run(work(url))


@BOTH
def test_whoever_waits_is_told_when_it_is_closed(opened: Open, tmp_path: Path) -> None:
    record = recorded(1)

    async def work(url: str) -> None:
        log = opened(url, record.session)
        horizon = await log.grown(0)
        assert horizon.size == len(record.raws)
        assert await log.own(record.parties[0], 0, horizon.size, horizon)
        waiting = asyncio.ensure_future(log.spoken(len(record.raws)))
        await asyncio.sleep(0.05)
        await log.close()
        for late in (waiting, log.own(record.parties[0], 0, horizon.size, horizon)):
            with pytest.raises(UsageError):
                await late

    with board_with(tmp_path / "log", record.raws) as url:
        asyncio.run(work(url))


@pytest.mark.parametrize("copied_first", [False, True])
def test_a_copy_in_front_of_the_manifest_spoils_the_session(*, copied_first: bool) -> None:
    record, thief = recorded(1), party(901)
    original = Submission.decode(record.raws[0])
    copy = Submission.decode(sign_entry(replace(original.entry, author=thief.public), thief))
    both = [copy, original] if copied_first else [original, copy]
    search, ledger = ManifestSearch(record.session), Ledger(Toolkit(), rng=seeded("ledger"))
    for index, each in enumerate(both):
        posted = Posted(index, each.leaf, each.entry)
        search.take(posted)
        ledger.observe(posted)
    if copied_first:
        assert (ledger.manifest, search.body, search.organiser) == (None, None, None)
    else:
        assert ledger.manifest is not None
        assert (search.body, search.organiser) == (record.manifest, record.organiser)


def test_what_hashes_to_the_session_and_is_no_manifest_begins_it_for_nobody() -> None:
    """Whoever joins is told by what it is shown; no roster is known, so nobody is shut out."""
    author, other = party(901), party(902)
    body = b"no manifest"
    session = session_id(body)
    first = MessageSlot(session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    join = MessageSlot(session, Phase.JOIN, Kind.JOIN, 1, 0, NO_LEAF)
    entries = [
        *sign_message(body, first, author).entries,
        *sign_message(b"join", join, other).entries,
    ]
    streams, ledger = EntryStreams(session), Ledger(Toolkit(), rng=seeded("ledger"))
    for index, raw in enumerate(entries):
        each = Submission.decode(raw)
        posted = Posted(index, each.leaf, each.entry)
        streams.take(posted)
        ledger.observe(posted)
    assert ledger.manifest is None
    assert (streams.manifest, streams.organiser) == (body, author.public.data)
    assert len(streams.of(other.public.data, 0, 2)) == 1
    ticket = Ticket("https://board.example", log_key(), session)
    with pytest.raises(MalformedMessage):
        checked_manifest(ticket, body)


def test_a_roster_keeps_strangers_out_of_memory() -> None:
    record, stranger = recorded(1), party(903)
    place = MessageSlot(record.session, Phase.JOIN, Kind.JOIN, 1, 0, NO_LEAF)
    raws = [*record.raws, *sign_message(b"join", place, stranger).entries]
    streams = EntryStreams(record.session)
    for posted in record.posted(raws):
        streams.take(posted)
    assert streams.manifest == record.manifest
    assert streams.of(record.parties[0], 0, len(raws))
    assert not streams.of(stranger.public.data, 0, len(raws))


def test_open_admission_keeps_everybody() -> None:
    agreed = manifest(admission=OpenAdmission(5))
    somebody, session = party(904), agreed.session
    first = MessageSlot(session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    join = MessageSlot(session, Phase.JOIN, Kind.JOIN, 1, 0, NO_LEAF)
    streams = EntryStreams(session)
    raws = [
        *sign_message(agreed.to_bytes(), first, signing_key("organiser")).entries,
        *sign_message(b"join", join, somebody).entries,
    ]
    for index, raw in enumerate(raws):
        each = Submission.decode(raw)
        streams.take(Posted(index, each.leaf, each.entry))
    assert streams.manifest == agreed.to_bytes()
    assert len(streams.of(somebody.public.data, 0, 2)) == 1


class Bundles:
    """A reader of a log in which a board has put anything."""

    def __init__(self, raws: Sequence[bytes]) -> None:
        self._raws = raws

    def entries(self, start: int, stop: int) -> Iterator[bytes]:
        return iter(self._raws[start:stop])


def test_what_is_no_entry_of_its_author_is_left_out() -> None:
    """An honest board takes none; nobody can be held to it, and nobody need stop for it."""
    record = recorded(1)
    raws = list(record.raws)
    right = read_session(cast("LogReader", Bundles(raws)), record.session, 0, len(raws))
    assert right == record.posted()
    forged = raws[4][:-1] + bytes([raws[4][-1] ^ 1])
    for at, wrong in ((4, forged), (5, raws[5][:-1]), (6, raws[6] + b"\0")):
        raws[at] = wrong
    left = read_session(cast("LogReader", Bundles(raws)), record.session, 0, len(raws))
    assert left == [posted for posted in right if posted.index not in {4, 5, 6}]


def test_a_round_that_was_skipped_is_behind() -> None:
    """An organiser that goes on without an end of its round: what follows is still found."""
    record = recorded(1, 2)
    own = [each for each in record.posted() if each.entry.author.data == record.organiser]
    without_end = [each for each in own if (each.entry.round, each.entry.kind) != (1, Kind.RESULT)]
    assert len(own) == len(without_end) + 1
    for entries in (own, without_end):
        trail = Trail()
        assert trail.take(entries)
        assert (trail.round, trail.seq) == (3, 0)
        assert trail.between(trail.floor, own[-1].index + 1)[-1] == own[-1]
        assert trail.round_at(own[-1].index) == 2
