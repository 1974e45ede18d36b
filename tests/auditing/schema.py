"""The part of JSON Schema that the report's schema uses, and no more: unknown words are errors."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

SCHEMA: Final = Path(__file__).parents[2] / "docs" / "audit" / "report.schema.json"

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_SILENT: Final = {"$schema", "$defs", "title", "description"}
_KNOWN: Final = _SILENT | {
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
}


@cache
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SCHEMA.read_text())
    return found


def problems(value: Any, rule: dict[str, Any] | None = None, path: str = "$") -> list[str]:
    """What keeps the value from conforming; members have to stand in the schema's order, too."""
    rule = schema() if rule is None else rule
    unknown = set(rule) - _KNOWN
    if unknown:
        return [f"{path}: the schema says {sorted(unknown)}"]
    if "$ref" in rule:
        name = rule["$ref"].removeprefix("#/$defs/")
        return problems(value, schema()["$defs"][name], path)
    if "anyOf" in rule:
        tried = [problems(value, each, path) for each in rule["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    found = _scalar(value, rule, path)
    if isinstance(value, list) and "items" in rule:
        found += _array(value, rule, path)
    if isinstance(value, dict) and "properties" in rule:
        found += _object(value, rule, path)
    return found


def _scalar(value: Any, rule: dict[str, Any], path: str) -> list[str]:
    found = []
    if "const" in rule and value != rule["const"]:
        found.append(f"{path}: {value!r} is not {rule['const']!r}")
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{path}: {value!r} is none of {rule['enum']}")
    if "type" in rule and not _is(value, rule["type"]):
        found.append(f"{path}: {value!r} is no {rule['type']}")
    if "pattern" in rule and isinstance(value, str) and not re.fullmatch(rule["pattern"], value):
        found.append(f"{path}: {value!r} does not match {rule['pattern']}")
    if "minimum" in rule and isinstance(value, int) and value < rule["minimum"]:
        found.append(f"{path}: {value} is below {rule['minimum']}")
    return found


def _is(value: Any, names: str | list[str]) -> bool:
    listed = [names] if isinstance(names, str) else names
    return any(
        isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in listed
    )


def _array(value: list[Any], rule: dict[str, Any], path: str) -> list[str]:
    found = []
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        found.append(f"{path}: {len(value)} items")
    for number, item in enumerate(value):
        found += problems(item, rule["items"], f"{path}[{number}]")
    return found


def _object(value: dict[str, Any], rule: dict[str, Any], path: str) -> list[str]:
    members = rule["properties"]
    assert rule["additionalProperties"] is False
    assert list(members) == rule["required"]
    if list(value) != list(members):
        return [f"{path}: {list(value)} are not {list(members)}"]
    return [
        each
        for name, item in value.items()
        for each in problems(item, members[name], f"{path}.{name}")
    ]
