"""The accept set of signatures against the slow oracle, and the batch of single checks."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from tests.randomness import seeded
from tests.wire import edwards
from wire import ed25519
from wire.ed25519 import PUBLIC_KEY, PublicKey, SignatureClaim, SigningKey, verify, verify_many
from wire.errors import InvalidSignature, MalformedMessage, UsageError
from wire.secret import SecretBytes

RNG = seeded("ed25519")
KEY = SigningKey.generate(RNG)
MESSAGE = b"a message"
SIGNATURE = KEY.sign(MESSAGE)
TORSION = edwards.torsion()


def failed_check(key: PublicKey, message: bytes, signature: bytes) -> str:
    try:
        verify(key, message, signature)
    except InvalidSignature as error:
        return error.check
    return ""


def refused(message: bytes, signature: bytes) -> str:
    verify(KEY.public, MESSAGE, SIGNATURE)
    with pytest.raises(InvalidSignature) as caught:
        verify(KEY.public, message, signature)
    assert caught.value.culprits == ()
    return caught.value.check


def test_own_signatures_verify_here_and_by_the_oracle() -> None:
    for size in (0, 1, 200, 70_000):
        message = RNG(size)
        signature = KEY.sign(message)
        assert signature == KEY.sign(message)
        verify(KEY.public, message, signature)
        assert edwards.accepts(KEY.public.data, message, signature)


@pytest.mark.parametrize("size", [0, 32, 63, 65, 96, 128])
def test_wrong_lengths(size: int) -> None:
    assert refused(MESSAGE, (SIGNATURE * 2)[:size]) == "00-E1"


def test_every_flipped_bit_is_noticed() -> None:
    checks = Counter[str]()
    for bit in range(512):
        flipped = bytearray(SIGNATURE)
        flipped[bit // 8] ^= 1 << bit % 8
        checks[refused(MESSAGE, bytes(flipped))] += 1
    assert set(checks) == {"00-E7", "00-E8"}


def test_other_messages_and_other_keys() -> None:
    assert refused(MESSAGE + b"\0", SIGNATURE) == "00-E8"
    assert refused(b"", SIGNATURE) == "00-E8"
    assert failed_check(SigningKey.generate(RNG).public, MESSAGE, SIGNATURE) == "00-E8"


@pytest.mark.parametrize("y", range(edwards.P, 2**255), ids=lambda y: f"p+{y - edwards.P}")
@pytest.mark.parametrize("sign", [0, 1])
def test_non_canonical_R(y: int, sign: int) -> None:
    R = (y | sign << 255).to_bytes(32, "little")
    assert refused(MESSAGE, R + SIGNATURE[32:]) == "00-E5"


def test_small_order_R() -> None:
    checks = Counter[str]()
    for encoding in {e for point in TORSION for e in edwards.encodings(point)}:
        checks[refused(MESSAGE, encoding + SIGNATURE[32:])] += 1
    assert checks == {"00-E5": 6, "00-E6": 8}


def test_S_at_and_above_the_order() -> None:
    S = int.from_bytes(SIGNATURE[32:], "little")
    for larger in (edwards.L, S + edwards.L, 2**256 - 1):
        assert refused(MESSAGE, SIGNATURE[:32] + larger.to_bytes(32, "little")) == "00-E7"
    below = (edwards.L - 1).to_bytes(32, "little")
    assert refused(MESSAGE, SIGNATURE[:32] + below) == "00-E8"


def signature_with_torsion(a: int, at_key: edwards.Point, at_R: edwards.Point) -> SignatureClaim:
    """A signature that would hold if points that differ by small order were the same."""
    r = 987_654_321
    key = edwards.encode(edwards.add(edwards.multiply(a, edwards.BASE), at_key))
    R = edwards.encode(edwards.add(edwards.multiply(r, edwards.BASE), at_R))
    S = (r + edwards.challenge(R, key, MESSAGE) * a) % edwards.L
    return SignatureClaim(PublicKey(key), MESSAGE, R + S.to_bytes(32, "little"))


@pytest.mark.slow
def test_mixed_order_points_are_judged_without_cofactor_as_the_oracle_does() -> None:
    items = [signature_with_torsion(12_345, T, U) for T in TORSION[::2] for U in TORSION]
    accepted = [failed_check(*item) == "" for item in items]
    expected = [edwards.accepts(item.key.data, item.message, item.signature) for item in items]
    assert accepted == expected
    assert 1 <= sum(accepted) < 32
    assert any(ok for ok, item in zip(accepted, items, strict=True) if item.key != items[0].key)


@pytest.mark.parametrize(
    ("key", "message", "signature"),
    [
        (KEY.public.data, MESSAGE, SIGNATURE),
        (None, MESSAGE, SIGNATURE),
        (KEY.public, "a message", SIGNATURE),
        (KEY.public, bytearray(MESSAGE), SIGNATURE),
        (KEY.public, MESSAGE, bytearray(SIGNATURE)),
        (KEY.public, MESSAGE, SIGNATURE.hex()),
    ],
    ids=range(6),
)
def test_wrong_types_are_the_callers_bug(key: Any, message: Any, signature: Any) -> None:
    verify(KEY.public, MESSAGE, SIGNATURE)
    with pytest.raises(UsageError):
        verify(key, message, signature)
    with pytest.raises(UsageError):
        verify_many([SignatureClaim(key, message, signature)])


@pytest.fixture(scope="module", params=["none", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "none":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            yield processes


def many(count: int) -> list[SignatureClaim]:
    messages = [b"message %d" % index for index in range(count)]
    return [SignatureClaim(KEY.public, message, KEY.sign(message)) for message in messages]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100])
def test_many_good_signatures(executor: Executor | None, count: int) -> None:
    verify_many(many(count), executor)
    verify_many(iter(many(count)), executor)


@pytest.mark.parametrize("culprits", [(0,), (99,), (31, 32), (5, 40, 41, 98), tuple(range(100))])
def test_all_culprits_are_named(executor: Executor | None, culprits: tuple[int, ...]) -> None:
    items = many(100)
    verify_many(items, executor)
    for index in culprits:
        items[index] = items[index]._replace(message=b"another message")
    first = items[culprits[0]]
    items[culprits[0]] = first._replace(signature=first.signature[:32] + b"\xff" * 32)
    with pytest.raises(InvalidSignature) as caught:
        verify_many(items, executor)
    assert caught.value.culprits == culprits
    assert caught.value.check == "00-E7"


def test_errors_that_cancel_in_a_sum_are_both_named(executor: Executor | None) -> None:
    """S + d and S - d would pass a batch equation with equal weights."""
    items = many(2)
    verify_many(items, executor)
    for index, shift in ((0, 1), (1, -1)):
        R, S = items[index].signature[:32], int.from_bytes(items[index].signature[32:], "little")
        shifted = ((S + shift) % edwards.L).to_bytes(32, "little")
        items[index] = items[index]._replace(signature=R + shifted)
    with pytest.raises(InvalidSignature) as caught:
        verify_many(items, executor)
    assert caught.value.culprits == (0, 1)


SMALL_ORDER = [encoding for point in TORSION for encoding in edwards.encodings(point)]

NON_CANONICAL = [
    (y | sign << 255).to_bytes(32, "little") for y in range(edwards.P, 2**255) for sign in (0, 1)
]

SEED = bytes(range(32))
KEY_KEYS = SigningKey(SecretBytes(SEED))


def test_the_curve_constants_follow_from_the_curve() -> None:
    assert len(set(TORSION)) == 8
    assert {point[1] for point in TORSION} == ed25519._SMALL_ORDER_Y
    assert edwards.D == ed25519._D
    assert edwards.multiply(edwards.L, edwards.BASE) == edwards.IDENTITY
    assert edwards.L == ed25519._ORDER


def test_there_are_fourteen_encodings_of_small_order_points() -> None:
    assert len(set(SMALL_ORDER)) == 14


@pytest.mark.parametrize("encoding", [*SMALL_ORDER, *NON_CANONICAL], ids=bytes.hex)
def test_keys_of_small_order_and_other_encodings_are_refused(encoding: bytes) -> None:
    PublicKey(KEY_KEYS.public.data)
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
        PublicKey((KEY_KEYS.public.data * 2)[:size])


@pytest.mark.parametrize("data", [None, "k" * 32, bytearray(KEY_KEYS.public.data), list(range(32))])
def test_a_key_is_bytes(data: Any) -> None:
    with pytest.raises(UsageError):
        PublicKey(data)


def test_public_keys_are_values() -> None:
    again = PublicKey(KEY_KEYS.public.data)
    assert again == KEY_KEYS.public
    assert hash(again) == hash(KEY_KEYS.public)
    assert pickle.loads(pickle.dumps(again)) == again  # noqa: S301 - made on this line
    assert KEY_KEYS.public.data.hex() in repr(again)


def test_the_codec_of_public_keys() -> None:
    assert PUBLIC_KEY.decode(PUBLIC_KEY.encode(KEY_KEYS.public)) == KEY_KEYS.public
    with pytest.raises(MalformedMessage) as caught:
        PUBLIC_KEY.decode(SMALL_ORDER[0])
    assert caught.value.offset == 0
    with pytest.raises(UsageError):
        PUBLIC_KEY.encode(KEY_KEYS.public.data)  # type: ignore[arg-type]


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
    assert SigningKey(SecretBytes(SEED)).public == KEY_KEYS.public
    assert SigningKey.generate(lambda n: SEED[:n]).public == KEY_KEYS.public
    assert SigningKey.generate(seeded(1)).public != KEY_KEYS.public


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
    for text in (repr(KEY_KEYS), str(KEY_KEYS), f"{KEY_KEYS}", f"{[KEY_KEYS]}"):
        assert SEED.hex() not in text
        assert repr(SEED) not in text
        assert KEY_KEYS.public.data.hex()[:16] in text
    assert not hasattr(KEY_KEYS, "__dict__")


def test_signing_keys_cannot_be_pickled_copied_compared_or_hashed() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(UsageError):
            pickle.dumps(KEY_KEYS, protocol)
    with pytest.raises(UsageError):
        copy.copy(KEY_KEYS)
    with pytest.raises(UsageError):
        copy.deepcopy(KEY_KEYS)
    with pytest.raises(UsageError):
        KEY_KEYS == KEY_KEYS  # noqa: B015, PLR0124 - the comparison itself is the test
    with pytest.raises(UsageError):
        hash(KEY_KEYS)


@pytest.mark.parametrize("message", [None, "text", bytearray(b"m"), 5])
def test_only_bytes_are_signed(message: Any) -> None:
    KEY_KEYS.sign(b"")
    with pytest.raises(UsageError):
        KEY_KEYS.sign(message)
