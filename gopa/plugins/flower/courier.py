"""Brings messages to nodes over a grid of Flower, and their answers back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bulletin_board.display import visible
from gopa.plugins.flower.records import Said, said_in
from wire.errors import MalformedMessage

if TYPE_CHECKING:
    from flwr.app import Message, RecordDict
    from flwr.serverapp import Grid

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
