"""Which manifest counts is the same for parties and for audits (04-[S1], [S2])."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bulletin_board import Submission
from bulletin_board.entry import sign_entry
from gopa.messages.framing import Posted
from gopa.rounds.toolkit import Toolkit
from gopa.rules import Ledger
from gopa.sessions.following.finding import ManifestSearch
from tests.board.tools import party
from tests.randomness import seeded
from tests.sessions.following.worlds import recorded


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
