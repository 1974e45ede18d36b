"""Who may post to a board, as the options of `gopa board serve` say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bulletin_board.admission import AdmissionPolicy, Anyone, Roster
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage, UsageError

if TYPE_CHECKING:
    from bulletin_board.server.view import SessionView


@dataclass(frozen=True, slots=True)
class Doorkeeping:
    """What a sequencer takes its policy from, and what the board's page shows of it."""

    admission: Callable[[], AdmissionPolicy]
    view: SessionView | None = None


@dataclass(frozen=True, slots=True)
class Doors:
    """The options, as they were given."""

    sessions: bool
    organisers: Path | None
    roster: Path | None
    anyone: bool
    quota: int
    most_sessions: int
    most_pending: int

    def doorkeeping(self) -> Doorkeeping:
        """Raises `UsageError` unless exactly one way was chosen, and its files are right."""
        if self.sessions + self.anyone + (self.roster is not None) != 1:
            raise UsageError("say who may post: --sessions, --roster FILE or --anyone")
        if self.organisers is not None and not self.sessions:
            raise UsageError("--organisers says who may begin sessions: give --sessions too")
        if self.sessions:
            return self._sessions()
        if self.roster is not None:
            keys = read_keys(self.roster)
            return Doorkeeping(lambda: Roster(keys, self.quota))
        return Doorkeeping(lambda: Anyone(self.quota))

    def _sessions(self) -> Doorkeeping:
        from gopa.admission import Limits
        from gopa.session_view import Sessions

        organisers = None if self.organisers is None else read_keys(self.organisers)
        limits = Limits.of(
            organisers, most_sessions=self.most_sessions, most_pending=self.most_pending
        )
        sessions = Sessions(limits)
        return Doorkeeping(sessions.policy, sessions)


def read_keys(path: Path) -> list[bytes]:
    """Ed25519 keys from a file, one of 64 hexadecimal digits a line; # begins a comment."""
    try:
        lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
        keys = [PublicKey(bytes.fromhex(line)).data for line in lines if line]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, MalformedMessage):
        raise UsageError(
            f"{path} holds something else than Ed25519 keys, each of 64 hexadecimal digits"
        ) from None
    if not keys:
        raise UsageError(f"{path} holds no keys: nobody could post")
    return keys
