"""A request costs what is new in it, and what is packed is bounded before it is unpacked."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from dataclasses import replace
from functools import cache

import pytest

from bulletin_board import Submission
from gopa.protocol.organiser import SessionSetting
from gopa.sessions.tunnel import TunnelHost, Unguarded
from gopa.sessions.tunnel.messages import REQUEST, TunnelEntry, TunnelRequest
from gopa.sessions.tunnel.packing import (
    GROWTH,
    PACKED,
    PACKED_VERSION,
    ROOM,
    PackedMessage,
    deflated,
    pack,
    unpack,
)
from tests.protocol.simulation.worlds import FEW, SIGNED
from tests.sessions.tunnel.test_checkpoints import EXACT
from tests.sessions.tunnel.test_hiding import held as held_board
from tests.sessions.tunnel.worlds import Tunnelled
from wire.errors import MalformedMessage, UsageError

SESSION = bytes([1]) * 32


KNOWN = bytes(range(200))


@cache
def held() -> Tunnelled:
    return Tunnelled(replace(FEW, rounds=1), guard=Unguarded(), packed=True).run()


def frame(data: bytes, size: int | None = None, known: bytes = b"", behind: bytes = b"") -> bytes:
    made = zlib.compressobj(9, zdict=known) if known else zlib.compressobj(9)
    packed = made.compress(data) + made.flush() + behind
    return PACKED.encode(PackedMessage(PACKED_VERSION, len(data) if size is None else size, packed))


PLAIN = REQUEST.encode(TunnelRequest(3, SESSION, b"note"))


@pytest.mark.parametrize(("setting", "most"), [(None, 13_000), (SIGNED, 9_000)])
def test_a_round_of_five_costs_what_the_page_says(
    setting: SessionSetting | None, most: int
) -> None:
    """The manifest comes before it; requests, replies and all proofs are counted."""
    world = Tunnelled(replace(FEW, rounds=1), setting, packed=True).run()
    assert world.findings().faults == ()
    for caller in world.callers.values():
        assert len(caller.seen) == 8
        assert sum(len(shown) + len(reply) for _, shown, reply in caller.seen) < most


def test_a_host_packs_with_what_the_party_has_heard() -> None:
    dictionaries = held().dictionaries
    (_, *firsts), *others = held().caller(0).seen
    for message in firsts:
        assert unpack(message, dictionaries[1:]) == unpack(message, dictionaries)
    for _, *messages in others:
        for message in messages:
            assert len(message) < len(unpack(message, dictionaries))
            for other in ((), dictionaries[1:], (dictionaries[0][1:], b"", KNOWN)):
                with pytest.raises(MalformedMessage) as caught:
                    unpack(message, other)
                assert caught.value.field == "packed"


def test_a_call_is_the_same_however_it_is_packed() -> None:
    """A host that packs in another way gets no second answer; it is answered as it asked."""
    world = Tunnelled(replace(FEW, rounds=1), SIGNED, packed=True).run()
    caller, (state, shown, reply) = world.caller(0), world.caller(0).seen[-1]
    plain = unpack(shown, world.dictionaries)
    for each in (shown, frame(plain), *(frame(plain, known=k) for k in world.dictionaries)):
        assert caller.party().answer(state, each) == (caller.state, reply)
    told = unpack(reply, world.dictionaries)
    assert caller.party().answer(state, plain) == (caller.state, told)
    assert plain != shown
    assert told != reply


def test_a_host_takes_replies_packed_and_plain() -> None:
    """Also one that has just begun, and knows of the party nothing yet."""
    caller = held().caller(0)
    for _, _, reply in caller.seen:
        plain, host = unpack(reply, held().dictionaries), started()
        assert host.take(caller.party().key, reply) == host.take(caller.party().key, plain)
    for wrong in (frame(plain, known=KNOWN), frame(plain[:-1]), frame(plain, 1)):
        with pytest.raises(MalformedMessage):
            started().take(caller.party().key, wrong)


def started() -> TunnelHost:
    host = TunnelHost(held().board, held().manifest.session)
    host.refresh()
    return host


def test_exactly_one_stream_of_the_size_that_is_said() -> None:
    assert unpack(PLAIN, [b""]) == PLAIN
    assert unpack(frame(PLAIN), [b""]) == unpack(frame(PLAIN), [KNOWN]) == PLAIN
    assert unpack(frame(PLAIN, known=KNOWN), [SESSION, KNOWN]) == PLAIN
    good = PACKED.decode(frame(PLAIN))
    cut = [PACKED.encode(replace(good, packed=good.packed[:at])) for at in (1, 10, -1, -5)]
    for wrong in (
        *cut,
        frame(PLAIN, len(PLAIN) - 1),
        frame(PLAIN, len(PLAIN) + 1),
        frame(PLAIN, behind=b"\0"),
        frame(PLAIN, behind=zlib.compress(b"")),
        frame(PLAIN)[:-1],
        frame(PLAIN) + b"\0",
        b"\0\2",
    ):
        with pytest.raises(MalformedMessage):
            unpack(wrong, [b""])
    party = held().caller(0).party()
    for inside in (PLAIN[:-1], PLAIN + b"\0", frame(PLAIN), b""):
        assert unpack(frame(inside), [b""]) == inside
        with pytest.raises(MalformedMessage):
            party.answer(b"", frame(inside))


def test_a_few_bytes_do_not_fill_the_memory_of_a_party() -> None:
    data = bytes(2**26)
    packed = zlib.compress(data, 9)
    most = GROWTH * len(packed) + ROOM
    assert most < len(data) / 50
    PackedMessage(PACKED_VERSION, most, packed)
    with pytest.raises(UsageError) as refused:
        PackedMessage(PACKED_VERSION, most + 1, packed)
    assert refused.value.field == "size"
    honest = PACKED.encode(PackedMessage(PACKED_VERSION, most, packed))
    tracemalloc.start()
    for size in (most, len(data)):  # both lie: the one says too little, the other too much
        with pytest.raises(MalformedMessage):
            unpack(honest[:2] + size.to_bytes(4) + honest[6:], [b""])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * most


def test_what_shrinks_too_well_or_is_large_goes_as_it_is() -> None:
    """A stranger may fill a log with zeros; a party has to take it all the same."""
    for whole in (bytes(10**6), random.Random(1).randbytes(2**21)):
        assert pack(whole, KNOWN) == whole
    assert len(pack(bytes(60_000), KNOWN)) < 200
    assert unpack(pack(bytes(60_000), KNOWN), [KNOWN]) == bytes(60_000)


def test_parts_are_packed_once_and_stand_in_any_message() -> None:
    """A standard decoder reads the stream; what stands around a part is packed by itself."""
    chance = random.Random(2)
    like = b"".join(chance.randrange(2**20).to_bytes(8) for _ in range(3_000))
    first, second = deflated(like), deflated(like[:-8] + bytes(8))
    assert first is not None
    assert second is not None
    assert len(first.packed) < len(like) / 2
    assert deflated(chance.randbytes(20_000)) is None
    equal = deflated(bytes(200_000))
    assert equal is not None
    assert unpack(pack(equal.plain, KNOWN, [equal]), [KNOWN]) == equal.plain
    assert len(pack(equal.plain, KNOWN, [equal])) < len(equal.plain) / 7
    beside = [b"", KNOWN, like[:64], chance.randbytes(50_000)]
    for between in beside:
        whole = KNOWN + like[:64] + first.plain + between + second.plain + between
        for dictionary in (KNOWN, SESSION):
            packed = pack(whole, dictionary, [first, second])
            assert len(packed) < len(first.packed) + len(second.packed) + 2 * len(between) + 700
            assert unpack(packed, [dictionary]) == whole
            with pytest.raises(MalformedMessage):
                unpack(packed[:-1] + bytes([packed[-1] ^ 1]), [dictionary])


def test_sums_of_long_vectors_go_down_at_half_their_size() -> None:
    """Every party is shown them, with eight bytes each; the host packs them once for all."""
    long = replace(FEW, rounds=1, attempts=1, dimension=2_400, squared_sensitivity=960_000, **EXACT)
    world = Tunnelled(long, SIGNED, packed=True).run()
    assert world.findings().faults == ()
    for caller in world.callers.values():
        _, shown, _ = caller.seen[-1]
        plain = unpack(shown, world.dictionaries)
        assert len(plain) > 8 * 2_400
        assert len(shown) < 0.6 * len(plain)
        large = [e.raw for e in REQUEST.decode(plain).shown if isinstance(e, TunnelEntry)]
        (part,) = [deflated(raw) for raw in large if len(raw) > 8 * 2_000]
        assert part is not None
        assert part.packed in shown


@pytest.mark.slow
def test_what_was_dropped_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = held_board()
    board, raws = world.board, list(world.board.reader().entries())
    expected = [(at, raw) for at, raw in enumerate(raws)]
    assert [(posted.index, raw) for posted, raw in board.posted(0)] == expected
    kept = dict(board._recent)
    for gone in (range(len(raws)), range(3), range(2, 5), (1, 4, 6)):
        left = {at: kept[at] for at in kept if at not in gone}
        monkeypatch.setattr(board, "_recent", left)
        found = board.posted(1)
        assert [(posted.index, raw) for posted, raw in found] == expected[1:]
        assert [posted.leaf for posted, _ in found] == [
            Submission.decode(raw).leaf for raw in raws[1:]
        ]
