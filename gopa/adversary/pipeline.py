"""Attacks somebody's own pipeline: its aggregators get parties or an organiser that misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

from gopa.adversary.attack import AttackResult, AttackRoles, SessionAttack, result_of
from gopa.adversary.harm import harm
from gopa.adversary.library import named
from gopa.adversary.malicious import Actor, Malicious, NotApplicable, Requirement
from gopa.adversary.trial import outcome_of
from gopa.adversary.watching import Watch
from gopa.aggregation import LocalAggregator
from gopa.planning import Plan, Terms
from wire.errors import UsageError

__all__ = ["Aggregators", "NotApplicable", "complaints"]


class Aggregators:
    """The class `LocalAggregator` under an attack: whatever it makes is attacked.

    Without an `attack` everybody is honest, and the results are checked all the same.
    """

    def __init__(
        self, attack: SessionAttack | None = None, roles: AttackRoles | None = None
    ) -> None:
        self.attack = attack
        self._roles = roles or AttackRoles()
        self._made: list[tuple[LocalAggregator, Watch]] = []

    @classmethod
    def under(cls, name: str | None) -> Self:
        """Under the attack of this name; `UsageError` if it is none by parties or organiser."""
        if name is None:
            return cls()
        found = named(name)
        if not isinstance(found, SessionAttack):
            raise UsageError("only parties and organisers misbehave in an aggregator", "name")
        return cls(found)

    @property
    def name(self) -> str:
        """The name of the attack."""
        return "nobody lies" if self.attack is None else self.attack.name

    def __call__(self, plan: Plan | Terms, **settings: Any) -> LocalAggregator:
        """An aggregator with these settings, which may not have a script of their own.

        Raises:
            NotApplicable: no session, one among parties that trust each other, or too few
                parties for the roles.
        """
        if "script" in settings:
            raise UsageError("the attack says who misbehaves: take it out", "script")
        if self.attack is not None and settings.get("mode") == "off":
            raise NotApplicable("mode off has no session that could be attacked")
        if self.attack is not None and settings.get("trust") == "honest-but-curious":
            raise NotApplicable("parties that trust each other are promised nothing about liars")
        watch = Watch(*self._plotted(plan.terms if isinstance(plan, Plan) else plan))
        if settings.get("mode") != "off":
            settings |= {"script": watch.script, "remember_noise": True}
        made = LocalAggregator(plan, **settings)
        self._made.append((made, watch))
        return made

    def _plotted(self, terms: Terms) -> tuple[tuple[Actor, ...], tuple[Requirement, ...]]:
        """Who misbehaves, and what that takes of the session."""
        if self.attack is None:
            return (), ()
        actors = self.attack.actors(self._roles)
        last = max((each.party for each in actors if isinstance(each, Malicious)), default=0)
        if last >= terms.parties:
            raise NotApplicable(f"it takes {last + 1} parties", "plan")
        return actors, self.attack.needs

    @property
    def disturbed(self) -> bool:
        """Whether anybody has misbehaved so far."""
        return any(watch.acted for _, watch in self._made)

    @property
    def applicable(self) -> bool:
        """Whether, in one aggregator at least, everybody found an occasion to misbehave."""
        return any(not watch.idle for _, watch in self._made)

    def rows(self) -> Iterator[AttackResult]:
        """What came of every session so far.

        One in which somebody found no occasion is searched for harm, and nothing else.
        """
        for made, watch in self._made:
            if made.simulation is None:
                continue
            outcome = outcome_of(made.simulation, watch.actors, watch.acted)
            if self.attack is not None and not watch.idle:
                yield self.attack.judged_elsewhere(outcome)
            else:
                row = result_of(self.name, (), outcome, harm(outcome), reached=False)
                yield replace(row, caught=())


def complaints(made: Aggregators) -> list[str]:
    """What is wrong with any of the sessions, in words."""
    found: list[str] = []
    for row in made.rows():
        found += [f"{row.attack}: {text}" for text in row.harm]
        if row.succeeded and not row.harm:
            found.append(f"{row.attack} reached what it was after")
    return found
