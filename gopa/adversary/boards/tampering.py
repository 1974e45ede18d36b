"""Changes requests of one participant, and their answers, as a malicious board may.

Each function that takes `which` entries makes a `Tampering`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final, Protocol, TypeAlias

from bulletin_board import Entry, Submission
from bulletin_board.client.http import NetworkError, Response
from bulletin_board.lookup import LOOKUP as LOOKUP_CODEC
from bulletin_board.lookup import LOOKUP_ANSWER, LookupAnswer
from bulletin_board.reader import CHECKPOINT, COSIGNED
from bulletin_board.tree import subset_proof
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase

ENTRIES: Final = "/v1/entries"
LOOKUP: Final = "/v1/lookup"
CHECKPOINTS: Final = frozenset({f"/{CHECKPOINT}", f"/{COSIGNED}"})


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """One request; `path` is below the board's address, `limit` the most that will be read."""

    method: str
    path: str
    body: bytes | None
    media_type: str
    limit: int

    @property
    def posted(self) -> Entry | None:
        """The entry that it would put into the log, if it is a post."""
        if self.path != ENTRIES:
            return None
        return Submission.decode(self.body or b"").entry


Onward: TypeAlias = Callable[[BoardRequest], Response]
"""Answers a request as the board does without tampering."""


class Tampering(Protocol):
    """A change of a request or its answer, as the front wants. Threads call it side by side."""

    def __call__(self, asked: BoardRequest, onward: Onward) -> Response:
        """Raises `NetworkError` as if no answer had come."""


Which: TypeAlias = Callable[[Entry], bool]
"""Selects entries: true for those that are meant."""


def said(phase: Phase) -> Which:
    """What parties say in this phase."""
    return lambda entry: entry.phase == phase


def closing(phase: Phase) -> Which:
    """The organiser's close of this phase."""
    return lambda entry: closed_by(entry) is phase


def closed_by(entry: Entry) -> Phase | None:
    """The phase that an entry closes."""
    return CLOSE.decode(entry.body).phase if entry.kind == Kind.CLOSE else None


Node = Callable[[int, int], bytes]
"""The hash of a node of the tree, by level and number."""

_BOARD: Final = "urn:gopa:board:"
_NONSENSE: Final[Sequence[tuple[int, bytes]]] = (
    (503, json.dumps({"type": ["busy"], "title": 7, "status": "503"}).encode()),
    (503, json.dumps({"type": {"of": "busy"}, "detail": None}).encode()),
    (409, json.dumps([[[["problem"]]]]).encode()),
    (503, json.dumps({"type": f"{_BOARD}busy", "detail": [1], "first": "0"}).encode()),
    (500, b"\xff\xfe{" + b"[" * 5_000),
    (200, b"null"),
)
"""Answers whose fields have types that nobody would expect there."""


def losing(which: Which, lost: list[Entry]) -> Tampering:
    """The tampering that loses these posts; `lost` gets them."""

    def tamper(asked: BoardRequest, onward: Onward) -> Response:
        entry = asked.posted
        if entry is None or not which(entry):
            return onward(asked)
        lost.append(entry)
        raise NetworkError("lost on the way")

    return tamper


def hiding(which: Which, nodes: Callable[[], Node]) -> Tampering:
    """Lookups omit these entries; `nodes` gives the tree for the proof of what is left."""

    def tamper(asked: BoardRequest, onward: Onward) -> Response:
        answer = onward(asked)
        if asked.path != LOOKUP or answer.status != 200:
            return answer
        wanted, honest = LOOKUP_CODEC.decode(asked.body or b""), LOOKUP_ANSWER.decode(answer.body)
        shown = tuple(
            each for each in honest.found if not which(Submission.decode(each.entry).entry)
        )
        if shown == honest.found:
            return answer
        proof = subset_proof([each.index for each in shown], wanted.size, nodes())
        lie = LookupAnswer(honest.until, shown, tuple(proof))
        return replace(answer, body=LOOKUP_ANSWER.encode(lie))

    return tamper


def standing_still() -> Tampering:
    """Whatever checkpoint comes first is shown from then on. Posts are taken as ever.

    The same goes for the newest one that witnesses have cosigned.
    """
    kept: dict[str, Response] = {}
    lock = threading.Lock()

    def tamper(asked: BoardRequest, onward: Onward) -> Response:
        if asked.path not in CHECKPOINTS:
            return onward(asked)
        with lock:
            if asked.path not in kept:
                kept[asked.path] = onward(asked)
            return kept[asked.path]

    return tamper


def garbled(times: int, endless: Onward) -> Tampering:
    """So many requests to every path are answered with nonsense, every third without end."""
    answered: Counter[str] = Counter()
    nonsense: Iterator[tuple[int, bytes]] = cycle(_NONSENSE)
    lock = threading.Lock()

    def tamper(asked: BoardRequest, onward: Onward) -> Response:
        with lock:
            answered[asked.path] += 1
            turn = answered[asked.path]
            status, body = next(nonsense)
        if turn > times:
            return onward(asked)
        if turn % 3 == 0:
            return endless(asked)
        return Response(status, {"content-type": "application/problem+json"}, body)

    return tamper


def false_receipts(
    which: Which, times: int, other: Callable[[], bytes], lost: list[Entry]
) -> Tampering:
    """So many of these posts are dropped into `lost`; the answer is the receipt of `other`."""
    lock = threading.Lock()

    def tamper(asked: BoardRequest, onward: Onward) -> Response:
        entry = asked.posted
        if entry is None or not which(entry):
            return onward(asked)
        with lock:
            over = len(lost) >= times
            if not over:
                lost.append(entry)
        return onward(asked) if over else Response(201, {}, other())

    return tamper
