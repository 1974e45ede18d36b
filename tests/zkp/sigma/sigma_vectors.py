"""What `specs/vectors/sigma.json` holds: Sigma proofs, and what must not pass for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from commitments import ristretto255
from commitments.group import Group, Point, ScalarVec
from tests.randomness import seeded
from tests.zkp.proof_vectors import answer, transcript
from tests.zkp.sigma.samples import Sample, sample, samples
from wire.errors import InvalidProof, MalformedMessage
from zkp.sigma import (
    AllOf,
    AnyOf,
    BatchVerifier,
    ChildWitnesses,
    Form,
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
    Statement,
    Witness,
    verify,
)
from zkp.sigma.composition import count
from zkp.sigma.proof import Conversation, bind_statement, challenge_bytes, prove_narg
from zkp.sigma.prover import flatten_witness, randomness_count
from zkp.transcript import decode_challenges

T = TypeVar("T")


class Reader:
    """Bytes that are read once, from front to back."""

    def __init__(self, group: Group, data: bytes) -> None:
        self.group = group
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, n: int) -> bytes:
        if self.left < n:
            raise MalformedMessage("the statement is too short", "statement", self._at)
        self._at += n
        return self._data[self._at - n : self._at]

    def count(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def coefficient(self) -> int:
        size = self.group.scalar_size
        return int(self.group.decode_scalars(self.take(size), 1)[0])

    def many(self, read: Callable[[], T]) -> tuple[T, ...]:
        return tuple(read() for _ in range(self.count()))

    def image_term(self) -> ImageTerm:
        return ImageTerm(self.count(), self.coefficient())

    def term(self) -> RelationTerm:
        return RelationTerm(self.count(), self.count(), self.coefficient())

    def equation(self) -> RelationEquation:
        return RelationEquation(self.many(self.image_term), self.many(self.term))


def parse_relation(group: Group, data: bytes) -> LinearRelation:
    """One relation; the number of its elements is what the remaining bytes hold."""
    reader = Reader(group, data)
    equations = reader.many(reader.equation)
    shape = RelationShape(group, equations, 1 + reader.left // group.point_size)
    return LinearRelation.decode(shape, reader.take(reader.left))


def parse_composed(group: Group, data: bytes) -> Statement:
    """A tree of statements."""
    reader = Reader(group, data)
    statement = _node(reader)
    if reader.left:
        raise MalformedMessage("the statement has trailing bytes", "statement")
    return statement


def _node(reader: Reader) -> Statement:
    kind = reader.take(1)
    if kind == b"\x00":
        return _leaf(reader)
    if kind == b"\x01":
        return AllOf(reader.many(lambda: _node(reader)))
    threshold = reader.count()
    return AnyOf(threshold, reader.many(lambda: _node(reader)))


def _leaf(reader: Reader) -> LinearRelation:
    equations = reader.many(reader.equation)
    used = {t.element for e in equations for t in e.image}
    used |= {t.element for e in equations for t in e.terms}
    shape = RelationShape(reader.group, equations, 1 + max(used))
    return LinearRelation.decode(shape, reader.take(max(used) * reader.group.point_size))


CONTEXT: Final = b"a party of a session"
FORMS: Final = {"batchable": Form.BATCHABLE, "compact": Form.COMPACT}
DAMAGED: Final = ("discrete_log", "dleq", "one_of_two")


@dataclass(frozen=True)
class Case:
    """A serialized statement and a proof; `base` names the valid case it was made from."""

    name: str
    form: str
    composed: bool
    statement: bytes
    context: bytes
    proof: bytes
    witness: bytes = b""
    randomness: bytes = b""
    base: str | None = None

    def changed(self, change: str, **changes: object) -> Case:
        new = f"{self.name}: {change}"
        blank = replace(self, name=new, base=self.name, witness=b"", randomness=b"")
        return replace(blank, **changes)  # type: ignore[arg-type]


def read_statement(group: Group, data: bytes, *, composed: bool) -> Statement:
    return parse_composed(group, data) if composed else parse_relation(group, data)


def valid_case(found: Sample, form_name: str) -> Case:
    """A proof whose randomness is drawn openly, so that anyone can make it again."""
    statement, form = found.statement, FORMS[form_name]
    group, name = statement.group, f"{found.name}/{form_name}"
    randomness = group.random_scalars(randomness_count(statement), seeded(name))
    session_id = bind_statement(transcript(CONTEXT), statement, form)
    return Case(
        name=name,
        form=form_name,
        composed=isinstance(statement, AllOf | AnyOf),
        statement=statement.serialize(),
        context=CONTEXT,
        proof=prove_narg(form, session_id, statement, found.witness, randomness),
        witness=flatten_witness(statement, found.witness).reveal().to_bytes(),
        randomness=randomness.reveal().to_bytes(),
    )


def cases(group: Group) -> Iterator[Case]:
    for found in samples(group):
        yield from (valid_case(found, form) for form in FORMS)
    for name in DAMAGED:
        yield from damaged_proofs(group, sample(group, name))
    yield from changed_statements(group)


def damaged_proofs(group: Group, found: Sample) -> Iterator[Case]:
    batchable, compact = (valid_case(found, form) for form in FORMS)
    points = 32 * count(found.statement).commitments
    for base, first in ((batchable, points), (compact, 0)):
        yield from damaged_scalars(group, base, range(first, len(base.proof), 32))
        yield from damaged_lengths(base)
        yield base.changed("another context", context=CONTEXT + b"!")
        yield base.changed("all zeros", proof=bytes(len(base.proof)))
    yield from damaged_points(group, batchable, range(0, points, 32))
    yield from in_the_other_form(group, found.statement, batchable, compact)


def in_the_other_form(
    group: Group, statement: Statement, batchable: Case, compact: Case
) -> Iterator[Case]:
    """The conversation of a proof, written down in the form it was not made for."""
    points = 32 * count(statement).commitments
    session_id = bind_statement(transcript(CONTEXT), statement, Form.BATCHABLE)
    squeezed = challenge_bytes(session_id, statement, batchable.proof[:points])
    challenge = decode_challenges(group, squeezed).to_bytes()
    short = challenge + batchable.proof[points:]
    yield compact.changed("the batchable proof in this form", proof=short)

    scalars = group.decode_scalars(compact.proof, len(compact.proof) // 32)
    split = 1 + count(statement).coefficients
    conversation = Conversation(statement, scalars[0], scalars[1:split], scalars[split:])
    long = conversation.commitment().to_bytes() + compact.proof[32:]
    yield batchable.changed("the compact proof in this form", proof=long)


def damaged_scalars(group: Group, base: Case, positions: Sequence[int]) -> Iterator[Case]:
    for index, at in enumerate(positions):
        before, old, after = base.proof[:at], base.proof[at : at + 32], base.proof[at + 32 :]
        plus_one = (group.decode_scalars(old, 1) + group.scalar(1)).to_bytes()
        lifted = (int.from_bytes(old, "little") + group.order).to_bytes(32, "little")
        order = group.order.to_bytes(32, "little")
        yield base.changed(f"scalar {index} plus one", proof=before + plus_one + after)
        yield base.changed(f"scalar {index} plus the order", proof=before + lifted + after)
        yield base.changed(f"scalar {index} is the order", proof=before + order + after)


def damaged_points(group: Group, base: Case, positions: Sequence[int]) -> Iterator[Case]:
    for index, at in enumerate(positions):
        before, old, after = base.proof[:at], base.proof[at : at + 32], base.proof[at + 32 :]
        other = (group.decode_point(old) + group.generator).to_bytes()
        odd = b"\x01" + bytes(31)
        yield base.changed(f"another point {index}", proof=before + other + after)
        yield base.changed(f"point {index} is the identity", proof=before + bytes(32) + after)
        yield base.changed(f"point {index} does not decode", proof=before + odd + after)


def damaged_lengths(base: Case) -> Iterator[Case]:
    yield base.changed("no bytes", proof=b"")
    yield base.changed("a byte missing", proof=base.proof[:-1])
    yield base.changed("a byte too many", proof=base.proof + b"\0")


def changed_statements(group: Group) -> Iterator[Case]:
    pair = sample(group, "dleq").statement
    assert isinstance(pair, LinearRelation)
    for form in FORMS:
        base = valid_case(sample(group, "dleq"), form)
        for change, relation in changed_relations(pair).items():
            yield base.changed(change, statement=relation.serialize())
        yield base.changed("an element is the identity", statement=base.statement[:-32] + bytes(32))
        yield base.changed("an element is cut off", statement=base.statement[:-1])
        composed = valid_case(sample(group, "one_of_two"), form)
        for change, statement in changed_compositions(group).items():
            yield composed.changed(change, statement=statement.serialize())


def changed_relations(pair: LinearRelation) -> dict[str, LinearRelation]:
    """Other relations, degenerate ones among them, over the points of an equality."""
    group, points = pair.group, pair.points
    H, X, Y = points
    first, second = pair.shape.equations
    key = RelationEquation((ImageTerm(1),), (RelationTerm(0, 0),))

    def relation(
        equations: Sequence[RelationEquation], *elements: Point, n: int = 4
    ) -> LinearRelation:
        return LinearRelation(RelationShape(group, tuple(equations), n), group.points(elements))

    hidden = RelationEquation((ImageTerm(3),), (RelationTerm(0, 1), RelationTerm(2, 0)))
    cancelling = RelationEquation(
        (ImageTerm(3),), (RelationTerm(0, 1), RelationTerm(1, 0), RelationTerm(1, 0, -1))
    )
    nothing = RelationEquation((ImageTerm(3), ImageTerm(3, -1)), (RelationTerm(0, 1),))
    doubled = RelationEquation((ImageTerm(3),), (RelationTerm(0, 1, 2),))
    return {
        "another base": relation([first, second], H + group.generator, X, Y),
        "another first image": relation([first, second], H, X + group.generator, Y),
        "another second image": relation([first, second], H, X, Y + group.generator),
        "equations swapped": relation([second, first], H, X, Y),
        "images swapped": relation([first, second], H, Y, X),
        "another coefficient": relation([first, doubled], H, X, Y),
        "one equation": relation([key], X, n=2),
        "no equation": relation([], n=1),
        "an index out of bounds": relation([first, second], H, X, n=3),
        "an element without use": relation([first, second], H, X, Y, Y, n=5),
        "a scalar without use": relation([first, hidden], H, X, Y),
        "an image that is zero": relation([first, nothing], H, X, Y),
        "a scalar that cancels": relation([first, cancelling], H, X, Y),
    }


def changed_compositions(group: Group) -> dict[str, Statement]:
    """Other compositions of the children of a one-of-two statement."""
    found = sample(group, "one_of_two").statement
    assert isinstance(found, AnyOf)
    one, two = found.children
    return {
        "a threshold of zero": AnyOf(0, (one, two)),
        "a threshold of two": AnyOf(2, (one, two)),
        "a threshold of three": AnyOf(3, (one, two)),
        "one child twice": AnyOf(1, (two, two)),
        "children swapped": AnyOf(1, (two, one)),
        "another child": AnyOf(1, (one, sample(group, "opens_to").statement)),
        "one child more": AnyOf(1, (one, two, sample(group, "opens_to").statement)),
        "both children": AllOf((one, two)),
    }


Record = dict[str, object]


def judge(group: Group, case: Case) -> Record:
    """What our verifier says about a case: nothing, or the error and where it points."""

    def check() -> None:
        statement = read_statement(group, case.statement, composed=case.composed)
        verify(statement, case.proof, transcript(case.context), form=FORMS[case.form])

    return answer(check)


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
