"""Lets two parties compute one integer of their secrets, with noise that neither of them knows.

Half-gates garbled circuits with oblivious transfer, for parties that are honest but curious:

    circuit = comparison(16, randomised_answer(2, epsilon=1))
    garbler = Garbler(circuit, [x], context=b"round 7, users 3 and 8", rng=os.urandom)
    kernel = converse(garbler, connection)

and `Evaluator(circuit, [y], ..)` at the other end. Specification:
`specs/21-two-parties.md`.
"""

from gopa.twoparty.circuits import Builder, Circuit, Wire, Word
from gopa.twoparty.errors import OutOfTurn, WrongLabel
from gopa.twoparty.kernels import (
    comparison,
    concordance,
    distance,
    equality,
    squared_distance,
)
from gopa.twoparty.noise import (
    LaplaceNoise,
    RandomisedAnswer,
    laplace_noise,
    randomised_answer,
)
from gopa.twoparty.parties import Evaluator, Garbler, converse, traffic

__all__ = [
    "Builder",
    "Circuit",
    "Evaluator",
    "Garbler",
    "LaplaceNoise",
    "OutOfTurn",
    "RandomisedAnswer",
    "Wire",
    "Word",
    "WrongLabel",
    "comparison",
    "concordance",
    "converse",
    "distance",
    "equality",
    "laplace_noise",
    "randomised_answer",
    "squared_distance",
    "traffic",
]
