"""Clients that vanish, lie or refuse cost the others nothing but a warning, and are named."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from declearn.communication.api.backend.actions import ActionMessage, Send
from declearn.messaging import SerializedMessage
from declearn.metrics._mean import MeanState
from declearn.secagg.messaging import SecaggTrainReply
from declearn.training import TrainingManager

from bulletin_board import Submission, sign_entry
from gopa.contract.phases import Phase
from gopa.plugins.declearn import GopaReply, GopaSecaggSetupReply
from gopa.plugins.fixed_point import FixedPoint
from gopa.sessions.tunnel import TunnelHost
from gopa.sessions.tunnel.messages import REPLY
from gopa.sessions.tunnel.packing import unpack
from tests.plugins.declearn.worlds import Federation, difference
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

STEP = FixedPoint.finest(64, 1e5, 33).step
Change = Callable[[GopaReply, int], GopaReply | None]


def meddle(world: Federation, name: str, change: Change) -> None:
    """Have a client's replies in sessions changed on their way; None: it says no more."""
    count = 0
    gone = False

    async def before(raw: bytes) -> bytes:
        nonlocal count, gone
        action = ActionMessage.deserialize(raw)
        if gone:
            await asyncio.sleep(3600)
        if isinstance(action, Send):
            message = SerializedMessage.from_bin_message(action.content)
            if message.message_cls is GopaReply:
                count += 1
                changed = change(message.deserialize(), count)
                gone = changed is None
                if changed is None:
                    world.network.gone.add(name)
                    await asyncio.sleep(3600)
                else:
                    return bytes(Send(changed.serialize()).serialize())
        return raw

    world.endpoints[name].before = before


@pytest.mark.parametrize("after", [1, 3, 4, 6])
def test_a_client_that_vanishes_in_a_session_is_rolled_back(
    after: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = Federation(clients=5, rounds=2, evaluates=3)
    meddle(world, "c2", lambda reply, count: reply if count < after else None)
    ours = world.run()
    # Whoever vanishes once the sum is fixed is in it; the second round is without it anyhow.
    left = "the sum is without client c2" in caplog.text
    assert "client c2 is dropped" in caplog.text
    if left:
        assert difference(ours, without(world, "c2")) < 20 * STEP
    assert left or after == 6
    assert world.network.client_names == set()  # it stopped in order


def without(world: Federation, *names: str) -> Any:
    """The same federation in the clear, some of whose clients never were there."""
    plain = Federation(
        clients=world.clients, rounds=world.rounds, server=None, evaluates=world.evaluates
    )
    return plain.run(without=names)


def test_a_client_that_vanishes_while_it_trains_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = Federation(clients=4, rounds=2, evaluates=3)

    async def before(raw: bytes) -> bytes:
        action = ActionMessage.deserialize(raw)
        if isinstance(action, Send):
            message = SerializedMessage.from_bin_message(action.content)
            if message.message_cls is SecaggTrainReply:
                world.network.gone.add("c1")
                await asyncio.sleep(3600)
        return raw

    world.endpoints["c1"].before = before
    ours = world.run()
    assert "client c1 is dropped: said nothing for 3600 s" in caplog.text
    assert difference(ours, without(world, "c1")) < 20 * STEP


def test_a_connection_that_closes_in_a_session_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = Federation(clients=4, rounds=2, evaluates=3)

    def closing(reply: GopaReply, count: int) -> GopaReply | None:
        if count == 3:
            world.network.lose("c3")
            return None
        return reply

    meddle(world, "c3", closing)
    ours = world.run()
    assert "client c3 is dropped" in caplog.text
    assert difference(ours, without(world, "c3")) < 20 * STEP


def test_too_many_that_vanish_end_the_training(caplog: pytest.LogCaptureFixture) -> None:
    world = Federation(clients=4)
    for name in ("c1", "c2"):
        meddle(world, name, lambda reply, count: reply if count < 3 else None)
    with pytest.raises(RuntimeError, match="no result after 3 attempts"):
        world.run()
    assert "client c1 is dropped" in caplog.text


def lie(world: Federation, name: str, phase: Phase) -> Change:
    """Signs something else than the rules demand in this phase, with its own key."""
    key = SigningKey(SecretBytes(world.keys[name].private_bytes_raw()))

    def lying(reply: GopaReply, _: int) -> GopaReply:
        said = REPLY.decode(reply.reply)
        posts = []
        for raw in said.posts:
            entry = Submission.decode(raw).entry
            if entry.phase == phase:
                body = bytearray(entry.body)
                body[len(body) // 2] ^= 1
                entry = replace(entry, body=bytes(body))
            posts.append(sign_entry(entry, key))
        return GopaReply(REPLY.encode(replace(said, posts=tuple(posts))))

    return lying


def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets requests be read on their way; replies are then sent as they were asked for."""
    packed = TunnelHost.request

    def request(host: TunnelHost, party: bytes, *, again: bool = False) -> bytes | None:
        found = packed(host, party, again=again)
        return found and unpack(found, host._dictionaries)

    monkeypatch.setattr(TunnelHost, "request", request)


def test_a_liar_is_named_and_left_out(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked(monkeypatch)
    server = {"mode": "full", "bitsize": 16, "clipval": 64.0}
    settings: dict[str, Any] = {"policy": {"mode": "full"}, "features": 3, "evaluates": 2}
    honest = Federation(server=server, **settings)
    meddle(honest, "c1", lambda reply, _: reply)
    honest.run()
    # Four clients are few, and the plan says so.
    warned = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each for each in warned if each.name != "gopa.planning"] == []
    world = Federation(server=server, **settings)
    meddle(world, "c1", lie(world, "c1", Phase.PUBLISH))
    ours = world.run()
    assert "client c1 is dropped: has broken a rule" in caplog.text
    assert not any(f"client {name}" in caplog.text for name in ("c0", "c2", "c3"))
    plain = Federation(server=None, features=3, evaluates=2).run(without=("c1",))
    assert difference(ours, plain) < 4 * FixedPoint.finest(16, 64.0, 8).step


def test_what_cannot_be_read_drops_its_sender(caplog: pytest.LogCaptureFixture) -> None:
    world = Federation(clients=4, evaluates=2)
    meddle(world, "c2", lambda reply, count: GopaReply(b"nonsense") if count > 2 else reply)
    world.run()
    assert "the sum is without client c2" in caplog.text


@pytest.mark.parametrize("lie", ["class", "field", "place", "key"])
def test_a_message_of_another_form_drops_its_sender(
    lie: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = Federation(clients=4, evaluates=2)

    async def before(raw: bytes) -> bytes:
        action = ActionMessage.deserialize(raw)
        if not isinstance(action, Send):
            return raw
        message = SerializedMessage.from_bin_message(action.content)
        found = message.deserialize()
        if lie == "key" and message.message_cls is GopaSecaggSetupReply:
            found.key = b"no key"
        elif message.message_cls is SecaggTrainReply:
            if lie == "class":
                found.updates.agg_cls = MeanState
            elif lie == "field":
                found.updates.cleartext = {"more": 1}
            elif lie == "place":
                found.n_steps = "nowhere"
        return bytes(Send(found.serialize()).serialize())

    world.endpoints["c0"].before = before
    ours = world.run()
    said = "no key" if lie == "key" else "another way than the others|cannot be read"
    assert re.search(f"client c0 is dropped: .*({said})", caplog.text)
    assert difference(ours, Federation(server=None, evaluates=2).run(without=("c0",))) < 20 * STEP


def test_two_clients_with_one_key_are_named(caplog: pytest.LogCaptureFixture) -> None:
    world = Federation(clients=4, evaluates=2)
    world.keys["c2"] = world.keys["c1"]
    with pytest.raises(RuntimeError, match="SecAgg"):
        world.run()
    assert re.search("clients c[12] and c[12] have one key", caplog.text)


def test_an_endpoint_serves_a_second_federation() -> None:
    world = Federation(clients=3, rows=60, evaluates=2, server={"bitsize": 20, "clipval": 64.0})
    first = world.run()
    world.server = {"bitsize": 40, "clipval": 64.0}
    second = world.run()
    assert 0 < difference(first, second) < 64 * 2**-17


# What clients refuse


def refused(caplog: pytest.LogCaptureFixture, world: Federation) -> str:
    with pytest.raises(RuntimeError, match="no verified sum: no result"):
        world.run()
    return caplog.text


@pytest.mark.parametrize(
    ("server", "policy", "said"),
    [
        ({}, {"exact_sums": False, "epsilon": 8.0}, "exact_sums:"),
        ({}, {"mode": "full"}, "mode: this session has mode signed"),
        ({}, {"fewest": 4}, "fewest: the sum may be over 3 parties, you ask for 4"),
        ({"exact_sums": False, "epsilon": 4.0, "delta": 1e-6}, {"epsilon": 1.0}, "epsilon: this"),
        ({}, {"corrupt_share": 0.5}, "corrupt: this session withstands"),
    ],
)
def test_a_client_takes_no_part_in_less_than_it_asks_for(
    server: dict[str, Any], policy: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = refused(caplog, Federation(server=server, policy=policy))
    assert said in text
    assert all(f"client c{number} is dropped: refuses" in text for number in range(4))


def test_nobody_sits_with_strangers(caplog: pytest.LogCaptureFixture) -> None:
    world = Federation(clients=4, evaluates=2)
    world.trusted["c1"].remove("c3")
    ours = world.run()
    assert "client c1 is dropped: refuses: roster: a party that you do not know" in caplog.text
    assert difference(ours, Federation(server=None, evaluates=2).run(without=("c1",))) < 20 * STEP


def test_what_is_no_number_ends_the_training(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    train = TrainingManager.training_round

    def diverged(self: TrainingManager, message: Any) -> Any:
        reply = train(self, message)
        reply.updates.updates = reply.updates.updates * float("nan")
        return reply

    monkeypatch.setattr(TrainingManager, "training_round", diverged)
    with pytest.raises(RuntimeError, match="must be finite numbers"):
        Federation().run()
    assert "cannot be summed" in caplog.text


def test_clipping_is_told(caplog: pytest.LogCaptureFixture) -> None:
    Federation(server={"clipval": 0.01}, evaluates=2).run()
    assert "numbers were beyond 0.01 and are clipped: raise clipval" in caplog.text
