"""Weighted vectors in rows, by parties that are functions of bytes, mean what a simulation says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gopa.plugins.session import HostedSession, new_signer
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.tunnel import MemoryGuard, Supply, TunnelInput, TunnelParty
from tests.randomness import seeded
from tests.sessions.live.test_weighted_rows import (
    MOST,
    PARTIES,
    WEIGHTED,
    WEIGHTS,
    in_a_simulation,
    planned,
    vectors,
)
from tests.sessions.tunnel.worlds import SECRET, Tunnelled
from wire.ed25519 import SigningKey


def weighted(number: int) -> Supply:
    """Gives party `number` its vector and its weight."""
    return lambda _: TunnelInput(vectors()[number].tolist(), WEIGHTS[number])


@pytest.mark.slow
def test_sums_are_those_of_the_simulation() -> None:
    world = Tunnelled(planned(None).terms, WEIGHTED, max_weight=MOST)
    for number in range(PARTIES):
        world.caller(number).supply = weighted(number)
    (found,) = world.run().findings().rounds
    (expected,) = in_a_simulation(None, WEIGHTS).transcript.check().rounds
    assert found.sums == expected.sums
    assert found.sums is not None


@pytest.mark.slow
def test_a_plug_in_reads_the_mean() -> None:
    """The server's half of all plug-ins, and what their parties answer."""
    keys = [SigningKey.generate(seeded(f"plug-in {each}")) for each in range(PARTIES)]
    ids = [each.public.data for each in keys]
    hosted = HostedSession(
        planned(None), frozenset(ids), WEIGHTED, new_signer(seeded("log")), seeded("hosted")
    )
    guard, states = MemoryGuard(), dict.fromkeys(ids, b"")

    def told(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        replies = {}
        for key, request in requests.items():
            party = TunnelParty(
                hosted.ticket,
                keys[ids.index(key)],
                permissive(planned(None).terms),
                secret=SECRET,
                guard=guard,
                max_weight=MOST,
                sums=False,
            )
            supply = weighted(ids.index(key))
            states[key], replies[key] = party.answer(states[key], request, supply)
        return replies

    requests = hosted.open(frozenset(ids))
    while requests:
        requests = hosted.advance(told(requests))
    found, expected = hosted.outcome(str(MOST)), in_a_simulation(None, WEIGHTS)
    assert found.included == set(ids)
    assert found.mean.tobytes() == expected.mean.tobytes()
    assert found.deviation.tobytes() == expected.stderr.tobytes()
    assert found.weight == expected.weight
