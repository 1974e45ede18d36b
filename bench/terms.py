"""What judging the worst terms costs: processor time and peak memory of both judges.

Each judge takes each terms in a process of its own, so that nothing is cached and the peak of
memory is its own. No answer of one may contradict the other's.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bench.measure import Scale, require
from gopa.planning.result import Worth, judge
from tests.planning.worst_terms import all_terms, given

Judge = Literal["package", "second verifier"]

HARD: Final = (
    "wide table, 16383 parties",
    "wide table, 16383 parties, dimension 1048576",
    "binomial, 262143 parties, dimension 1048576",
    "binomial, 20 parties, 5 steps, 1 x 2 releases",
    "wide table, 4 parties, 5 steps, 10000 x 101 releases",
    "wide table, 300 parties, 1 steps, 10000 x 101 releases",
    "widest uniforms, 4 parties, 1 steps, 1 x 2 releases",
    "wide table, 160 parties, masks, 30 steps of 1, 10000 x 101 releases",
    "3000 parties, 125 neighbours, 150 missing, Gaussian masks",
    "1000000 parties, 125 neighbours, 50000 missing, Gaussian masks",
    "2000000 parties, 2000 neighbours, 666666 missing, Gaussian masks",
    "2000000 parties, 999 neighbours, 100000 missing, recovery",
    "5 of 10 corrupt, 1000 neighbours, 1 of 3 missing, 1 thirds",
    "5 of 10 corrupt, 2000 neighbours, 1 of 20 missing, 1 thirds",
)
"""Those that cost one of the judges most, of each kind."""

UNKNOWN: Final = "too costly to say"
_VERIFIER: Final = Path(__file__).parents[1] / "specs" / "verifier"


@dataclass(frozen=True, slots=True)
class Cost:
    """An answer, the seconds of one processor that it took, and the most megabytes."""

    name: str
    answer: str
    seconds: float
    megabytes: float


def costs(judge_name: Judge, names: Iterable[str]) -> Iterator[Cost]:
    """Each in a process that begins with everything imported and nothing judged."""
    # Forks of a process that has imported this module, not of the one that asks: a fork begins
    # with all the memory that its parent has.
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload([__name__])
    with fresh.Pool(1, maxtasksperchild=1) as pool:
        yield from pool.imap(_COST[judge_name], names)


def _by_package(name: str) -> Cost:
    terms = all_terms()[name]
    start = time.process_time()
    answer = judge(terms)
    return Cost(name, answer.value, time.process_time() - start, _peak())


def _by_second_verifier(name: str) -> Cost:
    sys.path.insert(0, str(_VERIFIER))
    import worth  # type: ignore[import-not-found, unused-ignore]
    from codec import Record

    terms, law = given(all_terms()[name], Record)
    start = time.process_time()
    answer = worth.judged(terms, law)
    return Cost(name, answer, time.process_time() - start, _peak())


_COST: Final = {"package": _by_package, "second verifier": _by_second_verifier}


def _peak() -> float:
    """Megabytes. Not the peak of getrusage, which begins with that of whoever started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise SystemExit("bench: the peak of memory is read from /proc, which is not there")
    return int(found[1]) / 1000


def run(scale: Scale) -> dict[str, object]:
    """The hardest terms of each kind; `full` takes all of them."""
    names = scale.of(HARD[3:4], HARD, tuple(all_terms()))
    ours, theirs = (list(costs(each, names)) for each in ("package", "second verifier"))
    for one, other in zip(ours, theirs, strict=True):
        answers = {one.answer, other.answer}
        require(answers <= {UNKNOWN, *(each.value for each in Worth)}, f"no answer: {one.name}")
        require({Worth.KEPT.value, Worth.BROKEN.value} - answers != set(), f"answers: {one.name}")
    numbers: dict[str, object] = {
        "bench": "terms",
        "unit": "seconds of one core",
        "terms": len(names),
    }
    for title, found in (("package", ours), ("second_verifier", theirs)):
        worst = max(found, key=lambda cost: cost.seconds)
        numbers[f"{title}_worst_s"] = round(worst.seconds, 2)
        numbers[f"{title}_worst"] = worst.name
        numbers[f"{title}_peak_mb"] = round(max(cost.megabytes for cost in found))
    numbers["same_answers"] = sum(a.answer == b.answer for a, b in zip(ours, theirs, strict=True))
    numbers["too_costly_to_say"] = sum(cost.answer == UNKNOWN for cost in theirs)
    return numbers
