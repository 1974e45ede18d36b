"""Prints what `gopa simulate` says about its rounds, and makes the inputs of its parties.

The inputs also say when some of the parties fall silent.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from bulletin_board import Submission
from gopa.aggregation import Result
from gopa.aggregation.result import privacy_record, report_lines
from gopa.aggregation.values import flat
from gopa.cli.options import read_value
from gopa.contract.terms import Terms
from gopa.planning import Plan
from gopa.support.wording import epsilon_text
from wire.errors import UsageError

Inputs: TypeAlias = npt.NDArray[np.float64]
"""A row for each party, a column for each coordinate."""

_BEFORE_UNMASKING: Final = ("join", "coins", "commit", "publish")
"""A round goes on without a party that falls silent here; in `unmask` others must recover it."""

_INPUTS: Final = 1
_SILENCE: Final = 2
_WITHIN: Final = 0.999
"""So much of the largest length a shortened vector has: rounding may lengthen it."""

_CACHED_ROUNDS: Final = 64


def read_inputs(path: Path, dimension: int) -> Inputs:
    """Reads the values of all parties, one after the other.

    Raises:
        UsageError: the file holds no numbers, or no whole number of parties.
    """
    try:
        found = np.asarray(read_value(None, path), dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{path} holds no list of numbers, or of lists of numbers of one length"
        raise UsageError(message, "--values") from None
    if found.ndim == 2 and found.shape[1] != dimension:
        message = f"{path} has {found.shape[1]} numbers for each party: say --dimension so"
        raise UsageError(message, "--values")
    if found.ndim > 2 or found.size == 0 or found.size % dimension:
        message = f"{path} has {found.size} numbers, and every party has {dimension}"
        raise UsageError(message, "--values")
    if not np.isfinite(found).all():
        raise UsageError(f"{path} holds a number that is not finite", "--values")
    return found.reshape(-1, dimension)


def require_whole(inputs: Inputs, path: Path | None) -> None:
    """`UsageError` names the first number that is not whole: --integers promises that all are."""
    broken = np.argwhere(inputs != np.floor(inputs))
    if len(broken):
        party, place = broken[0].tolist()
        message = f"{path} holds {inputs[party, place]:g} (party {party}), which is no whole number"
        raise UsageError(f"{message}: leave --integers out, or round first", "--values")


def random_inputs(terms: Terms, norm: str | None, seed: int | None, *, integers: bool) -> Inputs:
    """Draws values evenly from the range; vectors that are too long are shortened."""
    rng = _generator(seed, _INPUTS)
    shape, low, high = (terms.parties, terms.dimension), float(terms.low), float(terms.high)
    if integers:
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(np.float64)
    found = rng.uniform(low, high, shape)
    if norm is not None:
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        found *= np.minimum(1.0, _WITHIN * float(norm) / np.maximum(lengths, _WITHIN))
    return found


def silence(
    fraction: float, terms: Terms, seed: int | None, *, in_phases: bool
) -> Callable[[int], Mapping[int, str]] | None:
    """Who falls silent in each round, a part of all parties, and from which phase on.

    Where there are no phases that is the first one.
    """
    count = round(fraction * terms.parties)
    if not count:
        return None
    late = ("unmask",) if terms.threshold_numerator else ()
    phases = (*_BEFORE_UNMASKING, *late) if in_phases else ("join",)
    fixed = secrets.randbits(64) if seed is None else seed

    @lru_cache(_CACHED_ROUNDS)
    def script(number: int) -> Mapping[int, str]:
        rng = _generator(fixed, _SILENCE, number)
        silent = rng.choice(terms.parties, count, replace=False)
        return {int(party): str(rng.choice(phases)) for party in silent}

    return script


def as_values(inputs: Inputs) -> list[Any]:
    """Gives numbers for a plan of one coordinate, vectors otherwise."""
    return inputs[:, 0].tolist() if inputs.shape[1] == 1 else list(inputs)


def _generator(seed: int | None, *purpose: int) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else [seed, *purpose])


_NOTICE: Final = "one process knew every secret; privacy is what a real session would give"


@dataclass(frozen=True, slots=True)
class RoundOutput:
    """Holds the result of a round with what only a simulation knows."""

    result: Result
    truth: Inputs

    @classmethod
    def of(cls, result: Result, inputs: Inputs) -> RoundOutput:
        """The true mean is that of the parties that the result includes."""
        return cls(result, inputs[list(result.included)].mean(axis=0))


@dataclass(frozen=True, slots=True)
class SimulationCost:
    """Holds what all rounds took; `posted` has the bytes of each party's entries, by its key."""

    wall: float
    cpu: float
    posted: Mapping[bytes, int]


def posted_by(result: Result) -> dict[bytes, int]:
    """Counts bytes in the log by author, the organiser left out; nothing where there is no log."""
    if not result.transcript:
        return {}
    found: Counter[bytes] = Counter()
    first = b""
    for raw in result.transcript.log().entries():
        author = Submission.decode(raw).entry.author.data
        first = first or author  # the organiser's manifest stands in front
        found[author] += len(raw)
    return {author: size for author, size in found.items() if author != first}


def lines(
    rounds: Sequence[RoundOutput], parties: int, cost: SimulationCost
) -> list[tuple[str, str]]:
    """Gives names and texts, one line each."""
    found = [("simulation", _NOTICE)]
    for number, each in enumerate(rounds, 1):
        if len(rounds) > 1:
            found.append(("", ""))
            found.append((f"round {number}", f"of {len(rounds)}, all over the same inputs"))
        head, *rest = report_lines(each.result)
        found += [head, ("true mean", _truth(each)), *rest]
    total = f"{cost.wall:.1f} s, {cost.cpu:.1f} s of processor time"
    share = 1e3 * cost.cpu / (parties * len(rounds))
    found.append(("time", f"{total}: {share:.1f} ms a party and round, all checks included"))
    if cost.posted:
        mean = sum(cost.posted.values()) / len(cost.posted) / len(rounds)
        most = max(cost.posted.values()) / len(rounds)
        found.append(("posted", f"{mean:,.0f} bytes a party and round, {most:,.0f} at most"))
    return found


def record(
    plan: Plan,
    rounds: Sequence[RoundOutput],
    cost: SimulationCost,
    written: Mapping[str, Path | None],
) -> dict[str, object]:
    """Gives the same for programs."""
    sizes = list(cost.posted.values())
    transcript = rounds[-1].result.transcript
    return {
        "simulation": True,
        "parties": plan.terms.parties,
        "neighbours": plan.terms.k,
        "epsilon": epsilon_text(plan.terms.epsilon),
        "delta": str(plan.terms.delta),
        "mode": rounds[0].result.mode,
        "trust": rounds[0].result.trust,
        "session": transcript.session.hex() if transcript else None,
        "rounds": [_round(each) for each in rounds],
        "wall_s": round(cost.wall, 3),
        "cpu_s": round(cost.cpu, 3),
        "bytes_posted_per_party": round(sum(sizes) / len(sizes) / len(rounds)) if sizes else None,
        **{name: None if path is None else str(path) for name, path in written.items()},
    }


def _truth(each: RoundOutput) -> str:
    means = flat(each.result.mean)
    text = ", ".join(f"{number:.6g}" for number in each.truth[:6])
    more = f", .. {len(means)} numbers" if len(means) > 6 else ""
    return f"{text}{more} of the parties included, which only a simulation knows"


def _round(each: RoundOutput) -> dict[str, object]:
    result, means = each.result, flat(each.result.mean)
    privacy = result.privacy
    return {
        "exact": result.exact,
        "mean": means.tolist(),
        "true_mean": each.truth.tolist(),
        "standard_error": flat(result.stderr).tolist(),
        "largest_error": float(np.abs(means - each.truth).max()),
        "included": len(result.included),
        "excluded": [asdict(lost) for lost in result.excluded],
        "rolled_back": list(result.rolled_back),
        "clipped": result.clipped,
        "attempts": result.attempts,
        "vetoes": result.vetoes,
        "organiser_vetoes": result.organiser_vetoes,
        "privacy": None if privacy is None else privacy_record(privacy),
    }
