"""Named attacks: what each tries, what must catch it, what it costs, and how to run it."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

from gopa.adversary.aims import BY_SILENCE, Aim
from gopa.adversary.harm import harm
from gopa.adversary.malicious import Actor, Requirement, require_actors
from gopa.adversary.outcome import AttackOutcome, Catch
from gopa.adversary.setup import SMALL, SessionSetup
from gopa.adversary.trial import try_out
from gopa.protocol.rules import RULES
from wire.brief import Brief
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class AttackRoles:
    """Which party plays which role in an attack, as numbers of parties. All differ."""

    liar: int = 1
    victim: int = 0
    accomplice: int = 2
    leaver: int = 3


@dataclass(frozen=True, slots=True, repr=False)
class Story(Brief):
    """The three things to know of an attack, from its docstring."""

    tries: str
    caught: str
    costs: str


@dataclass(frozen=True, slots=True, repr=False)
class AttackResult(Brief):
    """What came of an attack. `result` is `right`, `none` or `wrong`; `harm` is in words."""

    attack: str
    caught: tuple[Catch, ...]
    blamed: tuple[str, ...]
    result: str
    succeeded: bool
    harm: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """The attack failed, and everything that must catch it did."""
        return not self.succeeded and not self.missed


class SessionOutcome(Protocol):
    """What came of a session, in whatever world it was held."""

    @property
    def caught(self) -> tuple[Catch, ...]: ...

    @property
    def blamed(self) -> tuple[str, ...]: ...

    @property
    def result(self) -> str: ...


def result_of(
    name: str,
    expects: Sequence[str],
    outcome: SessionOutcome,
    harms: tuple[str, ...],
    reached: bool,
) -> AttackResult:
    """What an outcome says about an attack; `reached` is whether it got what it was after."""
    found = {catch.rule for catch in outcome.caught}
    return AttackResult(
        attack=name,
        caught=outcome.caught,
        blamed=outcome.blamed,
        result=outcome.result,
        succeeded=bool(harms) or reached,
        harm=harms,
        missed=tuple(rule for rule in expects if rule not in found),
    )


@runtime_checkable
class Attack(Protocol):
    """Something that can be tried and must fail."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def story(self) -> Story: ...

    @property
    def expects(self) -> tuple[str, ...]:
        """The rules that must catch it."""

    def run(self) -> AttackResult:
        """Try it on a session that is started for it, and ended with it."""


Plot: TypeAlias = Callable[[AttackRoles], Sequence[Actor]]


@dataclass(frozen=True, slots=True, repr=False)
class SessionAttack(Brief):
    """An attack by parties or an organiser of a session.

    `over_http` is for attacks that a board stops earlier, or in which it depends on who is
    first: one of these rules must catch them over HTTP, in place of all that are expected.
    """

    name: str
    family: str
    story: Story
    expects: tuple[str, ...]
    aim: Aim
    setup: SessionSetup
    plot: Plot
    over_http: tuple[str, ...] = ()
    needs: tuple[Requirement, ...] = ()

    def run(self) -> AttackResult:
        """Tries it in its own setup."""
        return self.judged(try_out(self.setup, self.actors(AttackRoles())))

    def actors(self, roles: AttackRoles) -> tuple[Actor, ...]:
        """Who misbehaves; `UsageError` if the plot says nothing of the kind."""
        return require_actors(self.plot(roles))

    def judged(self, outcome: AttackOutcome) -> AttackResult:
        """What an outcome in its own setup says about this attack."""
        return result_of(self.name, self.expects, outcome, harm(outcome), self.aim(outcome))

    def judged_elsewhere(self, outcome: AttackOutcome) -> AttackResult:
        """What an outcome says in a setup of somebody else.

        There other rules may catch it first, and whoever ends a round may have its way: plans
        say how often. So nothing is missed, and a round without a result is no success.
        """
        row = replace(self.judged(outcome), missed=())
        return replace(row, succeeded=bool(row.harm)) if self.aim in BY_SILENCE else row


KNOWN: Final[dict[str, Attack]] = {}
"""By name, in the order in which they were registered."""


def register(attack: Attack) -> None:
    """Makes it known to `gopa attack` and to the tests of this process.

    Raises:
        UsageError: the name is taken.
    """
    if KNOWN.setdefault(attack.name, attack) is not attack:
        raise UsageError(f"there is an attack named {attack.name} already", "name")


def attack(  # noqa: PLR0913 - all of them are options
    name: str,
    *expects: str,
    aim: Aim,
    family: str = "own",
    setup: SessionSetup = SMALL,
    over_http: Sequence[str] = (),
    needs: Sequence[Requirement] = (),
) -> Callable[[Plot], SessionAttack]:
    """Makes an attack of a function that says who misbehaves, and register it.

    `expects` are the rules that must catch it, `aim` says of an outcome whether the attack
    reached what it was after; `over_http` is that of `SessionAttack`, `needs` what a session
    has to have for the attack to mean something in it. The docstring of the
    function says what it tries, then `Caught:` by what, then `Costs:` the attacker what.

    Raises:
        UsageError: the docstring lacks a part, no rule that there is must catch it, its aim is
            no function, or the name is taken.
    """
    if not expects:
        raise UsageError('name a rule that must catch it, such as "04-P1"', "expects")
    for rule in expects:
        require_rule(rule)
    if not callable(cast("object", aim)):
        message = "say what success would be: a function of the outcome, as in gopa.adversary.aims"
        raise UsageError(message, "aim")

    def made(plot: Plot) -> SessionAttack:
        story = story_of(plot.__doc__ or "")
        settings = tuple(over_http), tuple(needs)
        found = SessionAttack(name, family, story, expects, aim, setup, plot, *settings)
        register(found)
        return found

    return made


_RULE: Final = re.compile(r"(05|11|12)-[A-Z][0-9]*[a-z]?")
"""Rules of boards, audits and sessions, which catch some attacks; those of parties are listed."""


def require_rule(rule: str) -> None:
    """Refuses a rule that there is not: nothing could ever catch by it.

    Raises:
        UsageError: there is none; close ones are suggested.
    """
    if rule in RULES or _RULE.fullmatch(rule):
        return
    close = difflib.get_close_matches(rule, RULES, n=3)
    hint = f": did you mean {' or '.join(close)}?" if close else ", such as 04-P1"
    raise UsageError(f"there is no rule {rule!r}{hint}", "expects")


def story_of(docstring: str) -> Story:
    """The parts of an attack's docstring."""
    text = " ".join(inspect.cleandoc(docstring).split())
    found = re.fullmatch(r"(?P<tries>.+?) Caught: (?P<caught>.+?) Costs: (?P<costs>.+)", text)
    if found is None:
        message = "a docstring that says what it tries, then `Caught: ..`, then `Costs: ..`"
        raise UsageError(message, "docstring")
    return Story(**found.groupdict())
