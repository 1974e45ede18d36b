"""What `gopa join` tells people and machines: what it does, and how long it waits for its board."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from gopa.aggregation.showing import plain_data
from gopa.cli.session_progress import (
    CurrentActivity,
    ProgressDisplay,
    ProgressEvent,
    phase_text,
    trouble_line,
)
from gopa.sessions.board_access import Alone
from gopa.sessions.following import SelectiveLog
from gopa.sessions.organising import BoardFound, BoardLost
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from gopa.support.rounding import plus_minus
from gopa.support.wording import (
    EXACT,
    EXACT_DIFFERENCE,
    PARTS,
    counted,
    epsilon_text,
    name_of,
    promise_of,
)
from wire.errors import GopaError, ProtocolError
from wire.randomness import Rng

if TYPE_CHECKING:
    from gopa.contract.manifest import Manifest
    from gopa.sessions.contribution import Contribution, RoundStatus


_LOOK: Final = 0.5
_CLOSING: Final = 2.0
_LONGEST_LINE: Final = 4_096
_T = TypeVar("_T")


class Declined(GopaError):
    """The answer of the value's owner not to take part."""


def on_terminal() -> bool:
    """Whether somebody sits there who can be asked."""
    streams = (sys.stdin, sys.stderr)
    return all(each is not None and each.isatty() for each in streams)


async def asked_line(question: str) -> str:
    """Asks on the terminal; gives the line without blanks around it, empty at its end.

    The event loop goes on meanwhile, so that an interrupt ends the question at once.
    """
    click.echo(question, nl=False, err=True)
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    handle = sys.stdin.fileno()
    loop.add_reader(handle, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(handle)
    return os.read(handle, _LONGEST_LINE).decode("utf-8", "replace").strip()


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


class BoardUnreachable(GopaError):
    """A board that could not be used for as long as the party was willing to wait."""


class SessionAbsent(BoardUnreachable):
    """A board that answered, and did not have the session for as long as that."""


class PatientConnect(Alone):
    """The way to the board of one session; it reports losses, and gives up in time."""

    def __init__(
        self, screen: ProgressDisplay, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`patience` is how many seconds in a row the board, or the session, may not be there."""
        self._screen = screen
        self._patience = patience
        self._clock = clock
        self._log: SelectiveLog | None = None
        self._ticket: Ticket | None = None
        self._without: float | None = None
        self._working = False
        self._lost_at: float | None = None

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        """The log, which is looked at from now on."""
        self._log, self._ticket = super().open(ticket, vault, rng), ticket
        return self._log

    @property
    def hangs(self) -> bool:
        """Whether work was given up that would not end: a thread waits for a board's answer."""
        return self._working

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do the work in an event loop of its own.

        When the board hangs, a request may last a minute. Whoever stops the party, and a party
        that gives up, does not wait for it: the caller then has to end the process.

        Raises:
            BoardUnreachable: there was no board for too long.
            SessionAbsent: there was one, without the session of the ticket.
            KeyboardInterrupt: somebody has stopped it.
        """
        runner = asyncio.Runner()
        try:
            return runner.run(self._during(work))
        finally:
            if not self.hangs:
                runner.close()

    async def _during(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.ensure_future(work)
        self._working = True
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK)
                if not task.done():
                    self._look()
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING)
            self._working = not task.done()

    def _look(self) -> None:
        trouble = None if self._log is None else self._log.trouble
        if trouble is None:
            self._found()
            self._require_session()
        else:
            self._lost(trouble)

    def _require_session(self) -> None:
        """A ticket of another board, or of a session that is never opened, is not waited for.

        A board that comes and goes does not make the party begin to count again.
        """
        if self._log is None or self._ticket is None or self._log.found:
            return
        if not self._log.bytes_read:
            return  # nobody has answered yet
        if self._without is None:
            self._without = self._clock()
        elif self._clock() - self._without >= self._patience:
            raise SessionAbsent(
                f"no session {self._ticket.session.hex()[:16]} at {self._ticket.board} for"
                f" {self._patience:g} seconds: ask its organiser whether it is open and whether"
                " this is the newest ticket, or wait longer with --patience"
            )

    def _lost(self, trouble: ProtocolError) -> None:
        if self._lost_at is None:
            self._lost_at = self._clock()
            self._screen.add_event(trouble_line(BoardLost(str(trouble))))
        elif self._clock() - self._lost_at >= self._patience:
            raise BoardUnreachable(f"no board for {self._patience:g} seconds: {trouble}")

    def _found(self) -> None:
        if self._lost_at is not None:
            seconds = self._clock() - self._lost_at
            self._lost_at = None
            self._screen.add_event(trouble_line(BoardFound(seconds)))


def joined_line(manifest: Manifest) -> ProgressEvent:
    """Describes the session that was joined."""
    terms = manifest.terms
    title = manifest.title.decode("utf-8", "replace") or manifest.session.hex()[:16]
    text = (
        f"session {title}: up to {terms.parties} parties, "
        f"{promise_of(terms.epsilon, terms.delta)}, values from {terms.low} to {terms.high}; "
        f"it assumes that at most {terms.corrupt} of them collude"
    )
    facts: dict[str, object] = {
        "session": manifest.session.hex(),
        "parties": terms.parties,
        "corrupt": terms.corrupt,
        "epsilon": epsilon_text(terms.epsilon),
        "delta": str(terms.delta),
        "dimension": terms.dimension,
    }
    return ProgressEvent("joined", text, facts)


def tell(screen: ProgressDisplay, news: RoundStatus) -> None:
    """Shows where a round stands, and whether this party is in it."""
    facts: dict[str, object] = {
        "round": news.round,
        "logical": news.logical,
        "attempt": news.attempt,
        "phase": None if news.opens is None else news.opens.name.lower(),
        "parties": news.present,
        "part": None if news.part is None else news.part.name.lower(),
    }
    if news.opens is None:
        screen.add_event(ProgressEvent("round over", f"round {news.round} is over", facts))
        screen.set_activity(None)
        return
    parties = "" if news.present is None else f", {counted(news.present, 'party', 'parties')} in it"
    text = f"round {news.round}: {phase_text(news.opens)}{parties}"
    if news.part is None:
        screen.add_event(ProgressEvent("phase", text, facts))
        screen.set_activity(CurrentActivity(f"{text}; waiting for the others"))
    else:
        out = f"you are not in this round: {PARTS[name_of(news.part)]}"
        screen.add_event(ProgressEvent("phase", f"{text}; {out}", facts))
        screen.set_activity(CurrentActivity(f"{text}; {out}; waiting for its end"))


def facts_of(found: Contribution) -> dict[str, object]:
    """Gives a result for machines; nested values are JSON lists."""
    return {
        "session": found.session.hex(),
        "round": found.round,
        "logical": found.logical,
        "mean": plain_data(found.mean),
        "sum": plain_data(found.sum),
        "stderr": plain_data(found.stderr),
        "parties": found.count,
        "included": found.included,
        "part": found.part.name.lower(),
        "exact": found.exact,
        "warnings": list(found.warnings),
    }


def _known(mean: Any, error: Any) -> Any:
    """The digits that the noise leaves, each number with its error."""
    if isinstance(mean, dict):
        return {name: _known(each, error[name]) for name, each in mean.items()}
    if isinstance(mean, list):
        return [_known(*each) for each in zip(mean, error, strict=True)]
    return plus_minus(mean, error)


def sentence(found: Contribution) -> str:
    """Gives a result for people."""
    why, mean = PARTS[name_of(found.part)], _known(plain_data(found.mean), plain_data(found.stderr))
    yours = "yours is among them" if found.included else f"without yours: {why}"
    return "\n".join(
        [
            f"mean     {mean if isinstance(mean, str) else json.dumps(mean)}",
            *([f"exact    {EXACT}; {EXACT_DIFFERENCE}"] if found.exact else []),
            *(f"warning  {each}" for each in found.warnings),
            f"parties  {found.count}; {yours}",
        ]
    )
