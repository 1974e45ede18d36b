"""The log behind a result, for whoever wants to keep or check it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bulletin_board import LogReader, write_archive
from gopa.rounds.toolkit import Toolkit
from gopa.rules import Findings, check_log


@dataclass(frozen=True, slots=True, eq=False)
class SessionTranscript:
    """Where a round stands in a log: the session's id, the number of the round, the log.

    `directory` holds the log as a board of files, or is None where it is in memory.
    """

    session: bytes
    round: int
    directory: Path | None
    log: Callable[[], LogReader]
    toolkit: Toolkit | None = None

    def archive(self, path: str | Path) -> Path:
        """Write the whole log as one `.gopa` file."""
        target = Path(path)
        with target.open("wb") as out:
            write_archive(self.log(), out, self.session)
        return target

    def check(self) -> Findings:
        """Read the log again, strictly, and evaluate every rule of the protocol over it.

        Raises:
            ProtocolError: the log is not what its checkpoint says.
        """
        return check_log(self.log().entries(), self.toolkit, rng=os.urandom, session=self.session)

    def __repr__(self) -> str:
        where = self.directory or "in memory"
        return f"<SessionTranscript: session {self.session.hex()[:16]}, {where}>"
