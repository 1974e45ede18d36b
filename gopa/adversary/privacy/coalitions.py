"""The plans that are audited, from files too, and the coalitions whose views are measured.

A coalition builds its scenarios from the terms of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gopa.adversary.privacy.measuring import MeasuredView, claim_of, plan_label, world_of
from gopa.adversary.privacy.scenarios import ReleaseScenario, graph_of, most_exposed, removable
from gopa.contract.terms import Terms
from gopa.planning.planner import plan
from gopa.support.wording import NO_EPSILON
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json
from zkp.noise import NoiseLaw, decode_noise_law

Build = Callable[[Terms, np.random.Generator], Sequence[ReleaseScenario]]


@dataclass(frozen=True, slots=True)
class Coalition:
    """A kind of view. `build` makes its scenarios, none where the terms leave no room for it."""

    name: str
    what: Callable[[Sequence[ReleaseScenario]], str]
    build: Build

    def view(self, terms: Terms, rng: np.random.Generator) -> MeasuredView | None:
        """The game with its claim; None where the terms leave no room for it."""
        scenarios = self.build(terms, rng)
        if not scenarios:
            return None
        claim = claim_of(terms, scenarios, rng)
        world = world_of(terms, scenarios)
        return MeasuredView(self.name, plan_label(terms), self.what(scenarios), world, claim)


def neighbours_but_one(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The party with the fewest neighbours, and all of these but one.

    They are picked when the graph is known, so only the account of the named parties
    applies, unless they are as few as planned.
    """
    graph = graph_of(terms, terms.parties, rng)
    victim = int(np.argmin(graph.degrees))
    colluding = frozenset(graph.neighbours(victim)[1:].tolist())
    return [ReleaseScenario(graph, victim, colluding)] if colluding else []


def fewest_honest(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The release with as few as possible joined, and as many colluding as planned."""
    graph = graph_of(terms, terms.survivors, rng)
    corrupt = _first(terms)
    return [ReleaseScenario(graph, most_exposed(graph, corrupt, terms), corrupt)]


def organiser_and_neighbours(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The organiser sees the graph and keeps honest neighbours of the victim out."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    first = [each for each in graph.neighbours(victim).tolist() if each not in corrupt]
    rest = [each for each in range(graph.parties) if each not in set(first)]
    gone = removable(graph, first + rest, terms, kept={victim, *corrupt})
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def after_rollback(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """Honest parties drop out behind their commits; their edges are opened."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    gone = removable(graph, _shuffled(graph.parties, rng), terms, kept={victim, *corrupt})
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def late_value(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The victim publishes behind the close: its edges are opened, and its value is on the log."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    gone = removable(graph, [victim], terms)
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def retried(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """A colluding party sees every seed but its own opened, and keeps that: a veto.

    It is barred from the next attempt, which another one of them vetoes, as often as
    attempts are charged.
    """
    scenarios: list[ReleaseScenario] = []
    victim = terms.corrupt
    for veto in range(min(terms.charged, terms.corrupt) + 1):
        joined = terms.parties - veto
        if joined < terms.survivors:
            break
        corrupt = frozenset(range(terms.corrupt - veto))
        graph = graph_of(terms, joined, rng)
        gone = removable(graph, _shuffled(joined, rng), terms, kept={victim - veto, *corrupt})
        scenarios.append(ReleaseScenario(graph, victim - veto, corrupt, gone))
    return scenarios if len(scenarios) > 1 else []


def recovered(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """Releases where the victim stops after its confirmation, so that shares open its self-mask."""
    return after_rollback(terms, rng) if terms.threshold is not None else []


def _first(terms: Terms) -> frozenset[int]:
    """Corrupt parties fixed before the coins: the first ones, as a graph treats all alike."""
    return frozenset(range(terms.corrupt))


def _shuffled(count: int, rng: np.random.Generator) -> list[int]:
    found: list[int] = rng.permutation(count).tolist()
    return found


def _without_neighbours(scenarios: Sequence[ReleaseScenario]) -> str:
    degree = len(scenarios[0].graph.neighbours(scenarios[0].victim))
    return f"{degree - 1} of the victim's {degree} neighbours"


def _all_but(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"all parties but {len(scenarios[0].honest)} honest ones"


def _organised(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    around = set(only.graph.neighbours(only.victim).tolist())
    return (
        f"organiser, {len(only.corrupt)} parties ({len(around & only.corrupt)} of "
        f"{len(around)} neighbours); {len(around & only.gone)} more kept out"
    )


def _dropped(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    return (
        f"{len(only.corrupt)} parties, {len(only.opened)} edges opened after {len(only.gone)} left"
    )


def _exposed(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    degree = len(only.graph.neighbours(only.victim))
    return f"{len(only.corrupt)} parties, a value behind the close and its {degree} edges opened"


def _twice(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"{len(scenarios[0].corrupt)} parties and {len(scenarios)} results from the same inputs"


def _with_shares(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"{_dropped(scenarios)}; the victim's self-mask from shares"


NEIGHBOURS: Final = Coalition("neighbours", _without_neighbours, neighbours_but_one)
FEWEST: Final = Coalition("fewest honest", _all_but, fewest_honest)
ORGANISER: Final = Coalition("organiser", _organised, organiser_and_neighbours)
ROLLBACK: Final = Coalition("rollback", _dropped, after_rollback)
LATE: Final = Coalition("late value", _exposed, late_value)
VETO: Final = Coalition("veto", _twice, retried)
RECOVERY: Final = Coalition("recovery", _with_shares, recovered)

COALITIONS: Final = (NEIGHBOURS, FEWEST, ORGANISER, ROLLBACK, LATE, VETO, RECOVERY)
"""Every kind of view, in the order in which they are reported."""


def views_of(terms: Terms, rng: np.random.Generator) -> list[MeasuredView]:
    """All views that these terms leave room for."""
    found = [each.view(terms, rng) for each in COALITIONS]
    return [view for view in found if view is not None]


EPSILON: Final = "1"
DELTA: Final = "0.05"


@dataclass(frozen=True, slots=True)
class AuditedPlan:
    """A plan to audit, and which views of it are measured."""

    options: tuple[tuple[str, Any], ...]
    coalitions: tuple[Coalition, ...]

    @classmethod
    def of(cls, *coalitions: Coalition, **options: Any) -> AuditedPlan:
        return cls(tuple(options.items()), coalitions)

    @property
    def terms(self) -> Terms:
        """Planned once in a process."""
        return _planned(self.options)


@lru_cache(maxsize=64)
def _planned(options: tuple[tuple[str, Any], ...]) -> Terms:
    standard: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "charged": 0, "attempts": 1}
    return plan(**(standard | dict(options))).terms


_AROUND: Final = (NEIGHBOURS, ORGANISER, ROLLBACK, LATE)
_MANY: Final = {"n": 24, "corrupt": 10}
_TWO: Final = {"n": 6, "corrupt": 4, "dropout": 0}
_RETRY: Final = {"n": 16, "corrupt": 4, "charged": 1, "attempts": 2}
_VECTOR: Final = {"n": 8, "corrupt": 2, "dropout": 0, "dimension": 4}

UNIFORM: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="uniform")
GAUSSIAN: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="gaussian", objective="peers")
TWO_UNIFORM: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform")
TWO_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_TWO, mask="gaussian")
RETRY_UNIFORM: Final = AuditedPlan.of(VETO, **_RETRY, mask="uniform")
RETRY_GAUSSIAN: Final = AuditedPlan.of(VETO, **_RETRY, mask="gaussian")
RECOVERING: Final = AuditedPlan.of(RECOVERY, n=12, corrupt=2, recovery="2/3", mask="gaussian")
VECTOR_UNIFORM: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="uniform")
VECTOR_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="gaussian")
NARROW: Final = AuditedPlan.of(FEWEST, **_MANY, mask="gaussian", objective="masks")
SMALL_DELTA: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform", delta="1e-6")

HOUSES: Final = (
    UNIFORM,
    GAUSSIAN,
    TWO_UNIFORM,
    TWO_GAUSSIAN,
    RETRY_UNIFORM,
    RETRY_GAUSSIAN,
    NARROW,
    RECOVERING,
    VECTOR_UNIFORM,
    VECTOR_GAUSSIAN,
    SMALL_DELTA,
)


def default_views(rng: np.random.Generator) -> list[MeasuredView]:
    """The views of a default audit."""
    found = [each.view(house.terms, rng) for house in HOUSES for each in house.coalitions]
    return [view for view in found if view is not None]


_DECIMALS: Final = frozenset({"low", "high", "epsilon", "delta", "beta"})
_LARGEST: Final = 1 << 20


def read_plan(path: Path) -> Terms:
    """The terms of a plan; whoever relies on them asks what they are worth.

    Raises:
        UsageError: no such file, other contents, or numbers that do not fit each other.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than a plan", "plan")
        found = read_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "plan") from None
    except ValueError:
        raise UsageError(f"{path} is no JSON: write it with `gopa plan --json`", "plan") from None
    return terms_from(found)


def terms_from(record: object) -> Terms:
    """The terms in what `gopa plan --json` wrote. Raises `UsageError` for anything else."""
    terms, noise = _part(record, "terms"), _part(record, "noise")
    wanted = {each.name for each in fields(Terms)} - {"noise"}
    if set(terms) != wanted:
        wrong = ", ".join(sorted(map(str, set(terms) ^ wanted)))
        raise UsageError(f"the terms of this version; differing: {wrong}", "plan")
    values: dict[str, Any] = {
        name: _decimal(value, name) if name in _DECIMALS else value for name, value in terms.items()
    }
    return Terms(noise=_law(noise), **values)


def _part(record: object, name: str) -> Mapping[str, object]:
    part = record.get(name) if isinstance(record, dict) else None
    if not isinstance(part, dict):
        raise UsageError(
            f"must be an object with {name!r}, as `gopa plan --json` prints it", "plan"
        )
    return part


def _decimal(value: object, name: str) -> Decimal:
    if (name, value) == ("epsilon", NO_EPSILON):
        raise UsageError("an exact sum promises none that could be measured", name)
    if not isinstance(value, str):
        raise UsageError("must be a decimal number as text", name)
    try:
        return Decimal(value)
    except InvalidOperation:
        raise UsageError("must be a decimal number as text", name) from None


def _law(noise: Mapping[str, object]) -> NoiseLaw:
    encoding = noise.get("encoding")
    if not isinstance(encoding, str):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise")
    try:
        law = decode_noise_law(bytes.fromhex(encoding))
    except (ValueError, MalformedMessage):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise") from None
    if noise.get("hash") != law.table_hash().hex():
        raise UsageError("the hash of another table than the one that is encoded", "noise")
    return law
