"""The transcripts of the specification, with the anchors that they are to be audited with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from bulletin_board import TrustPolicy, VerifierKey
from gopa.auditing import Anchors
from tests.auditing.logs import TRANSCRIPTS

NAMES: Final = sorted(path.stem for path in TRANSCRIPTS.glob("*.gopa"))

CODES: Final = {"VALID": 0, "INVALID": 1, "INCOMPLETE": 3, "SIGNED-ONLY": 6}
NO_RESULT: Final = 7


def path_of(name: str) -> Path:
    return TRANSCRIPTS / f"{name}.gopa"


@cache
def stated(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    return found


def anchors_of(name: str) -> Anchors:
    given = stated(name)["anchors"]
    log, witnessed = VerifierKey.parse(given["log"]), given["policy"].encode()
    policy = TrustPolicy.parse(witnessed) if witnessed else TrustPolicy.single_log(log)
    return Anchors(policy, bytes.fromhex(given["manifest_sha256"]))


def code_of(expected: dict[str, Any]) -> int:
    """The exit code of an audit that finds what is stated."""
    ended = {each["outcome"] for each in expected["rounds"]}
    established = expected["verdict"] in {"VALID", "SIGNED-ONLY"}
    return NO_RESULT if established and "result" not in ended else CODES[expected["verdict"]]


def liars_of(name: str) -> set[str]:
    """The keys of those who depart from the rules."""
    file = stated(name)
    parties: list[str] = file["parties"]
    return {file["organiser"] if liar == "organiser" else parties[liar] for liar in file["liars"]}
