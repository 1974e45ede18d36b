"""Which message of a neighbour counts: a party takes the one that the rules take ([E1] to [E4])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bulletin_board.entry import LARGEST_BODY, Submission, sign_entry
from gopa.contract.cutting import COMMIT_HEAD, CommitHead
from gopa.contract.framing import NO_LEAF, Assembler, Message, MessageSlot, Posted, sign_message
from gopa.contract.party import COMMIT, Commit
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch
from gopa.protocol.party.reading import decode_commit_head, decoded, first_messages
from gopa.protocol.rules.mailbox import Mailbox, Sorter
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage

KEY = SigningKey.generate(seeded("neighbour"))
AUTHOR = KEY.public.data
SESSION, CLOSE = b"\x05" * 32, b"\x07" * 32
CUT = 10
SHORT = CLOSE + b"short"
LONG = CLOSE + bytes([255]) * LARGEST_BODY


def entries(body: bytes, *, seq: int = 0, kind: Kind = Kind.COMMIT) -> list[bytes]:
    place = MessageSlot(SESSION, Phase.COMMIT, kind, 1, seq, NO_LEAF)
    return list(sign_message(body, place, KEY).entries)


def in_the_log(raws: Sequence[bytes], first: int = 1) -> list[Posted]:
    submissions = [Submission.decode(raw) for raw in raws]
    return [Posted(first + i, each.leaf, each.entry) for i, each in enumerate(submissions)]


def by_party(log: Sequence[Posted]) -> bytes | None:
    """What a neighbour reads."""
    found = first_messages(log, SESSION, Fetch(Phase.COMMIT, 1, CUT, (AUTHOR,)))
    return decoded(found.get(AUTHOR), bytes, CLOSE)


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
        acts_on=CLOSE,
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
    "in chunks": (entries(LONG), 1, LONG),
    "above the cut": (entries(SHORT), CUT, None),
    "in chunks, the last above the cut": (entries(LONG), CUT - 1, None),
    "of another kind": (ANOTHER_KIND, 1, None),
    "behind one of another kind": ([*ANOTHER_KIND, *entries(SHORT, seq=1)], 1, None),
    "before one of another kind": (
        [*entries(SHORT), *entries(SHORT, seq=1, kind=Kind.REVEAL)],
        1,
        SHORT,
    ),
    "behind a first chunk": ([entries(LONG)[0], *entries(SHORT, seq=1)], 1, None),
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
    right = COMMIT.encode(Commit(CLOSE, (bytes(32),), bytes(32), (), (), b"", b"", b""))
    head = CommitHead(CLOSE, (bytes(32),), bytes(32), (), ())
    for body, expected in ((right, head), (right[:90], None), (SHORT, None)):
        wanted = Fetch(Phase.COMMIT, 1, CUT, (AUTHOR,))
        found = first_messages(in_the_log(entries(body)), SESSION, wanted)
        assert found[AUTHOR].body == body
        assert decoded(found[AUTHOR], decode_commit_head, CLOSE) == expected


HEAD = COMMIT_HEAD.encode(CommitHead(CLOSE, (b"\x01" * 32,) * 3, b"\x02" * 32, (), ()))
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
