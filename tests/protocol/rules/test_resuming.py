"""What a policy has to see again is enough: it goes on as if it had seen everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from random import Random

import pytest

from bulletin_board import Entry, Refused, Submission
from gopa.protocol.admission.policy import Limits, ProtocolAdmission
from gopa.protocol.admission.tracker import TrackedSession
from tests.protocol.rules.test_admission import LOGS, beginnings, large, whole
from tests.protocol.rules.worlds import make
from tests.protocol.scribe import World
from wire.errors import MalformedMessage


def entries_of(raws: list[bytes]) -> list[Entry]:
    return [Submission.decode(raw).entry for raw in raws]


def observed(entries: list[Entry], limits: Limits | None = None) -> ProtocolAdmission:
    policy = ProtocolAdmission(limits)
    for index, entry in enumerate(entries):
        policy.observe(index, entry)
    return policy


def resumed(policy: ProtocolAdmission, entries: list[Entry]) -> tuple[ProtocolAdmission, int]:
    """Another one that knows the same, and how many entries it has seen again."""
    asked: list[int] = []

    def fetch(index: int) -> Entry:
        asked.append(index)
        return entries[index]

    other = ProtocolAdmission(policy._limits)
    assert other.identity() == policy.identity()
    other.restore(policy.save(), len(entries), fetch)
    return other, len(asked)


def same(one: ProtocolAdmission, other: ProtocolAdmission) -> bool:
    """All of them, but for what parties have said in rounds that are over."""
    for each in (*one.sessions.values(), *other.sessions.values()):
        _forget_what_is_over(each)
    return _known(one) == _known(other)


def _known(policy: ProtocolAdmission) -> tuple[object, ...]:
    pending = policy._pending
    on_their_way = list(pending.known.items())  # who gives way first is known, too
    waiting, going_on = list(policy._open.waiting), policy._open.going_on
    return policy.sessions, policy._size, waiting, going_on, on_their_way, pending._bytes


def _forget_what_is_over(session: TrackedSession) -> None:
    if session.round is not None and session.round.ended is not None:
        session.round.streams.clear()
        session.round.floors.clear()
        session.round.joining.clear()


def answer(policy: ProtocolAdmission, entry: Entry) -> object:
    try:
        policy.admit(entry)
    except Refused as refusal:
        return refusal.reason
    return None


@pytest.mark.thirds
@pytest.mark.parametrize("made", LOGS.values(), ids=LOGS)
def test_a_policy_goes_on_where_another_one_stood(made: Callable[[], World]) -> None:
    entries = entries_of(made().raws)
    stops = {*range(0, len(entries), max(1, len(entries) // 12)), len(entries)}
    for stop in sorted(stops):
        whole = observed(entries[:stop])
        other, _ = resumed(whole, entries[:stop])
        for entry in entries:
            assert answer(whole, entry) == answer(other, entry)
        for index, entry in enumerate(entries[stop:], stop):
            whole.observe(index, entry)
            other.observe(index, entry)
        assert same(whole, other)
        assert whole.sessions
        again, _ = resumed(other, entries)
        assert same(whole, again)


def test_rounds_that_are_over_are_not_read_again() -> None:
    made = LOGS["scalar"] if "scalar" in LOGS else next(iter(LOGS.values()))
    entries = entries_of(made().raws)
    _, seen = resumed(observed(entries), entries)
    organiser = entries[0].author
    assert seen == sum(entry.author == organiser for entry in entries) < len(entries) / 2


def test_several_sessions_and_a_manifest_on_its_way() -> None:
    first, second = (made().raws for made in list(LOGS.values())[:2])
    on_its_way = large().raws[:-1] or large().raws
    mixed = [raw for row in zip_longest(on_its_way, first, second) for raw in row if raw]
    entries = entries_of(mixed)
    for stop in (1, 4, len(entries) // 2, len(entries)):
        whole = observed(entries[:stop])
        other, _ = resumed(whole, entries[:stop])
        for entry in entries_of(large().raws):
            assert answer(whole, entry) == answer(other, entry)
        assert same(whole, other)


TWO_AT_ONCE = Limits.of(most_pending=2, most_sessions=2)


def test_a_manifest_that_was_given_up_does_not_come_back() -> None:
    """A stranger who begins somebody's session would else own it after a restart."""
    first, last = entries_of(large().raws)
    squatter, *strangers = beginnings(3)
    before_it = replace(first, author=squatter.author)
    entries = [before_it, *strangers, first]
    whole = observed(entries, TWO_AT_ONCE)
    assert answer(whole, last) is None
    other, seen = resumed(whole, entries)
    assert answer(other, last) is None
    assert same(whole, other)
    assert seen == 2
    other.observe(len(entries), last)
    assert other.sessions.keys() == {first.session}


def test_whatever_gave_way_to_whatever_a_policy_goes_on_where_another_one_stood() -> None:
    """Strangers begin each other's sessions, go on, go on wrongly, and say two things at once."""
    rng = Random(5)
    opened = make()
    opened.control()
    made, short = entries_of(large().raws), [*entries_of(opened.raws), *whole(3)]
    begun = [replace(made[0], author=each.author, chunks=3) for each in beginnings(3)]
    sessions = [made[0].session, bytes(32), bytes([1]) * 32]
    more = [
        replace(each, session=session, seq=seq, chunk=seq, body=bytes([what]) * len(each.body))
        for each in begun
        for session in sessions
        for seq in range(3)
        for what in range(2)
    ]
    given_up = put_out = 0
    for _ in range(40):
        entries = [rng.choice([*more, *made, *short]) for _ in range(60)]
        ours, other = ProtocolAdmission(TWO_AT_ONCE), ProtocolAdmission(TWO_AT_ONCE)
        for index, entry in enumerate(entries):
            before, waiting = set(ours._pending.known), set(ours._open.waiting)
            ours.observe(index, entry)
            other.observe(index, entry)
            given_up += bool(before - {entry.session} - set(ours._pending.known))
            put_out += bool(waiting - set(ours.sessions))
            if rng.random() < 0.3:
                other, _ = resumed(other, entries[: index + 1])
            assert same(ours, other)
    assert given_up > 100
    assert put_out > 20


def test_other_limits_are_another_policy() -> None:
    key = bytes(32)
    known = ProtocolAdmission(Limits.of([key, bytes([1]) * 32])).identity()
    assert ProtocolAdmission(Limits.of([bytes([1]) * 32, key])).identity() == known
    assert ProtocolAdmission(Limits.of([key])).identity() != known
    assert ProtocolAdmission().identity() != known
    assert len(known) < 256


@pytest.mark.parametrize(
    "bad",
    [
        b"\0",
        (3).to_bytes(8),
        (1).to_bytes(8) * 2,
        (2).to_bytes(8) + (1).to_bytes(8),
        bytes([255]) * 8,
    ],
)
def test_what_no_policy_says_is_refused(bad: bytes) -> None:
    entries = entries_of(next(iter(LOGS.values()))().raws)[:3]
    policy = ProtocolAdmission()
    policy.restore((1).to_bytes(8) + (2).to_bytes(8), 3, entries.__getitem__)
    with pytest.raises(MalformedMessage):
        ProtocolAdmission().restore(bad, 3, entries.__getitem__)
