"""Ways in which an organiser departs from the rules. Parties stop at what concerns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gopa.messages.members import pack_members, unpack_members
from gopa.messages.organiser import ABORT, CLOSE, RESULT, Abort, Close, Members, ResultMessage, Roll
from gopa.messages.phases import Kind, Phase
from gopa.organiser import SendMessage
from gopa.simulation.contents import body_of
from gopa.simulation.scene import OrganiserScene


@dataclass(frozen=True, slots=True)
class AlteredClose:
    """Posts another close of one phase than the rules demand."""

    phase: Phase
    change: Callable[[Close], Close]
    beside: bool = False

    def publishes(self, scene: OrganiserScene, control: SendMessage) -> Sequence[SendMessage]:
        """With `beside` both are posted: two closes for one step."""
        if control.kind is not Kind.CLOSE:
            return [control]
        if CLOSE.decode(body_of(control.entries)).phase is not self.phase:
            return [control]
        wrong = scene.altered(control, CLOSE, self.change)
        return [control, wrong] if self.beside else [wrong]


@dataclass(frozen=True, slots=True)
class AlteredResult:
    """Posts another result than the rules demand."""

    change: Callable[[ResultMessage], ResultMessage]

    def publishes(self, scene: OrganiserScene, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.RESULT:
            return [control]
        return [scene.altered(control, RESULT, self.change)]


@dataclass(frozen=True, slots=True)
class AlteredAbort:
    """Posts another abort than the rules demand."""

    change: Callable[[Abort], Abort]

    def publishes(self, scene: OrganiserScene, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.ABORT:
            return [control]
        return [scene.altered(control, ABORT, self.change)]


@dataclass(frozen=True, slots=True)
class ClosedAnyway:
    """Goes on where the rules demand an abort: closes the phase with a list of its own."""

    phase: Phase
    members: tuple[int, ...]
    parties: int

    def publishes(self, scene: OrganiserScene, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.ABORT:
            return [control]
        abort = ABORT.decode(body_of(control.entries))
        content = Members(pack_members(self.members, self.parties), final=False)
        close = Close(abort.acts_on, abort.cut, self.phase, b"", content)
        return [scene.instead(control, Kind.CLOSE, CLOSE.encode(close))]


def without(position: int, parties: int) -> Callable[[Close], Close]:
    """A list that lacks one party."""

    def change(close: Close) -> Close:
        content = close.content
        if isinstance(content, Roll):
            rest = content.parties[:position] + content.parties[position + 1 :]
            return replace(close, content=replace(content, parties=rest))
        if not isinstance(content, Members):
            return close
        kept = [each for each in unpack_members(content.members, parties) if each != position]
        members = Members(pack_members(kept, parties), content.final)
        return replace(close, content=members)

    return change


def with_cut(shift: int) -> Callable[[Close], Close]:
    """A close whose cut is moved."""

    def change(close: Close) -> Close:
        return replace(close, cut=close.cut + shift)

    return change


def with_final(final: bool) -> Callable[[Close], Close]:
    """A close that says whether it is final."""

    def change(close: Close) -> Close:
        if not isinstance(close.content, Members):
            return close
        return replace(close, content=replace(close.content, final=final))

    return change
