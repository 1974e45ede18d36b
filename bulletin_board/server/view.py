"""What the page shows about sessions: supplied by the protocol, empty without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Protocol

from bulletin_board.text import visible
from bulletin_board.witness.standing import WitnessStanding

_MOST_SESSIONS = 100


@dataclass(frozen=True, slots=True)
class PartyPicture:
    """Shows one party to people who look at a board's page."""

    party: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class SessionPicture:
    """One session: its title, the names of its phases, its parties and the edges between them."""

    title: str
    phases: Mapping[int, str]
    parties: Sequence[PartyPicture] = ()
    edges: Sequence[tuple[str, str]] = ()


class SessionView(Protocol):
    """Knows what the bytes of a session mean. Called in a thread of the server, one at a time."""

    def picture(self, session: bytes) -> SessionPicture | None:
        """What to show about a session, or None."""


class NoView:
    """Sessions are hexadecimal numbers."""

    def picture(self, session: bytes) -> SessionPicture | None:
        del session
        return None


def overview(  # noqa: PLR0913, PLR0917 - one argument for each thing shown
    origin: str,
    checkpoint: str,
    size: int,
    census: Mapping[tuple[bytes, int], int],
    witnesses: Mapping[str, WitnessStanding],
    view: SessionView,
) -> dict[str, object]:
    """The JSON document behind the page. Every name in it is safe to show."""
    return {
        "origin": visible(origin),
        "size": size,
        "checkpoint": "\n".join(map(visible, checkpoint.split("\n"))),
        "witnesses": [
            {"name": visible(name), "time": found.time, "state": found.state.value}
            for name, found in sorted(witnesses.items())
        ],
        "sessions": [_session(*item, view) for item in _by_session(census).items()],
    }


def _by_session(census: Mapping[tuple[bytes, int], int]) -> dict[bytes, dict[int, int]]:
    """At most 100 sessions, those with most entries first: a flood cannot blow up the page."""
    found: dict[bytes, dict[int, int]] = {}
    for (session, phase), count in census.items():
        found.setdefault(session, {})[phase] = count
    busiest = nsmallest(_MOST_SESSIONS, found, key=lambda s: (-sum(found[s].values()), s))
    return {session: found[session] for session in busiest}


def _session(session: bytes, counts: Mapping[int, int], view: SessionView) -> dict[str, object]:
    picture = view.picture(session) or SessionPicture("", {})
    return {
        "id": session.hex(),
        "title": visible(picture.title),
        "phases": [
            {"name": visible(picture.phases.get(phase, f"phase {phase}")), "entries": count}
            for phase, count in sorted(counts.items())
        ],
        "parties": [
            {"id": visible(p.party), "name": visible(p.name), "status": visible(p.status)}
            for p in picture.parties
        ],
        "edges": [[visible(a), visible(b)] for a, b in picture.edges],
    }
