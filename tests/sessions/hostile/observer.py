"""What somebody who sees every log and every byte on the wire can work out about a party."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bulletin_board import Entry
from gopa.contract.party import OPENING, PUBLISH, UNMASK
from gopa.contract.phases import Phase
from tests.protocol.simulation.prying import without_masks
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
        authors = [key.public.data for key in self.world.identities]
        seen = {end: key for ends, key in self.keys.items() if target in ends for end in ends}
        keys = {**extra_keys, **seen}
        keys.pop(target, None)
        own = self.seeds.get(target, seed)
        (plain,) = without_masks(
            self.world.manifest,
            number,
            authors[target],
            self.values[target],
            {authors[other]: SecretBytes(key) for other, key in keys.items()},
            None if own is None else SecretBytes(own),
        )
        return plain

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
