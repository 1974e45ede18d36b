"""What goes wrong when a hash leaves something out, shown on verifiers that do.

Each forgery proves a false statement, or one nobody knows a witness of, to a weak
verifier that hashes everything but one part. The same forgery is then refused by
the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from commitments import Pedersen
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.zkp.sigma.samples import (
    accepted,
    base,
    commit,
    context,
    proved,
    relations,
    sample,
    secret,
)
from wire.errors import InvalidProof, ProtocolError
from zkp.sigma import (
    Form,
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
    discrete_log,
    dleq,
    opens_to,
    verify,
    witness,
)
from zkp.sigma.proof import prove_narg, verify_narg
from zkp.transcript import (
    DuplexSponge,
    Transcript,
    challenge_width,
    decode_challenges,
    derive_session_id,
)

SESSION: Final = derive_session_id(b"tests/weak")


@dataclass
class Forgery:
    """A conversation, and the statement it pretends to prove."""

    statement: LinearRelation
    commitment: PointVec
    response: ScalarVec


@dataclass
class Weakness:
    """What the weak verifier hashes, and how that is exploited."""

    hashed: Callable[[LinearRelation, PointVec], bytes]
    forge: Callable[[Group], Forgery]

    def challenge(self, statement: LinearRelation, commitment: PointVec) -> Scalar:
        return squeeze(statement.group, self.hashed(statement, commitment))

    def accepts(self, forgery: Forgery) -> bool:
        challenge = self.challenge(forgery.statement, forgery.commitment)
        return forgery.statement.simulate(challenge, forgery.response) == forgery.commitment


def squeeze(group: Group, hashed: bytes) -> Scalar:
    sponge = DuplexSponge(SESSION)
    sponge.absorb(hashed)
    return decode_challenges(group, sponge.squeeze(challenge_width(group)))[0]


def without_points(*left_out: int) -> Callable[[LinearRelation, PointVec], bytes]:
    """Hash everything but the elements at these positions, counted without the generator."""

    def hashed(statement: LinearRelation, commitment: PointVec) -> bytes:
        kept = [i for i in range(len(statement.points)) if i not in left_out]
        points = statement.points.gather(kept)
        return statement.shape.header + points.to_bytes() + commitment.to_bytes()

    return hashed


def without_coefficients(statement: LinearRelation, commitment: PointVec) -> bytes:
    return statement.points.to_bytes() + commitment.to_bytes()


def without_commitment(statement: LinearRelation, commitment: PointVec) -> bytes:
    del commitment
    return statement.serialize()


def scalars(group: Group) -> Iterator[Scalar]:
    rng = seeded("forger")
    while True:
        yield group.random_scalars(1, rng).reveal()[0]


def with_points(statement: LinearRelation, *points: Point) -> LinearRelation:
    return LinearRelation(statement.shape, statement.group.points(points))


def forge_logarithm(group: Group) -> Forgery:
    """The key is computed last. Its logarithm depends on that of T, which is not known."""
    T, z = base(group, "nobody knows the logarithm"), next(scalars(group))
    blank = discrete_log(group, group.generator)
    challenge = squeeze(group, without_points(0)(blank, group.points([T])))
    X = (group.generator * z - T) * challenge.inverse()
    return Forgery(discrete_log(group, X), group.points([T]), row(group, z))


def row(group: Group, *values: Scalar) -> ScalarVec:
    return witness(group, *values).reveal()


def dleq_parts(group: Group) -> tuple[Scalar, Scalar, Scalar, Point, Point]:
    supply = scalars(group)
    x, k, other = next(supply), next(supply), next(supply)
    return x, k, other, group.generator, base(group, "H")


def forge_second_image(group: Group) -> Forgery:
    x, k, other, G, H = dleq_parts(group)
    commitment = group.points([G * k, H * other])
    blank = dleq(group, group.points([G * x, G]), group.points([H]))
    challenge = squeeze(group, without_points(2)(blank, commitment))
    z = k + challenge * x
    Y = (H * z - H * other) * challenge.inverse()
    assert H * x != Y
    return Forgery(with_points(blank, H, G * x, Y), commitment, row(group, z))


def forge_first_image(group: Group) -> Forgery:
    x, k, other, G, H = dleq_parts(group)
    commitment = group.points([G * other, H * k])
    blank = dleq(group, group.points([G, H * x]), group.points([H]))
    challenge = squeeze(group, without_points(1)(blank, commitment))
    z = k + challenge * x
    X = (G * z - G * other) * challenge.inverse()
    assert G * x != X
    return Forgery(with_points(blank, H, X, H * x), commitment, row(group, z))


def forge_base(group: Group) -> Forgery:
    x, k, other, G, Y = dleq_parts(group)
    commitment = group.points([G * k, G * other])
    blank = dleq(group, group.points([G * x, Y]), group.points([G]))
    challenge = squeeze(group, without_points(0)(blank, commitment))
    z = k + challenge * x
    H = (G * other + Y * challenge) * z.inverse()
    assert H * x != Y
    return Forgery(with_points(blank, H, G * x, Y), commitment, row(group, z))


def forge_whole_statement(group: Group) -> Forgery:
    """Chaum-Pedersen with the statement chosen after the challenge."""
    a, b, z, G, H = dleq_parts(group)
    commitment = group.points([G * a, H * b])
    blank = dleq(group, group.points([G, G]), group.points([H]))
    challenge = squeeze(group, without_points(0, 1, 2)(blank, commitment))
    x, y = (z - a) * challenge.inverse(), (z - b) * challenge.inverse()
    assert x != y
    return Forgery(with_points(blank, H, G * x, H * y), commitment, row(group, z))


def forge_public_value(group: Group) -> Forgery:
    """A commitment to 5 is shown to open to something else."""
    key, r = Pedersen(group), secret(group, "r")
    C = commit(group, group.secret_scalar(5), r)
    k, shift = group.scalar(1234), group.scalar(99)
    commitment = group.points([key.value_base * shift + key.blinding_base * k])
    blank = opens_to(group, key, C, group.scalar(5))
    challenge = squeeze(group, without_coefficients(blank, commitment))
    claimed = group.scalar(5) + shift * challenge.inverse()
    assert claimed != group.scalar(5)
    statement = opens_to(group, key, C, claimed)
    return Forgery(statement, commitment, row(group, k + challenge * r.reveal()))


def forge_commitment_to_a_value(group: Group) -> Forgery:
    """A commitment computed last is shown to open to 5, but the forger can open it to 5 - s."""
    key, k, z = Pedersen(group), group.scalar(1234), group.scalar(4321)
    shift = group.scalar(99)
    commitment = group.points([key.value_base * shift + key.blinding_base * k])
    blank = opens_to(group, key, key.value_base, group.scalar(5))
    challenge = squeeze(group, without_points(2)(blank, commitment))
    over = challenge.inverse()
    value, blinding = group.scalar(5) - shift * over, (z - k) * over
    C = key.value_base * value + key.blinding_base * blinding
    return Forgery(opens_to(group, key, C, group.scalar(5)), commitment, row(group, z))


def forge_without_commitment(group: Group) -> Forgery:
    """The challenge is known before the commitment, so the simulator makes proofs of anything."""
    x, y, z, G, H = dleq_parts(group)
    false = dleq(group, group.points([G * x, H * y]), group.points([H]))
    challenge = squeeze(group, false.serialize())
    return Forgery(false, false.simulate(challenge, row(group, z)), row(group, z))


WEAKNESSES: Final = {
    "the key of a discrete logarithm": Weakness(without_points(0), forge_logarithm),
    "the base of an equality": Weakness(without_points(0), forge_base),
    "the first image of an equality": Weakness(without_points(1), forge_first_image),
    "the second image of an equality": Weakness(without_points(2), forge_second_image),
    "all of an equality": Weakness(without_points(0, 1, 2), forge_whole_statement),
    "a public value": Weakness(without_coefficients, forge_public_value),
    "a commitment that is opened": Weakness(without_points(2), forge_commitment_to_a_value),
    "the prover's message": Weakness(without_commitment, forge_without_commitment),
}


@pytest.mark.parametrize("left_out", WEAKNESSES)
def test_leaving_something_out_of_the_hash_lets_forgeries_pass(group: Group, left_out: str) -> None:
    weakness = WEAKNESSES[left_out]
    forgery = weakness.forge(group)
    assert weakness.accepts(forgery)
    worse = Forgery(forgery.statement, forgery.commitment, forgery.response + group.scalar(1))
    assert not weakness.accepts(worse)

    honest = sample(group, "dleq")
    randomness = group.random_scalars(1, seeded(1))
    proof = prove_narg(Form.BATCHABLE, SESSION, honest.statement, honest.witness, randomness)
    verify_narg(Form.BATCHABLE, SESSION, honest.statement, proof)
    forged = forgery.commitment.to_bytes() + forgery.response.to_bytes()
    with pytest.raises(InvalidProof) as refusal:
        verify_narg(Form.BATCHABLE, SESSION, forgery.statement, forged)
    assert refusal.value.check == "02-N4"


NAMES: Final = [found.name for found in relations(installed_groups()[0])]


def changed_relations(statement: LinearRelation) -> Iterator[LinearRelation]:
    """The statement with one thing changed: each point, each factor, each index, the order."""
    group, shape = statement.group, statement.shape
    for i in range(len(statement.points)):
        points = list(statement.points)
        points[i] = points[i] + group.generator
        yield with_points(statement, *points)
    for i, old in enumerate(shape.equations):
        for new in changed_equations(old):
            equations = (*shape.equations[:i], new, *shape.equations[i + 1 :])
            yield LinearRelation(
                RelationShape(group, equations, shape.element_count), statement.points
            )
    if shape.equation_count > 1:
        yield LinearRelation(
            RelationShape(group, shape.equations[::-1], shape.element_count), statement.points
        )


def changed_equations(old: RelationEquation) -> Iterator[RelationEquation]:
    for i, image in enumerate(old.image):
        new = ImageTerm(image.element, image.coefficient + 1)
        yield RelationEquation((*old.image[:i], new, *old.image[i + 1 :]), old.terms)
    for i, term in enumerate(old.terms):
        doubled = RelationTerm(term.scalar, term.element, 2 * term.coefficient)
        yield RelationEquation(old.image, (*old.terms[:i], doubled, *old.terms[i + 1 :]))
    yield RelationEquation(old.image, (*old.terms, old.terms[0]))
    yield RelationEquation((*old.image, old.image[0]), old.terms)


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("name", NAMES)
def test_every_part_of_a_statement_is_bound(group: Group, name: str, form: Form) -> None:
    found = sample(group, name)
    assert isinstance(found.statement, LinearRelation)
    proof = proved(found.statement, found.witness, form=form)
    for changed in changed_relations(found.statement):
        with pytest.raises(InvalidProof):
            verify(changed, proof, context(), form=form)


def other_contexts() -> Iterator[Transcript]:
    """Contexts that differ from the usual one in a single thing."""
    yield context(b"bob")
    entries = [(b"session", b"session 1"), (b"party", b"alice")]
    changes = [
        [(b"session", b"session 2"), entries[1]],
        [(b"round", b"session 1"), entries[1]],
        entries[::-1],
        entries[:1],
        [*entries, (b"round", b"1")],
        [(b"session", b"session 1party"), (b"", b"alice")],
    ]
    for change in changes:
        yield with_entries(b"tests/sigma v1", change)
    yield with_entries(b"tests/sigma v2", entries)


def with_entries(protocol: bytes, entries: list[tuple[bytes, bytes]]) -> Transcript:
    transcript = Transcript(protocol)
    for label, data in entries:
        transcript.absorb(label, data)
    return transcript


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("name", ["dleq", "one_of_two", "all_of"])
def test_a_proof_cannot_be_replayed_in_another_context(group: Group, name: str, form: Form) -> None:
    statement, proof = accepted(group, name, form)
    for elsewhere in other_contexts():
        with pytest.raises(InvalidProof):
            verify(statement, proof, elsewhere, form=form)


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("name", ["product", "two_of_four"])
def test_prover_messages_cannot_be_reordered_or_dropped(
    group: Group, name: str, form: Form
) -> None:
    statement, proof = accepted(group, name, form)
    messages = [proof[at : at + 32] for at in range(0, len(proof), 32)]
    for i in range(len(messages)):
        dropped = b"".join(messages[:i] + messages[i + 1 :])
        with pytest.raises(ProtocolError):
            verify(statement, dropped, context(), form=form)
        for j in range(i):
            order = list(messages)
            order[i], order[j] = order[j], order[i]
            with pytest.raises(ProtocolError):
                verify(statement, b"".join(order), context(), form=form)
