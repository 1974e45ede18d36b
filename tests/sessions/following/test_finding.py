"""Which manifest counts is the same for parties and for audits (04-[S1], [S2])."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import pytest

from bulletin_board import LogReader, Submission
from bulletin_board.entry import sign_entry
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.manifest import OpenAdmission, session_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import Ledger
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.following.selective import Trail
from gopa.sessions.following.whole import EntryStreams, ManifestSearch, read_session
from gopa.sessions.ticket import Ticket, checked_manifest
from tests.board.tools import log_key, party
from tests.contract.samples import manifest, signing_key
from tests.randomness import seeded
from tests.sessions.following.worlds import recorded
from wire.errors import MalformedMessage


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
