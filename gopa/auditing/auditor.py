"""`gopa.audit`: a log is read once, or followed while it grows, and a report says what it proves.

`specs/11-audit.md`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bulletin_board import Checkpoint, LogReader, SignedCheckpoint, TrustPolicy
from bulletin_board.archive import WHOLE_LOG
from bulletin_board.client.forks import verify_fork
from bulletin_board.note import SignedNote, open_checkpoint
from bulletin_board.reader import CHECKPOINT, MissingResource, resource_limit
from bulletin_board.receipt import LARGEST_RECEIPT
from gopa.auditing.checks import log_fault
from gopa.auditing.composing import compose, unsupported
from gopa.auditing.log_checks import fork_evidence, rule_of, witness_faults
from gopa.auditing.options import LARGEST_SAVED, AnchorsLike, AuditOptions, read_anchors
from gopa.auditing.reading import EntryReading, LogState
from gopa.auditing.report import AuditFault, Culprit, Report, Status
from gopa.auditing.sources import (
    AuditedLog,
    PublicLog,
    SessionChoice,
    TranscriptLike,
    Unsupported,
    open_transcript,
)
from gopa.contract.beacon.drand import KNOWN_CHAINS, DrandChain
from gopa.executors.tasks import keep_to_one_core
from gopa.protocol.rules import LogCheck
from gopa.rounds.toolkit import Toolkit
from wire.errors import MalformedMessage, ProtocolError, Unattributed, UsageError


def audit(  # noqa: PLR0913 - all of them are options
    source: TranscriptLike,
    *,
    anchors: AnchorsLike | None = None,
    trust_embedded: bool = False,
    strict: bool = False,
    jobs: int = 1,
    executor: Executor | None = None,
    session: bytes | None = None,
    since: bytes | Path | None = None,
    receipts: Iterable[bytes | Path] = (),
    chains: Iterable[DrandChain] | None = None,
    toolkit: Toolkit | None = None,
) -> Report:
    """Checks everything that a transcript proves, with nothing but what the caller trusts.

    `source` is a `.gopa` file, a directory of a board, the address of a board or of a copy,
    or an open `LogReader`. `anchors` are the hash of the manifest and the key of the log, from
    outside of the transcript: a path, the text as bytes, or `Anchors`. Without them the
    verdict is INCOMPLETE, unless `trust_embedded` says that the transcript may vouch for
    itself, and then the report says that its keys are not anchored. `since` is the state that an
    earlier audit saved, `receipts` what the board gave to parties. `chains` are the drand beacons
    that the caller knows, the public ones without it. `jobs` processes work at once, or the given
    `executor` does; the report is the same.

    The report names every fault that was found. Only VALID means that the results hold.

    >>> result = gopa.average([0.2, 0.4, 0.6] * 4, epsilon=4, delta=1e-6, corrupt=1, dropout=0.01)
    >>> log = result.transcript.archive("log.gopa")
    >>> anchors = result.transcript.anchors("anchors.txt")
    >>> gopa.audit(log, anchors=anchors).verdict.value
    'VALID'

    Raises:
        UsageError: there is no such transcript, what is trusted cannot be read, or the log
            has several sessions and none was named.
    """
    options = options_of(
        anchors=anchors,
        trust_embedded=trust_embedded,
        strict=strict,
        session=session,
        since=since,
        receipts=receipts,
        chains=KNOWN_CHAINS if chains is None else chains,
        toolkit=toolkit,
    )
    with workers(jobs, executor) as pool:
        return run(source, options, pool)[0]


def run(
    source: TranscriptLike, options: AuditOptions, pool: Executor | None
) -> tuple[Report, LogState | None]:
    """Gives the report, and what was read for it; None for a transcript of an unknown version."""
    with ExitStack() as opened:
        try:
            transcript = open_transcript(source, opened)
            state = read_log(transcript, options, pool)
        except Unsupported as error:
            return unsupported(str(source), str(error)), None
        except ProtocolError as error:
            state = _not_opened(str(source), options, error)
            return compose(state, opened=not state.lacking), state
        return compose(state), state


def options_of(  # noqa: PLR0913 - all of them are options
    *,
    anchors: AnchorsLike | None = None,
    trust_embedded: bool = False,
    strict: bool = False,
    session: bytes | None = None,
    since: bytes | Path | None = None,
    receipts: Iterable[bytes | Path] = (),
    chains: Iterable[DrandChain] = KNOWN_CHAINS,
    toolkit: Toolkit | None = None,
    trace: str = "",
) -> AuditOptions:
    """Makes the options of an audit, with files read; `UsageError` names what is wrong."""
    if session is not None and len(session) != len(WHOLE_LOG):
        raise UsageError(f"the id of a session has {len(WHOLE_LOG)} bytes", "session")
    return AuditOptions(
        anchors=read_anchors(anchors),
        session=session,
        trust_embedded=trust_embedded,
        strict=strict,
        since=None if since is None else _content(since, LARGEST_SAVED, "since"),
        receipts=tuple(_content(each, LARGEST_RECEIPT, "receipts") for each in receipts),
        chains=tuple(chains),
        toolkit=toolkit or Toolkit(),
        trace=trace,
    )


@contextmanager
def workers(jobs: int, executor: Executor | None) -> Iterator[Executor | None]:
    """Offers the caller's executor, or a pool of so many processes for the time of an audit."""
    if type(jobs) is not int or jobs < 1:
        raise UsageError("must be a number of processes, at least 1", "jobs")
    if executor is not None or jobs == 1:
        yield executor
        return
    pool = ProcessPoolExecutor(jobs, initializer=_begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """A terminal interrupts all processes of a command: the workers end at once, and quietly."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    keep_to_one_core()


def new_state(transcript: AuditedLog, options: AuditOptions, pool: Executor | None) -> LogState:
    """Makes a log of which nothing has been read yet."""
    named = transcript.session if transcript.session != WHOLE_LOG else None
    check = LogCheck(options.toolkit, rng=os.urandom, executor=pool)
    choice = SessionChoice(options.session or named, options.anchors.manifest)
    return LogState(transcript.name, options, EntryReading(check, choice, pool, options.trace))


def read_log(transcript: AuditedLog, options: AuditOptions, pool: Executor | None) -> LogState:
    """Reads all of it once. What is wrong with it is in the state; `Unsupported` ends it."""
    state = new_state(transcript, options, pool)
    take_note(state, _best_note(transcript, options))
    if state.checkpoint is None:
        return state
    try:
        for raws in transcript.bundles(state.checkpoint):
            state.reading.take(raws)
        state.ended = True
    except ProtocolError as error:
        note_early_end(state, error)
    state.reading.finish()
    try:
        transcript.check_strays(state.checkpoint.size)
    except ProtocolError as error:
        state.breaks.append(log_fault("05-F2", str(error)))
    state.reading.choice.require_one()
    return state


def take_note(state: LogState, data: bytes) -> None:
    """Takes the note to compare the log with. Its signatures are judged when all keys are known."""
    state.note = data
    try:
        state.checkpoint = Checkpoint.from_text(SignedNote.parse(data).text)
    except (MalformedMessage, UsageError) as error:
        state.checkpoint = None
        state.breaks.append(log_fault("05-N2", f"no note of a log: {error}", check="1.1"))


def note_early_end(state: LogState, error: ProtocolError) -> None:
    """Notes that reading ended early. What is merely not there is nobody's fault."""
    if isinstance(error, MissingResource | Unattributed):
        state.lacking = str(error)
    else:
        state.breaks.append(log_fault(rule_of(error, "05-F3"), str(error), check="1.3"))


def _best_note(transcript: AuditedLog, options: AuditOptions) -> bytes:
    """Takes the newest note, or the newest cosigned one where a board is ahead of its witnesses."""
    policy = options.anchors.policy
    if policy is None or not policy.needs_witnesses:
        return transcript.note
    try:
        policy.open(transcript.note)
    except ProtocolError:
        try:
            other = transcript.cosigned()
            if other is not None:
                policy.open(other)
                return other
        except ProtocolError:
            return transcript.note
    return transcript.note


def _not_opened(name: str, options: AuditOptions, error: ProtocolError) -> LogState:
    """Makes the state for a source that is no transcript, or cannot be had."""
    reading = EntryReading(LogCheck(options.toolkit, rng=os.urandom), SessionChoice(None, None))
    state = LogState(name, options, reading)
    if isinstance(error, Unattributed):
        state.lacking = str(error)
    else:
        state.breaks.append(log_fault("11-I1", str(error), check="0.1"))
    return state


def _content(given: bytes | Path, most: int, field: str) -> bytes:
    if isinstance(given, bytes):
        return given
    try:
        with Path(given).open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{given} cannot be read: {error.strerror}", field) from None
    if len(data) > most:
        raise UsageError(f"{given} has more than {most} bytes", field)
    return data


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
