"""What a transcript binds, what it refuses, what its nonces depend on, and specification 02."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group, ScalarVec, SecretScalarVec
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.zkp.p256 import p256_group
from tests.zkp.sigma.samples import sample
from wire.domains import PROVER_NONCES, SIGMA_BATCH_WEIGHTS, TRANSCRIPT
from wire.errors import InvalidProof, UsageError
from zkp import transcript as sponge
from zkp.sigma import Form, statements
from zkp.transcript import DuplexSponge, Transcript, derive_session_id, frame

GROUP: Final = installed_groups()[0]
Step = Callable[[Transcript], object]


def bound(protocol: bytes = b"tests v1") -> Transcript:
    transcript = Transcript(protocol)
    transcript.absorb(b"context", b"here")
    return transcript


def outcome(*steps: Step) -> bytes:
    """What a transcript gives after these steps."""
    transcript = bound()
    for step in steps:
        step(transcript)
    return transcript.digest(b"end")


def absorb(label: bytes, data: bytes) -> Step:
    return lambda transcript: transcript.absorb(label, data)


POINTS: Final = GROUP.points([GROUP.generator, GROUP.generator + GROUP.generator])
SCALARS: Final = GROUP.scalars([1, 2])

DIFFERENT: Final[list[tuple[Step, ...]]] = [
    (),
    (absorb(b"a", b"bc"),),
    (absorb(b"ab", b"c"),),
    (absorb(b"abc", b""),),
    (absorb(b"", b"abc"),),
    (absorb(b"a", b"b"), absorb(b"", b"c")),
    (absorb(b"a", b""), absorb(b"b", b"c")),
    (absorb(b"", b""),),
    (absorb(b"", b""), absorb(b"", b"")),
    (lambda t: t.absorb_points(b"p", POINTS),),
    (lambda t: t.absorb(b"p", POINTS.to_bytes()),),
    (lambda t: t.absorb_points(b"p", POINTS[:1]), lambda t: t.absorb_points(b"p", POINTS[1:])),
    (lambda t: t.absorb_scalars(b"p", SCALARS),),
    (lambda t: t.absorb(b"p", SCALARS.to_bytes()),),
    (lambda t: t.absorb_int(b"n", 0),),
    (lambda t: t.absorb_int(b"n", 1),),
    (lambda t: t.absorb_int(b"n", -1),),
    (lambda t: t.absorb_int(b"n", 255),),
    (lambda t: t.absorb_int(b"n", 256),),
    (lambda t: t.absorb_int(b"n", 2**64),),
    (lambda t: t.absorb_int(b"n", 2**64 - 1),),
    (lambda t: t.absorb(b"n", b"\x01"),),
    (lambda t: t.challenge(b"c", GROUP),),
    (lambda t: t.challenge(b"d", GROUP),),
    (lambda t: t.challenges(b"c", GROUP, 2),),
    (lambda t: t.challenge(b"c", GROUP), lambda t: t.challenge(b"c", GROUP)),
    (lambda t: t.digest(b"c"),),
]


def test_different_calls_never_give_the_same_outcome() -> None:
    outcomes = [outcome(*steps) for steps in DIFFERENT]
    assert [outcome(*steps) for steps in DIFFERENT] == outcomes
    for (i, first), (j, second) in combinations(enumerate(outcomes), 2):
        assert first != second, (i, j)


entries = st.lists(st.tuples(st.binary(max_size=6), st.binary(max_size=6)), max_size=4)


@given(entries, entries)
def test_entries_are_framed(
    first: list[tuple[bytes, bytes]], second: list[tuple[bytes, bytes]]
) -> None:
    same = outcome(*(absorb(*e) for e in first)) == outcome(*(absorb(*e) for e in second))
    assert same == (first == second)


def test_encoded_points_are_bound_as_points() -> None:
    encoded = POINTS.to_bytes()
    assert outcome(lambda t: t.absorb_encoded_points(b"p", encoded)) == outcome(
        lambda t: t.absorb_points(b"p", POINTS)
    )


def test_only_bytes_are_framed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a view is in items: what follows it could be read as another entry."""
    words = memoryview(bytes(16)).cast("Q")
    assert len(words) == 2
    assert frame(bytes(words)) == b"\x10\0\0\0" + bytes(16)
    transcript = bound()
    for other in (words, bytearray(16), "text", None):
        with pytest.raises(UsageError):
            frame(cast("bytes", other))
        with pytest.raises(UsageError):
            transcript.absorb(b"data", cast("bytes", other))
        with pytest.raises(UsageError):
            transcript.absorb(cast("bytes", other), b"data")
    monkeypatch.setattr(sponge, "_MAX_FRAME", 4)
    assert frame(b"abc") == b"\x03\0\0\0abc"
    with pytest.raises(UsageError):
        frame(b"abcd")


@pytest.mark.parametrize("other", [True, 1.0, "1", None])
def test_only_integers_are_absorbed_as_integers(other: object) -> None:
    bound().absorb_int(b"n", 1)
    with pytest.raises(UsageError):
        bound().absorb_int(b"n", cast("int", other))


@given(st.integers(), st.integers())
def test_integers_have_one_encoding_each(first: int, second: int) -> None:
    def step(value: int) -> Step:
        return lambda transcript: transcript.absorb_int(b"n", value)

    assert (outcome(step(first)) == outcome(step(second))) == (first == second)


def test_the_protocol_name_separates() -> None:
    assert bound(b"p1").digest(b"") == bound(b"p1").digest(b"")
    assert bound(b"p1").digest(b"") != bound(b"p2").digest(b"")


def test_the_group_is_part_of_a_challenge() -> None:
    other = p256_group()
    transcript, twin = bound(), bound()
    transcript.challenge(b"c", GROUP)
    twin.challenge(b"c", other)
    assert transcript.digest(b"s") != twin.digest(b"s")


@pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)
def test_challenges_are_what_the_specification_says(group: Group) -> None:
    def entry(kind: int, label: bytes, data: bytes) -> bytes:
        return bytes([kind]) + frame(label) + frame(data)

    tag = b"gopa/v1/zkp/transcript" + frame(b"tests v1")
    sponge = DuplexSponge(derive_session_id(tag))
    sponge.absorb(entry(1, b"context", b"here"))
    sponge.absorb(entry(2, b"n", b"\x00\x01"))
    sponge.absorb(entry(3, b"p", group.generator.to_bytes()))
    sponge.absorb(entry(4, b"s", group.scalar(7).to_bytes()))
    sponge.absorb(entry(0x10, b"c", frame(b"ristretto255") + (2).to_bytes(4, "little")))
    squeezed = sponge.squeeze(96)
    expected = [int.from_bytes(squeezed[i : i + 48], "little") % group.order for i in (0, 48)]
    sponge.absorb(entry(0x11, b"id", b""))

    transcript = bound()
    transcript.absorb_int(b"n", 256)
    transcript.absorb_points(b"p", group.points([group.generator]))
    transcript.absorb_scalars(b"s", group.scalars([7]))
    assert transcript.challenges(b"c", group, 2).ints() == expected
    assert transcript.digest(b"id") == sponge.squeeze(32)


def test_nothing_is_drawn_before_something_is_bound() -> None:
    draws: list[Step] = [
        lambda t: t.challenge(b"c", GROUP),
        lambda t: t.digest(b"s"),
        lambda t: t.nonces(b"n", GROUP, 1, GROUP.secret_scalars([1]), seeded(1)),
    ]
    for draw in draws:
        draw(bound())
        with pytest.raises(UsageError):
            draw(Transcript(b"tests v1"))


def test_a_protocol_needs_a_name() -> None:
    with pytest.raises(UsageError):
        Transcript(b"")


class ZeroGroup:
    """A group in which every challenge comes out as zero."""

    name = GROUP.name
    scalar_size = GROUP.scalar_size

    def reduce_scalars(self, data: bytes, width: int) -> ScalarVec:
        return GROUP.scalars([0] * (len(data) // width))


def test_a_zero_challenge_is_refused() -> None:
    bound().challenge(b"c", GROUP)
    with pytest.raises(InvalidProof) as refusal:
        bound().challenge(b"c", cast("Group", ZeroGroup()))
    assert refusal.value.check == "02-F6"


def test_copies_are_independent() -> None:
    transcript = bound()
    twin = transcript.copy()
    twin.absorb(b"more", b"")
    assert transcript.digest(b"s") == bound().digest(b"s")
    assert twin.digest(b"s") != bound().digest(b"s")


def test_forks_differ_from_each_other_and_from_going_on() -> None:
    transcript = bound()
    ids = {
        transcript.fork(b"party", b"1").digest(b"s"),
        transcript.fork(b"party", b"2").digest(b"s"),
        transcript.fork(b"other", b"1").digest(b"s"),
        outcome(absorb(b"party", b"1")),
        transcript.digest(b"s"),
    }
    assert len(ids) == 5


def nonces(
    *,
    label: bytes = b"n",
    party: bytes = b"1",
    witness: SecretScalarVec | None = None,
    seed: int = 1,
    n: int = 2,
) -> list[int]:
    transcript = bound()
    transcript.absorb(b"party", party)
    secret = GROUP.secret_scalars([1, 2]) if witness is None else witness
    drawn = transcript.nonces(label, GROUP, n, secret, seeded(seed))
    return drawn.reveal().ints()


def test_nonces_depend_on_everything() -> None:
    reference = nonces()
    assert nonces() == reference
    changed = [
        nonces(label=b"m"),
        nonces(party=b"2"),
        nonces(witness=GROUP.secret_scalars([1, 3])),
        nonces(witness=GROUP.secret_scalars([1])),
        nonces(seed=2),
        nonces(n=3),
    ]
    everything = [*reference, *(value for values in changed for value in values)]
    assert len(set(everything)) == len(everything)


def test_nonces_leave_the_transcript_as_it_was() -> None:
    transcript = bound()
    transcript.nonces(b"n", GROUP, 1, GROUP.secret_scalars([1]), seeded(1))
    assert transcript.digest(b"s") == bound().digest(b"s")


def test_a_generator_that_gives_too_little_is_refused() -> None:
    witness = GROUP.secret_scalars([1])
    bound().nonces(b"n", GROUP, 1, witness, seeded(1))
    with pytest.raises(UsageError):
        bound().nonces(b"n", GROUP, 1, witness, lambda _: b"")


def test_a_session_id_of_another_length_is_refused() -> None:
    DuplexSponge(bytes(32))
    for size in (0, 31, 33):
        with pytest.raises(UsageError):
            DuplexSponge(bytes(size))


@given(st.binary(max_size=400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 400))
def test_absorbing_and_squeezing_in_pieces_changes_nothing(
    data: bytes, cut: int, first: int, second: int
) -> None:
    whole, pieces = DuplexSponge(bytes(32)), DuplexSponge(bytes(32))
    whole.absorb(data)
    pieces.absorb(data[:cut])
    pieces.absorb(data[cut:])
    assert pieces.squeeze(first) + pieces.squeeze(second) == whole.squeeze(first + second)


def test_a_copy_by_the_copy_module_is_independent(group: Group) -> None:
    first = Transcript(b"copies")
    first.absorb(b"a", b"1")
    second = copy.copy(first)
    assert second.challenge(b"c", group) == first.copy().challenge(b"c", group)
    second.absorb(b"b", b"2")
    assert second.challenge(b"c", group) != first.challenge(b"c", group)


ROOT: Final = Path(__file__).resolve().parents[2]
SPEC: Final = (ROOT / "specs" / "02-transcript-and-sigma.md").read_text()

CODE: Final = "".join(
    path.read_text()
    for path in (ROOT / "zkp" / "transcript.py", *sorted((ROOT / "zkp" / "sigma").glob("*.py")))
)


def numbers(letter: str) -> list[int]:
    return [int(number) for number in re.findall(rf"\*\*\[{letter}(\d+)\]\*\*", SPEC)]


@pytest.mark.parametrize("letter", "SFRINPCTXB")
def test_rules_are_numbered_without_gaps(letter: str) -> None:
    assert numbers(letter) == list(range(1, len(numbers(letter)) + 1))
    assert numbers(letter)


def test_every_check_that_code_cites_is_a_rule() -> None:
    cited = set(re.findall(r'"02-([A-Z])(\d+)"', CODE))
    assert len(cited) > 15
    for letter, number in cited:
        assert int(number) in numbers(letter)


@pytest.mark.parametrize("letter", "INTB")
def test_every_rule_of_a_verifier_is_marked_in_the_code(letter: str) -> None:
    for number in numbers(letter):
        assert re.search(rf"02-{letter}{number}\b|# {letter}{number}\b", CODE), (letter, number)


def test_labels() -> None:
    group = installed_groups()[0]
    for name in ("dleq", "one_of_two"):
        for form in Form:
            label = form.label(sample(group, name).statement).decode()
            assert label.replace(group.name, "<group>") in SPEC
    for domain in (TRANSCRIPT, PROVER_NONCES, SIGMA_BATCH_WEIGHTS):
        assert f'"{domain.decode()}"' in SPEC


def test_constants() -> None:
    assert f"rate {sponge.RATE}" in SPEC
    assert f"{sponge.RATE - sponge.SESSION_SIZE} zero bytes" in SPEC
    assert f"Ns + {sponge.CHALLENGE_SLACK} squeezed bytes" in SPEC


def test_every_statement_is_in_the_table() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", SPEC, re.MULTILINE))
    public = {
        name
        for name, thing in vars(statements).items()
        if getattr(thing, "__module__", "") == statements.__name__
        and name.islower()
        and not name.startswith("_")
    }
    assert listed == public - {"witness", "product_witness", "dleq_shape"}
