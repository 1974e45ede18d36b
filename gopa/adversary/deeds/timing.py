"""Silence, lateness, repetition: deeds that fit every phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bulletin_board import Entry, sign_entry
from gopa.adversary.deeds.kinds import copied, instead
from gopa.adversary.malicious import Deed, phase_of
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import (
    Drop,
    Garbage,
    Honest,
    PostsLate,
    Replay,
    Rounds,
    Skip,
    Twice,
    TwiceLater,
    acts,
)

_ELSEWHERE: Final = b"\x0e" * 32


def listen() -> Deed:
    """Keeps the rules, and tells its accomplices everything that it knows."""

    def made(phase: Phase, rounds: Rounds) -> Honest:
        del phase, rounds
        return Honest()

    return made


def leave() -> Deed:
    """Is gone from before this phase to the end of the round."""
    return lambda phase, rounds: Drop(phase, True, rounds)


def last_word() -> Deed:
    """The deed of posting this and being gone to the end of the round."""

    def says(access: PartyAccess, post: Post) -> Sequence[Post]:
        access.silenced = True
        return [post]

    return instead(says)


def skip() -> Deed:
    """The deed of silence in this phase, and of going on as if it were none."""
    return Skip


def late() -> Deed:
    """Posts behind the close of the phase."""
    return PostsLate


def hold(behind: str) -> Deed:
    """Posts its message of this phase behind the close of a later one."""
    return lambda phase, rounds: _Held(phase, phase_of(behind), rounds)


def twice() -> Deed:
    """Signs two entries for one slot."""
    return Twice


def twice_later(behind: str) -> Deed:
    """Signs a second entry for its slot, behind the close of a phase."""
    return lambda phase, rounds: TwiceLater(phase, phase_of(behind), rounds)


def garbage() -> Deed:
    """Posts bytes that are no message."""
    return Garbage


def replay() -> Deed:
    """Posts what it posted in the round before once more."""
    return Replay


def echo(victim: int) -> Deed:
    """Posts what the victim posted in this phase as its own."""
    return copied(victim, lambda _, theirs: theirs)


def say_again() -> Deed:
    """Posts its message of this phase, and once more in the next slot."""

    def again(access: PartyAccess, post: Post) -> Sequence[Post]:
        body, first = body_of(post.entries), first_entry(post.entries)
        return [post, access.sign(post.phase, body, first.seq + len(post.entries))]

    return instead(again)


def claim_another_log() -> Deed:
    """The lie of having been shown a log that never was."""
    return instead(_claims_another_log)


def oversized(by: int = 50_000) -> Deed:
    """Posts its message of this phase with so many bytes behind it."""

    def longer(access: PartyAccess, post: Post) -> Sequence[Post]:
        body, first = body_of(post.entries), first_entry(post.entries)
        return [access.sign(post.phase, body + bytes(by), first.seq)]

    return instead(longer)


def half() -> Deed:
    """Posts the second of two chunks without the first."""
    return instead(
        lambda access, post: [
            _signed(replace(first_entry(post.entries), chunk=1, chunks=2), access, post)
        ]
    )


def _claims_another_log(access: PartyAccess, post: Post) -> Sequence[Post]:
    entry = replace(first_entry(post.entries), seen_size=2, seen_root=_ELSEWHERE)
    return [_signed(entry, access, post)]


def _signed(entry: Entry, access: PartyAccess, post: Post) -> Post:
    return Post(post.phase, post.round, (sign_entry(entry, access.key),))


@dataclass(frozen=True, slots=True)
class _Held(Honest):
    phase: Phase
    behind: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        access.memory.setdefault(self, []).append(post)
        return []

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        held: Sequence[Post] = access.memory.pop(self, []) if phase is self.behind else []
        return held
