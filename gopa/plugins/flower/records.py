"""What a `VerifiableGrid` and a `gopa_mod` send each other: one config record each way."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from wire.errors import MalformedMessage

if TYPE_CHECKING:
    from flwr.app import RecordDict
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bulletin_board.display import visible

if TYPE_CHECKING:
    from flwr.app import Message, RecordDict
    from flwr.serverapp import Grid


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


_SHORTEST: Final = 0.01
_LONGEST: Final = 0.25
_GROWS: Final = 1.3


class Courier:
    """Messages pushed, and replies pulled more often than `Grid.send_and_receive` looks.

    All messages are of the type and in the group of those that it was told last to be `like`.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._type, self._group = "train", ""

    def like(self, message: Message) -> None:
        """Send messages of this kind from now on."""
        self._type, self._group = message.metadata.message_type, message.metadata.group_id

    def send(self, contents: Mapping[int, RecordDict], seconds: float | None) -> dict[int, Said]:
        """What nodes say to these contents; without those that say nothing in so many seconds."""
        from flwr.app import Message

        messages = [
            Message(content, node, self._type, group_id=self._group)
            for node, content in contents.items()
        ]
        pushed = self._grid.push_messages(messages) if messages else ()
        waiting = dict(zip(pushed, contents, strict=False))
        waiting.pop(None, None)  # what the link did not take
        end = None if seconds is None else time.monotonic() + seconds
        found: dict[int, Said] = {}
        pause = _SHORTEST
        while waiting:
            for reply in self._grid.pull_messages(list(waiting)):
                asked = reply.metadata.reply_to_message_id
                if reply.metadata.src_node_id == waiting.get(asked):  # nobody answers for others
                    found[waiting.pop(asked)] = _said(reply)
            if not waiting or (end is not None and time.monotonic() > end):
                break
            time.sleep(pause)
            pause = min(_LONGEST, pause * _GROWS)
        return found


def _said(reply: Message) -> Said:
    """What a reply holds; whatever is wrong with it is an answer without one."""
    if reply.has_error():
        return Said(error=_line(reply.error.reason or "the app has failed"))
    try:
        said = said_in(reply.content)
    except MalformedMessage as error:
        return Said(error=str(error))
    return replace(said, error=_line(said.error))


def _line(text: str) -> str:
    """What the other side says, as it can stand in a log."""
    return visible(text)
