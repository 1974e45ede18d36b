"""Everything that parties and organisers of a schedule may do wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from gopa.adversary import deeds
from gopa.adversary.deeds.organising import (
    AbortsInstead,
    AlteredAbort,
    AlteredClose,
    AlteredOpen,
    AlteredResult,
    AnotherResult,
    ClosedAnyway,
    ClosesAgain,
    GivesUp,
    Vanishes,
    lacking,
    with_cut,
    with_final,
)
from gopa.adversary.malicious import Deed
from gopa.contract.organiser import (
    AbortReason,
    Close,
    Coins,
    Members,
    Open,
    Released,
    ResultMessage,
    Roll,
    pack_members,
    unpack_members,
)
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.simulation import OrganiserBehaviour
from tests.adversary.schedules.worlds import World

About_: TypeAlias = Callable[[int], Deed]
"""A deed that may be about a victim."""

PHASES: Final = tuple(
    phase for phase in Phase if phase not in {Phase.ORGANISER, Phase.ACCUSE, Phase.PROVE}
)


@dataclass(frozen=True, slots=True)
class Named:
    """A deed for a phase; `full` ones mean something in full mode only."""

    name: str
    phase: Phase
    deed: About_
    full: bool = False

    def __str__(self) -> str:
        return f"{self.name} at {self.phase.name.lower()}"


_ANYWHERE: Final[dict[str, About_]] = {
    "leave": lambda _: deeds.leave(),
    "skip": lambda _: deeds.skip(),
    "late": lambda _: deeds.late(),
    "twice": lambda _: deeds.twice(),
    "garbage": lambda _: deeds.garbage(),
    "replay": lambda _: deeds.replay(),
    "echo": deeds.echo,
    "another log": lambda _: deeds.claim_another_log(),
    "half": lambda _: deeds.half(),
}
_BEHIND: Final = {Phase.COMMIT: "publish", Phase.PUBLISH: "rollback", Phase.ROLLBACK: "confirm"}


def _anywhere() -> list[Named]:
    found = [Named(name, phase, deed) for phase in PHASES for name, deed in _ANYWHERE.items()]
    for phase in PHASES:
        later = _BEHIND.get(phase, "unmask")
        held, second = deeds.hold(later), deeds.twice_later(later)
        found.append(Named("hold", phase, partial(_of_nobody, held)))
        found.append(Named("twice later", phase, partial(_of_nobody, second)))
    return found


def _of_nobody(deed: Deed, victim: int) -> Deed:
    del victim
    return deed


_PLAIN: Final = (
    Named("unproved key", Phase.JOIN, lambda _: deeds.unproved_key()),
    Named("no key", Phase.JOIN, lambda _: deeds.no_key()),
    Named("copy key", Phase.JOIN, deeds.copy_key),
    Named("related key", Phase.JOIN, deeds.related_key),
    Named("common key", Phase.JOIN, lambda _: deeds.common_key(b"common")),
    Named("copy seed", Phase.JOIN, deeds.copy_seed, full=True),
    Named("another input", Phase.JOIN, lambda _: deeds.another_input(), full=True),
    Named("copy input", Phase.JOIN, deeds.copy_input, full=True),
    Named("bring stranger", Phase.JOIN, lambda _: deeds.bring_stranger()),
    Named("shift", Phase.JOIN, lambda _: deeds.shift(1), full=True),
    Named("shift", Phase.COMMIT, lambda _: deeds.shift(1), full=True),
    Named("shift", Phase.PUBLISH, lambda _: deeds.shift(1), full=True),
    Named("scale noise", Phase.COMMIT, lambda _: deeds.scale_noise(0), full=True),
    Named("scale noise", Phase.PUBLISH, lambda _: deeds.scale_noise(3), full=True),
    Named("another nonce", Phase.COINS, lambda _: deeds.another_nonce()),
    Named("spoil proof", Phase.COMMIT, lambda _: deeds.spoil_proof(), full=True),
    Named("copy proof", Phase.COMMIT, deeds.copy_proof, full=True),
    Named("wrong edge", Phase.COMMIT, deeds.wrong_edge),
    Named("missing edge", Phase.COMMIT, lambda _: deeds.missing_edge()),
    Named("no self-mask", Phase.COMMIT, lambda _: deeds.no_self_mask(), full=True),
    Named("spoil value", Phase.PUBLISH, lambda _: deeds.spoil_value()),
    Named("copy value", Phase.PUBLISH, deeds.copy_value),
    Named("wrong key", Phase.ROLLBACK, lambda _: deeds.wrong_key()),
    Named("betray", Phase.CONFIRM, lambda _: deeds.betray()),
    Named("wrong seed", Phase.UNMASK, lambda _: deeds.wrong_seed()),
    Named("accuse", Phase.ACCUSE, deeds.accuse),
    Named("accuse of a share", Phase.ACCUSE, lambda v: deeds.accuse(v, About.SHARE)),
    Named("accuse without proof", Phase.ACCUSE, lambda v: deeds.accuse(v, proved=False)),
    Named("slander", Phase.ACCUSE, lambda v: deeds.accuse(v, forged=True)),
)
_RECOVERING: Final = (
    Named("wrong share", Phase.COMMIT, deeds.wrong_share),
    Named("wrong recovery", Phase.RECOVER, lambda _: deeds.wrong_recovery()),
)
_SHARING_SEEDS: Final = (Named("another seed", Phase.COMMIT, lambda _: deeds.other_seed()),)
ALL: Final = (*_anywhere(), *_PLAIN, *_RECOVERING, *_SHARING_SEEDS)


def deeds_in(world: World) -> list[Named]:
    """Those that mean something in this world."""
    recovers = world.terms.threshold is not None
    return [
        each
        for each in ALL
        if (world.full or not each.full)
        and (each not in _SHARING_SEEDS or (recovers and not world.full))
        and (recovers or (each not in _RECOVERING and each.phase is not Phase.RECOVER))
    ]


Lie: TypeAlias = Callable[[int, int], OrganiserBehaviour]
"""Made from a position on the roll and the number of parties."""

CLOSES: Final = (
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.PUBLISH,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
)


LieAt: TypeAlias = Callable[[Phase, int, int], OrganiserBehaviour]

_AT_EVERY_CLOSE: Final[dict[str, LieAt]] = {
    "leaves out at": lambda p, v, _n: AlteredClose(p, lacking(v)),
    "adds at": lambda p, v, n: AlteredClose(p, adding(v, n)),
    "posts two closes at": lambda p, v, _n: AlteredClose(p, lacking(v), beside=True),
    "closes again behind": lambda p, v, _n: ClosesAgain(p, lacking(v)),
    "closes again and goes on at": lambda p, v, _n: ClosesAgain(p, lacking(v), follows=True),
    "cuts ahead at": lambda p, _v, _n: AlteredClose(p, with_cut(3)),
    "cuts back at": lambda p, _v, _n: AlteredClose(p, with_cut(-2)),
    "aborts at": lambda p, v, _n: AbortsInstead(p, list(AbortReason)[v % len(AbortReason)]),
    "gives up at": lambda p, v, _n: GivesUp(p, list(Released)[v % 2]),
    "goes away at": lambda p, _v, _n: Vanishes(p),
}
_AT_LISTS: Final[dict[str, LieAt]] = {
    "goes on without one at": lambda p, v, n: ClosedAnyway(
        p, tuple(u for u in range(n) if u != v), n
    ),
    "goes on with all at": lambda p, _v, n: ClosedAnyway(p, tuple(range(n)), n),
}
_AT_FINAL: Final[dict[str, LieAt]] = {
    "says final at": lambda p, _v, _n: AlteredClose(p, with_final(True)),
    "says not final at": lambda p, _v, _n: AlteredClose(p, with_final(False)),
}
_AT_THE_END: Final[dict[str, Lie]] = {
    "another sum": lambda v, _n: AlteredResult(lambda result: _moved(result, v + 1)),
    "hides who left": lambda _v, _n: AlteredResult(lambda result: replace(result, removed=())),
    "another attempt": lambda _v, _n: AlteredResult(lambda result: replace(result, attempt=1)),
    "blames a party": lambda v, _n: AlteredAbort(lambda abort: replace(abort, culprits=(v,))),
    "a result for an abort": lambda v, _n: AnotherResult((v,)),
    "opens another attempt": lambda v, _n: AlteredOpen(_next_attempt, number=1 + v % 2),
}


def _lies() -> dict[str, Lie]:
    spread = (
        (CLOSES, _AT_EVERY_CLOSE),
        (CLOSES[2:], _AT_LISTS),
        ((Phase.PUBLISH, Phase.ROLLBACK), _AT_FINAL),
    )
    found: dict[str, Lie] = {
        f"{name} {phase.name.lower()}": partial(make, phase)
        for phases, lies in spread
        for name, make in lies.items()
        for phase in phases
    }
    return found | _AT_THE_END


def _next_attempt(content: Open) -> Open:
    return replace(content, attempt=content.attempt + 1)


def adding(position: int, parties: int) -> Callable[[Close], Close]:
    """A list with one party more; of nonces the first is there twice; a roll has a wrong hash."""

    def change(close: Close) -> Close:
        content = close.content
        if isinstance(content, Members):
            more = {*unpack_members(content.members, parties), position}
            members = pack_members(sorted(more), parties)
            return replace(close, content=replace(content, members=members))
        if isinstance(content, Roll) and position < len(content.parties):
            rest = list(content.parties)
            rest[position] = replace(rest[position], nonce_hash=bytes(32))
            return replace(close, content=replace(content, parties=tuple(rest)))
        if isinstance(content, Coins) and content.nonces:
            nonces = (*content.nonces[1:], content.nonces[0])
            return replace(close, content=replace(content, nonces=nonces))
        return close

    return change


def _moved(result: ResultMessage, by: int) -> ResultMessage:
    return replace(result, sums=(result.sums[0] + by, *result.sums[1:]))


LIES: Final = _lies()
