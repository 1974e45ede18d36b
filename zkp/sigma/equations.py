"""The checks of a Sigma proof as equations, for proofs made of several parts.

`zkp.sigma.verify` checks a proof at once and `BatchVerifier` many of one kind. Here
the verification equations are handed out instead, so that they share one sum with
those of other proofs (specification 02, rule N4; specification 06, rule A11).
"""

from __future__ import annotations

from typing import Final

from wire.errors import MalformedMessage
from zkp.equations import Equation, Term
from zkp.sigma.proof import Form, bind_proof, bind_statement, challenge_bytes, require_length
from zkp.sigma.relation import LinearRelation
from zkp.transcript import Transcript, decode_challenges
from zkp.vectors import constant

CHECK: Final = "02-N4"


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
    commitment = group.decode_points(proof[:split], shape.equation_count)
    try:
        responses = group.decode_scalars(proof[split:], shape.scalar_count)
    except MalformedMessage as error:
        offset = None if error.offset is None else split + error.offset
        raise MalformedMessage(error.message, error.field, offset) from error
    drawn = decode_challenges(group, challenge_bytes(session_id, relation, proof[:split]))
    bind_proof(transcript, proof)
    factors = shape.terms.times_coefficients(responses.gather(shape.terms.scalars))
    factors = factors.concat(shape.image.coefficients * -drawn[0])
    both, one = shape.interleaved, constant(group, 1, 1)
    points, factors, at = relation.elements.gather(both.elements), factors.gather(both.order), 0
    equations = []
    for row, length in enumerate(both.lengths):
        end = at + length
        demanded = Term(points[at:end], factors[at:end])
        equations.append(Equation(CHECK, (demanded, Term(commitment[row : row + 1], -one))))
        at = end
    return tuple(equations)
