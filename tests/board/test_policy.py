"""Policy files: whom to trust, and how many of them."""

from __future__ import annotations

import pytest

from bulletin_board.note import (
    Checkpoint,
    KeyKind,
    NoteSigner,
    SignedNote,
    VerifierKey,
    cosign,
    sign_note,
)
from bulletin_board.policy import TrustPolicy
from bulletin_board.tree import leaf_hash
from tests.board.tools import ORIGIN, log_key, signer
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage

TEXT = Checkpoint(ORIGIN, 3, leaf_hash(b"")).to_text()


def witness(number: int) -> NoteSigner:
    return signer(f"witness.example/{number}", KeyKind.WITNESS)


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
    note = sign_note(TEXT, signer())
    return note.with_signatures(cosign(TEXT, witness(n), 1000 + n) for n in witnesses).to_bytes()


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
    twice = SignedNote.parse(checkpoint(1)).with_signatures([cosign(TEXT, witness(1), 5)])
    assert len(twice.signatures) == 3
    with pytest.raises(InvalidProof):
        policy.open(twice.to_bytes())


def test_a_bad_cosignature_of_a_known_witness_rejects() -> None:
    policy = TrustPolicy.parse(POLICY.encode())
    wrong = cosign(TEXT.replace("\n3\n", "\n4\n"), witness(3), 5)
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
