"""A read-only picture of where a session stands, by the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gopa.graph import Graph
from gopa.messages.manifest import Manifest
from gopa.messages.organiser import Abort, Enrolled, Result
from gopa.messages.phases import Phase
from gopa.rules.edges import Edges
from gopa.rules.findings import Listed, Removed


@dataclass(frozen=True, slots=True)
class RoundView:
    """The current round, or the last one.

    `opens` is the phase that is open (with PUBLISH also ACCUSE), None when the round is
    over. Messages of that phase begin with `acts_on`, the leaf of the organiser's message
    at index `opened_at`; so does the organiser's own next one. `cut` is the last cut.

    `expected` are the Ed25519 keys of those that the open phase waits for: whoever may
    still post and has not yet. (With open admission nobody is expected in JOIN.) A
    message counts once it is whole, whatever it says. `posted` is how many messages
    the phase has.

    Positions are those of `roll`. `owed` are the neighbours to which each party has to
    open an edge in the open rollback, `dealers` whose shares each may give in RECOVER.
    `live` and `void` are pairs with the lower position first. `members` is the last list
    before confirm: from the final close on the final one.
    """

    number: int
    logical: int
    attempt: int
    opens: Phase | None
    step: int
    acts_on: bytes
    opened_at: int
    cut: int
    barred: frozenset[bytes]
    expected: frozenset[bytes]
    posted: int
    roll: Sequence[Enrolled]
    roll_leaf: bytes
    beacon_round: int
    lists: tuple[Listed, ...]
    removals: tuple[Removed, ...]
    members: tuple[int, ...]
    withheld: int
    joint: bytes
    graph: Graph | None
    edges: Edges | None
    owed: Mapping[int, tuple[int, ...]]
    dealers: Mapping[int, tuple[int, ...]]
    released: bool
    ended: Result | Abort | None

    @property
    def live(self) -> frozenset[tuple[int, int]]:
        """The edges that mask, known from the close of commit on."""
        return frozenset() if self.edges is None else self.edges.live_pairs

    @property
    def void(self) -> frozenset[tuple[int, int]]:
        """The edges between listed parties that mask nothing."""
        return frozenset() if self.edges is None else self.edges.void_pairs


@dataclass(frozen=True, slots=True)
class SessionState:
    """Where the session stands.

    `round` is None before the first `open`. `releases` counts the valid final closes of
    the logical round that is current. After `over` the rules demand nothing more:
    either all logical rounds are done (`failed` is False) or the manifest or a message
    of the organiser broke a rule (`failed`).
    """

    session: bytes
    manifest: Manifest | None
    round: RoundView | None
    rounds_ended: int
    releases: int
    over: bool
    failed: bool
