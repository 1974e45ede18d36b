"""Lies about the draw of noise: seeds that are shared, used again, or chosen after the coins.

For noise from a table; the liar knows every opening and goes on consistently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from gopa.adversary.deeds.kinds import context_of, only_at
from gopa.adversary.malicious import Deed, NotApplicable
from gopa.contract.party import JOIN, Join
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.committing import commit_round
from gopa.protocol.party.states import Checking, Committed, Joined
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.protocol.simulation.setup import SeededStreams
from gopa.rounds.statements import noise_coins
from zkp import NoiseSeeds
from zkp.noise import GaussianTable

Seeds: TypeAlias = Callable[[PartyAccess, Joined], NoiseSeeds | None]
"""Other seeds than those of the join; None to leave them."""


def common_seed(name: bytes) -> Deed:
    """Joins with a seed of noise that follows from a name, as everybody else with that name."""

    def seeds(access: PartyAccess, joined: Joined) -> NoiseSeeds | None:
        return _fresh(access, name) if isinstance(joined.seeds, NoiseSeeds) else None

    return only_at(Phase.JOIN, lambda phase, rounds: _Reseeded(phase, rounds, seeds))


def old_seed() -> Deed:
    """Joins with the seed of its noise in the round before: then the noises are related."""

    def seeds(access: PartyAccess, joined: Joined) -> NoiseSeeds | None:
        before = access.memory.get("seeds of its noise")
        own = joined.seeds
        if not isinstance(own, NoiseSeeds):
            return None
        access.memory["seeds of its noise"] = own
        return None if before is None else NoiseSeeds(before.table, before.opening)

    return only_at(Phase.JOIN, lambda phase, rounds: _Reseeded(phase, rounds, seeds))


def lucky_noise(least: int) -> Deed:
    """Commits to noise of at least so much: it looks at the coins, then picks another seed.

    The proof is a right one about the other seed.
    """
    return only_at(Phase.COMMIT, lambda phase, rounds: _Lucky(phase, rounds, least))


@dataclass(frozen=True, slots=True)
class _Reseeded(Honest):
    phase: Phase
    rounds: Rounds
    seeds: Seeds

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        joined = access.state.stage
        if post.phase is not self.phase or not isinstance(joined, Joined):
            return [post]
        seeds = self.seeds(access, joined)
        if seeds is None or not acts(self.rounds, post):
            return [post]
        access.state = replace(access.state, stage=replace(joined, seeds=seeds))
        data = seeds.commitment.to_bytes()

        def lie(content: Join) -> Join:
            return replace(content, seed=data)

        return [access.altered(post, JOIN, lie)]


@dataclass(frozen=True, slots=True)
class _Lucky(Honest):
    phase: Phase
    rounds: Rounds
    least: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        checking, committed = access.before.stage, access.state.stage
        if post.phase is not self.phase or not acts(self.rounds, post):
            return [post]
        if not isinstance(checking, Checking) or not isinstance(committed, Committed):
            return [post]
        enrolled = checking.enrolled
        if not isinstance(enrolled.joined.seeds, NoiseSeeds):
            return [post]
        view = committed.view
        coins = noise_coins(view.context, view.joint, view.own_id)
        order = access.toolkit.group.order
        for seeds in _tries(access):
            (noise,) = seeds.noise(coins).reveal().ints()
            if self.least <= noise < order // 2:
                break
        joined = replace(enrolled.joined, seeds=seeds)
        access.state, said = commit_round(
            context_of(access), access.state, replace(enrolled, joined=joined), view, committed.leaf
        )
        return [each for each in said if isinstance(each, Post)]


def _tries(access: PartyAccess) -> Iterator[NoiseSeeds]:
    return (_fresh(access, b"luck %d" % number) for number in count())


def _fresh(access: PartyAccess, name: bytes) -> NoiseSeeds:
    terms, rng = access.manifest.terms, SeededStreams(name).named("seed of noise")
    if not isinstance(terms.noise, GaussianTable):
        raise NotApplicable("noise does not come from a table here", "at")
    return NoiseSeeds.fresh(access.toolkit.group, terms.noise, terms.dimension, rng=rng)
