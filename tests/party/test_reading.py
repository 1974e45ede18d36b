"""Which message of a neighbour counts: a party takes the one that the rules take ([E1] to [E4])."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bulletin_board.entry import LARGEST_BODY, Submission
from gopa.messages.framing import NO_LEAF, Assembler, Message, MessageSlot, Posted, sign_message
from gopa.messages.party import COMMIT, Commit
from gopa.messages.phases import Kind, Phase
from gopa.party import Fetch
from gopa.party.reading import decode_commit, decoded, first_messages
from gopa.rules.mailbox import Mailbox, Sorter
from tests.randomness import seeded
from wire.ed25519 import SigningKey

KEY = SigningKey.generate(seeded("neighbour"))
AUTHOR = KEY.public.data
SESSION, CLOSE = b"\x05" * 32, b"\x07" * 32
CUT = 10
SHORT = CLOSE + b"short"
LONG = CLOSE + bytes(LARGEST_BODY)


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
    right = COMMIT.encode(Commit(CLOSE, (bytes(32),), bytes(32), b"", b"", b"", (), ()))
    for body, expected in ((right, COMMIT.decode(right)), (right[:-1], None), (SHORT, None)):
        wanted = Fetch(Phase.COMMIT, 1, CUT, (AUTHOR,))
        found = first_messages(in_the_log(entries(body)), SESSION, wanted)
        assert found[AUTHOR].body == body
        assert decoded(found[AUTHOR], decode_commit, CLOSE) == expected
