"""Checks whether there is a log, and what it rests on: families 0 and 1, and signatures.

What was seen of the log before must be continued by it: 11-K1.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bulletin_board import Receipt, SignedCheckpoint, TrustPolicy
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.note import open_checkpoint
from bulletin_board.tree import consistency_proof, tree_root, verify_inclusion
from gopa.auditing.checks import CheckTally, log_fault
from gopa.auditing.evidence import Node, cosigners_of_both, nodes_above
from gopa.auditing.reading import LogState, embedded_policy
from gopa.auditing.report import Anchor, AuditFault, Culprit, LogReport, OtherSession, Status
from gopa.contract.manifest import CommitReveal, DrandBeacon
from gopa.support.wording import counted
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, ProtocolError, UsageError


def check_earlier(state: LogState, tally: CheckTally, signed: SignedCheckpoint | None) -> None:
    """Runs check 1.5: the saved checkpoint and the receipts that the reader brings."""
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
    state: LogState, tally: CheckTally, older: SignedCheckpoint, newer: SignedCheckpoint, name: str
) -> None:
    """Compare two signed checkpoints of one log: the roots agree where both have one.

    A board that shows another history than before is convicted by its own signatures (attack
    `rewrite-log`).
    """
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
    state: LogState, tally: CheckTally, data: bytes, signed: SignedCheckpoint, number: int
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


_HOW = "bring a file with the manifest's hash and the log's key: --anchors FILE"


def check_foundation(state: LogState, tally: CheckTally) -> LogReport | None:
    """Runs every check of families 0 and 1, and 3.1. None where not even the note can be read."""
    tally.say("0.1", Status.PASS, "known")
    for fault in state.breaks:
        tally.add(fault)
    signed = _check_note(state, tally)
    _check_entries(state, tally, signed)
    _check_anchors(state, tally)
    _check_beacon(state, tally)
    check_earlier(state, tally, signed)
    checkpoint = state.checkpoint
    if checkpoint is None:
        return None
    return LogReport(
        input=state.name,
        origin=checkpoint.origin,
        size=checkpoint.size,
        root=checkpoint.root,
        witnesses=() if signed is None else _witnesses(state, signed),
        seen="" if signed is None else _seen(state, signed),
    )


def _check_note(state: LogState, tally: CheckTally) -> SignedCheckpoint | None:
    """Decide checks 1.1 and 1.2; return the checkpoint if its log signed it.

    Without a quorum a board can show an auditor a log of its own (attack `fork-without-witness`).
    """
    policy = state.policy
    if state.checkpoint is None:
        tally.say("1.1", Status.SKIPPED, "there is no note that could be read")
        tally.say("1.2", Status.SKIPPED, "there is no note that could be read")
        return None
    if policy is None:
        tally.say("1.1", Status.MISSING, f"no key to check the note with: {_HOW}")
        tally.say("1.2", Status.SKIPPED, "no key to check the note with")
        return None
    try:
        signed = open_checkpoint(state.note, policy.log.key)
        cosigned = policy.cosignatures(signed)
    except (InvalidSignature, MalformedMessage) as error:
        check = error.check if isinstance(error, InvalidSignature) else ""
        rule = check if check.startswith("05-N") else "05-N4"
        expected = f"a note that {policy.log.key.name} signed with the key that is anchored"
        tally.add(log_fault(rule, str(error), check="1.1", expected=expected))
        tally.say("1.2", Status.SKIPPED, "the note does not hold")
        return None
    tally.say("1.1", Status.PASS, f"signed by {policy.log.key.name}, {_entries(signed.size)}")
    names = {each.witness.name for each in cosigned}
    if not policy.needs_witnesses:
        tally.say("1.2", Status.PASS, "the policy asks for none: one view of the log is assumed")
    elif policy.is_quorum(each.witness for each in cosigned):
        seen_by = counted(len(names), "witness", "witnesses")
        tally.say("1.2", Status.PASS, f"cosigned by {seen_by}: a quorum")
    else:
        detail = f"{len(names)} of its witnesses cosigned this note: fetch one with a quorum"
        tally.say("1.2", Status.MISSING, detail)
    return signed


def _witnesses(state: LogState, signed: SignedCheckpoint) -> tuple[str, ...]:
    policy = state.policy
    found = () if policy is None else policy.cosignatures(signed)
    return tuple(sorted({each.witness.name for each in found}))


_LATEST_TIME: Final = 253_402_300_799
"""The end of the year 9999: a witness may state any number of seconds."""


def _seen(state: LogState, signed: SignedCheckpoint) -> str:
    """When a quorum of witnesses had cosigned this state of the log; empty where none had."""
    policy = state.policy
    if policy is None or not policy.needs_witnesses:
        return ""
    found = sorted(policy.cosignatures(signed), key=lambda each: each.time)
    for count, last in enumerate(found, 1):
        if policy.is_quorum(each.witness for each in found[:count]):
            if last.time > _LATEST_TIME:
                return ""
            return f"{datetime.fromtimestamp(last.time, UTC):%Y-%m-%d %H:%M} UTC"
    return ""


def _check_entries(state: LogState, tally: CheckTally, signed: SignedCheckpoint | None) -> None:
    """Decide checks 1.3, 1.4 and 3.1: all entries are there, nothing else, each signed."""
    if state.checkpoint is None:
        for number in ("1.3", "1.4", "3.1"):
            tally.say(number, Status.SKIPPED, "there is no note that could be read")
        return
    reading = state.reading
    if state.ended:
        tally.say("1.3", Status.PASS, _entries(reading.size))
    elif state.lacking:
        tally.say("1.3", Status.MISSING, state.lacking)
    # A board that signs a tree vouches for what it let in; of a damaged copy nobody is guilty.
    proved = state.ended and signed is not None
    for bad in reading.bad:
        tally.add(
            log_fault(
                bad.rule,
                bad.what,
                check=bad.check,
                culprit=Culprit.BOARD if proved else Culprit.UNATTRIBUTABLE,
                entries=state.shown(bad.index),
                proved=proved,
            )
        )
    if not state.ended:
        tally.say("1.4", Status.SKIPPED, "the log was not read to its end")
        tally.say("3.1", Status.SKIPPED, "the log was not read to its end")
        return
    tally.say("1.4", Status.PASS, "nothing else")
    tally.say("3.1", Status.PASS, counted(reading.size, "signature"))


def _check_anchors(state: LogState, tally: CheckTally) -> None:
    """Decide checks 0.2 and 0.3: log and manifest are those that the reader knows from elsewhere.

    Anybody can make a log in which everything fits together, or copy a session into one.
    """
    anchors, anchored, manifest = state.options.anchors, state.anchoring, state.manifest
    if anchors.policy is not None and manifest is not None:
        key = str(anchors.policy.log.key)
        if manifest.log.decode() != key:
            got = "the manifest is for another log"
            tally.add(log_fault("11-I3", got, check="0.2", expected=f"the log {key}"))
    for number, source in (("0.2", anchored.log), ("0.3", anchored.manifest)):
        if source is Anchor.EMBEDDED:
            tally.say(number, Status.PASS, "self-consistent; taken from the manifest, not anchored")
        elif source is Anchor.MISSING:
            tally.say(number, Status.MISSING, f"not anchored: {_HOW}")
    tally.say("0.2", Status.PASS, "the log's key is the anchored one")
    if anchors.manifest is None:
        return
    if state.manifest_hash == anchors.manifest:
        tally.say("0.3", Status.PASS, "the hash is the anchored one")
    elif not state.reading.choice.found:
        why = "holds no manifest" if state.ended else "could not be read as far as a manifest"
        tally.say("0.3", Status.MISSING, f"the log {why}")
    elif state.manifest_hash is None:
        held = counted(len(state.reading.choice.found), "session")
        detail = f"the log holds {held}, none with this manifest: not begun yet, or not in this log"
        tally.say("0.3", Status.MISSING, detail)
    else:
        got = f"a manifest with the hash {state.manifest_hash.hex()}"
        tally.add(log_fault("11-I3", got, check="0.3", expected=anchors.manifest.hex()))


def session_of_other_anchors(state: LogState, tally: CheckTally) -> OtherSession | None:
    """Recognises a transcript that is of another session than the anchors; else None (11-V5).

    Its checks fail all the same: whoever swaps a session makes such a transcript, too. Nothing
    else may be wrong, and the log that the manifest names must have signed the note: else a
    damaged or a forged transcript would be excused as one that was mixed up.
    """
    anchors, manifest, found = state.options.anchors, state.manifest, state.manifest_hash
    if manifest is None or found is None or not state.ended:
        return None
    own, given = embedded_policy(manifest).log.key, anchors.policy
    other_log = given is not None and given.log.key != own
    if anchors.manifest == found or (anchors.manifest is None and not other_log):
        return None
    compared = {"0.2", "0.3", *(["1.1"] if other_log else [])}
    if any(each.check not in compared for each in tally.faults if not each.handled):
        return None
    try:
        open_checkpoint(state.note, own)
    except ProtocolError:
        return None
    log = "" if given is None else str(given.log.key)
    return OtherSession(log, anchors.manifest or b"", str(own), found)


def _check_beacon(state: LogState, tally: CheckTally) -> None:
    """Decide check 0.4: the auditor knows the beacon.

    Values of a chain that nobody knows may be chosen by whoever runs the session.
    """
    manifest = state.manifest
    if manifest is None:
        tally.say("0.4", Status.SKIPPED, "there is no valid manifest")
    elif isinstance(manifest.beacon, CommitReveal):
        tally.say("0.4", Status.PASS, "coins come from the parties' own nonces")
    elif not isinstance(manifest.beacon, DrandBeacon):
        tally.say("0.4", Status.PASS, "simulation: coins that whoever ran it may have chosen")
    elif manifest.beacon.chain in state.options.chains:
        tally.say("0.4", Status.PASS, f"drand, chain {manifest.beacon.chain.beacon_id}")
    else:
        detail = "a drand chain that this auditor does not know: its values may be the organiser's"
        tally.say("0.4", Status.MISSING, detail)


def _entries(size: int) -> str:
    return counted(size, "entry", "entries")


def rule_of(error: Exception, rule: str) -> str:
    """Gives the rule that an error of the log cites, if the checks know it; else `rule`."""
    cited = error.check if isinstance(error, InvalidProof) else ""
    return cited if cited in {"05-A3", "05-F3", "05-F4", "05-F5"} else rule


def fork_evidence(size: int, node: Node, older: SignedCheckpoint, newer: SignedCheckpoint) -> bytes:
    """Joins both checkpoints with the proof that the newer tree has another root at the older size.

    `node` gives the nodes of the newer tree, which has `size` leaves.
    """
    proof: list[bytes] = []
    if 0 < older.size < size:
        proof = consistency_proof(older.size, size, node)
        if older.size & (older.size - 1) == 0:  # such proofs leave the old root out
            proof = [tree_root(older.size, node), *proof]
    return FORK_EVIDENCE.encode(ForkEvidence(older.to_bytes(), newer.to_bytes(), tuple(proof)))


def witness_faults(
    policy: TrustPolicy, older: SignedCheckpoint, newer: SignedCheckpoint
) -> list[AuditFault]:
    """Reports each witness that cosigned both checkpoints of a fork (11-K3)."""
    return [
        log_fault(
            "05-W1",
            f"the witness {witness.name} cosigned both histories: it forgot one, or lied",
            check="1.5",
            culprit=Culprit.WITNESS,
            author=witness.key.data,
            expected="a witness cosigns nothing that does not continue what it has cosigned",
            proved=True,
        )
        for witness in cosigners_of_both(policy, older, newer)
    ]
