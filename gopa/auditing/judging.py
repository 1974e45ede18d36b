"""Judges what a file of evidence proves by itself. `specs/11-audit.md`, section 6."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Final

from bulletin_board import Submission, TrustPolicy
from bulletin_board.client.forks import verify_fork
from bulletin_board.entry import Entry
from bulletin_board.note import open_checkpoint
from bulletin_board.tree import RightEdge, leaf_hash, verify_consistency
from gopa.auditing.evidence import (
    FORKED,
    LARGEST_EVIDENCE,
    Evidence,
    FaultStatement,
    Fork,
    Messages,
    Prefix,
    TwoEntries,
    cosigners_of_both,
)
from gopa.auditing.reading import embedded_policy, wrong_signatures
from gopa.auditing.report import Culprit
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.rules import Fault, Ledger, LogCheck, Role
from gopa.rounds.toolkit import Toolkit
from wire.errors import ProtocolError, UsageError

SELF_CONTAINED: Final = frozenset(
    {
        *("04-S4", "04-J2", "04-J3", "04-V1", "04-K2", "04-K3"),
        *("14-M1", "14-L3", "14-P3"),
    }
)
"""Rules about one message that read nothing but its author's own messages, the manifest and what
the organiser's closes say. Others read what other parties wrote: which of their entries came
first is for the whole log to say, so a choice of entries could frame an honest party."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Says whether the evidence convicts, whom and of what.

    `culprit` is None where the evidence does not show which part the author has in the
    session. `session` and `manifest`, which is SHA-256 of the session's manifest, are there as far
    as the evidence says which session it is about; `log_key` is the verifier key it rests on, if
    any, and `anchored` whether the reader brought that key. `witnesses` are the keys of those
    that cosigned both histories of a fork: they are convicted with the board.
    """

    convicts: bool
    culprit: Culprit | None
    author: bytes
    rule: str
    round: int
    what: str
    session: bytes = b""
    manifest: bytes = b""
    log_key: str = ""
    anchored: bool = False
    witnesses: tuple[str, ...] = ()


def judge(
    data: bytes, *, policy: TrustPolicy | None = None, toolkit: Toolkit | None = None
) -> Judgement:
    """Says what this file proves, with nothing but the file and, for a board, the key of its log.

    Raises:
        MalformedMessage: these bytes are no evidence.
        UsageError: a fork cannot be judged without the key of the log.
    """
    evidence = Evidence.parse(data)
    statement, shown = evidence.statement, evidence.shown
    if len(data) > LARGEST_EVIDENCE:
        return _nothing(statement, f"evidence has at most {LARGEST_EVIDENCE} bytes")
    try:
        if isinstance(shown, TwoEntries):
            return _two_entries(statement, shown)
        if isinstance(shown, Messages):
            return _messages(statement, shown, toolkit or Toolkit())
        if isinstance(shown, Prefix):
            return _prefix(statement, shown, policy, toolkit or Toolkit())
        return _fork(statement, shown, policy)
    except ProtocolError as error:
        return _nothing(statement, str(error))


def _two_entries(statement: FaultStatement, shown: TwoEntries) -> Judgement:
    """Judge two signed entries for one slot (11-E2)."""
    first, second = Submission.decode(shown.first), Submission.decode(shown.second)
    if wrong_signatures((first, second)):
        return _nothing(statement, "an entry is not signed by its author")
    if first.entry.slot != second.entry.slot:
        return _nothing(statement, "the entries have different slots")
    # A signature can be made anew over the same statement: only two statements contradict.
    if first.entry == second.entry:
        return _nothing(statement, "both entries say the same")
    author, entry = first.entry.author.data, first.entry
    if (statement.author, statement.rule, statement.round) != (author, b"04-E3", entry.round):
        return _nothing(statement, "the statement is about something else")
    what = f"two messages that differ, both signed, where it had one: {_place(entry)}"
    return Judgement(True, None, author, "04-E3", entry.round, what, entry.session)


def _place(entry: Entry) -> str:
    """A slot in words. Anybody can write into the organiser's phase, so nobody is called that."""
    if entry.phase == Phase.ORGANISER:
        return f"number {entry.seq} among the organiser's messages"
    known = entry.phase in set(Phase)
    phase = Phase(entry.phase).name.lower() if known else str(entry.phase)
    return f"number {entry.seq} in phase {phase}"


def _messages(statement: FaultStatement, shown: Messages, toolkit: Toolkit) -> Judgement:
    """11-E3: the rules over the entries that are there, as if the open phase were closed."""
    if statement.rule.decode("ascii", "replace") not in SELF_CONTAINED:
        return _nothing(statement, "this rule cannot be judged without the log")
    submissions = [Submission.decode(each.raw) for each in shown.entries]
    if wrong_signatures(submissions):
        return _nothing(statement, "an entry is not signed by its author")
    indexes = [each.index for each in shown.entries]
    sessions = {each.entry.session for each in submissions}
    # Entries of several sessions, or in another order, could make honest messages contradict.
    if len(sessions) != 1 or any(a >= b for a, b in pairwise(indexes)):
        return _nothing(statement, "entries of one session in increasing order are needed")
    ledger = Ledger(toolkit, rng=os.urandom)
    for index, submission in zip(indexes, submissions, strict=True):
        ledger.observe(Posted(index, submission.leaf, submission.entry))
    if ledger.state.failed or ledger.manifest is None:
        return _nothing(statement, "the organiser's messages do not follow from these entries")
    pending = ledger.pending_faults(indexes[-1] + 1)
    found = _matching(statement, (*ledger.findings().faults, *pending))
    return _convicted(statement, found, sessions.pop(), ledger.manifest)


def _prefix(
    statement: FaultStatement, shown: Prefix, policy: TrustPolicy | None, toolkit: Toolkit
) -> Judgement:
    """11-E4: the rules over the beginning of a log.

    The log is the one that the organiser named in its manifest: who wants to accuse cannot
    make another one.
    """
    submissions = [Submission.decode(raw) for raw in shown.entries]
    if wrong_signatures(submissions):
        return _nothing(statement, "an entry is not signed by its author")
    reading = LogCheck(toolkit, rng=os.urandom)
    edge = RightEdge()
    session = _session_of(statement, submissions)
    for index, submission in enumerate(submissions):
        leaf = leaf_hash(submission.raw)
        edge.extend([leaf])
        reading.take_leaf(index, leaf)
        if submission.entry.session == session:
            reading.judge(Posted(index, leaf, submission.entry))
    findings = reading.findings()
    if findings.manifest is None:
        return _judge_manifest(statement, findings.faults, submissions, session)
    # An accuser can sign a log of its own, in which an honest party comes too late for everything.
    named = embedded_policy(findings.manifest).log.key
    if policy is not None and policy.log.key != named:
        return _nothing(statement, "the manifest names another log than the one you trust")
    signed = open_checkpoint(shown.note, named)
    # The signed tree begins with exactly these entries: none is left out, moved or made up.
    if edge.size > signed.size:
        return _nothing(statement, "more entries than the log has signed")
    verify_consistency(edge.size, signed.size, shown.proof, edge.root(), signed.root)
    found = _matching(statement, findings.faults)
    log = str(named), policy is not None
    return _convicted(statement, found, session, findings.manifest, log)


def _judge_manifest(
    statement: FaultStatement,
    faults: Iterable[Fault],
    submissions: list[Submission],
    session: bytes,
) -> Judgement:
    """A manifest that is invalid by itself convicts its author, whatever log it stands in."""
    found = _matching(statement, faults)
    if found is None or not submissions:
        return _nothing(statement, "the rules find no such fault")
    return _convicted(statement, found, session, None)


def _fork(statement: FaultStatement, shown: Fork, policy: TrustPolicy | None) -> Judgement:
    """Judge two signed checkpoints that cannot belong to one log (11-E5)."""
    if policy is None:
        raise UsageError("name the log that this is about: --anchors FILE", "anchors")
    older, newer = verify_fork(shown.evidence, policy.log.key)
    if statement != FORKED:
        return _nothing(statement, "the statement is about something else")
    what = f"the log signed two histories, of {older.size} and {newer.size} entries"
    return Judgement(
        True,
        Culprit.BOARD,
        b"",
        "05-C4",
        0,
        what,
        log_key=str(policy.log.key),
        anchored=True,
        witnesses=tuple(map(str, cosigners_of_both(policy, older, newer))),
    )


def _session_of(statement: FaultStatement, submissions: list[Submission]) -> bytes:
    """That of the accused one's last entry."""
    own = [each for each in submissions if each.entry.author.data == statement.author]
    return own[-1].entry.session if own else bytes(32)


def _matching(statement: FaultStatement, faults: Iterable[Fault]) -> Fault | None:
    rule = statement.rule.decode("ascii", "replace")
    wanted = (statement.author, rule, statement.round)
    return next(
        (each for each in faults if each.proved and (each.author, each.rule, each.round) == wanted),
        None,
    )


def _convicted(
    statement: FaultStatement,
    found: Fault | None,
    session: bytes,
    manifest: Manifest | None,
    log: tuple[str, bool] = ("", False),
) -> Judgement:
    """`log` is the key of the log that was looked at, and whether the reader brought it."""
    if found is None:
        return _nothing(statement, "the rules find no such fault")
    return Judgement(
        convicts=True,
        culprit=Culprit.ORGANISER if found.role is Role.ORGANISER else Culprit.PARTY,
        author=found.author,
        rule=found.rule,
        round=found.round,
        what=found.what,
        session=session,
        manifest=b"" if manifest is None else sha256(manifest.to_bytes()).digest(),
        log_key=log[0],
        anchored=log[1],
    )


def _nothing(statement: FaultStatement, why: str) -> Judgement:
    rule = statement.rule.decode("ascii", "replace")
    return Judgement(False, Culprit.UNATTRIBUTABLE, statement.author, rule, statement.round, why)
