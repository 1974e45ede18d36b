"""What the page shows about sessions: supplied by the protocol, empty without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bulletin_board.visible import visible

_MOST_SESSIONS = 100


@dataclass(frozen=True, slots=True)
class Party:
    """A party as people see it."""

    party: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class SessionPicture:
    """One session: its title, the names of its phases, its parties and the edges between them."""

    title: str
    phases: Mapping[int, str]
    parties: Sequence[Party] = ()
    edges: Sequence[tuple[str, str]] = ()


class SessionView(Protocol):
    """Knows what the bytes of a session mean. Called by the server for each refresh."""

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
    witnesses: Mapping[str, int | None],
    view: SessionView,
) -> dict[str, object]:
    """The JSON document behind the page. Every name in it is safe to show."""
    return {
        "origin": visible(origin),
        "size": size,
        "checkpoint": "\n".join(map(visible, checkpoint.split("\n"))),
        "witnesses": [
            {"name": visible(name), "time": time} for name, time in sorted(witnesses.items())
        ],
        "sessions": [_session(session, census, view) for session in _busiest(census)],
    }


def _busiest(census: Mapping[tuple[bytes, int], int]) -> list[bytes]:
    """At most 100 sessions, those with most entries first: a flood cannot blow up the page."""
    totals: Counter[bytes] = Counter()
    for (session, _), count in census.items():
        totals[session] += count
    return sorted(totals, key=lambda session: (-totals[session], session))[:_MOST_SESSIONS]


def _session(
    session: bytes, census: Mapping[tuple[bytes, int], int], view: SessionView
) -> dict[str, object]:
    picture = view.picture(session) or SessionPicture("", {})
    counts = sorted((phase, count) for (of, phase), count in census.items() if of == session)
    return {
        "id": session.hex(),
        "title": visible(picture.title),
        "phases": [
            {"name": visible(picture.phases.get(phase, f"phase {phase}")), "entries": count}
            for phase, count in counts
        ],
        "parties": [
            {"id": visible(p.party), "name": visible(p.name), "status": visible(p.status)}
            for p in picture.parties
        ],
        "edges": [[visible(a), visible(b)] for a, b in picture.edges],
    }
