"""Follows the log of a live board. `specs/11-audit.md`, section 5."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path

from bulletin_board import Checkpoint, LogReader, SignedCheckpoint, TrustPolicy
from bulletin_board.client.forks import verify_fork
from bulletin_board.note import SignedNote, open_checkpoint
from bulletin_board.reader import CHECKPOINT, resource_limit
from gopa.auditing.auditor import new_state, take_note
from gopa.auditing.checks import Status
from gopa.auditing.composing import compose
from gopa.auditing.forks import fork_evidence, witness_faults
from gopa.auditing.options import AuditOptions
from gopa.auditing.report import AuditFault, Culprit, Report
from gopa.auditing.sources import PublicLog, open_transcript
from gopa.auditing.state import LogState
from gopa.auditing.tally import log_fault
from wire.errors import MalformedMessage, ProtocolError, Unattributed, UsageError


class LogFollower:
    """Reads what is new in a log whenever it is asked, and nothing twice.

    `save` is given a checkpoint after everything below it was read and led to its root. A new
    follower reads from the beginning, and proves that the log continues what was saved.
    """

    def __init__(
        self,
        source: str,
        options: AuditOptions,
        pool: Executor | None,
        opened: ExitStack,
        save: Callable[[bytes], None],
    ) -> None:
        """Raises as `open_transcript`, and `UsageError` for what cannot grow."""
        if "://" not in source and not Path(source).is_dir():
            raise UsageError("only a directory or an address can be followed", "source")
        transcript = open_transcript(source, opened)
        if not isinstance(transcript, PublicLog):
            raise UsageError("only public files can be followed", "source")
        self._files = transcript
        self._save = save
        self._signed: SignedCheckpoint | None = None
        self.waiting = "the log has not grown"
        self.state: LogState = new_state(transcript, options, pool)

    def poll(self) -> Report | None:
        """The report about all that was read so far; None if there is nothing new.

        A note without a quorum is passed over, an older one too, and what cannot be had is
        asked for again: `waiting` says what there was to wait for.

        Raises:
            Unsupported: entries or a manifest of a later version.
            UsageError: there are several sessions, and the reader named none.
        """
        try:
            signed = self._newest()
        except Unattributed as error:
            self.waiting = str(error)
            return None
        if signed is None or not self._is_news(signed):
            return None
        state = self.state
        take_note(state, signed.to_bytes())
        try:
            self._read(signed)
        except Unattributed as error:
            self.waiting = str(error)
            return None
        except ProtocolError as error:
            state.breaks.append(log_fault("05-F5", str(error), check="1.3"))
            return compose(state)
        state.ended = True
        state.reading.choice.require_one()
        report = compose(state)
        if may_be_saved(report):
            self._signed = signed
            self._save(signed.to_bytes())
        return report

    def _newest(self) -> SignedCheckpoint | None:
        data = self._files.source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))
        policy = self.state.policy
        self.waiting = "the log has not grown"
        if policy is None:
            return self._unjudged(data)
        for candidate in (data, self._files.cosigned()):
            if candidate is not None and _holds(policy, candidate):
                return open_checkpoint(candidate, policy.log.key)
        self.waiting = "no note of the log that its key, and a quorum if need be, has signed"
        return None

    def _unjudged(self, data: bytes) -> SignedCheckpoint | None:
        """Before the manifest came nobody knows the key: the report judges the note."""
        try:
            note = SignedNote.parse(data)
            return SignedCheckpoint(Checkpoint.from_text(note.text), note)
        except (MalformedMessage, UsageError) as error:
            self.waiting = f"no note of a log: {error}"
            return None

    def _is_news(self, signed: SignedCheckpoint) -> bool:
        size = self.state.reading.size
        if self._signed is None:
            return signed.size > 0
        changed = signed.root != self._signed.root and signed.size == size
        return signed.size > size or changed

    def _read(self, signed: SignedCheckpoint) -> None:
        """The entries that are new; what was read before has to lead to the same root."""
        state = self.state
        reader = LogReader(self._files.source, signed)
        for raw in reader.entries(state.reading.size):
            state.reading.take([raw])
        state.reading.finish()
        if state.reading.edge.root() == signed.root:
            return
        self._prove_fork(reader, signed)

    def _prove_fork(self, reader: LogReader, signed: SignedCheckpoint) -> None:
        """What was read before is not in what the log signs now."""
        state, older = self.state, self._signed
        policy, proved, seen = state.policy, False, list[AuditFault]()
        got = "another root: the log has signed two histories that exclude each other"
        if older is not None and policy is not None:
            fork = fork_evidence(reader.size, reader.node, older, signed)
            verify_fork(fork, policy.log.key)
            state.forks.append(fork)
            seen, proved = witness_faults(policy, older, signed), True
        culprit = Culprit.BOARD if proved else Culprit.UNATTRIBUTABLE
        fault = log_fault("05-C4", got, check="1.5", culprit=culprit, proved=proved)
        state.breaks += [fault, *seen]


def _holds(policy: TrustPolicy, data: bytes) -> bool:
    try:
        policy.open(data)
    except ProtocolError:
        return False
    return True


def may_be_saved(report: Report) -> bool:
    """Says whether the log was read whole under a note that it signed, and has not gone back.

    A copy that is older than what was seen before must not take its place: a board that shows
    one could then go on with another history and nobody would notice.
    """
    ends = {each.check.number: each.status for each in report.checks}
    whole = all(ends[number] is Status.PASS for number in ("1.1", "1.3", "3.1"))
    return whole and ends["1.5"] in {Status.PASS, Status.SKIPPED}
