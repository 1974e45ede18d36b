"""Reading a stretch of a log: the entries of one session, each verified."""

from __future__ import annotations

import logging
from concurrent.futures import Executor
from typing import Final

from bulletin_board import LogReader, Submission
from gopa.messages.framing import Posted
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE_SIZE, Signed, verify_many
from wire.errors import InvalidSignature, MalformedMessage
from wire.pae import pre_auth_encoding

_LOG: Final = logging.getLogger("gopa.sessions")
_SESSION: Final = slice(2, 34)
"""Where an encoded entry names its session."""

_BATCH: Final = 256


def read_session(
    reader: LogReader, session: bytes, start: int, stop: int, executor: Executor | None = None
) -> list[Posted]:
    """The session's entries from index `start` to `stop`, in order ([W1]).

    What is no entry, or not signed by its author, is left out: an honest board takes none,
    and nobody can be held to it. Raises `ProtocolError`s for what does not lead to the
    reader's checkpoint.
    """
    found: list[Posted] = []
    batch: list[tuple[int, Submission]] = []
    for index, raw in enumerate(reader.entries(start, stop), start):
        if raw[_SESSION] != session:
            continue
        try:
            batch.append((index, Submission.decode(raw)))
        except MalformedMessage as error:
            _LOG.warning("entry %d is left out: %s", index, error)
        if len(batch) == _BATCH:
            found += _signed_ones(batch, executor)
            batch = []
    return found + _signed_ones(batch, executor)


def _signed_ones(batch: list[tuple[int, Submission]], executor: Executor | None) -> list[Posted]:
    wrong: frozenset[int] = frozenset()
    try:
        verify_many((_signed(submission) for _, submission in batch), executor)
    except InvalidSignature as error:
        wrong = frozenset(error.culprits)
        _LOG.warning("%d entries are left out: %s", len(wrong), error)
    return [
        Posted(index, submission.leaf, submission.entry)
        for number, (index, submission) in enumerate(batch)
        if number not in wrong
    ]


def _signed(submission: Submission) -> Signed:
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, submission.raw[:-SIGNATURE_SIZE])
    return Signed(submission.entry.author, message, submission.signed.signature)
