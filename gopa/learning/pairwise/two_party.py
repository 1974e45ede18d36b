"""Estimates statistics of pairs from answers that pairs of users compute together.

An aggregator draws disjoint pairs; each two strangers run a garbled circuit whose answer is noisy,
and send that. Specification: `specs/23-pairwise.md`, section 7.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import whole
from gopa.learning.data import Users
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.answers import PrivateAnswers, WholeKernel
from gopa.learning.pairwise.kernels import NAMED_KERNELS, Kernel, Places, points_of
from gopa.learning.pairwise.local import require_local
from gopa.learning.pairwise.subsampling import PublicLaw, answers_within, best_rounds, pairings
from gopa.learning.privacy import Charge, Privacy
from gopa.support.arrays import Floats
from gopa.support.draws import Draws
from gopa.twoparty import Circuit, Evaluator, Garbler, LaplaceNoise, traffic

_ANSWER: Final = 8
"""Bytes of an answer on its way to the aggregator."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairRun:
    """What two strangers run: a circuit, a name for the run, and what each of them puts in.

    `coins` are those that a simulation would draw for both together. Parties elsewhere draw their
    own, and need only their own integers.
    """

    circuit: Circuit
    context: bytes
    garbler: tuple[int, ...]
    evaluator: tuple[int, ...]
    coins: bytes


Transport: TypeAlias = Callable[[PairRun], int]
"""Runs one circuit between two parties, wherever they are, and returns the answer."""


def in_this_process(run: PairRun) -> int:
    """Garbles and evaluates for real, both parties in this process, with the coins of `run`.

    So the answer is that of the simulation. Labels and keys are of the operating system's.
    """
    mine = os.urandom(len(run.coins))
    yours = bytes(one ^ two for one, two in zip(mine, run.coins, strict=True))
    garbler = Garbler(run.circuit, run.garbler, context=run.context, rng=_first(mine))
    evaluator = Evaluator(run.circuit, run.evaluator, context=run.context, rng=_first(yours))
    to_evaluator, to_garbler = garbler.start(), evaluator.start()
    while garbler.result is None:
        if to_garbler:
            to_evaluator, to_garbler = garbler.step(to_garbler), b""
        else:
            to_evaluator, to_garbler = b"", evaluator.step(to_evaluator)
    return garbler.result


@algorithm(
    named={"kernel": (Kernel, NAMED_KERNELS)},
    labels="signs",
    points=True,
    alone="an aggregator draws pairs: leave graph and clock out",
)
def fit_two_party(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    low: float = 0.0,
    high: float = 1.0,
    bits: int = 8,
    answers_each: int | None = None,
    law: PublicLaw | None = None,
    laplace: bool = False,
    transport: Transport | None = None,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs, from pairs that compute it together.

    Numbers are rounded to 2^bits ones between public ends. Each user answers `answers_each` times,
    by default as often as is best for a public `law` of points, or once. Without a `transport`
    circuits are not garbled: their answers are drawn from the same law.

    Raises:
        UsageError: parts do not fit together.
    """
    asked = require_local(privacy, problem)
    run = AlgorithmRun(seed=seed, progress=progress, stops=False)
    if not (transport is None or callable(transport)):
        raise UsageError("a function of a PairRun, or None", "transport")
    rounding = WholeKernel(kernel, bits, low, high)
    points = points_of(problem.table)[np.concatenate(problem.rows)]
    labels, rounded = points[:, 1], rounding.rounded(points)
    divisor = kernel.divisor(labels)
    if answers_each is None:
        answers_each = best_rounds(rounding, asked, labels, law, laplace=laplace)
    whole(answers_each, "answers_each")
    answers = answers_within(rounding, asked, answers_each, laplace=laplace)
    run.ledger, each = _charged(answers, asked, answers_each)
    pairs = pairings(kernel, labels, answers_each, seed)
    draws, found = Draws(seed, "pairwise", "coins"), np.empty(pairs.shape[:2], dtype=np.int64)
    with run:
        for number, chosen in enumerate(pairs):
            coins, done = answers.coins(draws, len(chosen)), number * len(chosen)
            if transport is None:
                results = rounding.results(rounded[chosen[:, 0]], rounded[chosen[:, 1]])
                found[number] = answers.drawn(results, coins)
            else:
                name = f"pairs of seed {seed}, round {number}"
                for place, pair in enumerate(_runs(answers, rounded, chosen, coins, name)):
                    # One answer that no circuit gives could move the mean anywhere.
                    found[number, place] = whole(transport(pair), "transport", *answers.ends)
                    run.advance("pairs", done + place, found.size)
            run.advance("pairs", done + len(chosen), found.size)
    ordered = 2 * (labels < 0).sum() * (labels > 0).sum()
    if kernel.labels != "public":
        ordered = len(points) * (len(points) - 1)
    value = float(answers.values(found).mean() * (ordered / divisor))
    couples = np.sort(pairs.reshape(-1, 2), axis=1) @ np.array([len(points), 1])
    messages, size = traffic(answers.circuit)
    columns: dict[str, list[float]] = {"users": [len(points)], "estimate": [value]}
    columns |= {"answers_each": [answers_each], "epsilon_of_answer": [each]}
    columns |= {"meetings": [int(np.unique(couples, return_counts=True)[1].max())]}
    return run.outcome(
        f"statistic of pairs computed by two parties each ({kernel.name})",
        value,
        history=History(columns),
        messages=found.size * (messages + 1),
        bytes=found.size * (size + _ANSWER),
    )


def _charged(answers: PrivateAnswers, asked: Privacy, times: int) -> tuple[PrivacyLedger, float]:
    """The account of one user, whose every answer may move by all that the kernel spans."""
    assumed = ["users follow the protocol and are bounded in computing", "pairs run once"]
    if answers.asked.kernel.labels == "public":
        assumed.append("labels are public")
    ledger, noise = PrivacyLedger(asked, assumptions=assumed), answers.noise
    low, high = answers.asked.ends
    if isinstance(noise, LaplaceNoise):
        charge = Charge.discrete_laplace(float(noise.scale), high - low)
        lost = float(noise.charged(asked.epsilon, times))
        ledger.charge(Charge.guarantee(0.0, lost), note="noise that is cut off")
    else:
        charge = Charge.randomised_response(float(noise.epsilon), noise.values)
    ledger.charge(charge, times=times, note="answers")
    return ledger, charge.pure


def _runs(
    answers: PrivateAnswers, rounded: Floats, chosen: Places, coins: Places, name: str
) -> Iterator[PairRun]:
    """One run for each pair of a round, under a name of its own."""
    inputs = answers.asked.inputs(rounded)[chosen].tolist()
    for (one, other), (mine, yours), own in zip(chosen.tolist(), inputs, coins.T, strict=True):
        context = f"{name}, users {one} and {other}".encode()
        shared = answers.coin_bytes(own)
        yield PairRun(answers.circuit, context, tuple(mine), tuple(yours), shared)


def _first(data: bytes) -> Callable[[int], bytes]:
    """A source of randomness that gives these bytes first, and then those of the machine."""
    given = [data]
    return lambda size: given.pop() if given else os.urandom(size)
