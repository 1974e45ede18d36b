"""A state is used once: lost, old, foreign or damaged ones are refused, and nothing is said twice.

Each test holds a whole session first, in which every state was accepted.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Thread

import pytest

from bulletin_board import Submission
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.sessions.organising import Over
from gopa.sessions.tunnel import (
    FileGuard,
    Guard,
    MemoryGuard,
    StateLost,
    StateOfAnother,
    StateReplayed,
    Supply,
    TunnelHost,
    TunnelInput,
    Unguarded,
)
from gopa.sessions.tunnel.messages import REPLY
from gopa.sessions.tunnel.packing import unpack
from gopa.sessions.vault import (
    SealingKey,
    VaultBroken,
    VaultDamaged,
    VaultError,
    VaultExposed,
    VaultInUse,
)
from gopa.sessions.vault.guard import MARK, Mark, last_mark
from gopa.sessions.vault.private_files import Ownership, PrivateFiles
from tests.board.faults import Killed
from tests.protocol.simulation.worlds import FEW, SIGNED
from tests.sessions.tunnel.worlds import Tunnelled, slots
from wire.errors import GopaError, InvalidProof, UsageError
from wire.secret import SecretBytes

ONCE = replace(FEW, rounds=1)


TWICE = replace(FEW, rounds=2, attempts=1, charged=0)


@cache
def held() -> Tunnelled:
    """A session that is over; its parties are called only with what is refused."""
    world = Tunnelled(TWICE, SIGNED).run()
    assert world.findings().faults == ()
    assert world.findings().rounds[0].sums is not None
    return world


def posts(replies: Sequence[bytes]) -> list[bytes]:
    return [raw for reply in replies for raw in REPLY.decode(reply).posts]


def test_the_last_call_may_be_repeated_word_for_word() -> None:
    caller = held().caller(0)
    state, request, reply = caller.seen[-1]
    assert caller.party().answer(state, request, caller.supply) == (caller.state, reply)


@pytest.mark.parametrize("age", range(2, 7))
def test_a_state_from_before_is_refused(age: int) -> None:
    caller = held().caller(0)
    state, request, _ = caller.seen[-age]
    for shown in (request, caller.seen[-1][1]):
        with pytest.raises(StateReplayed):
            caller.party().answer(state, shown, caller.supply)
        with pytest.raises(StateReplayed):
            caller.party().leave(state)


def test_a_lost_state_is_not_made_anew() -> None:
    caller = held().caller(0)
    with pytest.raises(StateLost):
        caller.party().answer(b"", caller.seen[0][1], caller.supply)
    with pytest.raises(StateLost):
        caller.party().begin()


def test_the_state_of_another_party_or_session_is_refused() -> None:
    caller, other = held().caller(0), held().caller(1)
    with pytest.raises(StateOfAnother):
        caller.party().answer(other.state, caller.seen[-1][1])
    foreign = Tunnelled(ONCE, SIGNED)
    with pytest.raises(StateOfAnother):
        foreign.caller(0).party().answer(caller.state, caller.seen[-1][1])
    # With the name of its owner changed it does not open.
    forged = caller.party().key.join(other.state.split(other.party().key, 1))
    with pytest.raises(VaultDamaged):
        caller.party().answer(forged, caller.seen[-1][1])


def test_every_byte_of_a_state_is_sealed() -> None:
    caller, source = held().caller(0), random.Random(1)
    places = {*range(100), *source.choices(range(len(caller.state)), k=100)}
    for place in sorted(places):
        damaged = bytearray(caller.state)
        damaged[place] ^= 1 << source.randrange(8)
        with pytest.raises((VaultDamaged, StateOfAnother)):
            caller.party().standing(bytes(damaged))
    for cut in (caller.state[:-1], caller.state + b"\0", caller.state[:90], b"x"):
        with pytest.raises(VaultDamaged):
            caller.party().standing(cut)
    assert caller.party().standing(caller.state).over
    other = SealingKey(SecretBytes(bytes(32)))
    with pytest.raises(VaultDamaged):
        held().maker(0, secret=other)().standing(caller.state)


def five_calls(seen: list[tuple[bytes, bytes, bytes]]) -> bool:
    return len(seen) == 5


def giving(value: float) -> Supply:
    return lambda _: TunnelInput(value)


def test_a_state_tells_nothing_of_a_value_but_its_length() -> None:
    states = []
    for value in (0.0, 1.0):
        world = Tunnelled(ONCE, SIGNED)
        world.caller(0).supply = giving(value)
        seen = world.caller(0).seen
        world.run(partial(five_calls, seen))
        states.append([len(each) for call in seen for each in call])
        assert world.caller(0).party().standing(world.caller(0).state).part is None
    assert states[0] == states[1]


def test_of_two_hosts_with_one_state_one_gets_an_answer(tmp_path: Path) -> None:
    world = Tunnelled(ONCE, SIGNED, guard=FileGuard(tmp_path / "guard"))
    world.run(lambda: len(world.caller(0).seen) == 1)
    caller = world.caller(0)
    older = caller.seen[-1][1]
    newer = world.next_request(0)
    rivals = [older, newer, newer]
    answers: list[object] = []

    def ask(number: int) -> None:
        try:
            supply = caller.supply if number == 1 else lambda _: TunnelInput(0.95)
            answers.append(caller.party().answer(caller.state, rivals[number], supply))
        except GopaError as error:
            answers.append(error)

    threads = [Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [each for each in answers if isinstance(each, tuple)]
    assert len(said) == 1
    refused = [each for each in answers if not isinstance(each, tuple)]
    assert all(isinstance(each, VaultError | InvalidProof) for each in refused)
    assert caller.party().standing(said[0][0]).counter == 1


def hostile(guard: Guard) -> tuple[Tunnelled, list[bytes]]:
    """A session whose host calls a party with old states, old requests and other values, too.

    Returns everything that the party said, to whichever call.
    """
    world = Tunnelled(ONCE, SIGNED, guard=guard)
    source, replies = random.Random(3), list[bytes]()
    caller = world.caller(0)

    def tried(state: bytes, request: bytes, value: float) -> None:
        with suppress(GopaError):
            party = caller.party()
            replies.append(party.answer(state, request, lambda _: TunnelInput(value))[1])

    def first(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        made = world.send(requests)
        if caller.party().key in made:
            states, shown = [[each[at] for each in caller.seen] for at in (0, 1)]
            tried(states[-1], shown[-1], 1.0)
            for _ in range(6):
                tried(source.choice(states), source.choice(shown), source.choice([0.0, 1.0]))
        return made

    everybody = tuple(world.callers)
    for _ in range(40):
        over = isinstance(world.act(), Over)
        if not world.host.turn(everybody, first) and over:
            break
    return world, posts([*replies, *(reply for *_, reply in caller.seen)])


def test_whatever_a_host_repeats_a_party_says_one_thing_for_each_slot() -> None:
    world, said = hostile(MemoryGuard())
    found = slots(said)
    assert {Phase.JOIN, Phase.COINS, Phase.COMMIT} <= {slot.phase for slot in found}
    assert all(len(each) == 1 for each in found.values())
    assert world.findings().faults == ()


def test_without_a_guard_a_host_gets_two_statements_for_a_slot() -> None:
    _, said = hostile(Unguarded())
    assert any(len(each) > 1 for each in slots(said).values())


def test_a_party_that_lost_its_state_sits_out_and_comes_back() -> None:
    world = Tunnelled(TWICE, SIGNED)
    caller = world.caller(0)

    def committed() -> bool:
        return any(Submission.decode(raw).entry.phase == Phase.COMMIT for raw in world.raws())

    world.run(committed)
    old = caller.state
    caller.state = caller.party().begin(lost=True)
    # Where it stands now the host learns from it.
    world.host.take(caller.party().key, caller.party().position(caller.state))
    world.run()
    found = world.findings()
    assert found.faults == ()
    assert [0 in (each.final or ()) for each in found.rounds] == [False, True]
    with pytest.raises(StateReplayed):
        caller.party().answer(old, caller.seen[-1][1])
    assert all(len(each) == 1 for each in slots(posts([r for *_, r in caller.seen])).values())
    assert caller.party().standing(caller.state).error is None


def test_a_party_that_begins_again_says_nothing_where_it_has_spoken() -> None:
    """Also to a host that hides from it what it has said."""
    world = Tunnelled(ONCE, SIGNED)
    caller, mine = world.caller(0), world.caller(0).party().key

    def joined() -> bool:
        return any(Submission.decode(raw).entry.author.data == mine for raw in world.raws())

    world.run(joined)
    hiding = TunnelHost(world.board, world.manifest.session)
    hiding.refresh()
    hiding._entries = [each for each in hiding._entries if each.entry.author.data != mine]
    request = unpack(hiding.request(mine) or b"", world.dictionaries)
    unguarded = world.maker(0, Unguarded())().answer(b"", request, giving(0.95))[1]
    assert len(slots(posts([unguarded]))) == 1
    again = caller.party().answer(caller.party().begin(lost=True), request, giving(0.95))[1]
    assert posts([again]) == []
    assert not REPLY.decode(again).needs_value


def test_a_first_call_that_is_refused_leaves_nothing_behind() -> None:
    world = Tunnelled(TWICE, SIGNED)
    party, (_, request, reply) = world.caller(0).party(), held().caller(0).seen[0]
    for wrong in (b"", b"no request", request[:-1]):
        with pytest.raises(GopaError):
            party.answer(b"", wrong)
    assert world.guard.last(f"{world.manifest.session.hex()}-{party.key.hex()}") == b""
    assert party.answer(b"", request)[1] == reply


def test_a_party_that_lost_its_state_before_it_gave_a_value_loses_no_round() -> None:
    world = Tunnelled(ONCE, SIGNED)
    caller = world.caller(0)
    caller.party().begin()
    with pytest.raises(StateLost):
        caller.party().begin()
    caller.state = caller.party().begin(lost=True)
    world.run()
    assert world.findings().rounds[0].final == tuple(range(5))


def test_what_was_lost_with_its_guard_is_not_made_anew() -> None:
    """The guard that was emptied does not know to which rounds the party has given a value."""
    party = held().maker(0, MemoryGuard())()
    with pytest.raises(StateLost):
        party.begin(lost=True)
    assert party.standing(party.begin()).counter == 0
    assert party.standing(party.begin(lost=True)).counter == 1


def test_a_party_that_leaves_keeps_no_secret_and_takes_part_in_the_next_round() -> None:
    world = Tunnelled(TWICE, SIGNED)
    caller = world.caller(0)
    world.run(lambda: len(caller.seen) == 4)
    assert caller.party().standing(caller.state).part is None
    longer, caller.state = caller.state, caller.party().leave(caller.state)
    assert len(caller.state) < len(longer) / 2
    assert caller.party().standing(caller.state).part is Part.TIMED_OUT
    newer = world.next_request(0)
    with pytest.raises(StateReplayed):
        caller.party().answer(longer, newer)
    world.run()
    found = world.findings()
    assert found.faults == ()
    assert 0 not in (found.rounds[0].final or ())
    assert 0 in (found.rounds[-1].final or ())


def test_a_state_does_not_grow_from_round_to_round() -> None:
    world = held()
    sizes = [len(state) for state, *_ in world.caller(0).seen]
    first, second = sizes[1:8], sizes[8:]
    assert min(map(len, (first, second))) == 7
    assert max(first) > 2_000
    assert max(second) < max(first) + 100
    assert len(world.caller(0).state) < 1_500


def test_a_party_without_a_mark_is_refused() -> None:
    """A guard that was put back from a backup, or is not the party's."""
    caller = held().caller(0)
    with pytest.raises(StateReplayed):
        held().maker(0, MemoryGuard())().answer(caller.state, caller.seen[-1][1])
    with pytest.raises(VaultError):
        held().maker(0, MemoryGuard())().leave(caller.state)


PLACE = "ab" * 32


def mark(counter: int) -> bytes:
    return MARK.encode(Mark(1, counter, 0, bytes(32)))


def guards(root: Path) -> list[Guard]:
    return [MemoryGuard(), FileGuard(root / "guard")]


def test_a_mark_replaces_the_one_that_was_read(tmp_path: Path) -> None:
    for guard in guards(tmp_path):
        assert guard.last(PLACE) == b""
        assert guard.commit(PLACE, b"", mark(0))
        assert guard.commit(PLACE, mark(0), mark(1))
        for old in (b"", mark(0), mark(2)):
            assert not guard.commit(PLACE, old, mark(3))
        assert last_mark(guard, PLACE) == (mark(1), Mark(1, 1, 0, bytes(32)))
        assert guard.last("cd") == b""
    assert FileGuard(tmp_path / "guard").last(PLACE) == mark(1)
    nothing = Unguarded()
    assert nothing.commit(PLACE, mark(7), mark(3))
    assert nothing.last(PLACE) == b""


def test_other_places_are_no_names_of_files(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    for place in ("../ab", "", "AB", "a/b", "x" * 300):
        with pytest.raises(UsageError):
            guard.commit(place, b"", mark(0))
        with pytest.raises(UsageError):
            guard.last(place)


def test_a_guard_that_others_can_write_is_refused(tmp_path: Path) -> None:
    FileGuard(tmp_path / "guard")
    (tmp_path / "guard").chmod(0o777)
    with pytest.raises(VaultExposed):
        FileGuard(tmp_path / "guard")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "file").chmod(0o600)
    with pytest.raises(VaultBroken):
        FileGuard(tmp_path / "file").last(PLACE)


@pytest.mark.parametrize("data", [b"x", mark(0)[:-1], mark(0) + b"\0", bytes(2) + mark(0)[2:]])
def test_a_damaged_mark_is_no_fresh_start(data: bytes, tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    guard.commit(PLACE, b"", mark(0))
    (found,) = (tmp_path / "guard").glob("*.mark")
    assert last_mark(guard, PLACE)[1] is not None
    found.write_bytes(data)
    with pytest.raises(VaultDamaged):
        last_mark(guard, PLACE)


class Dying(PrivateFiles):
    """Dies at one call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def create(self, path: Path) -> int:
        self._count()
        return super().create(path)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        self._count()
        return super().write(handle, data[:7])

    def sync(self, handle: int) -> None:
        self._count()
        super().sync(handle)

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self._count()
        super().sync_directory(path)


def test_whenever_it_dies_a_guard_knows_the_old_mark_or_the_new_one(tmp_path: Path) -> None:
    at, found = 0, set()
    while True:
        guard = FileGuard(tmp_path / f"{at}")
        assert guard.commit(PLACE, b"", mark(0))
        dying = FileGuard(tmp_path / f"{at}", Dying(at))
        try:
            assert dying.commit(PLACE, mark(0), mark(1))
            break
        except Killed:
            last = guard.last(PLACE)
            found.add(last)
            assert last in {mark(0), mark(1)}
            assert guard.commit(PLACE, last, mark(2))
        at += 1
    assert found == {mark(0), mark(1)}


def test_while_one_process_commits_another_waits(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    assert guard.commit(PLACE, b"", mark(0))
    owned = Ownership(tmp_path / "guard" / f"{PLACE}.lock")
    with pytest.raises(VaultInUse):
        guard.commit(PLACE, mark(0), mark(1))
    owned.release()
    assert guard.commit(PLACE, mark(0), mark(1))


def _race(root: str, number: int, won: multiprocessing.Queue[int]) -> None:
    guard = FileGuard(root)
    while True:
        try:
            if guard.commit(PLACE, mark(0), mark(number)):
                won.put(number)
        except VaultInUse:
            continue
        return


def test_of_two_processes_one_commits(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    assert guard.commit(PLACE, b"", mark(0))
    context = multiprocessing.get_context("fork")
    won: multiprocessing.Queue[int] = context.Queue()
    racing = [
        context.Process(target=_race, args=(str(tmp_path / "guard"), number, won))
        for number in (1, 2)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join(20)
    assert guard.last(PLACE) == mark(won.get(timeout=5))
    assert won.empty()
