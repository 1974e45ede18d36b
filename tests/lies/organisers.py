"""Every lie of an organiser, told once: what it posts, whom that stops, and what convicts it.

`tests/lies/test_organisers.py` tells each of them in the sessions of `tests/lies/worlds.py`.
Position 3 is the victim, and 5 has left where a lie needs that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gopa.adversary.deeds.organising import (
    AlteredAbort,
    AlteredClose,
    AlteredResult,
    ClosedAnyway,
    ClosesAgain,
    added,
    blaming,
    hiding_removals,
    lacking,
    listing,
    with_cut,
    with_final,
    with_nonce_of,
)
from gopa.contract.organiser import (
    CLOSE,
    RESULT,
    Abort,
    AbortReason,
    Close,
    Members,
    Released,
    Removal,
    RemovalCause,
    Roll,
    RollEntry,
)
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.simulation import OrganiserBehaviour, Script
from gopa.protocol.simulation.access import OrganiserAccess, body_of
from gopa.protocol.simulation.script import PostsLate, Skip
from tests.lies.table import LEAVER, LIAR, PARTIES, RECOVERING
from tests.protocol.simulation.row_worlds import shifted

VICTIM: Final = 3
HONEST: Final = Script()
EVERYBODY: Final = frozenset(range(PARTIES))
WITHOUT_LEAVER: Final = EVERYBODY - {LEAVER}
NUMBERS: Final = ("plain", "number", "vector", "words", "exact")
"""Sessions in which values are final once they are published."""
ANY: Final = (*NUMBERS, "rows")


@dataclass(frozen=True, slots=True)
class OrganisersLie:
    """What the organiser does, the rule that convicts it, and the parties that it stops.

    `before` says what parties do that gives it the occasion. `stands` is the sum that was right
    before the lie: else there is none. `aborts` if without the lie there is none either.
    """

    does: OrganiserBehaviour
    rule: str
    stops: frozenset[int]
    before: Script = HONEST
    worlds: tuple[str, ...] = ANY
    stands: bool = False
    aborts: bool = False

    def script(self, *, rows: bool) -> Script:
        """Whatever happens in the session."""
        del rows
        return self.before.organise(self.does)


def lie(
    does: OrganiserBehaviour,
    rule: str,
    stops: Collection[int] = EVERYBODY,
    before: Script = HONEST,
    **more: Any,
) -> OrganisersLie:
    """A lie that stops everybody if nothing else is said."""
    return OrganisersLie(does, rule, frozenset(stops), before, **more)


def left(phase: Phase) -> Script:
    """Somebody is gone before a phase."""
    return Script().drop(LEAVER, before=phase)


def missing(count: int, phase: Phase) -> Script:
    """The first parties are gone before a phase."""
    script = Script()
    for party in range(count):
        script = script.drop(party, before=phase)
    return script


def silent(count: int, phase: Phase) -> Script:
    """The first parties say nothing in a phase, and go on."""
    script = Script()
    for party in range(count):
        script = script.misbehave(party, Skip(phase))
    return script


def shutting_out(close: Close) -> Close:
    """A list without the victim, from which a rollback follows if masks are out already."""
    return with_final(final=False)(lacking(VICTIM)(close))


def taking_back(close: Close) -> Close:
    """A list with the one that has left."""
    return with_final(final=False)(listing(LEAVER)(close))


def in_close(**fields: Any) -> Callable[[Close], Close]:
    """A close with other fields in its roll, coins or list."""

    def change(close: Close) -> Close:
        content: Any = close.content
        return replace(close, content=replace(content, **fields))

    return change


def close_of(phase: Phase) -> Callable[[Close], Close]:
    """A close of another phase than the open one, at the same place."""
    roll = Roll((RollEntry(bytes(32), bytes(32), bytes(32)),), 0)
    content = roll if phase is Phase.JOIN else Members(b"\x3f", final=False)
    return lambda close: replace(close, phase=phase, content=content)


def final(phase: Phase, *, said: bool) -> AlteredClose:
    """A close that says of itself that it is final, or that it is not."""
    return AlteredClose(phase, with_final(final=said))


def result(**fields: Any) -> AlteredResult:
    """A result with other fields."""
    return AlteredResult(lambda content: replace(content, **fields))


@dataclass(frozen=True, slots=True)
class ClosedInsteadOfTheResult:
    """A close where the rules demand the result."""

    phase: Phase

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.RESULT:
            return [control]
        content = RESULT.decode(body_of(control.entries))
        members, root = Members(b"\x3f", final=False), access.board.root_at(content.cut)
        close = Close(content.acts_on, content.cut, root, self.phase, b"", members)
        return [access.instead(control, Kind.CLOSE, CLOSE.encode(close))]


def of_each_phase(phase: Phase) -> dict[str, OrganisersLie]:
    """Two closes of a phase, one with a cut ahead of itself, and one behind the last."""
    worlds: dict[str, Any] = {"worlds": ("rows",) if phase is Phase.PROVE else ANY}
    two = AlteredClose(phase, with_cut(-1), beside=True)
    back = AlteredClose(phase, lambda close: replace(close, cut=0))
    name = phase.name.lower()
    return {
        f"two closes of {name}": lie(two, "04-E3", stands=phase is Phase.CONFIRM, **worlds),
        f"cut of {name} ahead": lie(AlteredClose(phase, with_cut(1)), "04-C2", **worlds),
        f"cut of {name} goes back": lie(back, "04-C2", **worlds),
    }


ABORTS: Final[tuple[tuple[str, str, Collection[int], Callable[[Abort], Abort]], ...]] = (
    (
        "abort that hides a release",
        "04-X2",
        EVERYBODY,
        lambda abort: replace(abort, released=Released.NONE),
    ),
    (
        "abort for another reason",
        "04-X1",
        (),
        lambda abort: replace(abort, reason=AbortReason.TOO_FEW_LEFT),
    ),
    ("abort that names somebody else", "04-X1", (), blaming(1)),
    (
        "abort of its own that names somebody",
        "04-X1",
        (),
        lambda abort: replace(abort, reason=AbortReason.ORGANISER),
    ),
)
"""Of a round that has no result since the first party keeps its seed."""


def of_results() -> dict[str, OrganisersLie]:
    """Results that say something else of the sum, of who is in it, or of what was released."""
    absent = Removal(0, Phase.COMMIT, RemovalCause.ABSENT)
    found = {
        "result of another attempt": lie(result(attempt=1), "04-X3"),
        "result with a release more": lie(result(releases=2), "04-X4"),
        "result with a release less": lie(result(releases=0), "04-X4"),
        "result that acts on nothing": lie(result(acts_on=bytes(32)), "04-E4"),
        "result with another sum more": lie(
            AlteredResult(lambda content: replace(content, sums=(*content.sums, 0))), "04-Z1"
        ),
        "sum out of range": lie(
            AlteredResult(lambda content: replace(content, sums=(2**40, *content.sums[1:]))),
            "04-Z1",
        ),
        "sum that is one larger": lie(AlteredResult(added(1)), "04-Z1", ()),
        "result that invents an exclusion": lie(
            AlteredResult(lambda content: replace(content, removed=(absent, *content.removed))),
            "04-Z3",
            WITHOUT_LEAVER,
        ),
        "result that names nobody who left": lie(
            AlteredResult(hiding_removals), "04-Z3", WITHOUT_LEAVER
        ),
        "result with another cause": lie(
            result(removed=(Removal(LEAVER, Phase.PUBLISH, RemovalCause.INVALID),)),
            "04-Z3",
            (),
        ),
    }
    return {name: replace(each, before=left(Phase.PUBLISH)) for name, each in found.items()}


CLOSED: Final = (
    *(Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.PROVE, Phase.CONFIRM),
)
IN_ROWS: Final[dict[str, Any]] = {"worlds": ("rows",)}
OF_NUMBERS: Final[dict[str, Any]] = {"worlds": NUMBERS}

LIES: Final[dict[str, OrganisersLie]] = {
    **{name: lie for phase in CLOSED for name, lie in of_each_phase(phase).items()},
    # Whoever could list another nonce for a colluding party would choose its neighbours.
    "another nonce": lie(AlteredClose(Phase.COINS, with_nonce_of(0)), "04-C3"),
    "coins without a party": lie(
        AlteredClose(Phase.COINS, in_close(members=b"\x1f", nonces=(bytes(32),) * 5)), "04-C3"
    ),
    "coins that quote a beacon": lie(
        AlteredClose(Phase.COINS, in_close(signature=b"\1" * 48)), "04-V4"
    ),
    "roll that names a beacon": lie(AlteredClose(Phase.JOIN, in_close(beacon_round=7)), "04-J7"),
    "roll without a party": lie(AlteredClose(Phase.JOIN, shutting_out), "04-J6", {VICTIM}),
    **{
        f"list of {phase.name.lower()} without a party": lie(
            AlteredClose(phase, shutting_out),
            "04-C3",
            {VICTIM},
            worlds=("rows",) if phase is Phase.PROVE else ANY,
        )
        for phase in (Phase.COMMIT, Phase.PUBLISH, Phase.PROVE, Phase.CONFIRM)
    },
    # All its neighbours owe edges to it, and a final close says that nobody owes anything.
    "final list without a party": lie(
        AlteredClose(Phase.PUBLISH, lacking(VICTIM)), "04-C3", **OF_NUMBERS
    ),
    "final list of proofs without a party": lie(
        AlteredClose(Phase.PROVE, lacking(VICTIM)), "04-C3", **IN_ROWS
    ),
    # To the others a list that grew smaller is no final one, and it is called final.
    "list of rollback without a party": lie(
        AlteredClose(Phase.ROLLBACK, lacking(VICTIM)),
        "04-C3",
        WITHOUT_LEAVER,
        left(Phase.PUBLISH),
    ),
    "list of seeds without a party": lie(
        AlteredClose(Phase.UNMASK, lacking(VICTIM)),
        "04-C3",
        {VICTIM},
        Script().misbehave(LEAVER, Skip(Phase.UNMASK)),
        worlds=RECOVERING,
    ),
    "final while edges are owed": lie(
        final(Phase.PUBLISH, said=True), "04-P3", WITHOUT_LEAVER, left(Phase.PUBLISH)
    ),
    "not final though nobody owes an edge": lie(
        final(Phase.PUBLISH, said=False), "04-P3", (), **OF_NUMBERS
    ),
    "final while nothing is proved": lie(final(Phase.PUBLISH, said=True), "04-P3", **IN_ROWS),
    "final while an edge leads out": lie(
        final(Phase.PROVE, said=True), "14-P8", WITHOUT_LEAVER, left(Phase.PROVE), **IN_ROWS
    ),
    # No party stops at it; rules and audits do.
    "final while an edge is disputed": lie(
        final(Phase.PROVE, said=True),
        "14-P8",
        (),
        Script().misbehave(LIAR, shifted(VICTIM)),
        **IN_ROWS,
    ),
    "not final though all is proved": lie(final(Phase.PROVE, said=False), "14-P8", (), **IN_ROWS),
    "not final though the list stays": lie(
        final(Phase.ROLLBACK, said=False), "04-O3", WITHOUT_LEAVER, left(Phase.PUBLISH)
    ),
    # Edges to it may be open: whoever goes on with it would have its mask and theirs known.
    **{
        f"who missed {gone.name.lower()} is back in {phase.name.lower()}": lie(
            AlteredClose(phase, taking_back),
            "04-C3",
            WITHOUT_LEAVER,
            left(gone),
            worlds=("rows",) if Phase.PROVE in {gone, phase} else ANY,
        )
        for gone, phase in (
            (Phase.COINS, Phase.COMMIT),
            (Phase.COMMIT, Phase.PUBLISH),
            (Phase.PUBLISH, Phase.ROLLBACK),
            (Phase.PUBLISH, Phase.CONFIRM),
            (Phase.PROVE, Phase.PROVE),
            (Phase.PROVE, Phase.ROLLBACK),
            (Phase.PROVE, Phase.CONFIRM),
        )
    },
    "who did not confirm is listed": lie(
        AlteredClose(Phase.CONFIRM, listing(LEAVER)),
        "04-C3",
        (),
        Script().misbehave(LEAVER, Skip(Phase.CONFIRM)),
    ),
    "who kept its seed is listed": lie(
        AlteredClose(Phase.UNMASK, listing(LEAVER)),
        "04-C3",
        (),
        Script().misbehave(LEAVER, Skip(Phase.UNMASK)),
        worlds=RECOVERING,
    ),
    "who lied about an edge stays": lie(
        AlteredClose(Phase.ROLLBACK, listing(LIAR)),
        "04-C3",
        EVERYBODY,
        Script().misbehave(LIAR, shifted(VICTIM)),
        **IN_ROWS,
    ),
    # One round has one: it would count a release for each, also for who is out of it.
    "second final close": lie(
        ClosesAgain(Phase.ROLLBACK, with_final(final=True), follows=True),
        "04-F2",
        EVERYBODY,
        Script().misbehave(LEAVER, PostsLate(Phase.PUBLISH)),
    ),
    # Whoever skipped the coins, say, would let the organiser choose the graph.
    **{
        f"close of {other.name.lower()} in {phase.name.lower()}": lie(
            AlteredClose(phase, close_of(other)), "04-C1"
        )
        for phase, other in (
            (Phase.JOIN, Phase.COMMIT),
            (Phase.COINS, Phase.COMMIT),
            (Phase.COMMIT, Phase.JOIN),
            (Phase.COMMIT, Phase.PUBLISH),
            (Phase.COMMIT, Phase.ROLLBACK),
            (Phase.COMMIT, Phase.CONFIRM),
            (Phase.PUBLISH, Phase.ROLLBACK),
        )
    },
    "close of unmask where the result is due": lie(
        ClosedInsteadOfTheResult(Phase.UNMASK), "04-U2", worlds=("plain",)
    ),
    # A party does not know whose seeds are in the log, and has nothing to say here.
    "close of unmask where there is nobody to recover": lie(
        ClosedInsteadOfTheResult(Phase.UNMASK), "04-U2", (), worlds=RECOVERING
    ),
    "close of recover where the result is due": lie(
        ClosedInsteadOfTheResult(Phase.RECOVER),
        "04-U2",
        EVERYBODY,
        Script().misbehave(LEAVER, Skip(Phase.UNMASK)),
        worlds=RECOVERING,
    ),
    # Parties count the confirmations that they have read themselves (04-F2).
    "goes on though too few confirmed": lie(
        ClosedAnyway(Phase.CONFIRM, tuple(range(PARTIES)), PARTIES),
        "04-F2",
        EVERYBODY,
        silent(3, Phase.CONFIRM),
        aborts=True,
    ),
    # Nobody publishes a masked value into so small a group.
    "goes on though too few committed": lie(
        ClosedAnyway(Phase.COMMIT, (3, 4, 5), PARTIES),
        "04-L3",
        {3, 4, 5},
        missing(3, Phase.COMMIT),
        aborts=True,
    ),
    "goes on though too few proved": lie(
        ClosedAnyway(Phase.PROVE, (3, 4, 5), PARTIES),
        "04-L3",
        {3, 4, 5},
        missing(3, Phase.PROVE),
        aborts=True,
        **IN_ROWS,
    ),
    **of_results(),
    **{
        name: lie(AlteredAbort(change), rule, stops, missing(1, Phase.UNMASK), worlds=("plain",))
        for name, rule, stops, change in ABORTS
    },
}
