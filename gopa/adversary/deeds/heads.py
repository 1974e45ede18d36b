"""Posts the head of a message, which is what neighbours read, and something else behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bulletin_board import Submission, sign_entry
from gopa.adversary.deeds.kinds import flipped, instead
from gopa.adversary.malicious import Deed
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import PartyAccess


def head_alone() -> Deed:
    """Posts the first entry of its message and nothing behind it: for commit and for prove."""
    return instead(lambda _, post: [replace(post, entries=post.entries[:1])])


def two_tails() -> Deed:
    """Posts what follows its head twice, the second time with one wrong bit."""

    def lie(access: PartyAccess, post: Post) -> Sequence[Post]:
        last = Submission.decode(post.entries[-1]).entry
        other = sign_entry(replace(last, body=flipped(last.body)), access.key)
        return [post, replace(post, entries=(other,))]

    return instead(lie)
