"""One round as findings."""

from __future__ import annotations

from gopa.messages.organiser import Abort, Result
from gopa.rules.afterwards import Late
from gopa.rules.book import Book
from gopa.rules.findings import RoundFindings
from gopa.rules.retry import releases_of


def reported(book: Book, late: Late) -> RoundFindings:
    """What is established about a round."""
    ended, edges = book.ended, book.edges
    opened = {edges.ends(edge) for edge in book.openings} if edges is not None else set()
    return RoundFindings(
        number=book.number,
        logical=book.logical,
        attempt=book.attempt,
        opened_at=book.opened.index,
        ended_at=book.ended_at,
        barred=tuple(sorted(book.barred)),
        roll=tuple(book.places),
        withheld=book.withheld,
        joint=book.joint,
        graph=book.graph,
        lists=tuple(book.lists),
        removals=tuple(book.removals),
        void=() if edges is None else tuple(sorted(edges.void_pairs)),
        opened=tuple(sorted(opened | set(late.opened))),
        unmasked=tuple(sorted({*book.unmasked, *book.recovered})),
        recovered=book.recovered,
        released=book.final is not None,
        releases=releases_of(book),
        sums=ended.sums if isinstance(ended, Result) else None,
        abort=ended.reason if isinstance(ended, Abort) else None,
        culprits=book.blamed_for_abort if isinstance(ended, Abort) else (),
        veto=book.veto,
    )
