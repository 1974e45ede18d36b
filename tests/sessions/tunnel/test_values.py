"""What a party gives to a round: a value of the right shape, with a weight where there are some."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.aggregation.values import OutOfRange
from gopa.protocol.organiser import SessionSetting
from gopa.sessions.tunnel import Supply, TunnelInput
from gopa.sessions.tunnel.messages import REPLY
from tests.protocol.simulation.worlds import FEW, SIGNED, VECTOR
from tests.sessions.tunnel.worlds import Tunnelled
from wire.errors import GopaError, UsageError

ONCE = replace(FEW, rounds=1)
WEIGHED = replace(VECTOR, rounds=1, parties=5, k=4, survivors=3, loss=2)


def giving(given: TunnelInput | None) -> Supply:
    return lambda _: given


def test_values_with_weights_in_full_mode() -> None:
    world = Tunnelled(WEIGHED, SessionSetting(weighted=True), max_weight=4)
    for caller in world.callers.values():
        caller.supply = giving(TunnelInput([0.25, 0.75], weight=2.0))
    found = world.run().findings()
    assert found.faults == ()
    assert found.rounds[0].final == tuple(range(5))
    last = world.caller(0).party().standing(world.caller(0).state).last
    assert last is not None
    assert getattr(last.outcome, "sums", None) == found.rounds[0].sums


WRONG: tuple[tuple[TunnelInput, type[GopaError]], ...] = (
    (TunnelInput([0.5, 0.5]), UsageError),
    (TunnelInput(0.5, weight=2.0), UsageError),
    (TunnelInput(None), UsageError),
    (TunnelInput(1.5), OutOfRange),
    (TunnelInput(float("nan")), GopaError),
)


def test_a_value_that_does_not_fit_changes_nothing() -> None:
    world = Tunnelled(ONCE, SIGNED)
    caller = world.caller(0)
    world.run(lambda: bool(caller.seen))
    request = world.next_request(0)
    for wrong, error in WRONG:
        with pytest.raises(error):
            caller.party().answer(caller.state, request, giving(wrong))
    caller.supply = giving(TunnelInput(1.5, clip=True))
    caller(request)  # its reply is lost: the host learns from the state where the party stands
    said = world.host.take(caller.party().key, caller.party().position(caller.state))
    assert said.posts
    world.host.post()
    world.run()
    assert world.findings().rounds[0].final == tuple(range(5))


def test_who_has_no_value_is_asked_again_and_sits_the_round_out() -> None:
    world = Tunnelled(ONCE, SIGNED)
    caller = world.caller(0)
    caller.supply = giving(None)
    key = caller.party().key
    world.run(lambda: bool(caller.seen) and REPLY.decode(caller.seen[-1][2]).needs_value)
    assert world.host.request(key) is None
    later = world.host.request(key, again=True) or b""
    assert world.host.take(key, caller(later)).needs_value
    world.run()
    assert len(world.findings().rounds[0].final or ()) == 4
