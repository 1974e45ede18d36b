"""What a circuit of more than two users would cost: Kendall's tau of a group, noise inside.

The circuit is one of this library, in which the integers of all users count as those of two
parties. In shares (Goldreich, Micali and Wigderson, 1987) each of its and gates would take a
transfer from every user to every other one. `docs/learning/two-parties.md` says what follows.
"""

from __future__ import annotations

import math
from itertools import combinations

from gopa.twoparty import Builder, Circuit, laplace_noise
from gopa.twoparty.arithmetic import add, equal, less
from gopa.twoparty.circuits import AND, Word

BITS = 8
_COLUMN = 16
"""Bytes of a transfer by extension, without what is corrected (21-Y10)."""


def group_circuit(users: int, epsilon: float | None) -> Circuit:
    """The sum of Kendall's kernel over all pairs of a group, behind noise that hides each user."""
    build = Builder()
    role = "garbler", "evaluator"
    points = [[build.word(role[user % 2], BITS) for _ in range(2)] for user in range(users)]  # type: ignore[arg-type]
    total: Word = ()
    for (x, x_other), (y, y_other) in combinations(points, 2):
        differs = build.xor(less(build, x, y), less(build, x_other, y_other))
        tie = build.or_(equal(build, x, y), equal(build, x_other, y_other))
        total = add(build, total, (tie, build.not_(build.or_(differs, tie))))
    pairs = math.comb(users, 2)
    word, low = total[: (2 * pairs).bit_length()], -pairs
    if epsilon is not None:
        # Whoever has another point moves the kernels of all of its pairs from -1 to 1.
        noise = laplace_noise(2 * (users - 1) / epsilon)
        word, low = noise.apply(build, word, low, 2 * pairs + 1)
    return build.build(word, low=low)


def depth(circuit: Circuit) -> int:
    """The most and gates behind one another: as many rounds have shares."""
    start = circuit.wires - len(circuit.gates)
    found = [0] * start
    for kind, left, right in circuit.gates.tolist():
        found.append(max(found[left], found[right]) + (kind == AND))
    return max(found[each] for each in circuit.outputs)


def bytes_of_user(circuit: Circuit, users: int) -> int:
    """What each user sends: a column for each and gate to each other user."""
    return _COLUMN * (users - 1) * circuit.ands


def deviation(users: int, everybody: int, epsilon: float) -> float:
    """Of the noise in the mean of all groups: of a Laplace law for 2 (users - 1) / epsilon."""
    of_group = math.sqrt(2) * 2 * (users - 1) / epsilon / math.comb(users, 2)
    return of_group * math.sqrt(users / everybody)
