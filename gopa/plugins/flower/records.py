"""Defines what the messages between a `VerifiableGrid` and a `gopa_mod` hold: one config record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from wire.errors import MalformedMessage

if TYPE_CHECKING:
    from flwr.app import RecordDict

RECORD: Final = "gopa"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a party: for its key where there is no ticket, else for an answer to `request`.

    `layout` says how a model becomes a vector. `anew`: a party that has lost its state may begin
    again. `last`: nothing is asked in this session any more.
    """

    ticket: bytes = b""
    request: bytes = b""
    layout: str = ""
    anew: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """Answers: the public key, a reply for the host, or why there is none.

    `lost`: the state of this party cannot be used; it begins again if it is told to.
    """

    key: bytes = b""
    reply: bytes = b""
    error: str = ""
    lost: bool = False


def put(message: Asked | Said, beside: RecordDict | None = None) -> RecordDict:
    """A content with this message, and with the records of another content."""
    from flwr.app import ConfigRecord, RecordDict

    records: dict[str, Any] = dict(beside or {})
    return RecordDict({**records, RECORD: ConfigRecord(asdict(message))})


def asked_in(content: RecordDict) -> Asked | None:
    """What a server asks, None if it asks nothing of ours; `MalformedMessage` if it is garbled."""
    found = content.config_records.get(RECORD)
    return None if found is None else _read(Asked, found)


def said_in(content: RecordDict) -> Said:
    """What a party says; `MalformedMessage` if it says nothing of ours."""
    found = content.config_records.get(RECORD)
    if found is None:
        raise MalformedMessage("the reply of an app without gopa_mod", RECORD)
    said: Said = _read(Said, found)
    return said


def _read(kind: Any, found: Any) -> Any:
    names = {each.name: type(each.default) for each in fields(kind)}
    if found.keys() != names.keys() or any(type(found[a]) is not b for a, b in names.items()):
        raise MalformedMessage("other names or types: is the other side of this version?", RECORD)
    return kind(**found)
