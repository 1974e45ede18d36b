"""The report on an archive: anchors, the log, the session, and the verdict (11)."""

from __future__ import annotations

import argparse
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from board import Policy, Tree, read_archive, read_entry
from rounds import Fault
from session import Session
from codec import Record, Unsupported, Wrong, require

CODES = {"VALID": 0, "INVALID": 1, "INCOMPLETE": 3, "UNSUPPORTED": 4, "SIGNED-ONLY": 6}
USAGE, NO_RESULT, EMBEDDED = 2, 7, 8
ONE_VIEW = {"14-P6"} | {f"04-{each}" for each in (
    "A1", "A5", "C1", "C2", "C3", "C4", "C7", "F2", "F3", "J6", "K1", "L3", "O1", "O3", "O4", "P1",
    "P3", "U2", "U3", "U4", "X1", "X2", "Z1", "Z3")}  # fmt: skip
"""Rules that an honest author breaks in this log if it was shown another one (11-E6)."""


def read_anchors(text: bytes) -> Record:
    """11-I2: the policy and the hash of the manifest, as far as they are there."""
    lines = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    lines += [b""] if lines[-1] else []
    says = [at for at, line in enumerate(lines) if line.strip() and line.lstrip()[:1] != b"#"]
    manifest = None
    if says and lines[says[0]].lstrip().startswith(b"manifest"):
        found = re.fullmatch(rb"manifest[ \t]+([0-9a-f]{64})[ \t]*", lines.pop(says.pop(0)))
        require(found)
        manifest = bytes.fromhex(found[1].decode()) if found else None
    return Record(policy=Policy(b"\n".join(lines)) if says else None, manifest=manifest)


def verify(data: bytes, anchors: Record, *, embedded: bool, since: bytes | None) -> dict[str, Any]:
    """The report on an archive; `since` is a state that an earlier audit saved."""
    report: dict[str, Any] = {
        "verdict": "INVALID", "session": None, "complete": False,
        "rounds": [], "faults": [], "problems": [],
        "not_checked": "receipts, coins of drand",
    }  # fmt: skip
    try:
        header, note, raws = read_archive(data)
        tree = Tree(raws)
        entries = [read_entry(at, tree.leaves[at], raw) for at, raw in enumerate(raws)]
        session = _follow(entries, tree, header, anchors.manifest)
        session.faults |= _strays(entries)
        _describe(report, session, tree)
        policy, signed = anchors.policy, None
        if policy is None and (manifest := session.manifest):  # 11-I3
            policy = manifest.log_policy or Policy(b"log " + manifest.log + b"\nquorum none\n")
        if policy is not None:
            signed = policy.open(note)
            _continues(report, since, policy, signed, tree)
        report["verdict"] = _verdict(report["problems"], session, anchors, embedded, signed)
    except Unsupported as error:
        report["verdict"] = "UNSUPPORTED"
        report["problems"].append(str(error))
    except Wrong as error:
        report["problems"].append(str(error))
    report["code"] = _code(report, anchors)
    return report


def _follow(entries: list[Record], tree: Tree, header: Record, anchor: bytes | None) -> Session:
    """11-I7: the rules over the session that the header names, or the anchor, or the only one."""
    named = any(header.session)
    found = []
    for each in [header.session] if named else dict.fromkeys(entry.session for entry in entries):
        session = Session(each, tree)
        for entry in entries:
            if entry.session == each:
                session.observe(entry)
        if named or (session.body and anchor in {None, sha256(session.body).digest()}):
            found.append(session)
    if len(found) > 1:
        raise SystemExit("the log holds several sessions, and the anchors name none")
    chosen = (*found, Session(header.session, tree))[0]
    chosen.finish()
    return chosen


def _strays(entries: list[Record]) -> set[Fault]:
    """05-D1 to 05-D3 and 05-F6: the board takes no entry twice, and two for one slot at most."""
    slots: dict[Any, set[bytes]] = {}
    faults = set()
    for entry in entries:
        slot = entry.session, entry.author, entry.phase, entry.round, entry.seq
        held = slots.setdefault(slot, set())
        if entry.leaf in held or len(held) == 2:
            faults.add(Fault(0, (entry.index,), "05-F6", "board", b""))
        held.add(entry.leaf)
    return faults


def _describe(report: dict[str, Any], session: Session, tree: Tree) -> None:
    strange = {at for size, root, at in session.views
               if size > len(tree.leaves) or tree.root(size) != root}  # fmt: skip
    report["session"], report["complete"] = session.session.hex(), session.complete
    for each in sorted(session.faults):
        apart = each.rule in ONE_VIEW and not strange.isdisjoint(each.entries)
        apart = apart or each.rule == "04-E1"  # a board may have left an entry out
        report["faults"].append({
            "role": each.role, "author": each.author.hex(), "rule": each.rule,
            "round": each.round, "entries": list(each.entries), "proved": not apart,
        })  # fmt: skip
    for book in session.rounds:
        report["rounds"].append({
            "number": book.number, "sums": book.sums, "abort": book.abort,
            "barred": sorted(author.hex() for author in book.barred),
            "to_blame": list(book.to_blame), "veto": book.veto,
            "included": [author.hex() for author in book.final or []],
            "removed": [{"author": author.hex(), "phase": phase, "cause": verdict.cause}
                        for author, (phase, verdict) in sorted(book.removed.items())],
        })  # fmt: skip


def _continues(
    report: dict[str, Any], since: bytes | None, policy: Policy, note: Record, tree: Tree
) -> None:
    """11-K1, 11-K3: the log goes on from what was seen of it; who saw two histories is named."""
    try:
        seen = note if since is None else policy.open(since, lax=True)  # 11-K3
    except Wrong:
        raise SystemExit("the saved state is no checkpoint of this log") from None
    if seen.size > note.size:
        report["problems"].append("the saved state covers more than this copy")
    elif tree.root(seen.size) != seen.root:
        both = sorted(each.data[1:] for each in policy.witnesses
                      if each.data in seen.signers & note.signers)  # fmt: skip
        guilty = [("board", b"", "05-C4"), *(("witness", key, "05-W1") for key in both)]
        for role, key, rule in guilty:
            report["faults"].append({"role": role, "author": key.hex(), "rule": rule,
                                     "round": 0, "entries": [], "proved": True})  # fmt: skip
        raise Wrong("05-C4")


def _verdict(
    missing: list[str], session: Session, anchors: Record, embedded: bool, note: Record | None
) -> str:
    """11-V1; what stands in the way of a better one is missing."""
    manifest, policy = session.manifest, anchors.policy
    anchored = policy is not None and anchors.manifest is not None
    if note is None:
        missing.append("no key to check the note with")
    elif not note.enough:  # 05-P2
        missing.append("too few witnesses cosigned the note")
    require(not (policy and manifest) or manifest.log_key == policy.log, "11-I3")
    expected = anchors.manifest in {None, sha256(session.body).digest()}
    require(expected or not session.body, "11-I3")
    if any(each.role != "party" for each in session.faults):
        return "INVALID"
    if not (anchored or embedded):
        missing.append("keys not anchored")
    if session.outside or not session.complete:
        missing.append(session.outside or "a logical round has not ended by the rules")
    if session.worth not in {"", "kept"}:  # 03-V35
        missing.append(f"whether the terms keep what they claim [04-S3]: {session.worth}")
    if missing or manifest is None:
        return "INCOMPLETE"
    if not anchored:
        missing.append("self-consistent; keys not anchored")
    return "VALID" if manifest.full else "SIGNED-ONLY"


def _code(report: dict[str, Any], anchors: Record) -> int:
    """11-V1: 0 is a result that stands on keys from outside."""
    code = CODES[report["verdict"]]
    if report["verdict"] not in {"VALID", "SIGNED-ONLY"}:
        return code
    if all(each["sums"] is None for each in report["rounds"]):
        return NO_RESULT
    return code or (0 if anchors.policy and anchors.manifest else EMBEDDED)


def main(arguments: list[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="verify.py", description="Verify the log of a session.")
    parser.add_argument("session", type=Path)
    parser.add_argument("--anchors", type=Path, help="trust policy, with a manifest line in front")
    parser.add_argument("--trust-embedded", action="store_true", help="believe the file's own keys")
    parser.add_argument("--since", type=Path, help="state that an earlier audit saved")
    given = parser.parse_args(arguments)
    try:
        since = given.since.read_bytes() if given.since else None
        data = given.session.read_bytes()
        anchors = read_anchors(given.anchors.read_bytes() if given.anchors else b"")
    except (OSError, Wrong) as error:
        print(f"verify.py: {error}", file=sys.stderr)
        return USAGE
    report = verify(data, anchors, embedded=given.trust_embedded, since=since)
    print(json.dumps(report, indent=1, sort_keys=True))
    return int(report["code"])
