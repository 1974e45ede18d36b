"""Whether the log continues what was seen of it before. `specs/11-audit.md`, [K1]."""

from __future__ import annotations

from bulletin_board import Receipt, SignedCheckpoint
from bulletin_board.note import open_checkpoint
from bulletin_board.tree import verify_inclusion
from gopa.auditing.checks import Status
from gopa.auditing.figures import counted
from gopa.auditing.forks import fork_evidence, nodes_above, witness_faults
from gopa.auditing.report import Culprit
from gopa.auditing.state import LogState
from gopa.auditing.tally import Tally, log_fault
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError


def check_earlier(state: LogState, tally: Tally, signed: SignedCheckpoint | None) -> None:
    """1.5: the saved checkpoint and the receipts that the reader brings."""
    options = state.options
    if options.since is None and not options.receipts:
        tally.say("1.5", Status.SKIPPED, "nothing was seen before: keep the state with --save")
        return
    policy = state.policy
    if signed is None or not state.ended or policy is None:
        tally.say("1.5", Status.SKIPPED, "there is no log to compare with")
        return
    if options.since is not None:
        try:
            older = open_checkpoint(options.since, policy.log.key)
        except ProtocolError as error:
            message = f"the saved state is no checkpoint of this log: {error}"
            raise UsageError(message, "since") from None
        _compare(state, tally, older, signed, "the saved state")
    for number, data in enumerate(options.receipts):
        _check_receipt(state, tally, data, signed, number + 1)
    tally.say("1.5", Status.PASS, "it continues what was seen before")


def _compare(
    state: LogState, tally: Tally, older: SignedCheckpoint, newer: SignedCheckpoint, name: str
) -> None:
    """Two signed checkpoints of one log: the roots agree where both have one."""
    if older.size > state.reading.size:
        covered = counted(older.size, "entry", "entries")
        detail = f"{name} covers {covered}, this copy has {state.reading.size}: get a newer one"
        tally.say("1.5", Status.MISSING, detail)
    elif state.reading.check.root(older.size) != older.root:
        covered = counted(older.size, "entry", "entries")
        expected = f"the root {older.root.hex()} at {covered}, as in {name}"
        got = "another root: the log has signed two histories that exclude each other"
        board = Culprit.BOARD
        fault = log_fault("05-C4", got, check="1.5", culprit=board, expected=expected, proved=True)
        tally.add(fault)
        policy = state.policy
        for seen in () if policy is None else witness_faults(policy, older, newer):
            tally.add(seen)
        nodes = nodes_above(state.reading.check.leaf)
        state.forks.append(fork_evidence(state.reading.size, nodes, older, newer))


def _check_receipt(
    state: LogState, tally: Tally, data: bytes, signed: SignedCheckpoint, number: int
) -> None:
    policy, name = state.policy, f"receipt {number}"
    if policy is None:
        return
    try:
        receipt = Receipt.parse(data)
        older = open_checkpoint(receipt.checkpoint, policy.log.key)
    except (MalformedMessage, InvalidProof) as error:
        raise UsageError(f"{name} is none of this log: {error}", "receipts") from None
    if receipt.index >= state.reading.size:
        detail = (
            f"{name} is for entry {receipt.index}, which this copy does not have: get a newer one"
        )
        tally.say("1.5", Status.MISSING, detail)
        return
    leaf = state.reading.check.leaf(receipt.index)
    try:
        verify_inclusion(receipt.index, older.size, leaf, receipt.proof, older.root)
    except InvalidProof:
        got = f"{name} does not prove the entry that stands at index {receipt.index}"
        shown = state.shown(receipt.index)
        tally.add(log_fault("05-C", got, check="1.5", entries=shown))
        return
    _compare(state, tally, older, signed, name)
