"""Proofs inside a transcript: what protocols call (specification 02, section 6)."""

from __future__ import annotations

from wire.randomness import Rng
from zkp.sigma.narg import Form, checking, require_length, unchecked_narg, verify_narg
from zkp.sigma.prover import Witness, flatten_witness, randomness_count
from zkp.sigma.statement import Statement, fresh_copy
from zkp.transcript import Transcript


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
    """As `prove`, for a part of a proof that is verified as a whole before it is released.

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
    session_id = transcript.session_id(form.label(statement))
    transcript.absorb(b"sigma statement", statement.serialize())
    return session_id


def bind_proof(transcript: Transcript, proof: bytes) -> None:
    """Bind a finished proof for whatever follows."""
    transcript.absorb(b"sigma proof", proof)
