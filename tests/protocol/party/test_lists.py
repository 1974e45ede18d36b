"""Lists that no rules make are refused as they are read: length, order, sizes ([C5], [J6])."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, OpenAdmission
from gopa.contract.organiser import CLOSE, Close, Coins, Members, Roll, RollEntry
from gopa.contract.phases import Phase
from gopa.protocol.party.reading import read_coins, read_roll
from tests.contract.samples import POLICY, h, manifest, signing_key, terms
from wire.errors import MalformedMessage

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
