"""Who may post what, and when: decided outside of the log, refused with a reason.

The log knows bytes, slots and keys. Everything else, such as which phase is open, comes from an
`AdmissionPolicy` that the caller injects. Refusals travel as problem details (RFC 9457).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from enum import Enum
from struct import Struct
from typing import NoReturn, Protocol

from bulletin_board.entry import Entry
from wire.errors import MalformedMessage, ProtocolError
from wire.strict_json import read_json

_USED = Struct(">32sQ")


class RefusalReason(Enum):
    """Why a board refuses: a stable name, the HTTP status, a title."""

    MALFORMED = ("malformed", 422, "The entry is not well-formed")
    SIGNATURE = ("signature", 401, "The author did not sign this entry")
    UNREGISTERED = ("unregistered", 403, "The author's key is not registered")
    SESSION = ("session", 403, "The session is not known here")
    PHASE = ("phase", 409, "The phase is not open")
    SEQUENCE = ("sequence", 409, "The sequence number is not the next one")
    CONFLICT = ("conflict", 409, "The slot holds other bytes")
    TOO_LARGE = ("too-large", 413, "The entry is too large")
    MEDIA_TYPE = ("media-type", 415, "The media type is not that of an entry")
    QUOTA = ("quota", 429, "The author's quota is used up")
    FULL = ("full", 429, "The board has no room for more")
    ADDRESS = ("address", 429, "Too much comes from this network address")
    STORAGE = ("storage", 507, "The board keeps its disk from filling up")
    BUSY = ("busy", 503, "The board is busy")
    UNAVAILABLE = ("unavailable", 503, "The board cannot write")
    QUORUM = ("quorum", 503, "Too few witnesses have cosigned")
    LOOKUP = ("lookup", 422, "The lookup is not well-formed")
    TOO_WIDE = ("too-wide", 413, "The lookup would take too much work")

    @property
    def code(self) -> str:
        return self.value[0]

    @property
    def status(self) -> int:
        return self.value[1]

    @property
    def title(self) -> str:
        return self.value[2]


class Refused(ProtocolError):
    """A board's refusal to take an entry or to answer a request, with its reason.

    `retry_after` is a number of seconds if trying again may help. A conflict
    names the index of the entry in the slot and of the evidence of equivocation.
    """

    def __init__(
        self,
        reason: RefusalReason,
        message: str = "",
        retry_after: int | None = None,
        first: int | None = None,
        evidence: int | None = None,
    ) -> None:
        super().__init__(reason, message, retry_after, first, evidence)
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.first = first
        self.evidence = evidence

    def __str__(self) -> str:
        return f"{self.reason.title}: {self.message}" if self.message else self.reason.title


class AdmissionPolicy(Protocol):
    """The judge of which entries a log takes; it sees all of them, in the order of the log.

    A policy is a deterministic function of what it observed. It is called by
    one thread. It sees every entry exactly once: those of the log when the log
    opens (a `Resumable` one only those that are not in the board's snapshot), then each
    new one, before the next `admit`. If storing a new entry fails, the policy is thrown
    away and a new one is built from the log.
    """

    def admit(self, entry: Entry) -> None:
        """Return to let the entry into the log, raise `Refused` to keep it out.

        The signature is verified and the slot is free.
        """

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        """Learn that an entry is in the log at `index`; `evidence` if its slot held another."""

    def is_barrier(self, entry: Entry) -> bool:
        """Whether this entry, such as a close, counts only under a quorum of witnesses."""


FetchEntry = Callable[[int], Entry]
"""Finds an entry of the log by its index; raises `ProtocolError` if that cannot be had."""


class Resumable(AdmissionPolicy, Protocol):
    """An `AdmissionPolicy` that need not see all entries again after a restart.

    A class that has rules of its own has a `save` of its own: an inherited one is not used.
    """

    def identity(self) -> bytes:
        """The bytes, 255 at most, that name whatever `save` depends on beside the entries.

        That is the version of the code, and options that decide what an entry changes.
        """

    def save(self) -> bytes:
        """Write down what it has learnt from the entries that it has observed."""

    def restore(self, state: bytes, size: int, fetch: FetchEntry) -> None:
        """Take up what `save` wrote: what follows from the first `size` entries.

        `state` is what `save` of a policy of the same identity said. Raises `ProtocolError`
        if it cannot be that; then this policy is thrown away.
        """


PolicyFactory = Callable[[], AdmissionPolicy]


class Anyone:
    """Admission of every author, up to `quota` entries each. Keys are free: this bounds nothing."""

    def __init__(self, quota: int) -> None:
        self._quota = quota
        self._used: Counter[bytes] = Counter()

    def admit(self, entry: Entry) -> None:
        if self._used[entry.author.data] >= self._quota:
            _refuse(RefusalReason.QUOTA, f"at most {self._quota} entries of one author")

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        del index, evidence
        self._used[entry.author.data] += 1

    def is_barrier(self, entry: Entry) -> bool:
        del entry
        return False

    def identity(self) -> bytes:
        return b"entries of each author/1"

    def save(self) -> bytes:
        return b"".join(_USED.pack(*item) for item in self._used.items())

    def restore(self, state: bytes, size: int, fetch: FetchEntry) -> None:
        del fetch
        if len(state) % _USED.size:
            raise MalformedMessage("whole rows", "state")
        self._used = Counter(dict(_USED.iter_unpack(state)))
        if self._used.total() != size:
            raise MalformedMessage("as many entries as the log has", "state")


class RosterAdmission(Anyone):
    """Admission of registered keys, up to `quota` entries each: the log stays bounded."""

    def __init__(self, keys: Collection[bytes], quota: int) -> None:
        super().__init__(quota)
        self._keys = frozenset(keys)

    def admit(self, entry: Entry) -> None:
        if entry.author.data not in self._keys:
            _refuse(RefusalReason.UNREGISTERED, "ask the operator to register it")
        super().admit(entry)

    def save(self) -> bytes:
        """Write down what it has learnt, also of authors that are not registered any more."""
        return super().save()


def _refuse(reason: RefusalReason, message: str) -> NoReturn:
    raise Refused(reason, message)


PROBLEM_TYPE = "application/problem+json"
LARGEST_PROBLEM = 16_384

_URN = "urn:gopa:board:"
_REASONS = {f"{_URN}{reason.code}": reason for reason in RefusalReason}


def problem_body(refusal: Refused) -> bytes:
    """The JSON document for a refusal."""
    document: dict[str, object] = {
        "type": f"{_URN}{refusal.reason.code}",
        "title": refusal.reason.title,
        "status": refusal.reason.status,
    }
    if refusal.message:
        document["detail"] = refusal.message
    if refusal.first is not None:
        document |= {"first": refusal.first, "evidence": refusal.evidence}
    return json.dumps(document).encode()


def parse_problem(data: bytes, retry_after: int | None = None) -> Refused:
    """The refusal that a board sent, or `MalformedMessage`. The board may lie about the reason."""
    if len(data) > LARGEST_PROBLEM:
        raise MalformedMessage(f"a problem has at most {LARGEST_PROBLEM} bytes", "problem")
    try:
        document = read_json(data)
    except ValueError:
        raise MalformedMessage("a JSON document", "problem") from None
    kind = document.get("type") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _REASONS:
        raise MalformedMessage("a problem of a known type", "problem")
    detail = document.get("detail")
    first, evidence = document.get("first"), document.get("evidence")
    return Refused(
        _REASONS[kind],
        detail if isinstance(detail, str) else "",
        retry_after,
        first if type(first) is int else None,
        evidence if type(evidence) is int else None,
    )
