"""Sigma protocols: prove knowledge of scalars that satisfy public equations."""

from zkp.sigma.batch import BatchVerifier
from zkp.sigma.conjunction import conjoin
from zkp.sigma.narg import Form
from zkp.sigma.notation import RelationBuilder
from zkp.sigma.proof import prove, verify
from zkp.sigma.prover import Witness, Witnesses
from zkp.sigma.relation import LinearRelation
from zkp.sigma.shape import Equation, ImageTerm, Shape, Term
from zkp.sigma.statement import AllOf, AnyOf, Statement
from zkp.sigma.statements import (
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
    "Equation",
    "Form",
    "ImageTerm",
    "LinearRelation",
    "RelationBuilder",
    "Shape",
    "Statement",
    "Term",
    "Witness",
    "Witnesses",
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
