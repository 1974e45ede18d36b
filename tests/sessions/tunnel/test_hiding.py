"""Sums that a party does not ask for are not sent to it, and nothing else hides with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from bulletin_board import Entry, LogReader, Submission, TrustPolicy
from bulletin_board.entry import VERSION, sign_entry
from bulletin_board.reader import MemorySource
from bulletin_board.tree import leaf_hash, subset_proof
from gopa.contract.cutting import pieces_of
from gopa.contract.framing import Posted
from gopa.contract.framing import whole as assembled
from gopa.contract.organiser import RESULT, Removal, RemovalCause, ResultMessage
from gopa.contract.phases import Kind, Phase
from gopa.sessions.tunnel import Unguarded
from gopa.sessions.tunnel.hiding import hideable, restored
from gopa.sessions.tunnel.messages import (
    REPLY,
    REQUEST,
    HiddenEntry,
    Shown,
    TunnelEntry,
    TunnelRequest,
)
from gopa.sessions.tunnel.messages import (
    VERSION as REQUEST_VERSION,
)
from tests.board.tools import entry_bytes, log_key, memory_log
from tests.protocol.simulation.worlds import FEW, SIGNED
from tests.randomness import seeded
from tests.sessions.tunnel.test_checkpoints import EXACT
from tests.sessions.tunnel.worlds import Caller, Tunnelled
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof

LONG = 15_000
"""Four entries: the first and the last are shown, and between them are the sums."""

SIGNER = SigningKey.generate(seeded("organiser of a result"))


@cache
def held() -> Tunnelled:
    """Two rounds of long vectors; every call can be made again."""
    terms = replace(
        FEW, attempts=1, rounds=2, dimension=LONG, squared_sensitivity=400 * LONG, **EXACT
    )
    return Tunnelled(terms, SIGNED, guard=Unguarded(), sums=False).run()


def shown_result(caller: Caller) -> tuple[bytes, TunnelRequest]:
    """The state and the request of the call that hears the first result."""
    for state, request, _ in caller.seen:
        shown = REQUEST.decode(request)
        if any(isinstance(each, HiddenEntry) for each in shown.shown):
            return state, shown
    raise AssertionError


def chunks(shown: TunnelRequest) -> list[int]:
    """Where the entries of the result stand in a request."""
    found = []
    for place, each in enumerate(shown.shown):
        if isinstance(each, TunnelEntry):
            entry = Submission.decode(each.raw).entry
            if (entry.phase, entry.kind) == (Phase.ORGANISER, Kind.RESULT):
                found.append(place)
        elif isinstance(each, HiddenEntry):
            found.append(place)
    return found


@pytest.mark.slow
def test_rounds_go_on_without_their_sums() -> None:
    world = held()
    findings = world.findings()
    assert findings.faults == ()
    assert [each.sums is not None for each in findings.rounds] == [True, True]
    for caller in world.callers.values():
        sizes = [len(request) for _, request, _ in caller.seen]
        _, shown = shown_result(caller)
        first, *hidden, last = chunks(shown)
        assert [isinstance(shown.shown[at], HiddenEntry) for at in hidden] == [True] * 2
        assert not isinstance(shown.shown[first], HiddenEntry)
        assert not isinstance(shown.shown[last], HiddenEntry)
        assert max(sizes) < 8 * LONG / 2
        assert len(caller.state) < 8 * LONG / 2
        ended = caller.party().standing(caller.state).last
        assert ended is not None
        assert ended.logical == 1
        assert isinstance(ended.outcome, ResultMessage)
        assert ended.outcome.sums == ()


def changed(shown: TunnelRequest, at: int, other: Shown) -> TunnelRequest:
    """With another thing in one place, and a proof that the log has it there if it has."""
    made = (*shown.shown[:at], other, *shown.shown[at + 1 :])
    return _proved(replace(shown, shown=made))


def _proved(shown: TunnelRequest) -> TunnelRequest:
    reader = held().board.reader()
    size = int(shown.checkpoint.split(b"\n")[1])
    indexes = [each.index for each in shown.shown]
    return replace(shown, proof=tuple(subset_proof(indexes, size, reader.node)))


def hide(at: int) -> Callable[[TunnelRequest, list[int]], TunnelRequest]:
    """One entry of the result is shown by its leaf, which is right."""

    def lie(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
        place = places[at]
        each = shown.shown[place]
        assert isinstance(each, TunnelEntry)
        leaf = Submission.decode(each.raw).leaf
        return changed(shown, place, HiddenEntry(each.index, leaf))

    return lie


def cut_behind(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """What is behind the hidden entries is left out."""
    return _proved(replace(shown, shown=shown.shown[: places[-1]]))


def one_less(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """A hidden entry is left out."""
    at = places[2]
    return _proved(replace(shown, shown=shown.shown[:at] + shown.shown[at + 1 :]))


def alone(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """The first entry, which says how long the sums are, is left out."""
    at = places[0]
    return _proved(replace(shown, shown=shown.shown[:at] + shown.shown[at + 1 :]))


LIES = {
    "the first": hide(0),
    "the last": hide(-1),
    "no end": cut_behind,
    "one less": one_less,
    "no beginning": alone,
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_nothing_else_is_hidden_and_nobody_is_blamed(lie: str) -> None:
    caller = held().caller(0)
    state, shown = shown_result(caller)
    assert caller.party().answer(state, REQUEST.encode(_proved(shown)), caller.supply)
    with pytest.raises(InvalidProof):
        caller.party().answer(state, REQUEST.encode(LIES[lie](shown, chunks(shown))), caller.supply)


@pytest.mark.slow
def test_hidden_leaves_lead_to_what_is_shown_behind_them() -> None:
    """A host that shows another leaf would else have the organiser blamed."""
    world = held()
    made = [Submission.decode(raw) for raw in world.board.reader().entries()]
    said = [
        Posted(index, each.leaf, each.entry)
        for index, each in enumerate(made)
        if each.entry.kind == Kind.RESULT and each.entry.round == 1
    ]
    first, *between, last = said
    hidden = [HiddenEntry(each.index, each.leaf) for each in between]
    organiser = first.entry.author.data
    right = restored([first, *hidden, last], organiser)
    assert [each.leaf for each in right] == [each.leaf for each in said]
    wrong = replace(hidden[-1], leaf=hidden[0].leaf)
    later = replace(last, entry=replace(last.entry, round=2))
    lies: tuple[list[Posted | HiddenEntry], ...] = (
        [first, *hidden[:-1], wrong, last],
        [first, *hidden, later],
        [first, *hidden[1:], last],
        [first, *hidden, hidden[-1], last],
    )
    for lie in lies:
        with pytest.raises(InvalidProof):
            restored(lie, organiser)
    with pytest.raises(InvalidProof):
        restored([first, *hidden, last], bytes(32))
    assert restored([first, last], bytes(32)) == (first, last)


def of_sums(sums: Sequence[int], removed: int = 0) -> bytes:
    """The body of a result with these sums, and so many parties that are not in it."""
    gone = tuple(Removal(each, Phase.JOIN, RemovalCause.ABSENT) for each in range(removed))
    return RESULT.encode(ResultMessage(bytes(32), 5, tuple(sums), gone, 0, 1))


def entries_of(
    body: bytes,
    kind: Kind = Kind.RESULT,
    phase: Phase = Phase.ORGANISER,
    key: SigningKey = SIGNER,
    pieces: Sequence[bytes] | None = None,
) -> list[Posted]:
    """Such a message in its entries, with room in the log between them."""
    last = bytes(32)
    made: list[Posted] = []
    pieces = pieces or pieces_of(kind, body)
    for chunk, piece in enumerate(pieces):
        entry = Entry(
            VERSION, bytes(32), int(phase), int(kind), 1, chunk, len(pieces),
            key.public, chunk + 3, last, 0, bytes(32), piece,
        )  # fmt: skip
        last = Submission.decode(sign_entry(entry, key)).leaf
        made.append(Posted(3 * chunk, last, entry))
    return made


def hiding(shown: Sequence[Posted], hidden: set[int]) -> list[Posted | HiddenEntry]:
    """What is shown if these are hidden."""
    return [
        HiddenEntry(each.index, each.leaf) if place in hidden else each
        for place, each in enumerate(shown)
    ]


def test_who_was_left_out_and_other_messages_are_not_hidden() -> None:
    organiser, stranger = SIGNER.public.data, SigningKey.generate(seeded("a party"))
    many = entries_of(of_sums([1] * LONG, removed=20_000))
    assert len(many) == 6
    assert len(restored(hiding(many, {1, 2}), organiser)) == 6
    for place in (0, 3, 4, 5):
        with pytest.raises(InvalidProof):
            restored(hiding(many, {place}), organiser)
    body = of_sums([1] * LONG)
    assert restored(hiding(entries_of(body), {1, 2}), organiser)
    lies = [entries_of(body, kind) for kind in Kind if kind != Kind.RESULT]
    lies += [entries_of(body, phase=phase) for phase in Phase if phase != Phase.ORGANISER]
    lies += [entries_of(body, key=stranger)]
    # As if nothing but sums came behind the first entry, and more than the message has.
    longer = entries_of(body[:40] + (2**23).to_bytes(3) + body[43:80_000])
    lies += [longer]
    assert hideable(longer, organiser) == {longer[1].index}  # the end is shown, and is no result's
    assert hideable(many, organiser) == {many[1].index, many[2].index}
    assert hideable(entries_of(body, key=stranger), organiser) == set()
    assert hideable(many[:-1], organiser) == set()
    for lie in lies:
        assert restored(lie, organiser) == tuple(lie)
        with pytest.raises(InvalidProof):
            restored(hiding(lie, {2}), organiser)
        with pytest.raises(InvalidProof):
            restored(hiding(many[:1], set()) + hiding(lie, {2})[1:], organiser)


def test_what_others_say_between_hidden_entries_changes_nothing() -> None:
    organiser, stranger = SIGNER.public.data, SigningKey.generate(seeded("a party"))
    first, *rest = entries_of(of_sums([1] * LONG))
    other = entries_of(of_sums([2]), Kind.PUBLISH, Phase.PUBLISH, stranger)[0]
    again = entries_of(of_sums([2]), Kind.RESULT, Phase.ORGANISER, stranger)[0]
    ours = entries_of(of_sums([2]), Kind.PUBLISH, Phase.PUBLISH)[0]
    said = [replace(each, index=at) for at, each in ((1, other), (2, again), (4, ours))]
    shown = hiding([first, *said[:2], rest[0], said[2], *rest[1:]], {3, 5})
    made = restored(shown, organiser)
    assert [each.leaf for each in made if each not in said] == [
        each.leaf for each in (first, *rest)
    ]
    assert [each for each in made if each in said] == said
    for body in (b"next", of_sums([1] * LONG)):  # what the organiser says behind the result
        behind = entries_of(body, Kind.OPEN)
        both = restored([*hiding([first, *rest], {1, 2}), *behind], organiser)
        assert [each.leaf for each in both] == [each.leaf for each in (first, *rest, *behind)]
    with pytest.raises(InvalidProof):
        restored([*hiding([first, *rest], {1, 2})[:3], *behind[3:]], organiser)
    longer = entries_of(of_sums([1] * LONG, removed=20_000))[4]
    assert len(restored([*hiding([first, *rest], {1, 2}), longer], organiser)) == 5


def test_what_is_hidden_is_every_sum_and_nothing_else() -> None:
    organiser = SIGNER.public.data
    for value in (-(2**63), -1, 0, 1, 2**63 - 1):
        shown = entries_of(of_sums([value] * LONG, removed=3))
        whole = RESULT.decode(assembled(tuple(shown)).body)
        assert whole.sums == (value,) * LONG
        hidden = hideable(shown, organiser)
        assert hidden == {each.index for each in shown[1:-1]}
        made = restored(hiding(shown, {1, 2}), organiser)
        assert [each.leaf for each in made] == [each.leaf for each in shown]
        assert [each.entry for each in made[::3]] == [each.entry for each in shown[::3]]
        assert RESULT.decode(assembled(made).body) == replace(whole, sums=(0,) * LONG)


def test_a_result_that_is_cut_in_another_way_is_shown_whole() -> None:
    """Else a party that is shown a part of it would go on with what others stop at."""
    organiser, body = SIGNER.public.data, of_sums([1] * LONG)
    pieces = [body[:60_000], body[60_000:120_000], body[120_000:]]
    shown = entries_of(body, pieces=pieces)
    assert hideable(shown, organiser) == set()
    assert restored(shown, organiser) == tuple(shown)
    with pytest.raises(InvalidProof):
        restored(hiding(shown, {1}), organiser)


def log_of(raws: Sequence[bytes]) -> LogReader:
    """A log of exactly these entries: a board can log anything."""
    sequencer, files = memory_log()
    sequencer.append(list(map(Submission.decode, raws)))
    return LogReader.open(MemorySource(files), TrustPolicy.single_log(log_key()))


def request_for(log: LogReader, seen: int, shown: Sequence[Shown]) -> bytes:
    """Shows some of a log to a party that has seen so many entries of it."""
    return REQUEST.encode(
        TunnelRequest(
            version=REQUEST_VERSION,
            session=held().manifest.session,
            checkpoint=log.signed.to_bytes(),
            consistency=tuple(log.consistency_proof(seen)) if seen < log.size else (),
            shown=tuple(shown),
            proof=tuple(subset_proof([each.index for each in shown], log.size, log.node)),
        )
    )


@pytest.mark.slow
def test_a_leaf_of_somebody_else_among_the_hidden_ones_blames_nobody() -> None:
    """A party that knows the first two entries is told that a stranger's is the second of them."""
    caller, raws = held().caller(0), held().raws()
    state, told = shown_result(caller)
    _, second, third, last = chunks(told)
    at = told.shown[second].index
    rest, end = raws[at + 1], raws[at + 2]
    assert (told.shown[third].index, told.shown[last].index) == (at + 1, at + 2)
    seen = REPLY.decode(caller.party().position(state)).size
    before = log_of(raws[: at + 1])
    earlier = [each for each in told.shown if each.index < at]
    shown = [*earlier, TunnelEntry(at, raws[at])]
    state, _ = caller.party().answer(state, request_for(before, seen, shown), caller.supply)
    after = log_of([*raws[: at + 1], entry_bytes(0), rest, end])
    middle = HiddenEntry(at + 2, leaf_hash(rest))
    right: list[Shown] = [
        TunnelEntry(at - 1, raws[at - 1]),
        HiddenEntry(at, leaf_hash(raws[at])),
        middle,
    ]
    lie: list[Shown] = [right[0], HiddenEntry(at + 1, leaf_hash(entry_bytes(0))), middle]
    ended, _ = caller.party().answer(
        state, request_for(after, at + 1, [*right, TunnelEntry(at + 3, end)]), caller.supply
    )
    found = caller.party().standing(ended).last
    assert found is not None
    assert isinstance(found.outcome, ResultMessage)
    with pytest.raises(InvalidProof):
        caller.party().answer(
            state, request_for(after, at + 1, [*lie, TunnelEntry(at + 3, end)]), caller.supply
        )


@pytest.mark.slow
def test_what_is_hidden_may_be_shown_and_then_a_party_that_asks_has_the_sums() -> None:
    world, caller = held(), held().caller(0)
    state, shown = shown_result(caller)
    world.sums = True
    try:
        asking = world.maker(0)()
    finally:
        world.sums = False
    with pytest.raises(InvalidProof):
        asking.answer(state, REQUEST.encode(shown), caller.supply)
    before = asking.standing(caller.state).last  # another setting finds no sums either
    assert before is not None
    assert isinstance(before.outcome, ResultMessage)
    assert before.outcome.sums == ()
    entries = list(world.board.reader().entries())
    whole = tuple(
        TunnelEntry(each.index, entries[each.index]) if isinstance(each, HiddenEntry) else each
        for each in shown.shown
    )
    following, _ = asking.answer(state, REQUEST.encode(replace(shown, shown=whole)), caller.supply)
    ended = asking.standing(following).last
    assert ended is not None
    assert isinstance(ended.outcome, ResultMessage)
    assert ended.outcome.sums == world.findings().rounds[0].sums
