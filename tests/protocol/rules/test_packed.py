"""What the rules keep of a round, packed: the same as dictionaries would say."""

from __future__ import annotations

import pytest

from bulletin_board.entry import Slot, SlotTable
from gopa.contract.framing import party_id
from gopa.contract.organiser import Roll, RollEntry
from gopa.protocol.rules.findings import FirstInputs, FirstSeeds, SeenRoot, Views
from gopa.protocol.rules.mailbox import BATCH, CheckedAhead
from gopa.protocol.rules.roll_and_edges import Commits, Dealt, LazySequence, PackedRoll
from wire.errors import BackendError


def named(number: int) -> bytes:
    return number.to_bytes(32)


@pytest.mark.parametrize("hash_size", [0, 32])
def test_an_enrolment_is_its_roll(hash_size: int) -> None:
    parties = tuple(
        RollEntry(named(7 * each), named(100 + each), bytes([each]) * hash_size)
        for each in range(1, 6)
    )
    roll = Roll(parties, 9)
    enrolment = PackedRoll(roll)
    assert enrolment.roll() == roll
    assert enrolment == PackedRoll(roll)
    assert hash(enrolment) == hash(PackedRoll(roll))
    assert enrolment != PackedRoll(Roll(parties[1:], 9))
    assert enrolment[-1] == parties[-1]
    assert list(enrolment[1:3]) == list(parties[1:3])
    assert dict(enrolment.places) == {each.author: at for at, each in enumerate(parties)}
    assert named(7) in enrolment.places
    assert named(8) not in enrolment.places
    assert enrolment.places.get(named(8)) is None
    assert list(enrolment.ids) == [party_id(each.author) for each in parties]
    for at, each in enumerate(parties):
        shown = RollEntry(enrolment.author(at), enrolment.key(at), enrolment.nonce_hash(at))
        assert shown == each
    assert not PackedRoll(Roll((), 0))


def test_the_first_message_with_a_seed_counts() -> None:
    seeds = FirstSeeds()
    assert seeds.first(named(1)) is None
    seeds.note(named(1), 5, named(50))
    seeds.note(named(2), 6, named(60))
    seeds.note(named(1), 7, named(70))
    assert seeds.first(named(1)) == (5, named(50))
    assert seeds.first(named(2)) == (6, named(60))


def test_the_first_input_counts_until_a_logical_round_begins() -> None:
    inputs = FirstInputs()
    assert inputs.allows(named(1), named(10))
    inputs.note(named(1), named(10))
    inputs.note(named(1), named(11))
    assert inputs.allows(named(1), named(10))
    assert not inputs.allows(named(1), named(11))
    assert inputs.allows(named(2), named(11))
    inputs.clear()
    assert inputs.allows(named(1), named(11))
    inputs.note(named(1), b"")
    assert inputs.allows(named(1), b"")


def test_commits_say_who_is_listed_and_what_was_dealt() -> None:
    commits = Commits(4)
    commits.add(2, named(22))
    dealt = Dealt(named(1), b"s" * 64 + b"o" * 64, 9)
    commits.add(3, named(33), dealt)
    assert [place in commits for place in range(-1, 6)] == [0, 0, 0, 1, 1, 0, 0]
    assert (commits.self_mask(2), commits.self_mask(3)) == (named(22), named(33))
    assert commits.dealt(2) == Dealt(b"", b"")
    assert commits.dealt(3) == dealt
    assert [dealt.share(number) for number in (0, 1)] == [b"s" * 64, b"o" * 64]


def test_slots_differ_in_any_part() -> None:
    first = Slot(named(1), named(2), 3, 4, 5)
    others = [
        first._replace(session=named(2)),
        first._replace(author=named(1)),
        first._replace(phase=4),
        first._replace(round=3),
        first._replace(seq=2**32 - 1),
    ]
    table = SlotTable()
    assert table.find(first) is None
    for number, slot in enumerate([first, *others]):
        assert table.add(slot) == number
    for number, slot in enumerate([first, *others]):
        assert table.add(slot) == table.find(slot) == number
    assert len(table) == 6


def test_views_of_another_root_are_named_with_their_entries() -> None:
    views = Views()
    views.add(300, named(1), 7)
    views.add(2, named(9), 8)
    views.add(2, named(3), 9)
    views.add(300, named(1), 10)
    assert sorted(views.sizes()) == [2, 2, 300]
    assert views.strange({2: named(3), 300: named(1)}) == (SeenRoot(2, named(9), (8,)),)
    assert views.strange({2: named(3)}) == (
        SeenRoot(2, named(9), (8,)),
        SeenRoot(300, named(1), (7, 10)),
    )


def test_made_items_are_made_when_asked_for() -> None:
    asked: list[int] = []

    def square(number: int) -> int:
        asked.append(number)
        return number * number

    made = LazySequence(square, range(10))
    assert len(made) == 10
    assert asked == []
    assert made[3] == 9
    assert list(made[7:]) == [49, 64, 81]
    assert asked == [3, 7, 8, 9]


@pytest.mark.parametrize("background", [False, True])
def test_claims_are_checked_once_and_bad_ones_named(background: bool) -> None:
    seen: list[int] = []

    def check(claims: object) -> frozenset[int]:
        assert isinstance(claims, list)
        seen.extend(claims)
        return frozenset(at for at, claim in enumerate(claims) if claim % 100 == 7)

    ahead, count = CheckedAhead[int](check, background=background), 12 * BATCH + 9
    for number in range(count):
        ahead.add(named(number), number)
        assert len(ahead._waiting) <= BATCH
        ahead.flush_full_batches()
        assert len(ahead._waiting) < BATCH
    expected = {named(number) for number in range(7, count, 100)}
    assert ahead.bad() == ahead.bad() == expected
    assert seen == list(range(count))
    ahead.add(named(count), 107)
    assert ahead.bad() == {*expected, named(count)}


@pytest.mark.parametrize("background", [False, True])
def test_a_check_that_fails_is_no_check(background: bool) -> None:
    def check(_: object) -> frozenset[int]:
        raise BackendError

    ahead = CheckedAhead[int](check, background=background)
    for number in range(8 * BATCH):
        ahead.add(named(number), number)
        ahead.flush_full_batches()
    for _ in range(2):
        with pytest.raises(BackendError):
            ahead.bad()
