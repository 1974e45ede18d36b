"""Terms from the JSON object that `gopa plan --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from gopa.planning.terms import Terms
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json
from zkp.noise_table import NoiseLaw, decode_noise_law

_DECIMALS: Final = frozenset({"low", "high", "epsilon", "delta", "beta"})
_LARGEST: Final = 1 << 20


def read_plan(path: Path) -> Terms:
    """The terms of a plan; whoever relies on them asks what they are worth.

    Raises:
        UsageError: no such file, other contents, or numbers that do not fit each other.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than a plan", "plan")
        found = read_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "plan") from None
    except ValueError:
        raise UsageError(f"{path} is no JSON: write it with `gopa plan --json`", "plan") from None
    return terms_from(found)


def terms_from(record: object) -> Terms:
    """The terms in what `gopa plan --json` wrote. Raises `UsageError` for anything else."""
    terms, noise = _part(record, "terms"), _part(record, "noise")
    wanted = {each.name for each in fields(Terms)} - {"noise"}
    if set(terms) != wanted:
        wrong = ", ".join(sorted(map(str, set(terms) ^ wanted)))
        raise UsageError(f"the terms of this version; differing: {wrong}", "plan")
    values: dict[str, Any] = {
        name: _decimal(value, name) if name in _DECIMALS else value for name, value in terms.items()
    }
    return Terms(noise=_law(noise), **values)


def _part(record: object, name: str) -> Mapping[str, object]:
    part = record.get(name) if isinstance(record, dict) else None
    if not isinstance(part, dict):
        raise UsageError(f"an object with {name!r}, as `gopa plan --json` prints it", "plan")
    return part


def _decimal(value: object, name: str) -> Decimal:
    if not isinstance(value, str):
        raise UsageError("a decimal number as text", name)
    try:
        return Decimal(value)
    except InvalidOperation:
        raise UsageError("a decimal number as text", name) from None


def _law(noise: Mapping[str, object]) -> NoiseLaw:
    encoding = noise.get("encoding")
    if not isinstance(encoding, str):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise")
    try:
        law = decode_noise_law(bytes.fromhex(encoding))
    except (ValueError, MalformedMessage):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise") from None
    if noise.get("hash") != law.table_hash().hex():
        raise UsageError("the hash of another table than the one that is encoded", "noise")
    return law
