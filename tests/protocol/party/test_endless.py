"""Messages of the organiser that would never end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bulletin_board import Submission
from bulletin_board.entry import LARGEST_BODY, VERSION, Entry
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.limits import most_chunks
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import new_manifest
from gopa.protocol.party import Halted, LocalPolicy, Party, PartyState
from tests.board.tools import log_key
from tests.protocol.simulation.worlds import VECTOR
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty

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
