"""Finding the manifest among the first entries of a session. `specs/04-protocol.md`, [S1]."""

from __future__ import annotations

from typing import Final

from gopa.messages.framing import Assembler, Message, Posted
from gopa.messages.manifest import MANIFEST, session_id
from gopa.messages.phases import Kind, Phase
from wire.errors import MalformedMessage, UsageError

_MOST_AUTHORS: Final = 8


class ManifestSearch:
    """Takes the entries of a session in order until one of its authors has posted its manifest.

    Whoever has an entry where a manifest stands counts, whatever kind it is of: the rules count
    so, and a party that found more manifests than they do would take part in no session.
    A manifest that somebody else than its organiser posted first ends the search: by the rules
    such a session never begins. In a lookup it shows only that something was left out.
    """

    def __init__(self, session: bytes) -> None:
        self._session = session
        self._authors: dict[bytes, Assembler] = {}
        self._spoilt = False
        self.body: bytes | None = None
        self.organiser: bytes | None = None

    def take(self, posted: Posted) -> bool:
        """Whether this entry completes the manifest."""
        entry = posted.entry
        over = self._spoilt or self.body is not None
        if over or (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        author = entry.author.data
        if author not in self._authors and len(self._authors) == _MOST_AUTHORS:
            return False
        assembler = self._authors.setdefault(author, Assembler())
        for item in assembler.observe(posted):
            if isinstance(item, Message) and self._is_manifest(item):
                self._settle(item)
                break
        return self.body is not None

    def _settle(self, found: Message) -> None:
        """Whoever follows a copy would take its author for the organiser."""
        self._authors.clear()
        if _organiser_in(found.body) in {None, found.author}:
            self.body, self.organiser = found.body, found.author
        else:
            self._spoilt = True

    def _is_manifest(self, message: Message) -> bool:
        first = message.kind == Kind.MANIFEST and message.seq == 0
        return first and session_id(message.body) == self._session


def _organiser_in(body: bytes) -> bytes | None:
    """Whom the manifest names; None if it cannot be read, which whoever joins is told."""
    try:
        return MANIFEST.decode(body).organiser
    except (MalformedMessage, UsageError):
        return None
