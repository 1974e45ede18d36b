"""Finding the manifest among the first entries of a session. `specs/04-protocol.md`, [S1]."""

from __future__ import annotations

from typing import Final

from gopa.messages.framing import Assembler, Message, Posted
from gopa.messages.manifest import session_id
from gopa.messages.phases import Kind, Phase

_MOST_AUTHORS: Final = 8


class ManifestSearch:
    """Takes the entries of a session in order until one of its authors has posted its manifest.

    Whoever has an entry where a manifest stands counts, whatever kind it is of: the rules count
    so, and a party that found more manifests than they do would take part in no session.
    """

    def __init__(self, session: bytes) -> None:
        self._session = session
        self._authors: dict[bytes, Assembler] = {}
        self.body: bytes | None = None
        self.organiser: bytes | None = None

    def take(self, posted: Posted) -> bool:
        """Whether this entry completes the manifest."""
        entry = posted.entry
        if self.body is not None or (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        author = entry.author.data
        if author not in self._authors and len(self._authors) == _MOST_AUTHORS:
            return False
        assembler = self._authors.setdefault(author, Assembler())
        for item in assembler.observe(posted):
            if isinstance(item, Message) and self._is_manifest(item):
                self.body, self.organiser = item.body, author
                self._authors.clear()
        return self.body is not None

    def _is_manifest(self, message: Message) -> bool:
        first = message.kind == Kind.MANIFEST and message.seq == 0
        return first and session_id(message.body) == self._session
