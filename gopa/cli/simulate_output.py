"""What `gopa simulate` says about its rounds, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bulletin_board import Submission
from gopa.aggregation import Result
from gopa.aggregation.report import report_lines
from gopa.aggregation.structure import flat
from gopa.cli.simulate_inputs import Inputs
from gopa.planning import Plan, PrivacyStatement

_NOTICE: Final = "one process knew every secret; privacy is what a real session would give"


@dataclass(frozen=True, slots=True)
class Round:
    """A round with what only a simulation knows."""

    result: Result
    truth: Inputs

    @classmethod
    def of(cls, result: Result, inputs: Inputs) -> Round:
        """The true mean is that of the parties that the result includes."""
        return cls(result, inputs[list(result.included)].mean(axis=0))


@dataclass(frozen=True, slots=True)
class Cost:
    """What all rounds took; `posted` has the bytes of each party's entries, by its key."""

    wall: float
    cpu: float
    posted: Mapping[bytes, int]


def posted_by(result: Result) -> dict[bytes, int]:
    """Bytes in the log by author, the organiser left out; nothing where there is no log."""
    if result.transcript is None:
        return {}
    found: Counter[bytes] = Counter()
    first = b""
    for raw in result.transcript.log().entries():
        author = Submission.decode(raw).entry.author.data
        first = first or author  # the organiser's manifest stands in front
        found[author] += len(raw)
    return {author: size for author, size in found.items() if author != first}


def lines(rounds: Sequence[Round], parties: int, cost: Cost) -> list[tuple[str, str]]:
    """Names and texts, one line each."""
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
    plan: Plan, rounds: Sequence[Round], cost: Cost, written: Mapping[str, Path | None]
) -> dict[str, object]:
    """The same for programs."""
    sizes = list(cost.posted.values())
    transcript = rounds[-1].result.transcript
    return {
        "simulation": True,
        "parties": plan.terms.parties,
        "neighbours": plan.terms.k,
        "epsilon": str(plan.terms.epsilon),
        "delta": str(plan.terms.delta),
        "mode": rounds[0].result.mode,
        "trust": rounds[0].result.trust,
        "session": None if transcript is None else transcript.session.hex(),
        "rounds": [_round(each) for each in rounds],
        "wall_s": round(cost.wall, 3),
        "cpu_s": round(cost.cpu, 3),
        "bytes_posted_per_party": round(sum(sizes) / len(sizes) / len(rounds)) if sizes else None,
        **{name: None if path is None else str(path) for name, path in written.items()},
    }


def _truth(each: Round) -> str:
    means = flat(each.result.mean)
    text = ", ".join(f"{number:.6g}" for number in each.truth[:6])
    more = f", .. {len(means)} numbers" if len(means) > 6 else ""
    return f"{text}{more} of the parties included, which only a simulation knows"


def _round(each: Round) -> dict[str, object]:
    result, means = each.result, flat(each.result.mean)
    privacy = result.privacy
    return {
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
        "privacy": None if privacy is None else _privacy(privacy),
    }


def _privacy(statement: PrivacyStatement) -> dict[str, object]:
    return {
        "epsilon": statement.epsilon,
        "claims": [asdict(claim) for claim in statement.claims],
        "assumptions": list(statement.assumptions),
    }
