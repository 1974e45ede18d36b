"""Every way in which a party of a small world departs from the rules, one at a time.

Each fault says how it is acted out and what it means to the model. Two kinds:

* *silence*: a message that does not come, or comes late. It costs the party its place,
  and nobody is ever blamed for it;
* *lies*: entries that convict their author to anyone who reads the log. `rule` is the one
  that names it.

In signed mode a wrong masked value is like another input: it moves the sum and convicts
nobody. Repeating another party's confirmation says the same as one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gopa.adversary.deeds import (
    accuse,
    another_nonce,
    betray,
    spoil_value,
    unproved_key,
    wrong_edge,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.adversary.deeds.kinds import flipped
from gopa.contract.party import About, Commit
from gopa.contract.phases import CLOSED, Phase, course
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.script import (
    Drop,
    Garbage,
    Honest,
    PostsLate,
    Replay,
    Skip,
    Twice,
    TwiceLater,
)
from tests.lies import lying, says
from tests.small_worlds.behaviours import Cut, Echo, EdgeMissing, VetoWithAnotherSeed

Acted: TypeAlias = Callable[[int], Behaviour]
"""The behaviour, given the number of the party that the fault is about."""

_COURSE: Final = course(rows=False, trusted=False, recovers=True)
ORDER: Final = tuple(phase for phase in _COURSE if phase in CLOSED)

UNREADABLE: Final = {
    Phase.JOIN: "04-J2",
    Phase.COINS: "04-V1",
    Phase.COMMIT: "04-K1",
    Phase.PUBLISH: "04-P2",
    Phase.ROLLBACK: "04-O1",
    Phase.CONFIRM: "04-S4",
    Phase.UNMASK: "04-U1",
    Phase.RECOVER: "04-U3",
}
"""The rule that a message breaks which is none: it lacks a byte, or has one too many."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What one party does wrong in a round, in the words of the model.

    Gone from `silent_from` on; no message in phase `absent`, or a `late` one; an invalid one
    in phase `wrong`, by `rule`; a second one in phase `twice`, or behind the close of `behind`; the
    edge (`edge`) or share (`share`) for the party that the fault is about is not the right
    one; an accusation of that party; a mask of their own agreed with it; all edges opened
    after the confirmation; the first of the shares for recovery spoilt; another party's
    message repeated in phase `echo`, its own of an earlier round in phase `replays`; shares
    of another seed than its own (`deals_another`).
    """

    name: str
    acted: Acted
    silent_from: Phase | None = None
    absent: Phase | None = None
    wrong: Phase | None = None
    rule: str = ""
    twice: Phase | None = None
    behind: Phase | None = None
    edge: bool = False
    share: bool = False
    accuses: About | None = None
    proved: bool = True
    tells: bool = False
    conspires: bool = False
    spoils: bool = False
    echo: Phase | None = None
    replays: Phase | None = None
    deals_another: bool = False
    late: bool = False
    needs: Collection[str] = ()

    @property
    def is_about_another(self) -> bool:
        """Whether it matters which party the fault is about."""
        told = self.edge or self.share or self.conspires
        return told or self.accuses is not None or self.echo is not None

    @property
    def phases(self) -> frozenset[Phase]:
        """In one of these the party speaks, or else the fault changes nothing."""
        if self.silent_from is not None:
            return frozenset(each for each in Phase if each >= self.silent_from)
        if self.edge or self.share or self.conspires:
            return frozenset({Phase.COMMIT})
        if self.accuses is not None:
            return frozenset({Phase.PUBLISH})
        if self.tells:
            return frozenset({Phase.CONFIRM})
        if self.spoils:
            return frozenset({Phase.RECOVER})
        only = self.absent or self.wrong or self.twice or self.echo or self.replays
        assert only is not None
        return frozenset({only})

    def fits(self, *, full: bool, recovery: bool) -> bool:
        """Whether a session of this mode has what the fault is about."""
        return (full or "full" not in self.needs) and (recovery or "recovery" not in self.needs)


def _silences() -> Iterator[Fault]:
    for phase in (*ORDER, Phase.ACCUSE):
        name = phase.name.lower()
        yield Fault(f"gone before {name}", lambda _, p=phase: Drop(p, True), silent_from=phase)  # type: ignore[misc]
    for phase in (Phase.CONFIRM, Phase.UNMASK):
        yield Fault(f"no {phase.name.lower()}", lambda _, p=phase: Skip(p), absent=phase)  # type: ignore[misc]
    for phase in (Phase.COMMIT, Phase.PUBLISH, Phase.ROLLBACK, Phase.CONFIRM, Phase.UNMASK):
        name = f"late {phase.name.lower()}"
        yield Fault(name, lambda _, p=phase: PostsLate(p), absent=phase, late=True)  # type: ignore[misc]


def _bad_proof(content: Commit) -> Commit:
    """One wrong bit, also where a double of a proof is short."""
    return replace(content, proof=flipped(content.proof, len(content.proof) // 2))


def _lies() -> Iterator[Fault]:
    yield _wrong("no possession", lying("join", unproved_key()), Phase.JOIN, "04-J3")
    yield _wrong("wrong nonce", lying("coins", another_nonce()), Phase.COINS, "04-V1")
    yield _wrong("bad proof", says("commit", _bad_proof), Phase.COMMIT, "04-K3", "full")
    yield _wrong("missing edge", EdgeMissing(), Phase.COMMIT, "04-K1")
    yield _wrong("wrong value", lying("publish", spoil_value()), Phase.PUBLISH, "04-P1")
    yield _wrong("wrong opening", lying("rollback", wrong_key()), Phase.ROLLBACK, "04-O2")
    yield _wrong("wrong seed", lying("unmask", wrong_seed()), Phase.UNMASK, "04-U1")
    yield Fault(
        "wrong recovery",
        lambda _: lying("recover", wrong_recovery()),
        spoils=True,
        needs=("recovery",),
    )
    yield Fault("wrong edge", lambda number: lying("commit", wrong_edge(number)), edge=True)
    yield Fault(
        "wrong share",
        lambda number: lying("commit", wrong_share(number)),
        share=True,
        needs=("recovery",),
    )
    yield Fault("tells", lambda _: lying("confirm", betray()), tells=True)


def _accusations() -> Iterator[Fault]:
    for about in About:
        for proved in (True, False):
            name = f"accuses of {about.name.lower()}" + ("" if proved else ", unproved")
            yield Fault(
                name,
                lambda number, a=about, p=proved: lying("accuse", accuse(number, a, proved=p)),  # type: ignore[misc]
                accuses=about,
                proved=proved,
            )


def _repetitions() -> Iterator[Fault]:
    for phase in ORDER:
        yield Fault(f"two of {phase.name.lower()}", lambda _, p=phase: Twice(p), twice=phase)  # type: ignore[misc]
    for phase, behind in (
        (Phase.COMMIT, Phase.COMMIT),
        (Phase.PUBLISH, Phase.PUBLISH),
        (Phase.PUBLISH, Phase.ROLLBACK),
        (Phase.CONFIRM, Phase.CONFIRM),
    ):
        yield Fault(
            f"second {phase.name.lower()} behind {behind.name.lower()}",
            lambda _, p=phase, b=behind: TwiceLater(p, b),  # type: ignore[misc]
            twice=phase,
            behind=behind,
        )
    for phase in ORDER:
        name = f"echo of {phase.name.lower()}"
        yield Fault(name, lambda number, p=phase: Echo(p, number), echo=phase, needs=("full",))  # type: ignore[misc]
    for phase, rule in UNREADABLE.items():
        broken: Behaviour = Garbage(phase) if phase is Phase.CONFIRM else Cut(phase)
        yield _wrong(f"unreadable {phase.name.lower()}", broken, phase, rule)


def _wrong(name: str, behaviour: Behaviour, phase: Phase, rule: str, *needs: str) -> Fault:
    return Fault(name, lambda _: behaviour, wrong=phase, rule=rule, needs=needs)


REPLAYS: Final = tuple(
    Fault(f"replay of {p.name.lower()}", lambda _, p=p: Replay(p, frozenset({2})), replays=p)  # type: ignore[misc]
    for p in ORDER[:-1]
)
"""For the second of two rounds, if the behaviours have seen the first."""

CONSPIRACY: Final = Fault("conspires", lambda _: Honest(), conspires=True, needs=("full",))
"""Takes two: not in the catalogue of single faults."""

ANOTHER_SEED: Final = Fault(
    "another seed", lambda _: VetoWithAnotherSeed(), absent=Phase.UNMASK, deals_another=True
)
"""Only where seeds are shared, which no kind of the catalogue does."""

SILENCES: Final = tuple(_silences())
LIES: Final = (*_lies(), *_accusations(), *_repetitions())
CATALOGUE: Final[Mapping[str, Fault]] = {each.name: each for each in (*SILENCES, *LIES)}

MAIN: Final = (
    "gone before join",
    "gone before coins",
    "gone before commit",
    "gone before publish",
    "gone before rollback",
    "gone before confirm",
    "gone before unmask",
    "gone before recover",
    "late publish",
    "late rollback",
    "no confirm",
    "no unmask",
    "bad proof",
    "wrong edge",
    "wrong share",
    "wrong value",
    "accuses of edge",
    "accuses of share",
    "wrong opening",
    "wrong seed",
    "wrong recovery",
    "echo of publish",
    "two of publish",
    "second publish behind publish",
    "tells",
)
"""One of each kind, where pairs of all kinds are too many."""


def catalogue(*, full: bool, recovery: bool, names: Collection[str] = ()) -> list[Fault]:
    """All faults that fit a mode, or those with these names."""
    chosen = CATALOGUE.values() if not names else [CATALOGUE[name] for name in names]
    return [each for each in chosen if each.fits(full=full, recovery=recovery)]
