"""Signed notes, keys, checkpoints: one spelling each, and every signature counts."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable

import pytest

from bulletin_board.display import visible
from bulletin_board.note import (
    Checkpoint,
    KeyKind,
    NoteSigner,
    SignatureLine,
    SignedNote,
    VerifierKey,
    cosign,
    open_checkpoint,
    sign_note,
    verify_note,
)
from bulletin_board.policy import TrustPolicy
from bulletin_board.tree import EMPTY_ROOT, leaf_hash
from tests.board.tools import ORIGIN, log_key, signer
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, ProtocolError, UsageError
from wire.secret import SecretBytes

ROOT = leaf_hash(b"x")
TEXT = Checkpoint(ORIGIN, 15, ROOT).to_text()
DASH = "\N{EM DASH}"


def note(text: str = TEXT) -> bytes:
    return sign_note(text, signer()).to_bytes()


def witness(number: int = 1) -> NoteSigner:
    return signer(f"witness.example/{number}", KeyKind.WITNESS)


def test_a_checkpoint_opens() -> None:
    signed = open_checkpoint(note(), log_key())
    assert signed.checkpoint == Checkpoint(ORIGIN, 15, ROOT)
    assert signed.to_bytes() == note()


SIZES = ("0015", "+15", "-15", " 15", "15 ", "1_5", "0x15", "\u0661\u0665", "9" * 19, "1" * 30, "")
ENCODED = base64.b64encode(ROOT).decode()


@pytest.mark.parametrize(
    "text",
    [
        *(TEXT.replace("15", size) for size in SIZES),
        TEXT.replace("15\n", "15\r\n"),
        TEXT + "extension\n",
        TEXT + "\n",
        TEXT.replace(ENCODED, ENCODED[:-1]),
        TEXT.replace(ENCODED, ENCODED.rstrip("=")),
        TEXT.replace(ENCODED, ENCODED.replace("=", "") + "=="),
        TEXT.replace(ENCODED, base64.b64encode(ROOT[:31]).decode()),
        TEXT.replace(ENCODED, " " + ENCODED),
        TEXT.replace(ORIGIN, ""),
        TEXT.replace(ORIGIN, "board example"),
        Checkpoint(ORIGIN, 0, EMPTY_ROOT).to_text().replace("0\n", "1\n", 1)[:-2],
        f"{ORIGIN}\n0\n{ENCODED}\n",
    ],
)
def test_other_spellings_are_malformed_though_signed(text: str) -> None:
    open_checkpoint(note(), log_key())
    if not text.endswith("\n"):
        text += "\n"
    with pytest.raises(MalformedMessage):
        open_checkpoint(note(text), log_key())


def test_base64_with_stray_bits_is_malformed() -> None:
    assert ENCODED.endswith("=")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    stray = alphabet[alphabet.index(ENCODED[-2]) + 1]
    with pytest.raises(MalformedMessage):
        open_checkpoint(note(TEXT.replace(ENCODED, ENCODED[:-2] + stray + "=")), log_key())


def lines(*added: str) -> bytes:
    return note() + "".join(added).encode()


def good_line() -> SignatureLine:
    return SignedNote.parse(note()).signatures[0]


def bad_line() -> SignatureLine:
    line = good_line()
    return SignatureLine(
        line.name, line.key_id, bytes([line.signature[0] ^ 1]) + line.signature[1:]
    )


def test_unknown_keys_are_ignored() -> None:
    same_name = SignatureLine(ORIGIN, b"abcd", bytes(64))
    same_id = SignatureLine("other.example", log_key().key_id, bytes(64))
    open_checkpoint(lines(str(same_name), str(same_id)), log_key())


def test_a_bad_signature_of_a_known_key_rejects_even_after_a_good_one() -> None:
    open_checkpoint(lines(), log_key())
    with pytest.raises(InvalidSignature):
        open_checkpoint(lines(str(bad_line())), log_key())
    flipped = SignedNote(TEXT, (bad_line(), good_line()))
    with pytest.raises(InvalidSignature):
        open_checkpoint(flipped.to_bytes(), log_key())


def test_a_note_without_a_signature_of_the_log_is_refused() -> None:
    other = sign_note(TEXT, signer("other.example/log"))
    with pytest.raises(InvalidSignature):
        open_checkpoint(other.to_bytes(), log_key())


def test_a_checkpoint_of_another_origin_is_refused() -> None:
    text = TEXT.replace(ORIGIN, "other.example/log")
    with pytest.raises(InvalidSignature) as caught:
        open_checkpoint(note(text), log_key())
    assert caught.value.check == "05-N3"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: data + b"x",
        lambda data: data[:-1] + b"x",
        lambda data: data.replace(b"\n\n", b"\n"),
        lambda data: data.replace(DASH.encode(), b"-"),
        lambda data: data.replace(DASH.encode() + b" ", DASH.encode()),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(ORIGIN.encode(), b"\xff" + ORIGIN.encode()[1:]),
        lambda data: data.replace(ORIGIN.encode(), b"\x1b[31m" + ORIGIN.encode()),
        lambda data: data.split(b"\n\n")[0] + b"\n\n",
        lambda data: data + DASH.encode() + b" name AAAA\n",
        lambda data: data + DASH.encode() + b" na+me AAAAAAAA\n",
        lambda data: data + DASH.encode() + " n\u00a0me AAAAAAAA\n".encode(),
        lambda data: data + DASH.encode() + b" name AAAAAAA\n",
        lambda data: data[:0],
        lambda data: b"\n\n" + data.split(b"\n\n")[1],
        lambda data: data + 200 * (DASH.encode() + b" name AAAAAAAA\n"),
        lambda data: data + b"x" * 70_000,
    ],
)
def test_malformed_notes(change: object) -> None:
    assert callable(change)
    SignedNote.parse(note())
    with pytest.raises(MalformedMessage):
        SignedNote.parse(change(note()))


def test_every_bit_of_a_checkpoint_counts() -> None:
    data = note()
    survivors = 0
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        try:
            open_checkpoint(bytes(flipped), log_key())
        except ProtocolError:
            continue
        survivors += 1
    assert survivors == 0


def test_a_cosignature_is_known_by_its_witness_only() -> None:
    line = cosign(TEXT, witness(), 1_700_000_000)
    both = SignedNote.parse(note()).with_signatures([line])
    assert SignedNote.parse(both.to_bytes()) == both
    (found,) = verify_note(both, [witness().verifier])
    assert found[0] == witness().verifier
    assert verify_note(both, [witness(2).verifier]) == ()
    later = SignatureLine(line.name, line.key_id, (1_700_000_001).to_bytes(8) + line.signature[8:])
    with pytest.raises(InvalidSignature):
        verify_note(SignedNote(TEXT, (later,)), [witness().verifier])
    far = SignatureLine(line.name, line.key_id, b"\xff" * 8 + line.signature[8:])
    with pytest.raises(InvalidSignature):
        verify_note(SignedNote(TEXT, (far,)), [witness().verifier])
    message = f"cosignature/v1\ntime {2**63}\n{TEXT}".encode()
    signed = SignatureLine(
        line.name, line.key_id, (2**63).to_bytes(8) + witness().signing_key.sign(message)
    )
    with pytest.raises(InvalidSignature) as caught:
        verify_note(SignedNote(TEXT, (signed,)), [witness().verifier])
    assert caught.value.check == "05-N5"
    with pytest.raises(UsageError):
        cosign(TEXT, signer(), 1)
    with pytest.raises(UsageError):
        cosign(TEXT, witness(), -1)


def test_vkeys() -> None:
    text = str(log_key())
    assert VerifierKey.parse(text) == log_key()
    name, key_id, material = text.split("+", 2)
    for bad in (
        f"{name}x+{key_id}+{material}",
        f"{name}+{key_id.upper()}+{material}"
        if key_id.upper() != key_id
        else f"{name}++{material}",
        f"{name}+00000000+{material}",
        f"{name}+{key_id}+{material}=",
        f"{name}+{key_id}",
        f"{name}+{key_id}+",
        f"{name}+{key_id}+{base64.b64encode(bytes([2]) + log_key().key.data).decode()}",
        "",
    ):
        with pytest.raises(MalformedMessage):
            VerifierKey.parse(bad)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada", "Ada"),
        ("a\x1b[31mb", "a<U+001B>[31mb"),
        ("a\u202eb", "a<U+202E>b"),
        ("a\u200db", "a<U+200D>b"),
        ("\u212a", "\u212a"),
        ("e\u0301", "e\u0301"),
        ("a\nb", "a<U+000A>b"),
        ("a\u00a0b", "a<U+00A0>b"),
        ("a\u3164b", "a<U+3164>b"),
        ("a\ufe0fb", "a<U+FE0F>b"),
        ("x" * 201, "x" * 200 + "..."),
    ],
)
def test_names_are_shown_without_their_tricks(name: str, shown: str) -> None:
    assert visible(name) == shown


def test_names_that_only_look_alike_are_different_keys() -> None:
    """NFC and NFD, K and the Kelvin sign: nothing is normalised before it is hashed."""
    names = ["caf\u00e9", "cafe\u0301", "K", "\u212a"]
    keys = {VerifierKey(name, KeyKind.LOG, log_key().key).key_id for name in names}
    assert len(keys) == 4


# The last value inside of each bound, and the first outside


def test_the_bounds_of_a_checkpoint() -> None:
    assert Checkpoint(ORIGIN, 2**63 - 1, ROOT).size == 2**63 - 1
    for size, root in ((2**63, ROOT), (-1, ROOT), (15, ROOT[:-1]), (15, ROOT + b"x")):
        with pytest.raises(UsageError):
            Checkpoint(ORIGIN, size, root)
    with pytest.raises(MalformedMessage):
        Checkpoint(ORIGIN + " ", 15, ROOT)
    assert Checkpoint.from_text(TEXT).size == 15
    for text in (TEXT + "x", TEXT[:-1], TEXT + "\n", "x\n" + TEXT):
        with pytest.raises(MalformedMessage):
            Checkpoint.from_text(text)


def test_the_bounds_of_a_time() -> None:
    last = cosign(TEXT, witness(), 2**63 - 1)
    assert last.signature[:8] == (2**63 - 1).to_bytes(8)
    assert verify_note(SignedNote(TEXT, (last,)), [witness().verifier])
    assert cosign(TEXT, witness(), 0).signature[:8] == bytes(8)
    for time in (2**63, -1):
        with pytest.raises(UsageError):
            cosign(TEXT, witness(), time)


def test_the_bounds_of_a_name() -> None:
    key = witness().verifier.key
    for name in ("x", "x" * 255, "\u00e9" * 127):
        assert VerifierKey.parse(str(VerifierKey(name, KeyKind.LOG, key))).name == name
    for name in ("", "x" * 256, "\u00e9" * 128, "a b", "a+b", "a\u00a0b", "a\u202eb", "a\x1bb"):
        with pytest.raises(MalformedMessage):
            VerifierKey(name, KeyKind.LOG, key)


def test_the_bounds_of_a_note() -> None:
    line = SignatureLine("stranger", b"abcd", b"x")
    assert SignatureLine.parse(str(line)[:-1]) == line
    with pytest.raises(MalformedMessage):
        SignatureLine.parse(f"{DASH} stranger {base64.b64encode(b'abcd').decode()}")
    with pytest.raises(MalformedMessage):
        SignatureLine.parse(f"{DASH} stranger")
    most = SignedNote(TEXT, (good_line(), *[line] * 127))
    assert len(SignedNote.parse(most.to_bytes()).signatures) == 128
    with pytest.raises(MalformedMessage):
        SignedNote.parse(SignedNote(TEXT, (good_line(), *[line] * 128)).to_bytes())
    free = 65_536 - len(note())
    longest = note() + str(SignatureLine("x", b"abcd", bytes(48_000))).encode()
    filler = "y" * (65_536 - len(longest)) + "\n"
    assert free > len(filler)
    padded = SignedNote(filler + TEXT, SignedNote.parse(longest).signatures).to_bytes()
    assert len(padded) == 65_537
    assert SignedNote.parse(padded.replace(b"yy", b"y", 1)).text.endswith(TEXT)
    with pytest.raises(MalformedMessage):
        SignedNote.parse(padded)


@pytest.mark.parametrize("control", [*range(9), 9, *range(11, 32)])
def test_no_control_character_is_in_a_note(control: int) -> None:
    text = f"a{chr(control)}b\n"
    assert SignedNote.parse(sign_note("ab\n", signer()).to_bytes()).text == "ab\n"
    with pytest.raises(MalformedMessage):
        SignedNote.parse(sign_note(text, signer()).to_bytes())


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: s + b"\0", lambda s: s[:0]])
def test_a_signature_has_its_length(change: Callable[[bytes], bytes]) -> None:
    """Of a known key: of an unknown one nobody knows the length."""
    for line, key in ((good_line(), log_key()), (cosign(TEXT, witness(), 5), witness().verifier)):
        assert verify_note(SignedNote(TEXT, (line,)), [key])
        other = SignatureLine(line.name, line.key_id, change(line.signature))
        with pytest.raises(InvalidSignature) as caught:
            verify_note(SignedNote(TEXT, (other,)), [key])
        assert caught.value.check in {"05-N4", "05-N5"}


def test_a_key_file_round_trips_and_never_prints() -> None:
    secret = signer().to_secret_text()
    good = secret.reveal()
    assert NoteSigner.from_secret_text(SecretBytes(good)).verifier == log_key()
    _, _, name, key_id, material = good.split(b"+", 4)
    assert material.strip() not in repr(signer()).encode()
    with pytest.raises(UsageError):
        pickle.dumps(secret)
    seed = base64.b64decode(material)

    def written(*parts: bytes) -> bytes:
        return b"+".join([b"PRIVATE+KEY", *parts])

    for bad in (
        good[1:],
        good.removeprefix(b"PRIVATE+KEY+"),
        good.replace(b"PRIVATE+KEY", b"PRIVATE+KEX"),
        written(name, key_id[::-1], material),
        written(name + b" ", key_id, material),
        written(name, key_id, base64.b64encode(seed[:-1]) + b"\n"),
        written(name, key_id, base64.b64encode(seed + b"x") + b"\n"),
        written(name, key_id, base64.b64encode(b"\x07" + seed[1:]) + b"\n"),
        good.replace(name, b"\xff" + name[1:]),
        b"PRIVATE+KEY+x",
        b"\xff",
        b"",
    ):
        with pytest.raises(UsageError) as caught:
            NoteSigner.from_secret_text(SecretBytes(bad))
        assert material.strip() not in str(caught.value).encode()


TEXT_POLICY = Checkpoint(ORIGIN, 3, leaf_hash(b"")).to_text()


RENAMED = VerifierKey("another.example", KeyKind.WITNESS, witness(1).verifier.key)
"""One witness must not count as two under two names."""

POLICY = f"""# a comment
log {log_key()} https://board.example
\twitness  w1 {witness(1).verifier} https://w1.example
witness w2 {witness(2).verifier}
witness w3 {witness(3).verifier}

group two 2 w1 w2 w3
quorum two
"""


def checkpoint(*witnesses: int) -> bytes:
    note = sign_note(TEXT_POLICY, signer())
    return note.with_signatures(
        cosign(TEXT_POLICY, witness(n), 1000 + n) for n in witnesses
    ).to_bytes()


def test_a_quorum() -> None:
    policy = TrustPolicy.parse(POLICY.encode())
    signed = policy.open(checkpoint(1, 3))
    assert [cosignature.time for cosignature in policy.cosignatures(signed)] == [1001, 1003]
    policy.open(checkpoint(1, 2, 3))


@pytest.mark.parametrize("witnesses", [(), (1,), (3,)])
def test_too_few_witnesses(witnesses: tuple[int, ...]) -> None:
    policy = TrustPolicy.parse(POLICY.encode())
    with pytest.raises(InvalidProof) as caught:
        policy.open(checkpoint(*witnesses))
    assert caught.value.check == "05-P2"


def test_the_same_witness_twice_counts_once() -> None:
    policy = TrustPolicy.parse(POLICY.encode())
    twice = SignedNote.parse(checkpoint(1)).with_signatures([cosign(TEXT_POLICY, witness(1), 5)])
    assert len(twice.signatures) == 3
    with pytest.raises(InvalidProof):
        policy.open(twice.to_bytes())


def test_a_bad_cosignature_of_a_known_witness_rejects() -> None:
    policy = TrustPolicy.parse(POLICY.encode())
    wrong = cosign(TEXT_POLICY.replace("\n3\n", "\n4\n"), witness(3), 5)
    with pytest.raises(InvalidSignature):
        policy.open(SignedNote.parse(checkpoint(1, 2)).with_signatures([wrong]).to_bytes())


def test_nested_groups_and_words() -> None:
    text = POLICY.replace(
        "group two 2 w1 w2 w3\nquorum two",
        "group any2 any w2 w3\ngroup both all w1 any2\nquorum both",
    )
    policy = TrustPolicy.parse(text.encode())
    policy.open(checkpoint(1, 3))
    with pytest.raises(InvalidProof):
        policy.open(checkpoint(2, 3))
    assert TrustPolicy.parse(policy.to_bytes()) == policy


def test_no_quorum_needs_no_witness() -> None:
    policy = TrustPolicy.parse(f"log {log_key()}\nquorum none\n".encode())
    policy.open(checkpoint())
    assert policy == TrustPolicy.single_log(log_key())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("quorum two\n", ""),
        ("quorum two\n", "quorum two\nquorum two\n"),
        ("quorum two", "quorum other"),
        ("quorum two", "quorum two w1"),
        ("group two 2", "group two 4"),
        ("group two 2", "group two 0"),
        ("group two 2", "group two 02"),
        ("group two 2", "group two +2"),
        ("group two 2", "group none 2"),
        ("group two 2", "group w1 2"),
        ("w1 w2 w3\n", "w1 w2 w2\n"),
        ("w1 w2 w3\n", "w1 w2 two\n"),
        ("w1 w2 w3\n", "w1 w2 w3\ngroup three 1 w1\n"),
        ("group two 2 w1 w2 w3\n", ""),
        ("witness w2", "witness w1"),
        (str(witness(2).verifier), str(witness(1).verifier)),
        (str(witness(2).verifier), str(RENAMED)),
        (str(witness(2).verifier), str(log_key())),
        (f"log {log_key()}", f"log {witness(1).verifier}"),
        (f"log {log_key()} https://board.example\n", ""),
        ("# a comment", f"log {log_key()}"),
        ("# a comment", "# a\rcomment"),
        ("# a comment", "logs"),
        ("quorum two\n", "quorum two"),
        ("\n\ngroup", f"\nwitness w1 {witness(4).verifier}\n\ngroup"),
        ("\n\ngroup", f"\nwitness none {witness(4).verifier}\n\ngroup"),
        ("\n\ngroup", f"\nwitness w4 {witness(4).verifier}\ngroup none 1 w4\ngroup"),
        ("\n\ngroup", f"\nwitness w4 {witness(4).verifier}\ngroup w1 1 w4\ngroup"),
        ("# a comment\n", "#\n" + 300 * f"witness x {witness(2).verifier}\n"),
    ],
)
def test_malformed_policies(old: str, new: str) -> None:
    TrustPolicy.parse(POLICY.encode())
    changed = POLICY.replace(old, new, 1)
    assert changed != POLICY
    with pytest.raises(MalformedMessage):
        TrustPolicy.parse(changed.encode())


def test_a_policy_is_bounded() -> None:
    text = POLICY.encode()
    longest = b"#" * (262_144 - len(text) - 1) + b"\n" + text
    assert TrustPolicy.parse(longest) == TrustPolicy.parse(text)
    with pytest.raises(MalformedMessage):
        TrustPolicy.parse(b"#" + longest)
    more = "".join(f"witness x{n} {witness(10 + n).verifier}\n" for n in range(250))
    most = POLICY.replace("# a comment\n", more)  # 256 definitions
    assert len(TrustPolicy.parse(most.encode()).witnesses) == 253
    with pytest.raises(MalformedMessage):
        TrustPolicy.parse(most.replace("\ngroup two", "\ngroup one 1 x0\ngroup two").encode())


def test_a_kelvin_sign_is_not_a_k() -> None:
    text = POLICY.replace("w1", "K")
    TrustPolicy.parse(text.encode())
    with pytest.raises(MalformedMessage):
        TrustPolicy.parse(text.replace("2 K", "2 \u212a").encode())
