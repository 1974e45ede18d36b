"""A report as JSON: one text for one report. `specs/11-audit.md`, [R3].

The schema is `docs/audit/report.schema.json`.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final, TypeAlias

from gopa.auditing.checks import FAMILIES, Check
from gopa.auditing.report import CheckResult, Report

Json: TypeAlias = object

FORMAT: Final = "gopa-audit/v1"


def to_json_dict(report: Report) -> dict[str, Json]:
    """Plain values: text, integers, truth values, lists, and objects in the schema's order."""
    return {
        "format": FORMAT,
        "verdict": report.verdict.value,
        "code": report.code,
        "summary": report.summary,
        "anchored": report.anchored,
        "anchors": _plain(report.anchors),
        "simulation": report.simulation,
        "complete": report.complete,
        "log": _plain(report.log),
        "session": _plain(report.session),
        "rounds": _plain(report.rounds),
        "checks": [_checked(each) for each in report.checks],
        "faults": _plain(report.faults),
        "remarks": _plain(report.remarks),
        "limits": _plain(report.limits),
    }


def to_json_bytes(report: Report) -> bytes:
    """ASCII with a newline at the end: the same report gives the same bytes.

    Names are strangers' words. Escaped, they cannot speak to the terminal that shows them.
    """
    encoder = json.JSONEncoder(ensure_ascii=True, indent=1, allow_nan=False)
    written = bytearray()
    # Of a large round one long text would be there several times over.
    for text in encoder.iterencode(to_json_dict(report)):
        written += text.replace("\x7f", "\\u007f").encode("ascii")
    return bytes(written) + b"\n"


def _checked(result: CheckResult) -> dict[str, Json]:
    check: Check = result.check
    return {
        "number": check.number,
        "family": FAMILIES[check.family],
        "question": check.question,
        "rules": list(check.rules),
        "status": result.status.value,
        "detail": result.detail,
        "handled": result.handled,
    }


def _plain(value: object) -> Json:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, bytes):
        return value.hex()
    return value.value if isinstance(value, Enum) else value
