"""Lists that no rules make are refused as they are read: length, order, sizes (04-C5, 04-J6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bulletin_board import Submission
from bulletin_board.entry import LARGEST_BODY, VERSION, Entry, sign_entry
from bulletin_board.tree import leaf_hash
from gopa.contract.beacon import QUICKNET
from gopa.contract.cutting import COMMIT_HEAD, CommitHead
from gopa.contract.framing import NO_LEAF, Assembler, Message, MessageSlot, Posted, sign_message
from gopa.contract.limits import most_chunks
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, OpenAdmission
from gopa.contract.organiser import CLOSE, Close, Coins, Members, Roll, RollEntry
from gopa.contract.party import COMMIT, Commit
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import new_manifest
from gopa.protocol.party import Fetch, Halted, LocalPolicy, Party, PartyState
from gopa.protocol.party.reading import (
    decode_commit_head,
    decoded,
    first_messages,
    read_coins,
    read_roll,
)
from gopa.protocol.rules.mailbox import Mailbox, Sorter
from tests.board.tools import log_key
from tests.contract.samples import POLICY, h, manifest, signing_key, terms
from tests.protocol.simulation.worlds import VECTOR
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty, MalformedMessage

REVEALED = manifest(beacon=CommitReveal())


ANYBODY = manifest(beacon=CommitReveal(), admission=OpenAdmission(5))


DRAND = manifest(terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY)


SIMULATED = manifest()


Change = Callable[[Roll], Roll]


def roll(agreed: Manifest) -> Roll:
    """Everybody of the roster, with what the beacon of this session asks for."""
    nonce = h(9) if isinstance(agreed.beacon, CommitReveal) else b""
    number = 7 if isinstance(agreed.beacon, DrandBeacon) else 0
    authors = sorted(signing_key(f"party {place}").public.data for place in range(5))
    parties = tuple(RollEntry(author, h(20 + i), nonce) for i, author in enumerate(authors))
    return Roll(parties, number)


def body(content: Roll) -> bytes:
    return CLOSE.encode(Close(h(1), 9, bytes(32), Phase.JOIN, b"", content))


def first(**fields: bytes) -> Change:
    """The first party of the roll with something else; in the order of keys again."""

    def change(content: Roll) -> Roll:
        parties = replace(content.parties[0], **fields), *content.parties[1:]
        return replace(content, parties=tuple(sorted(parties, key=lambda each: each.author)))

    return change


def named(author: str) -> Change:
    return first(author=signing_key(author).public.data)


ROLLS: dict[str, tuple[Manifest, Change, str]] = {
    "no hash of a nonce": (REVEALED, first(nonce_hash=b""), "parties.nonce_hash"),
    "half a hash": (REVEALED, first(nonce_hash=bytes(16)), "parties.nonce_hash"),
    "a hash that nobody needs": (DRAND, first(nonce_hash=h(9)), "parties.nonce_hash"),
    "no round of the beacon": (DRAND, lambda r: replace(r, beacon_round=0), "beacon_round"),
    "a beacon that is none": (REVEALED, lambda r: replace(r, beacon_round=7), "beacon_round"),
    "the organiser as a party": (ANYBODY, named("organiser"), "parties"),
    "a stranger": (REVEALED, named("stranger"), "parties"),
    "too few": (REVEALED, lambda r: replace(r, parties=r.parties[:2]), "parties"),
    "too many": (
        ANYBODY,
        lambda r: replace(r, parties=(*r.parties, RollEntry(b"\xff" * 32, h(30), h(9)))),
        "parties",
    ),
    "another order": (REVEALED, lambda r: replace(r, parties=r.parties[::-1]), "parties"),
    "one twice": (
        REVEALED,
        lambda r: replace(r, parties=(r.parties[0], *r.parties[:4])),
        "parties",
    ),
    "one key for two": (REVEALED, first(key=h(21)), "parties"),
}


@pytest.mark.parametrize(("agreed", "change", "field"), ROLLS.values(), ids=ROLLS)
def test_roll_that_no_rules_make(agreed: Manifest, change: Change, field: str) -> None:
    honest = roll(agreed)
    assert len(read_roll(body(honest), agreed)) == 5
    with pytest.raises(MalformedMessage) as caught:
        read_roll(body(change(honest)), agreed)
    assert caught.value.field == field


def test_open_admission_takes_strangers_onto_the_roll() -> None:
    strange = named("stranger")(roll(ANYBODY))
    assert read_roll(body(strange), ANYBODY).roll == strange


def coins(members: bytes = b"\x1f", nonces: int = 0, signature: bytes = b"") -> Coins:
    return Coins(members, (h(8),) * nonces, signature, b"")


SIGNED = bytes(48)


COINS: dict[str, tuple[Manifest, Coins, Coins, str]] = {
    "a nonce too few": (REVEALED, coins(nonces=5), coins(nonces=4), "content.nonces"),
    "a nonce of somebody absent": (
        REVEALED,
        coins(b"\x0f", nonces=4),
        coins(b"\x0f", nonces=5),
        "content.nonces",
    ),
    "nonces that nobody posts": (SIMULATED, coins(), coins(nonces=5), "content.nonces"),
    "somebody left out for nothing": (SIMULATED, coins(), coins(b"\x0f"), "content.members"),
    "a list of another length": (REVEALED, coins(nonces=5), coins(b"\x1f\x00", 5), "members"),
    "no signature": (DRAND, coins(signature=SIGNED), coins(), "content.signature"),
    "a signature of nobody": (SIMULATED, coins(), coins(signature=SIGNED), "content.signature"),
}


@pytest.mark.parametrize(("agreed", "right", "wrong", "field"), COINS.values(), ids=COINS)
def test_coins_that_no_rules_make(agreed: Manifest, right: Coins, wrong: Coins, field: str) -> None:
    found, _ = read_coins(Close(h(1), 9, bytes(32), Phase.COINS, b"", right), agreed, 5)
    assert found == right
    with pytest.raises(MalformedMessage) as caught:
        read_coins(Close(h(1), 9, bytes(32), Phase.COINS, b"", wrong), agreed, 5)
    assert caught.value.field == field


def test_close_of_another_phase_is_no_roll_and_no_coins() -> None:
    enrolled = Close(h(1), 9, bytes(32), Phase.JOIN, b"", roll(REVEALED))
    drawn = Close(h(1), 9, bytes(32), Phase.COINS, b"", coins(nonces=5))
    later = Close(h(1), 9, bytes(32), Phase.COMMIT, b"", Members(b"\x1f", final=False))
    read_roll(CLOSE.encode(enrolled), REVEALED)
    read_coins(drawn, REVEALED, 5)
    for wrong in (drawn, later):
        with pytest.raises(MalformedMessage) as caught:
            read_roll(CLOSE.encode(wrong), REVEALED)
        assert caught.value.field == "content"
    for wrong in (enrolled, later):
        with pytest.raises(MalformedMessage) as caught:
            read_coins(wrong, REVEALED, 5)
        assert caught.value.field == "content"


LONG = replace(VECTOR, dimension=20_000, squared_sensitivity=1200)


"""A result of this takes several entries."""


class Trusting(LocalPolicy):
    """Takes any session: what these terms are worth is not what is asked here."""

    def require(self, manifest: Manifest, author: bytes) -> None:
        del manifest, author


ORGANISER = SigningKey.generate(seeded("organiser"))


PARTIES = [SigningKey.generate(seeded(f"party {i}")) for i in range(LONG.parties)]


MANIFEST = new_manifest(
    LONG,
    [each.public.data for each in PARTIES],
    organiser=ORGANISER.public.data,
    log=log_key(),
    rng=seeded(1),
)


MOST = most_chunks(MANIFEST, Phase.ORGANISER)


def begun() -> tuple[Party, PartyState]:
    """A party that has seen the manifest."""
    party = Party(MANIFEST, PARTIES[0], Trusting(LONG.promised_epsilon, LONG.delta), rng=seeded(2))
    place = MessageSlot(MANIFEST.session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    state = party.start()
    for index, raw in enumerate(sign_message(MANIFEST.to_bytes(), place, ORGANISER).entries):
        state, outputs = party.step(state, posted(MANIFEST, index, 0, raw=raw))
        assert outputs == ()
    return party, state


def posted(manifest: Manifest, index: int, chunks: int, *, raw: bytes = b"") -> Posted:
    """The first of so many parts of an opening; or what these bytes say."""
    if raw:
        return Posted(index, leaf_hash(raw), Submission.decode(raw).entry)
    entry = Entry(
        version=VERSION,
        session=manifest.session,
        phase=int(Phase.ORGANISER),
        kind=int(Kind.OPEN),
        round=1,
        chunk=0,
        chunks=chunks,
        author=ORGANISER.public,
        seq=0,
        prev_own_leaf=NO_LEAF,
        seen_size=0,
        seen_root=NO_LEAF,
        body=bytes(LARGEST_BODY),
    )
    return Posted(index, bytes([7]) * 32, entry)


def test_a_message_as_long_as_any_can_be_is_waited_for() -> None:
    party, state = begun()
    state, outputs = party.step(state, posted(MANIFEST, 9, MOST))
    assert outputs == ()
    assert len(state.chain.pending) == 1


@pytest.mark.parametrize("chunks", [MOST + 1, 1_000, 65_535])
def test_a_longer_one_stops_the_party_at_its_first_part(chunks: int) -> None:
    party, state = begun()
    state, (output,) = party.step(state, posted(MANIFEST, 9, chunks))
    assert isinstance(output, Halted)
    assert isinstance(output.error, FaultyParty)
    assert output.error.party == ORGANISER.public.data


KEY = SigningKey.generate(seeded("neighbour"))


AUTHOR = KEY.public.data


SESSION, CLOSE_READING = b"\x05" * 32, b"\x07" * 32


CUT = 10


SHORT = CLOSE_READING + b"short"


LONG_READING = CLOSE_READING + bytes([255]) * LARGEST_BODY


def entries(body: bytes, *, seq: int = 0, kind: Kind = Kind.COMMIT) -> list[bytes]:
    place = MessageSlot(SESSION, Phase.COMMIT, kind, 1, seq, NO_LEAF)
    return list(sign_message(body, place, KEY).entries)


def in_the_log(raws: Sequence[bytes], first: int = 1) -> list[Posted]:
    submissions = [Submission.decode(raw) for raw in raws]
    return [Posted(first + i, each.leaf, each.entry) for i, each in enumerate(submissions)]


def by_party(log: Sequence[Posted]) -> bytes | None:
    """What a neighbour reads."""
    found = first_messages(log, SESSION, Fetch(Phase.COMMIT, 1, CUT, (AUTHOR,)))
    return decoded(found.get(AUTHOR), bytes, CLOSE_READING)


def by_rules(log: Sequence[Posted]) -> bytes | None:
    """What the close may list."""
    mailbox, assembler = Mailbox(), Assembler()
    for posted in log:
        for item in assembler.observe(posted):
            if isinstance(item, Message):
                mailbox.put(item)
    sorter = Sorter(
        mailbox=mailbox,
        phase=Phase.COMMIT,
        acts_on=CLOSE_READING,
        opened_at=0,
        largest=2 * LARGEST_BODY,
        rule="04-K1",
        missing="04-K4",
        read=lambda message: message.body,
    )
    found = sorter.sort([AUTHOR], CUT).read.get(AUTHOR)
    return None if found is None else found[1]


ANOTHER_KIND = entries(SHORT, kind=Kind.REVEAL)


CASES = {
    "alone": (entries(SHORT), 1, SHORT),
    "in chunks": (entries(LONG_READING), 1, LONG_READING),
    "above the cut": (entries(SHORT), CUT, None),
    "in chunks, the last above the cut": (entries(LONG_READING), CUT - 1, None),
    "of another kind": (ANOTHER_KIND, 1, None),
    "behind one of another kind": ([*ANOTHER_KIND, *entries(SHORT, seq=1)], 1, None),
    "before one of another kind": (
        [*entries(SHORT), *entries(SHORT, seq=1, kind=Kind.REVEAL)],
        1,
        SHORT,
    ),
    "behind a first chunk": ([entries(LONG_READING)[0], *entries(SHORT, seq=1)], 1, None),
    "behind a gap": (entries(SHORT, seq=1), 1, None),
    "behind an entry out of turn": ([*entries(SHORT, seq=3), *entries(SHORT)], 1, SHORT),
    "twice": ([*entries(SHORT), *entries(SHORT + b"er")], 1, SHORT),
    "twice, first of another kind": ([*ANOTHER_KIND, *entries(SHORT)], 1, None),
    "about another close": (entries(bytes(32) + SHORT), 1, None),
    "about another close, then right": ([*entries(bytes(40)), *entries(SHORT, seq=1)], 1, None),
}


@pytest.mark.parametrize("case", CASES)
def test_party_and_rules_take_the_same_message(case: str) -> None:
    raws, first, expected = CASES[case]
    log = in_the_log(raws, first)
    assert by_party(log) == expected
    assert by_rules(log) == expected


def test_what_cannot_be_decoded_is_no_message() -> None:
    """A neighbour that posts nonsense is one that posted nothing; the reader goes on."""
    right = COMMIT.encode(Commit(CLOSE_READING, (bytes(32),), bytes(32), (), (), b"", b"", b""))
    head = CommitHead(CLOSE_READING, (bytes(32),), bytes(32), (), ())
    for body, expected in ((right, head), (right[:90], None), (SHORT, None)):
        wanted = Fetch(Phase.COMMIT, 1, CUT, (AUTHOR,))
        found = first_messages(in_the_log(entries(body)), SESSION, wanted)
        assert found[AUTHOR].body == body
        assert decoded(found[AUTHOR], decode_commit_head, CLOSE_READING) == expected


HEAD = COMMIT_HEAD.encode(CommitHead(CLOSE_READING, (b"\x01" * 32,) * 3, b"\x02" * 32, (), ()))


TAILED = HEAD + b"\x00" + (5_000).to_bytes(2) + bytes(5_002)


def altered(raws: Sequence[bytes], at: int, **changes: Any) -> list[bytes]:
    """With another entry of the same author in one place."""
    entry = replace(Submission.decode(raws[at]).entry, **changes)
    return [*raws[:at], sign_entry(entry, KEY), *raws[at + 1 :]]


PARTED = entries(TAILED)


BEHIND = {
    "all of it": PARTED,
    "nothing": PARTED[:1],
    "another proof": altered(PARTED, 1, body=bytes(100)),
    "two proofs": [*PARTED, *altered(PARTED, 1, body=bytes(100))[1:]],
    "what continues another head": altered(PARTED, 1, prev_own_leaf=bytes(32)),
    "another head in its slot": [*PARTED, *altered(PARTED, 0, body=HEAD[:-1] + b"\x01")[:1]],
    "in front of it": PARTED[::-1],
    "a proof out of turn": altered(PARTED, 1, seq=5),
}


@pytest.mark.parametrize("case", BEHIND)
def test_a_head_stands_for_its_message(case: str) -> None:
    """Whatever a reader is shown behind it: else a board could stop one of them and not others."""
    assert entries(TAILED)[0] == PARTED[0]
    log = in_the_log(BEHIND[case])
    assert by_party(log) == HEAD
    listed = case in {"all of it", "two proofs", "another head in its slot"}
    assert by_rules(log) == (
        TAILED if listed else HEAD + bytes(100) if case == "another proof" else None
    )


def test_a_head_counts_below_the_cut_alone() -> None:
    for first, party, rules in ((CUT - 2, HEAD, TAILED), (CUT - 1, HEAD, None), (CUT, None, None)):
        log = in_the_log(PARTED, first)
        assert by_party(log) == party
        assert by_rules(log) == rules


def test_a_head_of_another_message_is_none() -> None:
    """Of another close, of another kind, or in another slot than the first."""
    assert by_party(in_the_log(PARTED)) == HEAD
    others = [
        entries(bytes(32) + TAILED[32:]),
        entries(TAILED, kind=Kind.REVEAL),
        entries(TAILED, seq=1),
        altered(PARTED, 0, chunk=1),
        altered(PARTED, 0, chunks=1, body=HEAD[:-1]),
    ]
    for raws in others:
        message = by_party(in_the_log(raws[:1]))
        assert message is None or decoded_head(message) is None


def decoded_head(body: bytes) -> CommitHead | None:
    try:
        return decode_commit_head(body)
    except MalformedMessage:
        return None
