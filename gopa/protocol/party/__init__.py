"""One party of a session, as a pure state machine: events in, new state and outputs out.

Read `events` (what a party is told, what it asks for), `states` (what it knows at each stage),
`machine` (`Party.step`: which step follows at which stage), then the steps in their order:
`joining`, `committing`, `publishing`, `opening`, `ending`. `context` has what every close has to
pass, `reading` what is read of others, `rows` what is proved of vectors row by row.

    >>> import gopa, os
    >>> from gopa.protocol.party import NeedInput, Post, Supplied
    >>> from gopa.protocol.simulation import Simulation
    >>> session = Simulation(gopa.plan(n=10, epsilon=4, delta=1e-5, corrupt=1), rng=os.urandom)
    >>> one, _ = session.parties[0], session.run_round([[1]] * 10)
    >>> manifest, opened = one.access.board.entries[:2]  # to be told once more to one of them
    >>> state, _ = one.party.step(one.party.start(), manifest)
    >>> state, (asked,) = one.party.step(state, opened)
    >>> state, (posted,) = one.party.step(state, Supplied(asked.logical, (1,)))
    >>> type(asked) is NeedInput, type(posted) is Post, posted.phase.name
    (True, True, 'JOIN')

Specification: `specs/04-protocol.md`.
"""

from gopa.protocol.party.chain import with_root
from gopa.protocol.party.events import (
    Dated,
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    NeedInput,
    Output,
    Part,
    Post,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.machine import Party
from gopa.protocol.party.policy import LocalPolicy, Refusal
from gopa.protocol.party.states import PartyState

__all__ = [
    "Dated",
    "Event",
    "Fetch",
    "Fetched",
    "Finished",
    "Halted",
    "LocalPolicy",
    "NeedInput",
    "Output",
    "Part",
    "Party",
    "PartyState",
    "Post",
    "PostedClose",
    "Refusal",
    "Supplied",
    "TimedOut",
    "Witnessed",
    "with_root",
]
