"""Who is convicted in a model, by whose accusations (04-A1 to 04-A5)."""

from __future__ import annotations

from collections.abc import Collection

from gopa.contract.party import About
from gopa.contract.phases import Phase
from tests.small_worlds.graphs import pair
from tests.small_worlds.world import World


def convictions(
    world: World, roll: Collection[int], listed: set[int], void: set[tuple[int, int]]
) -> dict[int, str]:
    """The convicted, each with the rule that convicts it."""
    convicted: dict[int, str] = {}
    for u in sorted(listed):
        if world.is_gone(u, Phase.ACCUSE):
            continue
        for v in sorted(world.neighbours(u) & listed):
            if world.lies_to(v, u):
                convicted |= _wrong_ends(world, u, v)
            if world.deals_wrongly_to(v, u):
                convicted[v] = "04-A4"
        fault = world.faults.get(u)
        if fault is not None and fault.accuses is not None and world.about[u] in roll:
            convicted |= _judged(world, u, listed, void)
    return convicted


def _judged(world: World, u: int, listed: set[int], void: set[tuple[int, int]]) -> dict[int, str]:
    """What comes of an accusation that u makes whatever the accused did."""
    fault, v = world.faults[u], world.about[u]
    if v not in world.neighbours(u) & listed:
        return {u: "04-A1"}
    if fault.accuses is About.EDGE:
        if pair(u, v) not in void:
            return {u: "04-A1"}
        return _wrong_ends(world, u, v) if fault.proved else {u: "04-A2"}
    if world.threshold is None:
        return {u: "04-A1"}
    if not fault.proved:
        return {u: "04-A2"}
    return {v: "04-A4"} if world.deals_wrongly_to(v, u) else {u: "04-A5"}


def _wrong_ends(world: World, u: int, v: int) -> dict[int, str]:
    """04-A3: everybody whose bytes are not the right ones, also the accuser."""
    return {end: "04-A3" for end, other in ((u, v), (v, u)) if world.lies_to(end, other)}
