"""Turns a result into plain data for programs: `Result.to_dict` and `Result.to_json`.

`docs/python.md` lists the names; a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

import numpy as np

from gopa.aggregation.result import Result
from gopa.planning import PrivacyStatement

FORMAT: Final = "gopa-result/v1"

_APART: Final = frozenset({"privacy", "transcript", "asked", "excluded"})


def record(result: Result) -> dict[str, Any]:
    """Gives everything that a result says, without the log."""
    transcript = result.transcript
    found = {
        "format": FORMAT,
        "kind": result.kind,
        "value": result.value,
        "error": result.error,
        "count": result.count,
        **{
            each.name: getattr(result, each.name)
            for each in fields(result)
            if each.name not in _APART
        },
        "excluded": [asdict(lost) for lost in result.excluded],
        "privacy": None if result.privacy is None else privacy_record(result.privacy),
        "session": transcript.session.hex() if transcript else None,
        "round": transcript.round if transcript else None,
    }
    return {name: plain_data(value) for name, value in found.items()}


def privacy_record(statement: PrivacyStatement) -> dict[str, Any]:
    """Gives the privacy cost: epsilon, a delta for each adversary, and what it rests on."""
    return {
        "epsilon": statement.epsilon,
        "claims": [asdict(claim) for claim in statement.claims],
        "assumptions": list(statement.assumptions),
    }


def plain_data(value: Any) -> Any:
    """Gives the same with lists, dicts and Python numbers only; NaN and infinity become None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_data(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
