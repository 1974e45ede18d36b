"""Sigma proofs, made and checked as byte strings and inside a transcript (specification 02).

Byte strings are in sections 4 and 5; section 6 is what protocols call.

Two forms of the same proof. *Batchable* carries commitments and is what
`BatchVerifier` takes; *compact* carries the challenge instead and is shorter
where a statement has several equations. For a single `LinearRelation` the strings
are those of draft-irtf-cfrg-sigma-protocols.

For proofs made of several parts the verification equations are handed out instead of checked
(`relation_equations`), so that they share one sum with those of other proofs (02-N4; 06-A11).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalarVec
from wire.errors import ComputationFault, InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng
from zkp.equations import Equation, Term
from zkp.sigma.composition import Statement, count, fresh_copy, leaf_challenges, leaves
from zkp.sigma.prover import SigmaProver, Witness, flatten_witness, is_satisfied, randomness_count
from zkp.sigma.relation import LinearRelation
from zkp.transcript import (
    DuplexSponge,
    Transcript,
    challenge_width,
    decode_challenges,
    require_equal,
)
from zkp.vectors import constant, errors_offset_by


class Form(Enum):
    """How a proof is written down. A proof in one form never verifies in the other."""

    BATCHABLE = "DSFS"
    COMPACT = "CMPT"

    def label(self, statement: Statement) -> bytes:
        """What separates the proofs of one form, kind of statement and group from all others."""
        kind = "" if isinstance(statement, LinearRelation) else "composed-"
        return f"{kind}{self.value}-with-sigma-proofs_Shake128_{statement.group.name}".encode()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A challenge and the scalars of one proof, as the verification equation sees them."""

    statement: Statement
    challenge: Scalar
    coefficients: ScalarVec
    responses: ScalarVec

    def commitment(self) -> PointVec:
        """The only commitment with which this conversation is accepted."""
        demanded = self.statement.group.points([])
        at = 0
        challenges = leaf_challenges(self.statement, self.challenge, self.coefficients)
        for leaf, challenge in zip(leaves(self.statement), challenges, strict=True):
            end = at + leaf.shape.scalar_count
            demanded = demanded.concat(leaf.simulate(challenge, self.responses[at:end]))
            at = end
        return demanded


def prove_narg(
    form: Form,
    session_id: bytes,
    statement: Statement,
    witness: Witness,
    randomness: SecretScalarVec,
) -> bytes:
    """One proof under an explicit session identifier and explicit randomness.

    The caller makes sure that the session identifier stands for the form and the
    whole context, and that the randomness is uniform and used once: `prove` does
    both.

    Raises:
        UsageError: the statement is degenerate or the witness does not satisfy it.
        ComputationFault: a computation went wrong. Nothing is released.
    """
    if statement.violation:
        raise statement.violation.as_usage_error()
    proof = unchecked_narg(form, session_id, statement, witness, randomness)
    with checking(statement, witness):
        verify_narg(form, session_id, fresh_copy(statement), proof)
    return proof


@contextmanager
def checking(statement: Statement, witness: Witness) -> Iterator[None]:
    """Verify a proof of one's own inside, before anything leaves the prover.

    That finds a witness that does not fit, and also a computation gone wrong: a faulty
    response can give the witness away.
    """
    try:
        yield
    except (InvalidProof, MalformedMessage) as error:
        if not is_satisfied(statement, witness):
            raise UsageError("the witness does not satisfy the statement") from None
        raise ComputationFault("a finished proof does not hold: prove again") from error


def unchecked_narg(
    form: Form,
    session_id: bytes,
    statement: Statement,
    witness: Witness,
    randomness: SecretScalarVec,
) -> bytes:
    """Do as `prove_narg`, for a caller that verifies the proof before it releases any.

    Raises:
        ComputationFault: the proof was made with other random scalars than these.
    """
    prover = SigmaProver(statement, witness, randomness)
    commitment = prover.commit()
    encoded = commitment.to_bytes()
    challenge = decode_challenges(statement.group, challenge_bytes(session_id, statement, encoded))
    coefficients, responses = prover.respond(challenge[0])
    require_equal(statement.group, prover.randomness(), randomness)
    first = encoded if form is Form.BATCHABLE else challenge.to_bytes()
    return first + coefficients.to_bytes() + responses.to_bytes()


def verify_narg(form: Form, session_id: bytes, statement: Statement, proof: bytes) -> None:
    """Check one proof under an explicit session identifier.

    Raises:
        InvalidProof: the statement is degenerate or the proof does not hold.
        MalformedMessage: no prover writes such bytes.
    """
    if statement.violation:
        raise statement.violation.as_invalid_proof()
    require_length(form, statement, proof)
    if form is Form.BATCHABLE:
        _verify_batchable(session_id, statement, proof)
    else:
        _verify_compact(session_id, statement, proof)


def proof_length(form: Form, statement: Statement) -> int:
    """The number of bytes of every proof of the statement."""
    group, dimensions = statement.group, count(statement)
    scalars = group.scalar_size * (dimensions.coefficients + dimensions.responses)
    if form is Form.BATCHABLE:
        return group.point_size * dimensions.commitments + scalars
    return group.scalar_size + scalars


def require_bytes(proof: bytes) -> None:
    """Raises `UsageError` for anything else, such as a buffer that may change later."""
    if type(proof) is not bytes:
        raise UsageError(f"a proof is bytes, not {type(proof).__name__}")


def require_length(form: Form, statement: Statement, proof: bytes) -> None:
    """Raises `MalformedMessage` for a proof of the wrong length."""
    require_bytes(proof)
    expected = proof_length(form, statement)
    if len(proof) != expected:  # N1
        raise MalformedMessage(
            f"a proof of {expected} bytes was expected, not {len(proof)}", "proof"
        )


def challenge_bytes(session_id: bytes, statement: Statement, commitment: bytes) -> bytes:
    """The squeezed bytes that decode to the challenge."""
    sponge = DuplexSponge(session_id)
    sponge.absorb(statement.serialize())
    sponge.absorb(commitment)
    return sponge.squeeze(challenge_width(statement.group))


def _verify_batchable(session_id: bytes, statement: Statement, proof: bytes) -> None:
    group, dimensions = statement.group, count(statement)
    split = group.point_size * dimensions.commitments
    with errors_offset_by(0):
        commitment = group.decode_points(proof[:split], dimensions.commitments)  # N2
    scalars = _decode_scalars(group, proof, split)  # N3
    challenge = decode_challenges(group, challenge_bytes(session_id, statement, proof[:split]))[0]
    conversation = _conversation(statement, challenge, scalars)
    if conversation.commitment() != commitment:  # N4
        raise InvalidProof("the verification equation does not hold", "02-N4")


def _verify_compact(session_id: bytes, statement: Statement, proof: bytes) -> None:
    scalars = _decode_scalars(statement.group, proof, 0)  # N3
    commitment = _conversation(statement, scalars[0], scalars[1:]).commitment()
    # The other form refuses it when it decodes: both accept the same conversations.
    if commitment.find_identity() is not None:  # N5
        raise InvalidProof("a commitment is the identity", "02-N5")
    squeezed = challenge_bytes(session_id, statement, commitment.to_bytes())
    if decode_challenges(statement.group, squeezed)[0] != scalars[0]:  # N6
        raise InvalidProof("the challenge is not the one the commitment gives", "02-N6")


def _decode_scalars(group: Group, proof: bytes, start: int) -> ScalarVec:
    with errors_offset_by(start):
        return group.decode_scalars(proof[start:], (len(proof) - start) // group.scalar_size)


def _conversation(statement: Statement, challenge: Scalar, scalars: ScalarVec) -> Conversation:
    split = count(statement).coefficients
    return Conversation(statement, challenge, scalars[:split], scalars[split:])


def prove(
    statement: Statement,
    witness: Witness,
    transcript: Transcript,
    *,
    rng: Rng,
    form: Form = Form.BATCHABLE,
) -> bytes:
    """A proof that the prover knows a witness of the statement.

    The proof depends on everything the transcript has bound, and the transcript
    binds statement and proof for whatever follows. The caller has bound the whole
    context: protocol, session, round, party and role.

    Raises:
        UsageError: the statement is degenerate, the witness does not satisfy it, or
            the transcript has bound nothing. Nothing is released then.
        ComputationFault: a computation went wrong. Nothing is released.
    """
    before = transcript.copy()
    proof = prove_unchecked(statement, witness, transcript, rng=rng, form=form)
    with checking(statement, witness):
        verify(fresh_copy(statement), proof, before, form=form)
    return proof


def prove_unchecked(
    statement: Statement,
    witness: Witness,
    transcript: Transcript,
    *,
    rng: Rng,
    form: Form = Form.BATCHABLE,
) -> bytes:
    """Do as `prove`, for a part of a proof that is verified as a whole before its release.

    Raises:
        UsageError: as `prove`, but for a witness that does not satisfy the statement.
        ComputationFault: the nonces are not those that were drawn.
    """
    if statement.violation:
        raise statement.violation.as_usage_error()
    secret = flatten_witness(statement, witness)
    session_id = bind_statement(transcript, statement, form)
    count = randomness_count(statement)
    source = transcript.nonce_source(b"sigma", statement.group, count, secret, rng)
    randomness = source.draw()
    proof = unchecked_narg(form, session_id, statement, witness, randomness)
    source.require_used(randomness)
    bind_proof(transcript, proof)
    return proof


def verify(
    statement: Statement, proof: bytes, transcript: Transcript, *, form: Form = Form.BATCHABLE
) -> None:
    """Check a proof made by `prove` with the same statement, transcript and form.

    Raises:
        InvalidProof: the statement is degenerate or the proof does not hold; `check`
            names the rule.
        MalformedMessage: no prover writes such bytes.
    """
    if statement.violation:
        raise statement.violation.as_invalid_proof()
    require_length(form, statement, proof)
    session_id = bind_statement(transcript, statement, form)
    verify_narg(form, session_id, statement, proof)
    bind_proof(transcript, proof)


def bind_statement(transcript: Transcript, statement: Statement, form: Form) -> bytes:
    """Derive the session identifier of a proof, then bind its statement."""
    session_id = transcript.digest(form.label(statement))
    transcript.absorb(b"sigma statement", statement.serialize())
    return session_id


def bind_proof(transcript: Transcript, proof: bytes) -> None:
    """Bind a finished proof for whatever follows."""
    transcript.absorb(b"sigma proof", proof)


_EQUATION: Final = "02-N4"


def relation_equations(
    relation: LinearRelation, proof: bytes, transcript: Transcript
) -> tuple[Equation, ...]:
    """What must hold for a batchable proof of the relation to be valid.

    The transcript continues as after `zkp.sigma.verify`.

    Raises:
        InvalidProof: the relation is degenerate.
        MalformedMessage: no prover writes such bytes; `offset` counts from this part.
    """
    if relation.violation:
        raise relation.violation.as_invalid_proof()
    require_length(Form.BATCHABLE, relation, proof)
    group, shape = relation.group, relation.shape
    session_id = bind_statement(transcript, relation, Form.BATCHABLE)
    split = group.point_size * shape.equation_count
    with errors_offset_by(0):
        commitment = group.decode_points(proof[:split], shape.equation_count)
    responses = _decode_scalars(group, proof, split)
    drawn = decode_challenges(group, challenge_bytes(session_id, relation, proof[:split]))
    bind_proof(transcript, proof)
    factors = shape.terms.times_coefficients(responses.gather(shape.terms.scalars))
    factors = factors.concat(shape.image.coefficients * -drawn[0])
    both, minus = shape.interleaved, -constant(group, 1, 1)
    points, factors, at = relation.elements.gather(both.elements), factors.gather(both.order), 0
    equations = []
    for row, length in enumerate(both.lengths):
        end = at + length
        demanded = Term(points[at:end], factors[at:end])
        equations.append(Equation(_EQUATION, (demanded, Term(commitment[row : row + 1], minus))))
        at = end
    return tuple(equations)
