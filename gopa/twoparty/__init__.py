"""One integer of what two parties hold, with noise that neither of them knows.

Half-gates garbled circuits with oblivious transfer, for parties that are honest but curious. Read
`kernels` (circuits that are ready), `circuits` and `arithmetic` (how to build one), `noise`,
`parties` (`Garbler`, `Evaluator`, `converse`), then `labels` and `transfer`.

    >>> import os, socket, threading
    >>> from gopa.twoparty import Evaluator, Garbler, comparison, converse
    >>> circuit = comparison(16)
    >>> garbler = Garbler(circuit, [480], context=b"example", rng=os.urandom)
    >>> evaluator = Evaluator(circuit, [512], context=b"example", rng=os.urandom)
    >>> here, there = socket.socketpair()
    >>> other = threading.Thread(target=converse, args=(evaluator, there))
    >>> other.start()
    >>> converse(garbler, here)  # is 480 less than 512?
    1
    >>> other.join(), here.close(), there.close()
    (None, None, None)

Specification: `specs/21-two-parties.md`; with noise: `docs/learning/two-parties.md`.
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
