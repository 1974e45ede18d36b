"""Proves knowledge of scalars that satisfy public equations: Sigma protocols."""

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
