"""Letters between two users of a run, and a relay that does what it can to them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.secret import SecretBox as NaclBox

from gopa.sessions.tunnel import (
    Correspondent,
    LetterMissing,
    LetterReplayed,
    Misdirected,
    letters,
    receiver_of,
)
from gopa.sessions.tunnel.letters import CARD, LETTER, SIGNED, Card, Letter, Signed
from tests.randomness import seeded
from wire.codec import Codec
from wire.domains import (
    CARD_PAYLOAD_TYPE,
    ENTRY_PAYLOAD_TYPE,
    LETTER_KEY,
    LETTER_PAYLOAD_TYPE,
)
from wire.ed25519 import SigningKey, pre_auth_encoding
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, UsageError

SPEC = (Path(__file__).parents[3] / "specs/12-sessions.md").read_text()
RUN = b"\x01" * 32
RNG = seeded("letters")
KEYS = [SigningKey.generate(RNG) for _ in range(3)]


def users(run: bytes = RUN, keys: list[SigningKey] = KEYS) -> list[Correspondent]:
    """Three users who have seen each other's cards."""
    found = [Correspondent(run, key, rng=RNG) for key in keys]
    for one in found:
        for other in found:
            if one is not other:
                one.meet(other.key, other.card)
    return found


def forged(
    letter: bytes, key: SigningKey, role: str = LETTER_PAYLOAD_TYPE, **changes: Any
) -> bytes:
    """The letter with other parts, signed by this key."""
    content = LETTER.encode(replace(LETTER.decode(SIGNED.decode(letter).content), **changes))
    return SIGNED.encode(Signed(content, key.sign(pre_auth_encoding(role, content))))


def test_letters_arrive_in_order_and_both_ways() -> None:
    anna, ben, carl = users()
    for number in range(3):
        letter = anna.write(ben.key, b"model %d" % number)
        assert receiver_of(letter) == ben.key
        assert b"model" not in letter
        assert ben.read(letter) == (anna.key, b"model %d" % number)
        assert anna.read(ben.write(anna.key, b"")) == (ben.key, b"")
        assert ben.read(carl.write(ben.key, b"x" * number)) == (carl.key, b"x" * number)
    assert ben.heard(anna.key) == 3
    assert "secret" in repr(anna)


def test_each_reader_has_its_own_numbers() -> None:
    """A user cannot tell letters to somebody else from letters that are withheld."""
    anna, ben, carl = users()
    for number in range(2):
        for reader in (ben, carl):
            letter = anna.write(reader.key, b"model %d" % number)
            assert LETTER.decode(SIGNED.decode(letter).content).number == number
            assert reader.read(letter) == (anna.key, b"model %d" % number)


def test_keys_are_those_of_the_specification() -> None:
    """A second program opens a box: HKDF with the run as salt, and who, to whom and which."""
    anna, ben, _ = users()
    for number in range(2):
        box = LETTER.decode(SIGNED.decode(anna.write(ben.key, b"model")).content).box
        shared = ben._met[anna.key][1].reveal().to_bytes()
        info = LETTER_KEY + anna.key + ben.key + number.to_bytes(8, "big")
        key = HKDF(algorithm=SHA256(), length=32, salt=RUN, info=info).derive(shared)
        assert NaclBox(key).decrypt(box) == b"model"


def test_the_largest_content_is_written_and_no_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "LARGEST", 1000)
    anna, ben, _ = users()
    assert ben.read(anna.write(ben.key, bytes(744))) == (anna.key, bytes(744))
    with pytest.raises(UsageError, match="at most 744"):
        anna.write(ben.key, bytes(745))
    # The number of what was refused is still to come.
    assert ben.read(anna.write(ben.key, b"next")) == (anna.key, b"next")


def test_a_letter_is_read_once_and_none_is_skipped() -> None:
    anna, ben, _ = users()
    letters = [anna.write(ben.key, bytes([number])) for number in range(4)]
    assert ben.read(letters[0]) == (anna.key, b"\0")
    with pytest.raises(LetterReplayed):
        ben.read(letters[0])
    for later in letters[2:]:
        with pytest.raises(LetterMissing):
            ben.read(later)
    # What was refused has changed nothing.
    assert [ben.read(each)[1] for each in letters[1:]] == [b"\1", b"\2", b"\3"]
    with pytest.raises(LetterReplayed):
        ben.read(letters[1])


def test_a_letter_is_for_one_user_of_one_run() -> None:
    anna, ben, carl = users()
    letter = anna.write(ben.key, b"model")
    elsewhere = users(b"\x02" * 32)
    again = users()
    stranger = Correspondent(RUN, KEYS[1], rng=RNG)
    for reader in (carl, anna, elsewhere[1], stranger):
        with pytest.raises(Misdirected):
            reader.read(letter)
    # The same run id in another process has another point: nothing of before opens.
    with pytest.raises(InvalidProof, match="does not open"):
        again[1].read(letter)
    assert ben.read(letter) == (anna.key, b"model")


def test_no_byte_of_a_letter_can_be_changed() -> None:
    anna, ben, _ = users()
    letter = anna.write(ben.key, b"model")
    for place in range(len(letter)):
        changed = bytearray(letter)
        changed[place] ^= 1 << place % 8
        with pytest.raises((MalformedMessage, Misdirected, InvalidSignature)):
            ben.read(bytes(changed))
    for wrong in (letter[:-1], letter + b"\0", b"", letter + letter):
        with pytest.raises(MalformedMessage):
            ben.read(wrong)
    assert ben.read(letter) == (anna.key, b"model")


def test_a_box_belongs_to_sender_receiver_and_number() -> None:
    """Carl signs Anna's box as his own, Anna hers under another number or for another user."""
    anna, ben, carl = users()
    letter = anna.write(ben.key, b"model")
    next_one = anna.write(ben.key, b"model 2")
    box = LETTER.decode(SIGNED.decode(next_one).content).box
    signed_by_carl = forged(letter, KEYS[2], sender=carl.key)
    for wrong in (
        signed_by_carl,
        forged(letter, KEYS[0], box=box),
        forged(letter, KEYS[0], box=b""),
    ):
        with pytest.raises(InvalidProof, match="does not open"):
            ben.read(wrong)
    with pytest.raises(InvalidProof, match="does not open"):
        carl.read(forged(letter, KEYS[0], receiver=carl.key))
    # Ben gives Anna's words back as his own.
    with pytest.raises(InvalidProof, match="does not open"):
        anna.read(forged(letter, KEYS[1], sender=ben.key, receiver=anna.key))
    # In another's name, and in another role.
    for wrong in (forged(letter, KEYS[2]), forged(letter, KEYS[0], ENTRY_PAYLOAD_TYPE)):
        with pytest.raises(InvalidSignature):
            ben.read(wrong)
    assert ben.read(letter) == (anna.key, b"model")
    assert ben.read(next_one) == (anna.key, b"model 2")


def test_cards_are_those_of_their_users() -> None:
    anna, ben = (Correspondent(RUN, key, rng=RNG) for key in KEYS[:2])
    twice = Correspondent(RUN, KEYS[1], rng=RNG)
    elsewhere = Correspondent(b"\x02" * 32, KEYS[1], rng=RNG)
    anna.meet(ben.key, ben.card)
    anna.meet(ben.key, ben.card)
    with pytest.raises(InvalidProof, match="second card"):
        anna.meet(ben.key, twice.card)
    for card, user in ((elsewhere.card, ben.key), (ben.card, KEYS[2].public.data)):
        with pytest.raises(Misdirected):
            anna.meet(user, card)
    given = CARD.decode(SIGNED.decode(ben.card).content)
    for point, key, error in (
        (given.point, KEYS[2], InvalidSignature),
        (bytes(32), KEYS[1], MalformedMessage),
        (b"\xff" * 32, KEYS[1], MalformedMessage),
    ):
        content = CARD.encode(Card(RUN, ben.key, point))
        signature = key.sign(pre_auth_encoding(CARD_PAYLOAD_TYPE, content))
        fresh = Correspondent(RUN, KEYS[0], rng=RNG)
        with pytest.raises(error):
            fresh.meet(ben.key, SIGNED.encode(Signed(content, signature)))
        with pytest.raises(UsageError):
            fresh.write(ben.key, b"")
    for wrong in (
        lambda: anna.meet(anna.key, anna.card), lambda: anna.write(anna.key, b""),
        lambda: anna.write(ben.key, "text"),  # type: ignore[arg-type]
        lambda: Correspondent(b"", KEYS[0], rng=RNG),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()


def test_what_is_written_twice_under_one_number_shares_no_key_stream() -> None:
    """A user put back to an earlier state would write two letters with one number."""
    anna, ben, _ = users()
    one = LETTER.decode(SIGNED.decode(anna.write(ben.key, bytes(64))).content)
    anna._written.clear()
    two = LETTER.decode(SIGNED.decode(anna.write(ben.key, bytes(64))).content)
    assert one.number == two.number == 0
    assert one.box[24:] != two.box[24:]


def test_the_printed_formats_of_letters_are_those_that_run() -> None:
    codecs: list[Codec[Any]] = [SIGNED, CARD, LETTER]
    running = dict(each for codec in codecs for each in codec.definitions())
    (block,) = re.findall(r"^```tls letters\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    assert sorted(block.split("\n\n")) == sorted(running.values())
    assert isinstance(LETTER.decode(LETTER.encode(Letter(RUN, RUN, RUN, 1, b""))), Letter)
