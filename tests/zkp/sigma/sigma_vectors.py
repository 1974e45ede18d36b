"""What `specs/vectors/sigma.json` holds: Sigma proofs, and what must not pass for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commitments import ristretto255
from commitments.group import Group, ScalarVec
from tests.randomness import seeded
from tests.zkp.sigma.cases import FORMS, Case, cases, read_statement, transcript
from wire.errors import InvalidProof, MalformedMessage
from zkp.sigma import BatchVerifier, ChildWitnesses, LinearRelation, Statement, Witness, verify
from zkp.sigma.composition import count
from zkp.sigma.proof import bind_statement, prove_narg

Record = dict[str, object]


def judge(group: Group, case: Case) -> Record:
    """What our verifier says about a case: nothing, or the error and where it points."""
    form = FORMS[case.form]
    try:
        statement = read_statement(group, case.statement, composed=case.composed)
        verify(statement, case.proof, transcript(case.context), form=form)
    except InvalidProof as error:
        return {"error": "InvalidProof", "check": error.check}
    except MalformedMessage as error:
        return {"error": "MalformedMessage", "field": error.field, "offset": error.offset}
    return {"error": None}


def prove_again(group: Group, case: Case) -> bytes:
    """The proof of a valid case from its statement, witness and randomness alone.

    The witness of a composed statement is read with zeros for what is not known.
    """
    statement = read_statement(group, case.statement, composed=case.composed)
    form = FORMS[case.form]
    session_id = bind_statement(transcript(case.context), statement, form)
    randomness = group.decode_scalars(case.randomness, len(case.randomness) // 32).secret()
    values = group.decode_scalars(case.witness, len(case.witness) // 32)
    known = known_witness(statement, values)
    assert known is not None
    return prove_narg(form, session_id, statement, known, randomness)


def known_witness(statement: Statement, values: ScalarVec) -> Witness | None:
    """A witness from its flat form; parts that are all zero are not known."""
    if not any(values.ints()):
        return None
    if isinstance(statement, LinearRelation):
        return values.secret()
    parts, at = [], 0
    for child in statement.children:
        end = at + count(child).responses
        parts.append(known_witness(child, values[at:end]))
        at = end
    return ChildWitnesses(*parts)


def session_of(group: Group, case: Case) -> str | None:
    """The session identifier, where the statement can be read and is valid."""
    try:
        statement = read_statement(group, case.statement, composed=case.composed)
    except MalformedMessage:
        return None
    if statement.violation:
        return None
    return bind_statement(transcript(case.context), statement, FORMS[case.form]).hex()


def record_of(group: Group, case: Case) -> Record:
    return {
        "name": case.name,
        "base": case.base,
        "form": case.form,
        "composed": case.composed,
        "statement": case.statement.hex(),
        "context": case.context.hex(),
        "session_id": session_of(group, case),
        "witness": case.witness.hex(),
        "randomness": case.randomness.hex(),
        "proof": case.proof.hex(),
        **judge(group, case),
    }


def case_of(record: dict[str, Any]) -> Case:
    """A case as a stranger reads it."""
    data = {
        field: bytes.fromhex(record[field])
        for field in ("statement", "context", "proof", "witness", "randomness")
    }
    return Case(record["name"], record["form"], record["composed"], base=record["base"], **data)


def batches(group: Group, records: Sequence[Record]) -> list[Record]:
    """Batches of published proofs by name, and the positions of the bad ones."""
    able = [r for r in records if r["form"] == "batchable" and r["session_id"]]
    good = [str(r["name"]) for r in able if r["error"] is None]
    bad = [str(r["name"]) for r in able if r["error"] is not None]
    found = {str(r["name"]): case_of(r) for r in able}
    drawn = [[], good, good[:1], bad[:1], [*good, bad[0]], [bad[1], *good, bad[2]], good + bad]
    return [
        {"proofs": names, "culprits": culprits(group, [found[name] for name in names])}
        for names in drawn
    ]


def culprits(group: Group, members: Sequence[Case]) -> list[int]:
    """What a batch of these cases says."""
    batch = BatchVerifier(group, rng=seeded("batch vectors"))
    for case in members:
        statement = read_statement(group, case.statement, composed=case.composed)
        batch.add(statement, case.proof, transcript(case.context))
    try:
        batch.verify()
    except InvalidProof as error:
        return list(error.culprits)
    return []


def records() -> dict[str, object]:
    """The content of the vector file."""
    group = ristretto255()
    proofs = [record_of(group, case) for case in cases(group)]
    return {
        "format": (
            "bytes in hexadecimal. The transcript is that of protocol 'gopa/v1 test vectors' with "
            "the context absorbed as bytes under the label 'context'; session_id is what the proof "
            "derives from it. witness and randomness are scalars from left to right, zeros for a "
            "witness that is not known. A record with a base is a change of the record of that name"
        ),
        "group": group.name,
        "proofs": proofs,
        "batches": batches(group, proofs),
    }
