"""Which 32-byte strings are public keys, and what a signing key refuses to do."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.randomness import seeded
from tests.wire import edwards
from wire import ed25519
from wire.ed25519 import PUBLIC_KEY, PublicKey, SigningKey
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes

TORSION = edwards.torsion()
SMALL_ORDER = [encoding for point in TORSION for encoding in edwards.encodings(point)]
NON_CANONICAL = [
    (y | sign << 255).to_bytes(32, "little") for y in range(edwards.P, 2**255) for sign in (0, 1)
]
SEED = bytes(range(32))
KEY = SigningKey(SecretBytes(SEED))


def test_the_curve_constants_follow_from_the_curve() -> None:
    assert len(set(TORSION)) == 8
    assert {point[1] for point in TORSION} == ed25519._SMALL_ORDER_Y
    assert edwards.D == ed25519._D
    assert edwards.multiply(edwards.L, edwards.BASE) == edwards.IDENTITY
    assert edwards.L == ed25519._ORDER


def test_there_are_fourteen_encodings_of_small_order_points() -> None:
    assert len(set(SMALL_ORDER)) == 14


@pytest.mark.parametrize("encoding", SMALL_ORDER, ids=bytes.hex)
def test_small_order_keys_are_refused(encoding: bytes) -> None:
    PublicKey(KEY.public.data)
    with pytest.raises(MalformedMessage):
        PublicKey(encoding)


@pytest.mark.parametrize("encoding", NON_CANONICAL, ids=lambda e: e[:1].hex() + e[-1:].hex())
def test_non_canonical_keys_are_refused(encoding: bytes) -> None:
    PublicKey(KEY.public.data)
    with pytest.raises(MalformedMessage):
        PublicKey(encoding)


def is_public_key(encoding: bytes) -> bool:
    try:
        PublicKey(encoding)
    except MalformedMessage:
        return False
    return True


def test_keys_are_exactly_the_strict_points() -> None:
    rng = seeded("keys")
    candidates = [y.to_bytes(32, "little") for y in range(20)]
    candidates += [(2**255 - y).to_bytes(32, "little") for y in range(18, 40)]
    candidates += [rng(32) for _ in range(60)]
    candidates += [edwards.encode(edwards.add(edwards.BASE, point)) for point in TORSION]
    on_curve = [edwards.lenient_decode(encoding) is not None for encoding in candidates]
    assert [ed25519._is_on_curve(encoding) for encoding in candidates] == on_curve
    accepted = [is_public_key(encoding) for encoding in candidates]
    assert accepted == [edwards.is_strict_point(encoding) for encoding in candidates]
    assert 20 < sum(accepted) < len(accepted) - 20


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_wrong_lengths_are_refused(size: int) -> None:
    with pytest.raises(MalformedMessage):
        PublicKey((KEY.public.data * 2)[:size])


@pytest.mark.parametrize("data", [None, "k" * 32, bytearray(KEY.public.data), list(range(32))])
def test_a_key_is_bytes(data: Any) -> None:
    with pytest.raises(UsageError):
        PublicKey(data)


def test_public_keys_are_values() -> None:
    again = PublicKey(KEY.public.data)
    assert again == KEY.public
    assert hash(again) == hash(KEY.public)
    assert pickle.loads(pickle.dumps(again)) == again  # noqa: S301 - made on this line
    assert KEY.public.data.hex() in repr(again)


def test_the_codec_of_public_keys() -> None:
    assert PUBLIC_KEY.decode(PUBLIC_KEY.encode(KEY.public)) == KEY.public
    with pytest.raises(MalformedMessage) as caught:
        PUBLIC_KEY.decode(SMALL_ORDER[0])
    assert caught.value.offset == 0
    with pytest.raises(UsageError):
        PUBLIC_KEY.encode(KEY.public.data)  # type: ignore[arg-type]


def test_a_key_that_comes_again_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs hold some entries of each author; a key that fails is checked whenever it comes."""
    on_curve, checked = ed25519._is_on_curve, list[bytes]()

    def counting(encoding: bytes) -> bool:
        checked.append(encoding)
        return on_curve(encoding)

    monkeypatch.setattr(ed25519, "_is_on_curve", counting)
    key = SigningKey.generate(seeded("a key that comes again")).public
    checked.clear()
    assert PUBLIC_KEY.decode(key.data) == PUBLIC_KEY.decode(key.data) == key
    assert checked == [key.data]
    off = next(
        y.to_bytes(32, "little") for y in range(2, 99) if not on_curve(y.to_bytes(32, "little"))
    )
    for _ in range(2):
        with pytest.raises(MalformedMessage):
            PUBLIC_KEY.decode(off)
    assert checked == [key.data, off, off]


def test_a_seed_determines_the_key() -> None:
    assert SigningKey(SecretBytes(SEED)).public == KEY.public
    assert SigningKey.generate(lambda n: SEED[:n]).public == KEY.public
    assert SigningKey.generate(seeded(1)).public != KEY.public


@pytest.mark.parametrize(
    "seed", [SEED, None, SecretBytes(SEED[:31]), SecretBytes(SEED + b"x"), SecretBytes(b"")]
)
def test_a_seed_is_32_secret_bytes(seed: Any) -> None:
    SigningKey(SecretBytes(SEED))
    with pytest.raises(UsageError):
        SigningKey(seed)


@pytest.mark.parametrize("answer", [b"", SEED[:31], SEED + b"x", bytearray(SEED), None])
def test_a_broken_random_source_makes_no_key(answer: Any) -> None:
    SigningKey.generate(lambda _: SEED)
    with pytest.raises(UsageError):
        SigningKey.generate(lambda _: answer)


def test_signing_keys_do_not_print_their_seed() -> None:
    for text in (repr(KEY), str(KEY), f"{KEY}", f"{[KEY]}"):
        assert SEED.hex() not in text
        assert repr(SEED) not in text
        assert KEY.public.data.hex()[:16] in text
    assert not hasattr(KEY, "__dict__")


def test_signing_keys_cannot_be_pickled_copied_compared_or_hashed() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(UsageError):
            pickle.dumps(KEY, protocol)
    with pytest.raises(UsageError):
        copy.copy(KEY)
    with pytest.raises(UsageError):
        copy.deepcopy(KEY)
    with pytest.raises(UsageError):
        KEY == KEY  # noqa: B015, PLR0124 - the comparison itself is the test
    with pytest.raises(UsageError):
        hash(KEY)


@pytest.mark.parametrize("message", [None, "text", bytearray(b"m"), 5])
def test_only_bytes_are_signed(message: Any) -> None:
    KEY.sign(b"")
    with pytest.raises(UsageError):
        KEY.sign(message)
