"""A party believes of a request what proves itself, and a lie changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from bulletin_board import Submission, sign_entry
from bulletin_board.client.forks import verify_fork
from bulletin_board.note import Checkpoint, KeyKind, cosign, open_checkpoint, sign_note
from bulletin_board.tree import (
    consistency_proof,
    leaf_hash,
    node_hash,
    subset_proof,
    tree_root,
)
from gopa.contract.framing import Posted
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch, Refusal
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.tunnel import TunnelHost, Unguarded
from gopa.sessions.tunnel import call as call_module
from gopa.sessions.tunnel import host as host_module
from gopa.sessions.tunnel.messages import (
    REPLY,
    REQUEST,
    VERSION,
    OwnEntry,
    TunnelEntry,
    TunnelRequest,
    Want,
)
from gopa.sessions.tunnel.packing import unpack
from tests.board.tools import entry_bytes, log_key, signer
from tests.protocol.simulation.worlds import FEW, SIGNED
from tests.sessions.tunnel.worlds import Caller, Tunnelled
from wire.errors import (
    FaultyBoard,
    FaultyParty,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    SuspectedPartyOrBoard,
    UsageError,
)
from zkp.noise import NoNoise

ONCE = replace(FEW, rounds=1)
LYING = InvalidProof, MalformedMessage, InvalidSignature


@cache
def held() -> Tunnelled:
    """A session that is over. Nothing guards its parties: every call can be made again."""
    world = Tunnelled(ONCE, SIGNED, guard=Unguarded()).run()
    assert world.findings().faults == ()
    return world


def call(number: int) -> tuple[Caller, bytes, TunnelRequest]:
    """Call `number` of party 0; it is answered as it was before."""
    caller = held().caller(0)
    state, request, reply = caller.seen[number]
    state = state or caller.party().begin()
    assert caller.party().answer(state, request, caller.supply)[1] == reply
    return caller, state, REQUEST.decode(request)


def unpacked(request: bytes, world: Tunnelled | None = None) -> TunnelRequest:
    return REQUEST.decode(unpack(request, (world or held()).dictionaries))


def without(at: int) -> Callable[[TunnelRequest], TunnelRequest]:
    return lambda shown: replace(shown, shown=shown.shown[:at] + shown.shown[at + 1 :])


def resigned(shown: TunnelRequest) -> TunnelRequest:
    """An entry whose signature is another one."""
    entries = [
        replace(each, raw=each.raw[:-1] + bytes([each.raw[-1] ^ 1]))
        if isinstance(each, TunnelEntry)
        else each
        for each in shown.shown
    ]
    return replace(shown, shown=tuple(entries))


def foreign(shown: TunnelRequest) -> TunnelRequest:
    first = shown.shown[0]
    return replace(shown, shown=(TunnelEntry(first.index, entry_bytes(0)), *shown.shown[1:]))


LIES: dict[str, Callable[[TunnelRequest], TunnelRequest]] = {
    "another session": lambda shown: replace(shown, session=bytes(32)),
    "no consistency": lambda shown: replace(shown, consistency=()),
    "more consistency": lambda shown: replace(shown, consistency=(*shown.consistency, bytes(32))),
    "an entry less": without(0),
    "a proof less": lambda shown: replace(shown, proof=shown.proof[1:]),
    "a cut less": lambda shown: replace(shown, cuts=shown.cuts[1:]),
    "a cut more": lambda shown: replace(shown, cuts=(1, *shown.cuts)),
    "a cut twice": lambda shown: replace(shown, cuts=shown.cuts * 2),
    "a cut of nothing": lambda shown: replace(shown, cuts=(0, *shown.cuts)),
    "a cut beyond the log": lambda shown: replace(shown, cuts=(*shown.cuts, 2**40)),
    "another signature": resigned,
    "an entry of another session": foreign,
    "a prefix of nothing": lambda shown: replace(shown, prefix=(bytes(32),)),
    "not the log": lambda shown: replace(shown, whole=(entry_bytes(0),)),
    "in another order": lambda shown: replace(shown, shown=shown.shown[::-1]),
    "unsigned": lambda shown: replace(shown, checkpoint=shown.checkpoint[:-9]),
    "at another place": lambda shown: replace(
        shown,
        shown=tuple(replace(each, index=each.index + 1) for each in shown.shown),
    ),
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_request_that_lies_is_refused(lie: str) -> None:
    caller, state, shown = call(3)
    assert any(isinstance(each, OwnEntry) for each in shown.shown)
    wrong = REQUEST.encode(LIES[lie](shown))
    with pytest.raises(LYING):
        caller.party().answer(state, wrong, caller.supply)


def closing_call() -> tuple[Caller, bytes, TunnelRequest, Posted]:
    """The first call in which party 0 is shown a close, and the close."""
    number, close = next(
        (number, Posted(each.index, leaf_hash(each.raw), Submission.decode(each.raw).entry))
        for number, (_, request, _) in enumerate(held().caller(0).seen)
        for each in REQUEST.decode(request).shown
        if isinstance(each, TunnelEntry) and Submission.decode(each.raw).entry.kind == Kind.CLOSE
    )
    return *call(number), close


def test_a_close_needs_the_root_at_its_cut() -> None:
    """A request without it is refused; the party goes on with one that has it."""
    caller, state, shown, close = closing_call()
    assert CLOSE.decode(close.entry.body).cut in shown.cuts
    size = open_checkpoint(shown.checkpoint, log_key()).size
    leaves = [leaf_hash(raw) for raw in held().raws()[:size]]
    proof = tuple(subset_proof([each.index for each in shown.shown], size, _node(leaves)))
    with pytest.raises(InvalidProof) as caught:
        caller.party().answer(
            state, REQUEST.encode(replace(shown, cuts=(), proof=proof)), caller.supply
        )
    assert caught.value.check == "12-N2"


def test_a_host_proves_the_root_for_any_chunk_of_a_close() -> None:
    """The chunk that has the cut may have been shown in a call before."""
    *_, close = closing_call()
    host = TunnelHost(held().board, held().manifest.session)
    host.refresh()
    cut = CLOSE.decode(close.entry.body).cut
    first = replace(close, entry=replace(close.entry, chunks=2))
    second = replace(
        first, index=close.index + 1, entry=replace(first.entry, seq=first.entry.seq + 1, chunk=1)
    )
    alien = replace(
        close, entry=replace(close.entry, author=Submission.decode(entry_bytes(0)).entry.author)
    )
    host._entries = [first, second]
    for found, size, cuts in (
        ([first], 99, (cut,)),
        ([second], 99, (cut,)),
        ([first, second], 99, (cut,)),
        ([first], cut - 1, ()),
        ([alien], 99, ()),
        ([replace(close, entry=replace(close.entry, kind=Kind.OPEN))], 99, ()),
        ([], 99, ()),
    ):
        assert host._cuts(found, size) == cuts
    host._entries = [second]
    assert host._cuts([second], 99) == ()


@pytest.mark.parametrize("denies", [False, True])
@pytest.mark.parametrize("right", [True, False], ids=["the log's", "another"])
def test_a_party_compares_the_root_of_a_close(right: bool, denies: bool) -> None:
    """It accuses the organiser of a close that says itself that it has seen another root."""
    caller, state, shown, posted = closing_call()
    entry, raws = posted.entry, held().raws()[: posted.index]
    close = CLOSE.decode(entry.body)
    root = close.root if right else bytes(32)
    body = CLOSE.encode(replace(close, root=root))
    assert (entry.seen_size, entry.seen_root) == (close.cut, close.root)
    seen: dict[str, Any] = {"seen_size": 0, "seen_root": bytes(32)} if denies else {}
    raws.append(sign_entry(replace(entry, body=body, **seen), held().organiser))
    indexes = [each.index for each in shown.shown if each.index <= posted.index]
    assert indexes[-1] == posted.index
    told = logged(raws, indexes, (close.cut,))
    party = held().caller(0).party()
    size = REPLY.decode(party.position(state)).size
    node = _node([leaf_hash(raw) for raw in raws])
    consistency = tuple(consistency_proof(size, len(raws), node)) if size else ()
    told = replace(told, consistency=consistency)
    after, reply = party.answer(state, REQUEST.encode(told), caller.supply)
    error = party.standing(after).error
    assert REPLY.decode(reply).over == (not right)
    if not right:
        assert isinstance(error, SuspectedPartyOrBoard if denies else FaultyParty)
        assert error.party == held().organiser.public.data
        assert REPLY.decode(reply).posts == ()


def test_a_request_from_before_is_refused() -> None:
    caller, state, _ = call(4)
    for older in range(4):
        with pytest.raises(InvalidProof) as caught:
            caller.party().answer(state, caller.seen[older][1])
        assert caught.value.check == "12-N2"


def test_what_the_organiser_said_is_not_left_out() -> None:
    """The party does not stop for good, either: told all of it, it goes on."""
    caller, state, _ = call(2)
    host = TunnelHost(held().board, held().manifest.session)
    host.refresh()
    key = caller.party().key
    host.take(key, caller.party().position(state))
    shown = unpacked(host.request(key) or b"")
    organiser = held().organiser.public
    spoken = [
        posted
        for posted in shown.shown
        if isinstance(posted, TunnelEntry)
        and Submission.decode(posted.raw).entry.author == organiser
    ]
    assert len(spoken) > 2
    reader = held().board.reader()
    rest = [each for each in shown.shown if each is not spoken[0]]
    left = [each.index for each in rest]
    proof = tuple(subset_proof(left, reader.size, reader.node, shown.cuts))
    with pytest.raises(InvalidProof) as caught:
        caller.party().answer(
            state, REQUEST.encode(replace(shown, shown=tuple(rest), proof=proof)), caller.supply
        )
    assert caught.value.check == "12-N2"
    # It has not said all that the log has of it (this state is old): it leaves the round.
    told, reply = caller.party().answer(state, REQUEST.encode(shown), caller.supply)
    assert REPLY.decode(reply).posts == ()
    assert caller.party().standing(told).error is None


def test_an_answer_that_lacks_somebody_is_taken_with_all_of_the_log_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a host hides must not make a party go on without somebody who is listed."""
    monkeypatch.setattr(host_module, "AHEAD_BYTES", 0)
    world = Tunnelled(ONCE, SIGNED, guard=Unguarded()).run()
    caller, party = world.caller(0), world.caller(0).party()
    replies = [REPLY.decode(reply) for *_, reply in caller.seen]
    asking = [at for at, reply in enumerate(replies) if reply.want is Want.ENTRIES]
    assert len(asking) == 3
    for at in asking:
        fetch, (state, request, said) = replies[at].fetch, caller.seen[at + 1]
        assert fetch is not None
        assert party.answer(state, request)[1] == said
        shown = REQUEST.decode(request)
        hidden = hiding(world, shown, fetch.authors[0])
        again = REPLY.decode(party.answer(state, REQUEST.encode(hidden))[1])
        assert (again.want, again.fetch, again.posts) == (Want.ENTRIES, fetch, ())
        reader = world.board.reader()
        size = open_checkpoint(shown.checkpoint, log_key()).size
        whole = tuple(reader.entries(0, size))
        told = replace(hidden, whole=whole)
        answer = REPLY.decode(party.answer(state, REQUEST.encode(told))[1])
        assert answer.posts == REPLY.decode(said).posts
        for lie in (whole[1:], (*whole[:1], *whole), whole[:-1]):
            with pytest.raises(InvalidProof):
                party.answer(state, REQUEST.encode(replace(hidden, whole=lie)))
        # The beginning of the log, proved, but not as far as the cut: still not enough.
        short = replace(hidden, whole=whole[:1], prefix=_prefix(world, 1, size))
        less = REPLY.decode(party.answer(state, REQUEST.encode(short))[1])
        assert (less.want, less.posts, less.over) == (Want.ENTRIES, (), False)
        # If what follows would accuse somebody, what a host shows is not enough, either.
        with monkeypatch.context() as patch:
            patch.setattr(call_module, "blames", lambda _: True)
            doubted = REPLY.decode(party.answer(state, request)[1])
            assert (doubted.want, doubted.fetch, doubted.posts) == (Want.LOG, fetch, ())
            sure = replace(shown, whole=whole)
            answer = REPLY.decode(party.answer(state, REQUEST.encode(sure))[1])
            assert answer.posts == REPLY.decode(said).posts


def hiding(world: Tunnelled, shown: TunnelRequest, author: bytes) -> TunnelRequest:
    """The same without what this author said, and proved."""
    rest = tuple(
        each
        for each in shown.shown
        if not isinstance(each, TunnelEntry)
        or Submission.decode(each.raw).entry.author.data != author
    )
    assert len(rest) < len(shown.shown)
    return proved(world, replace(shown, shown=rest))


def proved(world: Tunnelled, shown: TunnelRequest) -> TunnelRequest:
    """The same with a proof of what it shows."""
    size = open_checkpoint(shown.checkpoint, log_key()).size
    leaves = [leaf_hash(raw) for raw in world.raws()[:size]]
    indexes = [each.index for each in shown.shown]
    return replace(shown, proof=tuple(subset_proof(indexes, size, _node(leaves), shown.cuts)))


def _prefix(world: Tunnelled, older: int, size: int) -> tuple[bytes, ...]:
    leaves = [leaf_hash(raw) for raw in world.raws()[:size]]
    return tuple(consistency_proof(older, size, _node(leaves)))


def _node(leaves: list[bytes]) -> Callable[[int, int], bytes]:
    def node(height: int, index: int) -> bytes:
        if not height:
            return leaves[index]
        return node_hash(node(height - 1, 2 * index), node(height - 1, 2 * index + 1))

    return node


def test_a_fork_ends_the_session_for_the_party() -> None:
    caller, state, shown = call(3)
    seen = open_checkpoint(REQUEST.decode(caller.seen[2][1]).checkpoint, log_key())
    forked, raws = SimulatedBoard(signer()), held().raws()
    forked.post([*raws[: seen.size - 1], raws[seen.size]])
    assert forked.size == seen.size
    lie = replace(shown, checkpoint=forked.checkpoint, consistency=(), shown=(), cuts=(), proof=())
    stopped, reply = caller.party().answer(state, REQUEST.encode(lie))
    assert REPLY.decode(reply).over
    assert REPLY.decode(reply).posts == ()
    standing = caller.party().standing(stopped)
    assert standing.over
    assert isinstance(standing.error, FaultyBoard)
    verify_fork(standing.error.evidence, log_key())
    for request in (lie, shown):
        with pytest.raises(FaultyBoard) as caught:
            caller.party().answer(stopped, REQUEST.encode(request))
        verify_fork(caught.value.evidence, log_key())
    assert len(stopped) < len(state)


def test_a_checkpoint_needs_its_quorum() -> None:
    witness = signer("witness.example", KeyKind.WITNESS)
    policy = f"log {log_key()}\nwitness w {witness.verifier}\nquorum w\n".encode()
    world = Tunnelled(ONCE, SIGNED, guard=Unguarded(), policy=policy)
    world.act()
    world.host.refresh()
    request = world.host.request(world.caller(0).party().key)
    shown = unpacked(request or b"", world)
    signed = open_checkpoint(shown.checkpoint, log_key())
    line = cosign(signed.note.text, witness, 1_800_000_000)
    cosigned = replace(shown, checkpoint=signed.note.with_signatures([line]).to_bytes())
    party = world.caller(0).party()
    assert REPLY.decode(party.answer(b"", REQUEST.encode(cosigned))[1]).size == signed.size
    with pytest.raises(InvalidProof) as caught:
        party.answer(b"", REQUEST.encode(shown))
    assert caught.value.check == "05-P2"


def test_a_session_that_asks_too_much_is_refused_before_anything_is_said() -> None:
    world = Tunnelled(ONCE, SIGNED, guard=Unguarded())
    world.act()
    world.host.refresh()
    request = world.host.request(world.caller(0).party().key) or b""
    assert world.caller(0).party().answer(b"", request)
    strict = replace(permissive(ONCE), modes=frozenset())
    with pytest.raises(Refusal):
        world.maker(0, policy=strict)().answer(b"", request)


def spliced(shown: TunnelRequest, raw: bytes) -> bytes:
    """The bytes of a request whose `whole` has this entry alone, whatever it is."""
    data = REQUEST.encode(replace(shown, whole=(), prefix=()))
    item = len(raw).to_bytes(2) + raw
    return data[:-6] + len(item).to_bytes(4) + item + data[-2:]


def test_nothing_shorter_than_an_entry_is_read() -> None:
    """Millions of them in one request would take gigabytes, before any proof is looked at."""
    shown, raw = call(3)[2], entry_bytes(0)
    assert REQUEST.decode(spliced(shown, raw)).whole == (raw,)
    for short in (b"x", raw[:215]):
        with pytest.raises(MalformedMessage) as caught:
            REQUEST.decode(spliced(shown, short))
        assert "whole" in caught.value.field


def test_signatures_are_verified_of_what_is_in_the_log_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Anybody can sign a hundred thousand entries that are in no log."""
    caller, state, shown = call(3)
    verified: list[Submission] = []

    def verify(submission: Submission) -> None:
        verified.append(submission)

    monkeypatch.setattr(call_module, "verify_entry", verify)
    caller.party().answer(state, REQUEST.encode(shown), caller.supply)
    assert verified
    verified.clear()
    with pytest.raises(InvalidProof):
        caller.party().answer(state, REQUEST.encode(resigned(shown)), caller.supply)
    assert not verified


EXACT = replace(ONCE, noise=NoNoise(), epsilon=None, charged=0, survivors=4, loss=1)


def test_an_exact_sum_is_accepted_by_name_only() -> None:
    """A party that is called refuses it like any other (attack `exact-downgrade`)."""
    world = Tunnelled(EXACT, SIGNED)
    world.act()
    world.host.refresh()
    request = world.host.request(world.caller(0).party().key) or b""
    unnamed = replace(permissive(EXACT), exact_sums=False, epsilon=Decimal("Infinity"))
    with pytest.raises(Refusal) as caught:
        world.maker(0, policy=unnamed)().answer(b"", request)
    assert caught.value.field == "exact_sums"
    found = world.run().findings()
    assert found.faults == ()
    assert found.rounds[0].sums == (sum(range(5)),)


@pytest.mark.parametrize("version", [0, 1, 4])
def test_other_versions_are_refused_by_name(version: int) -> None:
    caller, state, shown = call(1)
    data = version.to_bytes(2) + REQUEST.encode(shown)[2:]
    with pytest.raises(MalformedMessage) as caught:
        caller.party().answer(state, data)
    assert caught.value.field == "version"


def test_a_host_takes_no_reply_of_another_party() -> None:
    caller, other = held().caller(0), held().caller(1)
    host = TunnelHost(held().board, held().manifest.session)
    host.refresh()
    assert host.take(caller.party().key, caller.seen[-1][2]).over
    with pytest.raises(InvalidProof):
        host.take(caller.party().key, other.seen[-1][2])
    with pytest.raises(MalformedMessage):
        host.take(caller.party().key, b"no reply")
    assert host.request(caller.party().key) is None
    with pytest.raises(UsageError):
        caller.party().answer(caller.state, "text")  # type: ignore[arg-type]


def test_a_party_that_lies_to_its_host_harms_nobody_else() -> None:
    """It is shown the log as far as there is one, and posts nothing for others."""
    caller, other = held().caller(0), held().caller(1)
    host = TunnelHost(held().board, held().manifest.session)
    host.refresh()
    key = caller.party().key
    said = REPLY.decode(caller.seen[2][2])
    for size, start in ((2**63, 2**63), (0, 2**63), (2**63, 0), (5, 0)):
        fetch = Fetch(Phase.CONFIRM, 1, 2**63, (bytes(32),))
        lie = replace(said, size=size, start=start, want=Want.LOG, fetch=fetch)
        host.take(key, REPLY.encode(lie))
        shown = unpacked(host.request(key) or b"")
        assert len(shown.whole) == len(held().raws())
    assert host.take(key, caller.seen[2][2]).posts
    for posts in (REPLY.decode(other.seen[2][2]).posts, (entry_bytes(0),)):
        with pytest.raises(InvalidProof):
            host.take(key, REPLY.encode(replace(said, posts=posts)))
    with pytest.raises(MalformedMessage):
        host.take(key, REPLY.encode(replace(said, posts=(bytes(216),))))


def test_what_a_host_hides_it_may_show_later() -> None:
    """A party that was not shown the newest message of the organiser goes on when it is."""
    caller, state, shown = call(3)
    late, reply = caller.party().answer(
        state, REQUEST.encode(replace(shown, shown=(), cuts=(), proof=())), caller.supply
    )
    assert REPLY.decode(reply).size == open_checkpoint(shown.checkpoint, log_key()).size
    told = replace(shown, consistency=())
    posts = REPLY.decode(caller.party().answer(late, REQUEST.encode(told), caller.supply)[1]).posts
    assert {Submission.decode(raw).entry.slot for raw in posts} == {
        Submission.decode(raw).entry.slot for raw in REPLY.decode(caller.seen[3][2]).posts
    }


def logged(raws: list[bytes], indexes: list[int], cuts: tuple[int, ...] = ()) -> TunnelRequest:
    """Shows some entries of a log of exactly these, whatever they are: a board can log anything."""
    node = _node([leaf_hash(raw) for raw in raws])
    text = Checkpoint(signer().verifier.name, len(raws), tree_root(len(raws), node)).to_text()
    return TunnelRequest(
        version=VERSION,
        session=held().manifest.session,
        checkpoint=sign_note(text, signer()).to_bytes(),
        shown=tuple(TunnelEntry(at, raws[at]) for at in indexes),
        cuts=cuts,
        proof=tuple(subset_proof(indexes, len(raws), node, cuts)),
    )


def test_being_in_the_log_proves_no_authorship() -> None:
    party, raws = held().caller(0).party(), [*held().raws()[:2], entry_bytes(0)]
    told = party.answer(b"", REQUEST.encode(logged(raws, [0, 1])))[0]
    assert party.standing(told).round == 1
    forged = [raws[0], raws[1][:-1] + bytes([raws[1][-1] ^ 1]), raws[2]]
    with pytest.raises(InvalidSignature):
        party.answer(b"", REQUEST.encode(logged(forged, [0, 1])))
    with pytest.raises(InvalidProof) as caught:
        party.answer(b"", REQUEST.encode(logged(raws, [0, 1, 2])))
    assert caught.value.check == "12-N2"
