"""One transcript: who does what in which session, and what has to come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gopa.contract.manifest import Manifest
from gopa.contract.organiser import AbortReason
from gopa.protocol.simulation import Script
from tests.vectors.transcripts.worlds import PLAIN, World

ORGANISER: Final = -1
"""The organiser, where parties are named by their numbers."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one round ended: a sum over these parties, an abort, or neither."""

    included: tuple[int, ...] | None = None
    abort: AbortReason | None = None
    released: bool = False


def sums(*included: int) -> Ended:
    """A result over these parties."""
    return Ended(included, released=True)


def aborts(reason: AbortReason, *, released: bool = False) -> Ended:
    """No result; `released`: masked values were."""
    return Ended(abort=reason, released=released)


def stops(*, released: bool = False) -> Ended:
    """Neither result nor abort: the log ends, or its organiser broke a rule."""
    return Ended(released=released)


Blame: TypeAlias = frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """What is written here by hand is held against what the rules find.

    `liars` depart from the rules; `twin` names the transcript of the same session without
    them. `blamed` are exactly the faults that the rules find, in all rounds. `exact`: every
    sum is that of the included inputs and their noise. With another `manifest` the log
    holds nothing else.
    """

    about: str
    ends: tuple[Ended, ...]
    script: Script = field(default_factory=Script)
    world: World = PLAIN
    rounds: int = 1
    liars: tuple[int, ...] = ()
    twin: str = ""
    blamed: Blame = frozenset()
    verdict: str = "VALID"
    exact: bool = True
    manifest: Callable[[Manifest], Manifest] | None = None


def blame(party: int, *rules: str) -> Blame:
    """This party broke these rules, and nobody broke any other."""
    return frozenset((party, rule) for rule in rules)
