"""Eight users estimate Kendall's tau of their ratings: each two strangers in two processes.

Users rate the room and the reception of a hotel. An aggregator draws disjoint pairs; the two users
of a pair run a garbled circuit over a socket pair, each in a process of its own with coins of its
own, and the noisy answer is all that anybody learns. Figure 3.7 of Bellet's thesis, which compares
this with other ways, is made by

    python -m examples.pairwise_strangers fig3.7 --quick --out figures

and without arguments eight users do it for real.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import socket
import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from gopa.accounting import gaussian_sigma
from gopa.learning import Charge, History, Privacy, Recorder, Table, Users, generator, ratings
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.pairwise import (
    KENDALL,
    Cells,
    PairError,
    PairRun,
    PrivateAnswers,
    PublicLaw,
    WholeKernel,
    answers_within,
    best_rounds,
    exact_variance,
    fit_local,
    fit_two_party,
    fit_verified,
    shared_out,
    statistic,
)
from gopa.twoparty import Circuit, Evaluator, Garbler, RandomisedAnswer, converse

figures = FigureSet(__doc__.partition("\n")[0])

CELLS = Cells(tuple(range(6)), tuple(range(6)))
ASKED = WholeKernel(KENDALL, bits=3, low=0, high=7)
"""Ratings from 0 to 5 are whole numbers of three bits as they are."""


Drawn: TypeAlias = tuple[Users, np.ndarray]
"""Users, and the cell of each of them."""

TAU: float = ratings(1, seed=0).truth["tau"]
"""Of all people, as `ratings` makes them up."""


def in_two_processes(run: PairRun) -> int:
    """One party here and the other one in a process of its own; both draw their own coins."""
    here, there = socket.socketpair()
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=be_other, args=(there, run.circuit, run.evaluator, run.context))
    other.start()
    there.close()
    with here:
        party = Garbler(run.circuit, run.garbler, context=run.context, rng=os.urandom)
        answer = converse(party, here)
    other.join()
    return answer


def be_other(
    connection: socket.socket, circuit: Circuit, values: tuple[int, ...], context: bytes
) -> None:
    """The other process: it knows the circuit, the name of the run, and its own integers."""
    with connection:
        converse(Evaluator(circuit, values, context=context, rng=os.urandom), connection)


def public_law() -> PublicLaw:
    """How ratings are made up: everybody knows it."""
    return PublicLaw(CELLS.points(), ratings(1, seed=0).truth["law"].ravel())


def people(users: int, seed: int) -> Drawn:
    """Users whose ratings are drawn from the public law, and the cell of each of them."""
    law = public_law()
    cells = generator(seed, "people").choice(CELLS.count, users, p=law.chances)
    points = law.points[cells]
    table = Table(points[:, :1], points[:, 1], f"made up: ratings of {users} users, seed {seed}")
    return Users(table, tuple(np.arange(users)[:, None])), cells


def deviation_of_reports(epsilon: float, users: int) -> float:
    """Of the estimate from private reports, exactly: 23-P16 of the specification."""
    law, points = public_law(), CELLS.points()
    others = CELLS.count - 1
    other = 1 / (math.exp(epsilon) + others)
    apart = 1 - (others + 1) * other
    table = KENDALL.value(points[:, None], points[None])
    sums = table.sum(axis=0)
    clean = (table - other * (sums[:, None] + sums) + other**2 * sums.sum()) / apart**2
    return math.sqrt(exact_variance(other + apart * law.chances, clean, users))


def classical(epsilon: float, delta: float, times: int) -> float:
    """The epsilon of each of so many answers by advanced composition (Dwork et al. 2010)."""
    low, high = 0.0, epsilon
    for _ in range(60):
        each = (low + high) / 2
        total = each * math.sqrt(2 * times * math.log(1 / delta)) + times * each * math.expm1(each)
        low, high = (each, high) if total <= epsilon else (low, each)
    return low


@cache
def best_of(epsilon: float, delta: float, users: int) -> int:
    """How often users answer at best, ratings having the public law."""
    return best_rounds(ASKED, Privacy(epsilon, delta), np.zeros(users), public_law())


@cache
def answers_of_all(epsilon: float, delta: float, users: int, *, tight: bool) -> PrivateAnswers:
    """Answers of all pairs, of which every user is in all but one."""
    if tight:
        by_answers = partial(Charge.randomised_response, k=3)
        each = shared_out(Privacy(epsilon, delta), users - 1, by_answers)
    else:
        each = classical(epsilon, delta, users - 1)
    return answers_within(ASKED, Privacy(each), 1)


def noise_of_all(answers: PrivateAnswers, cells: np.ndarray, seed: int) -> float:
    """The mean over the answers of all pairs: how many there are of each kind is drawn at once."""
    counts = np.bincount(cells, minlength=CELLS.count).astype(float)
    points = CELLS.points()
    truth = KENDALL.value(points[:, None], points[None])
    rng, noise, total = generator(seed, "all pairs"), answers.noise, 0.0
    if not isinstance(noise, RandomisedAnswer):
        raise TypeError("answers are randomised here")
    every = np.arange(-1, 2)
    worth = answers.values(every)
    for result in every:
        among = counts @ (truth == result) @ counts - (counts.sum() if result == 0 else 0.0)
        chances = np.where(every == result, float(noise.keep), float(noise.other))
        total += float(rng.multinomial(round(among / 2), chances / chances.sum()) @ worth)
    return total / (len(cells) * (len(cells) - 1) / 2)


WAYS = {
    "once": "two parties, P = 1",
    "best": "two parties, P chosen",
    "reports": "private reports",
    "advanced": "all pairs, advanced composition",
    "tight": "all pairs, composition of losses",
}


def one_run(epsilon: float, delta: float, drawn: Drawn, seed: int) -> dict[str, float]:
    """The estimates of all ways for the same users."""
    problem, cells = drawn
    asked: dict[str, Any] = {"kernel": KENDALL, "privacy": Privacy(epsilon, delta), "seed": seed}
    circuit = {**asked, "low": 0, "high": 7, "bits": 3}
    rounds = best_of(epsilon, delta, len(cells))
    every = [answers_of_all(epsilon, delta, len(cells), tight=tight) for tight in (False, True)]
    return {
        "once": fit_two_party(problem, **circuit).model,
        "best": fit_two_party(problem, **circuit, answers_each=rounds).model,
        "reports": fit_local(problem, **asked, cells=CELLS).model,
        "advanced": noise_of_all(every[0], cells, seed),
        "tight": noise_of_all(every[1], cells, seed),
    }


def errors(epsilons: Sequence[float], delta: float, users: int, runs: range) -> History:
    """Errors of all ways in several runs, each with users of its own, and what theory says."""
    found: list[list[dict[str, float]]] = [[] for _ in epsilons]
    for seed in runs:
        drawn = people(users, seed)
        for place, epsilon in enumerate(epsilons):
            found[place].append(one_run(epsilon, delta, drawn, 1000 * seed + place))
    notes = Recorder()
    for epsilon, each in zip(epsilons, found, strict=True):
        rounds = best_of(epsilon, delta, users)
        exact = exact_errors(epsilon, delta, users, rounds)
        squares = {way: np.mean([(one[way] - TAU) ** 2 for one in each]) for way in WAYS}
        seen = {way: math.sqrt(square) for way, square in squares.items()}
        theory = {f"{way}_exact": value for way, value in zip(WAYS, exact, strict=True)}
        notes.note(epsilon=epsilon, rounds=rounds, **seen, **theory)
    return notes.history()


def exact_errors(epsilon: float, delta: float, users: int, rounds: int) -> list[float]:
    """The roots of the mean square errors of all ways."""
    law, privacy = public_law(), Privacy(epsilon, delta)
    error = PairError.of(ASKED, law, np.zeros(users))
    table = KENDALL.value(law.points[:, None], law.points[None]).astype(int)

    def noise(answers: PrivateAnswers) -> float:
        return float(law.chances @ answers.variance(table) @ law.chances)

    found = [
        error.mean_square(many, noise(answers_within(ASKED, privacy, many))) for many in (1, rounds)
    ]
    found.append(deviation_of_reports(epsilon, users) ** 2)
    for tight in (False, True):
        answers = answers_of_all(epsilon, delta, users, tight=tight)
        found.append(error.every + noise(answers) / (users * (users - 1) / 2))
    return [math.sqrt(each) for each in found]


def curator(epsilon: float, delta: float, users: int) -> float:
    """The error of counts with a trusted curator's normal noise: 23-P22 of the specification."""
    law, table = public_law(), KENDALL.value(CELLS.points()[:, None], CELLS.points()[None])
    sigma = gaussian_sigma(epsilon, delta, math.sqrt(2))
    moved = 4 * sigma**2 * float(((table @ law.chances) ** 2).sum()) * users**2
    squares = 2 * sigma**4 * float((table**2).sum())
    every = PairError.of(ASKED, law, np.zeros(users)).every
    return math.sqrt((moved + squares) / (users * (users - 1)) ** 2 + every)


def verified(epsilons: Sequence[float], delta: float, users: int, runs: range) -> History:
    """Errors of the same statistic from verified counts: real sessions."""
    notes = Recorder()
    for epsilon in epsilons:
        found = [
            fit_verified(
                people(users, seed)[0], kernel=KENDALL, privacy=Privacy(epsilon, delta),
                cells=CELLS, seed=seed, corrupt=1, mode="signed",
            ).model
            for seed in runs
        ]  # fmt: skip
        notes.note(epsilon=epsilon, sessions=math.sqrt(np.mean(np.square(np.array(found) - TAU))))
    return notes.history()


@figures.figure("fig3.7")
def fig37(run: FigureRun) -> None:
    """Kendall's tau by two parties, from private reports, from all pairs, from verified counts."""
    sizes = {"many": 2000, "few": 12} if run.quick else {"many": 10_000, "few": 60}
    epsilons = (1.0, 8.0) if run.quick else (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    runs = range(run.seed, run.seed + (3 if run.quick else 20))
    run.uses(people(sizes["many"], run.seed)[0])
    titles = [f"Kendall's tau of {users:,} users" for users in sizes.values()]
    with run.picture(*titles) as axes:
        for place, (name, users) in zip(axes, sizes.items(), strict=True):
            delta = min(1e-5, users**-2.0)
            found = run.part(name, partial(errors, epsilons, delta, users, runs))
            for way, label in WAYS.items():
                style = "--" if way == "best" else "-"  # the same as once, where that is best
                (line,) = place.plot(epsilons, found[f"{way}_exact"], style, label=label)
                place.plot(epsilons, found[way], "o", color=line.get_color(), markersize=4)
            counts = [curator(each, delta, users) for each in epsilons]
            place.plot(epsilons, counts, "k:", label="counts of a trusted curator, computed")
            shown = {column: found[column] for column in found.names[1:]} | {"curator": counts}
            if name == "few":
                held = run.part("verified", partial(verified, epsilons, delta, users, runs[:3]))
                shown["sessions"] = held["sessions"]
                place.plot(
                    epsilons, held["sessions"], "ks", markersize=4, label="verified counts, 3 runs"
                )
            for column, values in shown.items():
                for epsilon, value in zip(epsilons, values, strict=True):
                    run.number(f"{users} users, epsilon {epsilon:g}, {column}", value)
            place.set(xscale="log", yscale="log", xlabel="epsilon")
            place.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
            place.set_xticks([], minor=True)
            place.set_ylabel("root mean square error")
            place.legend(fontsize=7)


def demonstrate() -> None:
    """Eight users, four pairs, eight processes; then the same in a simulation."""
    problem = ratings(8, seed=1)
    found = fit_two_party(
        problem, kernel=KENDALL, privacy=Privacy(4.0), seed=1, low=0, high=7, bits=3,
        transport=in_two_processes,
    )  # fmt: skip
    print(found)
    print(f"of these users {statistic(KENDALL, problem):.3f}, of all people {TAU:.3f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        figures.main()
    else:
        demonstrate()
