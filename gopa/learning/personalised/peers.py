"""Tells users of others to compare models with: any of them alike, or those that gossip brings.

Specification: `specs/20-personalised.md`, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.learning.checks import generator, whole
from gopa.learning.personalised.links import Places

View: TypeAlias = dict[int, int]
"""The age of what is known of each peer."""

_ENTRY_BYTES: Final = 6


class Sampler(Protocol):
    """Draws peers for one user of each run."""

    bytes: int
    """Sent in the first run so far, to find peers."""

    def draw(self, users: Places) -> Places:
        """Different peers of each of these users: (runs, count)."""


class Peers(Protocol):
    """Says how peers are found."""

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        """A sampler of so many peers at a time."""


@dataclass(frozen=True, slots=True)
class UniformPeers:
    """Is an oracle: every set of peers is equally likely, as theorem 2.1 needs."""

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        """A sampler of so many peers at a time."""
        _require_enough(users, count)
        return _Uniform(users, count, runs, seed)


class _Uniform:
    def __init__(self, users: int, count: int, runs: int, seed: int) -> None:
        self._users, self._count, self.bytes = users, count, 0
        self._streams = [generator(seed, "peers", str(run)) for run in range(runs)]

    def draw(self, users: Places) -> Places:
        """By Floyd's algorithm: the last candidate stands in for one that was drawn before."""
        uniform = np.stack([each.random(self._count) for each in self._streams])
        found = np.full((len(users), self._count), -1, dtype=np.int64)
        for place in range(self._count):
            last = self._users - 1 - self._count + place
            drawn = (uniform[:, place] * (last + 1)).astype(np.int64)
            again = (found == drawn[:, None]).any(axis=1)
            found[:, place] = np.where(again, last, drawn)
        return found + (found >= users[:, None])


@dataclass(frozen=True, slots=True)
class GossipPeers:
    """Is the peer sampling service of Jelasity et al. (2007): views that are shuffled in pairs.

    A user who acts sends half of its `view` to the peer it has heard of longest ago, and gets
    half of that one's. Of what is too much, up to `healing` of the oldest entries go first, then
    up to `swap` of those that were sent. Views begin as the next users around a ring, with `cycles`
    of shuffles.
    """

    view: int = 20
    healing: int = 1
    swap: int = 9
    cycles: int = 20

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        """A sampler of so many peers at a time."""
        _require_enough(users, count)
        whole(self.view, "view", 2)
        if not count <= self.view or not users - 1 >= self.view:
            raise UsageError(f"from {count} to {users - 1} peers", "view")
        whole(self.healing, "healing", 0)
        whole(self.swap, "swap", 0)
        found = _Gossip(self, users, count, runs, seed)
        for _ in range(self.cycles):
            for user in range(users):
                found.shuffle(np.full(runs, user))
        return found


class _Gossip:
    def __init__(self, how: GossipPeers, users: int, count: int, runs: int, seed: int) -> None:
        self._how, self._count, self.bytes = how, count, 0
        self._streams = [generator(seed, "gossip", str(run)) for run in range(runs)]
        ring = range(1, how.view + 1)
        self.views: list[list[View]] = [
            [{(user + step) % users: 0 for step in ring} for user in range(users)]
            for _ in range(runs)
        ]

    def draw(self, users: Places) -> Places:
        """From each user's view, after it was shuffled."""
        self.shuffle(users)
        found = []
        for run, user in enumerate(users.tolist()):
            known = list(self.views[run][user])
            chosen = self._streams[run].permutation(len(known))[: self._count]
            found.append([known[each] for each in chosen.tolist()])
        return np.array(found, dtype=np.int64)

    def shuffle(self, users: Places) -> None:
        """Lets each user exchange half of its view with the peer it heard of longest ago."""
        for run, user in enumerate(users.tolist()):
            views, rng = self.views[run], self._streams[run]
            other = max(views[user], key=views[user].__getitem__)
            mine, theirs = self._half(views[user], user, rng), self._half(views[other], other, rng)
            views[user] = self._merged(views[user], mine, theirs, user, rng)
            views[other] = self._merged(views[other], theirs, mine, other, rng)
            if run == 0:
                self.bytes += _ENTRY_BYTES * (len(mine) + len(theirs))

    def _half(self, view: View, user: int, rng: np.random.Generator) -> View:
        """The user itself, new, and some of its view, but the oldest only if it must."""
        order = [list(view)[each] for each in rng.permutation(len(view)).tolist()]
        old = sorted(order, key=view.__getitem__)[len(order) - self._how.healing :]
        young = [each for each in order if each not in old]
        sent = [*young, *old][: self._how.view // 2 - 1]
        return {user: 0, **{each: view[each] for each in sent}}

    def _merged(
        self, view: View, sent: View, got: View, user: int, rng: np.random.Generator
    ) -> View:
        found = dict(view)
        for peer, age in got.items():
            if peer != user:
                found[peer] = min(age, found.get(peer, age))
        size = self._how.view
        oldest = sorted(found, key=found.__getitem__, reverse=True)
        for peer in oldest[: min(self._how.healing, max(0, len(found) - size))]:
            del found[peer]
        swapped = [peer for peer in sent if peer in found and peer not in got]
        for peer in swapped[: min(self._how.swap, max(0, len(found) - size))]:
            del found[peer]
        listed = list(found)
        while len(found) > size:
            del found[listed.pop(int(rng.integers(len(listed))))]
        return {peer: age + 1 for peer, age in found.items()}


def _require_enough(users: int, count: int) -> None:
    if users < 2:
        raise UsageError("at least two users", "problem")
    whole(count, "peers", 1, users - 1)
