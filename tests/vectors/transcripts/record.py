"""What the rules find in a transcript, in a form that needs none of this code to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gopa.contract.manifest import Mode
from gopa.protocol.rules import Findings
from gopa.protocol.rules.findings import (
    Fault,
    Listed,
    Removed,
    Role,
    RoundFindings,
    RuleNote,
    plain,
)

Json = dict[str, Any]
_ACCEPTED: Final[Mapping[Mode, str]] = {Mode.FULL: "VALID", Mode.SIGNED: "SIGNED-ONLY"}
_AUTHORITIES: Final = {Role.ORGANISER, Role.BOARD}


def verdict(found: Findings) -> str:
    """What an audit says: a party that lied and was left out spoils nothing."""
    if any(fault.role in _AUTHORITIES for fault in found.faults) or found.manifest is None:
        return "INVALID"
    return _ACCEPTED[found.manifest.mode] if found.complete else "INCOMPLETE"


def expected(found: Findings) -> Json:
    """Everything in the findings but words."""
    return {
        "verdict": verdict(found),
        "complete": found.complete,
        "rounds": [_round(each) for each in found.rounds],
        "faults": [_fault(each) for each in found.faults],
        "notes": [_note(each) for each in found.notes],
    }


def _round(found: RoundFindings) -> Json:
    return {
        "number": found.number,
        "logical": found.logical,
        "attempt": found.attempt,
        "opened_at": found.opened_at,
        "ended_at": found.ended_at,
        "barred": [key.hex() for key in found.barred],
        "roll": [key.hex() for key in found.roll],
        "withheld": found.withheld,
        "joint_coin": found.joint.hex(),
        "graph": None if found.graph is None else plain(found.graph),
        "lists": [_listed(each) for each in found.lists],
        "removed": [_removed(each) for each in found.removals],
        "void": plain(found.void),
        "opened": plain(found.opened),
        "unmasked": list(found.unmasked),
        "recovered": list(found.recovered),
        "released": found.released,
        "releases": found.releases,
        "included": None if found.final is None else list(found.final),
        "outcome": _outcome(found),
        "sums": None if found.sums is None else list(found.sums),
        "abort": None if found.abort is None else found.abort.name.lower(),
        "culprits": list(found.culprits),
        "veto": list(found.veto),
    }


def _outcome(found: RoundFindings) -> str:
    if found.sums is not None:
        return "result"
    return "open" if found.abort is None else "abort"


def _listed(listed: Listed) -> Json:
    return {
        "phase": listed.phase.name.lower(),
        "step": listed.step,
        "cut": listed.cut,
        "index": listed.index,
        "members": list(listed.members),
        "final": listed.final,
    }


def _removed(removed: Removed) -> Json:
    return {
        "author": removed.author.hex(),
        "position": removed.position,
        "phase": removed.phase.name.lower(),
        "step": removed.step,
        "cause": removed.cause.name.lower(),
        "rule": removed.rule,
        "entry": removed.entry,
    }


def _fault(fault: Fault) -> Json:
    return {
        "class": fault.role.value,
        "author": fault.author.hex(),
        "rule": fault.rule,
        "round": fault.round,
        "entries": list(fault.entries),
        "proved": fault.proved,
    }


def _note(note: RuleNote) -> Json:
    return {
        "rule": note.rule,
        "author": note.author.hex(),
        "round": note.round,
        "entries": list(note.entries),
        "count": note.count,
    }
