"""Reads chain information as drand relays serve it: JSON, strictly.

`specs/09-beacon.md`, 09-D4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from gopa.contract.beacon.drand import DrandChain
from gopa.contract.beacon.scheme import Scheme
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json

LARGEST_INFO: Final = 4096

_HEX = re.compile(r"(?:[0-9a-f]{2})*")

_FIRST: Final = {
    "public_key": "public_key",
    "period": "period",
    "genesis": "genesis_time",
    "chain_hash": "hash",
    "group_hash": "groupHash",
    "scheme": "schemeID",
    "beacon_id": "metadata.beaconID",
}
_SECOND: Final = {
    "public_key": "public_key",
    "period": "period",
    "genesis": "genesis_time",
    "chain_hash": "chain_hash",
    "group_hash": "genesis_seed",
    "scheme": "scheme",
    "beacon_id": "beacon_id",
}

T = TypeVar("T", str, int)


def parse_chain_info(raw: bytes) -> DrandChain:
    """The chain that `/info` of a drand relay describes, in either version of its format.

    Exactly the fields of one version, each once; hex in small letters. `MalformedMessage`
    names the field; among others for a hash that is not that of the other fields.
    """
    info = _flat(_load(raw))
    names = _FIRST if "schemeID" in info else _SECOND
    wrong = min(info.keys() ^ set(names.values()), default=None)
    if wrong is not None:
        known = "unknown" if wrong in info else "missing"
        raise MalformedMessage(f"this field is {known}; relays serve two sets of fields", wrong)
    try:
        return DrandChain(
            scheme=Scheme.titled(_typed(info, names["scheme"], str)),
            public_key=_hex(info, names["public_key"]),
            period=_typed(info, names["period"], int),
            genesis=_typed(info, names["genesis"], int),
            group_hash=_hex(info, names["group_hash"]),
            beacon_id=_typed(info, names["beacon_id"], str),
            chain_hash=_hex(info, names["chain_hash"]),
        )
    except UsageError as error:
        raise MalformedMessage(error.message, names[error.field]) from None


def _load(raw: bytes) -> object:
    if type(raw) is not bytes:
        raise UsageError("chain information is bytes, as served")
    if len(raw) > LARGEST_INFO:
        raise MalformedMessage(f"chain information has at most {LARGEST_INFO} bytes")
    try:
        return read_json(raw, pairs=_unique)
    except ValueError:
        raise MalformedMessage("chain information is JSON in UTF-8") from None


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise MalformedMessage("a field stands twice", key)
        found[key] = value
    return found


def _flat(value: object) -> Mapping[str, object]:
    """One level: fields of `metadata` become `metadata.<name>`."""
    if not isinstance(value, dict):
        raise MalformedMessage("chain information is a JSON object")
    found: dict[str, object] = dict(value)
    inner = found.pop("metadata", {})
    if not isinstance(inner, dict):
        raise MalformedMessage("needs a JSON object", "metadata")
    return found | {f"metadata.{key}": item for key, item in inner.items()}


def _typed(info: Mapping[str, object], key: str, kind: type[T]) -> T:
    value = info[key]
    if type(value) is not kind:  # True would otherwise pass for 1
        raise MalformedMessage("needs text" if kind is str else "needs a whole number", key)
    return value


def _hex(info: Mapping[str, object], key: str) -> bytes:
    text = _typed(info, key, str)
    if _HEX.fullmatch(text) is None:
        raise MalformedMessage("needs bytes in small hexadecimal digits", key)
    return bytes.fromhex(text)
