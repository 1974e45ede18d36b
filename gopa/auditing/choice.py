"""Chooses which session of a log is audited. `specs/11-audit.md`, [I7]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from gopa.auditing.sources import Unsupported
from gopa.contract.framing import Assembler, Message, Posted
from gopa.contract.manifest import VERSION, session_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.ledger import MOST_TRIED
from wire.errors import UsageError

MOST_CANDIDATES: Final = 256
MOST_ENTRIES: Final = 1_024
"""Of a session before its manifest is whole; the largest one takes 560."""
MOST_BYTES: Final = 256 << 20
"""Of what may be manifests of all sessions together."""


@dataclass(slots=True)
class _Candidate:
    """A session whose manifest has not come yet."""

    assembler: Assembler = field(default_factory=Assembler)
    entries: list[Posted] = field(default_factory=list)
    authors: set[bytes] = field(default_factory=set)
    size: int = 0

    def may_begin(self, posted: Posted) -> bool:
        """Whether the entry may be part of a manifest that the rules would take (04-S1)."""
        entry = posted.entry
        if (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        # Authors who begin a manifest and never end it would take all memory.
        if len(self.authors) < MOST_TRIED:
            self.authors.add(entry.author.data)
        return entry.author.data in self.authors


@dataclass(slots=True)
class SessionChoice:
    """Hands on the entries of one session, in order.

    The one that is `wanted`; or that whose manifest has the hash `manifest`; or the
    first in the log. `found` has all sessions whose manifests were seen, with their
    hashes: a caller that named none refuses a log with several. Memory is bounded: of
    sessions without manifests so many are followed and no more, and of these entries
    only bodies are kept that may be part of a manifest.
    """

    wanted: bytes | None
    manifest: bytes | None
    found: dict[bytes, bytes] = field(default_factory=dict)
    chosen: bytes | None = None
    _candidates: dict[bytes, _Candidate] = field(default_factory=dict)
    _held: int = 0

    def __post_init__(self) -> None:
        self.chosen = self.wanted

    @property
    def ambiguous(self) -> bool:
        """Whether nothing but the order of the log decided, and there are several."""
        return self.wanted is None and self.manifest is None and len(self.found) > 1

    def require_one(self) -> None:
        """Raises `UsageError`, which lists them, if the reader has to name one of several."""
        if self.ambiguous:
            listed = ", ".join(each.hex() for each in sorted(self.found))
            message = f"the log holds several sessions: name one of {listed}"
            raise UsageError(message, "session")

    def take(self, posted: Posted) -> list[Posted]:
        """The entries to judge now: those of the session that are known to be its own."""
        session = posted.entry.session
        if self.wanted not in {None, session}:
            return []
        if session in self.found:
            return [posted] if session == self.chosen else []
        waiting = self._follow(session, posted)
        return [posted] if self.wanted == session else waiting

    def _follow(self, session: bytes, posted: Posted) -> list[Posted]:
        candidate = self._candidates.get(session)
        if candidate is None:
            # Anybody may write ids of sessions that do not exist: so many are followed, no more.
            if len(self._candidates) == MOST_CANDIDATES:
                return []
            candidate = self._candidates[session] = _Candidate()
        entry = posted.entry
        of_manifest = candidate.may_begin(posted)
        if not of_manifest:
            posted = replace(posted, entry=replace(entry, body=b""))
        size = len(posted.entry.body)
        if len(candidate.entries) == MOST_ENTRIES or self._held + size > MOST_BYTES:
            return []
        candidate.entries.append(posted)
        candidate.size += size
        self._held += size
        if not of_manifest:
            return []
        for item in candidate.assembler.observe(posted):
            if isinstance(item, Message) and _is_manifest(item, session):
                return self._found(session, item.body)
        return []

    def _found(self, session: bytes, body: bytes) -> list[Posted]:
        version = int.from_bytes(body[:2])
        digest = sha256(body).digest()
        self.found[session] = digest
        candidate = self._candidates.pop(session)
        self._held -= candidate.size
        if self.chosen is None and self.manifest in {None, digest}:
            self.chosen = session
        if version != VERSION and session == self.chosen:
            raise Unsupported(f"a manifest of version {version}; known is {VERSION}")
        return candidate.entries if session == self.chosen else []


def _is_manifest(message: Message, session: bytes) -> bool:
    return (
        # The id is a hash of the manifest: an attacker cannot put another one under the same id.
        message.seq == 0 and message.kind == Kind.MANIFEST and session_id(message.body) == session
    )
