"""The log behind a result, to keep or check it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final, NoReturn

from bulletin_board import LogReader, Submission, write_archive
from bulletin_board.storage.files import whole_or_gone
from gopa.contract.framing import Assembler, Message, Posted
from gopa.contract.manifest import MANIFEST, session_id
from gopa.contract.phases import Kind
from gopa.protocol.rules import Findings, check_log
from gopa.rounds.toolkit import Toolkit
from wire.errors import UsageError

_NAME: Final = 16
"""Hexadecimal digits of a session's id in the name of its log."""

_MOST_BEFORE: Final = 1_024
"""A manifest is among the first entries of its log; the largest one takes 560."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionTranscript:
    """Where a round stands in a log: the session's id, the number of the round, the log.

    `directory` holds the log as a board of files, or is None where it is in memory. A pickled copy
    says the same but has no log: in a simulation the log leads to everybody's secrets.
    """

    session: bytes
    round: int
    directory: Path | None
    log: Callable[[], LogReader]
    toolkit: Toolkit | None = None

    def archive(self, path: str | Path) -> Path:
        """Write the whole log as one `.gopa` file."""
        target = Path(path)
        with whole_or_gone(target), target.open("wb") as out:
            write_archive(self.log(), out, self.session)
        return target

    def keep(self, folder: str | Path) -> Path:
        """Write the log into a folder for `gopa audit`, and its anchors beside it: the log's path.

        The names are those of the session, so that no other session's log is overwritten. An
        earlier state of the same log is replaced when the new one is whole.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        stem = place / self.session.hex()[:_NAME]
        for write, suffix in ((self.anchors, ".anchors"), (self.archive, ".gopa")):
            write(stem.with_suffix(f"{suffix}.part")).replace(stem.with_suffix(suffix))
        return stem.with_suffix(".gopa")

    def anchors(self, path: str | Path) -> Path:
        """Write what an auditor has to know from somewhere else than the log.

        That is the hash of the manifest and the key of the log, as `gopa audit --anchors`
        reads them. Whoever audits gets this file from somebody they trust.
        """
        log = self.log()
        raws = islice(log.entries(), _MOST_BEFORE)
        found = next((each for each in _manifests(raws) if session_id(each) == self.session), None)
        if found is None:
            raise UsageError("the log does not begin with the manifest of the session", "log")
        manifest = MANIFEST.decode(found)
        digest = sha256(found).hexdigest()
        target = Path(path)
        text = f"manifest {digest}\nlog {manifest.log.decode()}\nquorum none\n"
        with whole_or_gone(target):
            target.write_text(text)
        return target

    def check(self) -> Findings:
        """Read the log again, strictly, and evaluate every rule of the protocol over it.

        Raises:
            ProtocolError: the log is not what its checkpoint says.
        """
        return check_log(self.log().entries(), self.toolkit, rng=os.urandom, session=self.session)

    def __reduce__(self) -> tuple[Any, ...]:
        return SessionTranscript, (self.session, self.round, self.directory, no_log)

    def __deepcopy__(self, memo: object) -> SessionTranscript:
        return self

    def __repr__(self) -> str:
        where = self.directory or "in memory"
        return f"<SessionTranscript: session {self.session.hex()[:16]}, {where}>"


class NoTranscript:
    """The transcript of a result that has no log: mode off keeps none. It is false."""

    session: Final = None
    round: Final = None

    def __bool__(self) -> bool:
        return False

    def archive(self, *_: object) -> NoReturn:
        """Raise `UsageError`: there is nothing to write."""
        raise UsageError(_NONE_KEPT, "mode")

    anchors = keep = archive

    def check(self) -> NoReturn:
        """Raise `UsageError`: there is nothing to read."""
        raise UsageError(_NONE_KEPT, "mode")

    log = check

    def __repr__(self) -> str:
        return "<no transcript: mode off keeps no log>"


_NONE_KEPT: Final = "off keeps no log, so nothing can be audited: take mode='signed' or 'full'"
NO_TRANSCRIPT: Final = NoTranscript()


def no_log() -> NoReturn:
    """Stands for the log in a copy that came out of a pickle."""
    message = "a pickled result has no log: keep it with transcript.archive(path) before"
    raise UsageError(message, "transcript")


def _manifests(raws: Iterable[bytes]) -> Iterator[bytes]:
    """The bodies of all whole messages of kind manifest."""
    assembler = Assembler()
    for index, raw in enumerate(raws):
        submission = Submission.decode(raw)
        posted = Posted(index, submission.leaf, submission.entry)
        for item in assembler.observe(posted):
            if isinstance(item, Message) and item.kind == Kind.MANIFEST:
                yield item.body
