"""Sigma protocols: knowledge of scalars that satisfy public linear equations.

Read `relation` (what may be claimed), `statements` (the common ones, ready), `proof`, then
`composition` (and, or) and `batch`. Two commitments hide the same value:

    >>> import os
    >>> from zkp.sigma import equal_values, prove, verify, witness
    >>> from commitments import Pedersen, ristretto255
    >>> from zkp.transcript import Transcript
    >>> def context():
    ...     transcript = Transcript(b"example")
    ...     transcript.absorb(b"purpose", b"to show equality")
    ...     return transcript
    >>> group = ristretto255()
    >>> key, value = Pedersen(group), group.secret_scalars([7])
    >>> a, opening_a = key.commit_fresh(value, rng=os.urandom)
    >>> b, opening_b = key.commit_fresh(value, rng=os.urandom)
    >>> same = equal_values(group, [(key, a.points[0]), (key, b.points[0])])
    >>> secrets = witness(group, value[0], opening_a.blindings[0], opening_b.blindings[0])
    >>> proof = prove(same, secrets, context(), rng=os.urandom)
    >>> verify(same, proof, context())

Specification: `specs/02-transcript-and-sigma.md`. More: `examples/commit_and_prove.py`.
"""

from zkp.sigma.batch import BatchVerifier
from zkp.sigma.composition import AllOf, AnyOf, Statement, conjoin
from zkp.sigma.proof import Form, prove, verify
from zkp.sigma.prover import ChildWitnesses, Witness
from zkp.sigma.relation import (
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
)
from zkp.sigma.statements import (
    RelationBuilder,
    discrete_log,
    dleq,
    equal_values,
    linear_among_values,
    opening,
    opens_to,
    product,
    product_witness,
    representation,
    same_logarithm,
    witness,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "BatchVerifier",
    "ChildWitnesses",
    "Form",
    "ImageTerm",
    "LinearRelation",
    "RelationBuilder",
    "RelationEquation",
    "RelationShape",
    "RelationTerm",
    "Statement",
    "Witness",
    "conjoin",
    "discrete_log",
    "dleq",
    "equal_values",
    "linear_among_values",
    "opening",
    "opens_to",
    "product",
    "product_witness",
    "prove",
    "representation",
    "same_logarithm",
    "verify",
    "witness",
]
