"""What somebody who sees every log and every byte on the wire can work out about a party."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bulletin_board import Entry
from gopa.contract.framing import party_id
from gopa.contract.party import OPENING, PUBLISH, UNMASK
from gopa.contract.phases import Phase
from gopa.rounds.masks import SelfContext, UniformMask, edge_mask, self_mask, sign
from gopa.rounds.toolkit import Toolkit
from tests.sessions.hostile.worlds import World, of
from wire.secret import SecretBytes


@dataclass(frozen=True)
class Observer:
    """Masked values, keys of edges and seeds of one round, by position on its roll.

    Of honest parties; the roll is the roster.
    """

    world: World
    values: Mapping[int, bytes]
    keys: Mapping[frozenset[int], bytes] = field(default_factory=dict)
    seeds: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, world: World, seen: Iterable[Entry], round: int = 1) -> Observer:  # noqa: A002
        """Whatever these entries say."""
        entries = list(seen)
        place = {key.public.data: i for i, key in enumerate(world.identities)}
        keys = {
            frozenset((place[each.author.data], edge.neighbour)): edge.key
            for each in of(entries, Phase.ROLLBACK, round)
            for edge in OPENING.decode(each.body).edges
        }
        values = {
            place[each.author.data]: PUBLISH.decode(each.body).value
            for each in of(entries, Phase.PUBLISH, round)
        }
        seeds = {
            place[each.author.data]: UNMASK.decode(each.body).seed
            for each in of(entries, Phase.UNMASK, round)
        }
        return cls(world, values, keys, seeds)

    def left_over(
        self, target: int, extra_keys: Mapping[int, bytes], seed: bytes | None, number: int = 1
    ) -> int:
        """What was published, without all masks that are known; centred. Extras are not seen."""
        group = Toolkit().group
        authors = [key.public.data for key in self.world.identities]
        value = group.decode_scalars(self.values[target], 1)[0].secret()
        for other in range(len(authors)):
            key = self.keys.get(frozenset((target, other)), extra_keys.get(other))
            if other != target and key is not None:
                factor = sign(party_id(authors[target]), party_id(authors[other]))
                mask = edge_mask(group, SecretBytes(key), UniformMask(), 1).values[0]
                value = value - mask * group.scalar(factor)
        known = self.seeds.get(target, seed)
        if known is not None:
            session = self.world.ticket.session
            context = SelfContext(session, number, party_id(authors[target]))
            value = value - self_mask(group, SecretBytes(known), context, 1).values[0]
        plain = int(value.reveal())
        return plain - group.order if plain > group.order // 2 else plain

    def require_hidden(
        self, target: int, extra_keys: Mapping[int, bytes], seed: bytes, number: int = 1
    ) -> None:
        """Input plus noise shows with `extra_keys` and `seed`, so the sum is right; not without."""
        assert abs(self.left_over(target, extra_keys, seed, number)) < 2**20
        assert abs(self.left_over(target, {}, None, number)) > 2**64


def both_open(world: World, seen: Iterable[Entry], round: int = 1) -> set[int]:  # noqa: A002
    """Parties to which an edge and whose own mask were opened: an edge may have one such end."""
    found = Observer.of(world, seen, round)
    return {end for ends in found.keys for end in ends if end in found.seeds}
