"""The memory of a witness."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from bulletin_board.note import Checkpoint, checkpoint_lines
from bulletin_board.storage import StorageError
from bulletin_board.storage.database import Database
from bulletin_board.witness.core import Answer, Proposal
from wire.errors import MalformedMessage

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS cosigned (origin TEXT PRIMARY KEY, text TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS clock (
        id INTEGER PRIMARY KEY CHECK (id = 1), time INTEGER NOT NULL
    )""",
)

Judge = Callable[[Proposal, Checkpoint | None], Answer | None]


class WitnessStore:
    """The newest cosigned checkpoint of each log, and the last time stated.

    May be called by several threads.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)
        self._mutex = threading.Lock()

    def update(self, proposal: Proposal, now: int, judge: Judge) -> Answer | int:
        """Judge and store in one durable step; the refusal, or the time to state.

        The time never runs backwards, also when the clock does: a witness that
        stated a time has promised that nothing newer was known to it then.
        """
        with self._mutex, self._database.transaction():
            refusal = judge(proposal, self._known(proposal.signed.checkpoint.origin))
            if refusal is not None:
                return refusal
            rows = self._database.execute("SELECT time FROM clock")
            last = rows[0][0] if rows else 0
            time = max(now, last if type(last) is int else 0)
            self._database.execute("INSERT OR REPLACE INTO clock VALUES (1, ?)", (time,))
            self._database.execute(
                "INSERT OR REPLACE INTO cosigned VALUES (CAST(? AS TEXT), CAST(? AS TEXT))",
                (
                    proposal.signed.checkpoint.origin.encode(),
                    proposal.signed.note.text.encode(),
                ),
            )
            return time

    def close(self) -> None:
        self._database.close()

    def _known(self, origin: str) -> Checkpoint | None:
        rows = self._database.execute(
            "SELECT text FROM cosigned WHERE origin = CAST(? AS TEXT)", (origin.encode(),)
        )
        if not rows:
            return None
        try:
            return Checkpoint(*checkpoint_lines(str(rows[0][0])))
        except MalformedMessage as error:
            raise StorageError(f"the witness's memory is damaged: {error}") from error
