"""What a client answers to a server that asks for more than one honest session."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from declearn.messaging import Error
from declearn.metrics._mean import MeanState
from declearn.secagg.utils import IdentityKeys

import gopa
from gopa import RoundAborted, UsageError
from gopa.plugins.declearn import (
    GopaAggregate,
    GopaEncrypter,
    GopaQuery,
    GopaReply,
    GopaSecaggConfigClient,
    GopaSecaggConfigServer,
)
from gopa.plugins.declearn.client import ClientLine
from gopa.plugins.declearn.messages import outline
from gopa.plugins.declearn.server import _GARBLED
from gopa.plugins.session import HostedSession

CLIENTS = 3


class Clients:
    """Three clients with numbers of their own, and no network."""

    def __init__(self, **policy: Any) -> None:
        keys = [Ed25519PrivateKey.generate() for _ in range(CLIENTS)]
        self.keys = [key.public_key().public_bytes_raw() for key in keys]
        trusted = [key.public_key() for key in keys]
        self.lines: dict[bytes, ClientLine] = {}
        usual: dict[str, Any] = {"mode": "signed", "exact_sums": True}
        for key in keys:
            config = GopaSecaggConfigClient(IdentityKeys(key, trusted), **(usual | policy))
            netwk: Any = SimpleNamespace(send_message=None, recv_message=None)
            line = ClientLine(netwk, config)
            line.encrypter = GopaEncrypter(64, 100.0)
            self.lines[key.public_key().public_bytes_raw()] = line

    def compute(self, *numbers: float) -> None:
        for place, line in enumerate(self.lines.values()):
            assert line.encrypter is not None
            for number in numbers:
                line.encrypter.encrypt_float(number + place)
            line.encrypter.seal()

    def session(self, count: int, **settings: Any) -> HostedSession:
        usual: dict[str, Any] = {"mode": "signed", "exact_sums": True, "dropout": 0.0}
        server = GopaSecaggConfigServer(**({"clipval": 100.0} | usual | settings))
        return server.session(self.keys, count)[0]

    def hold(self, session: HostedSession) -> tuple[int, list[str]]:
        """How many are in the sum of a session, and what clients refused."""
        manifests = dict.fromkeys(self.keys, session.manifest.to_bytes())
        refusals: list[str] = []
        requests = session.open(frozenset(self.keys))
        while requests:
            replies: dict[bytes, bytes] = {}
            for key, request in requests.items():
                reply = self.lines[key].answer(GopaQuery(manifests.pop(key, b""), request))
                if reply.refusal:
                    refusals.append(reply.refusal)
                else:
                    replies[key] = reply.reply
            requests = session.advance(replies)
        try:
            return len(session.outcome(None).included), refusals
        except RoundAborted:
            return 0, refusals


def test_numbers_are_in_one_session_only() -> None:
    clients = Clients()
    clients.compute(1.5, -2.0)
    first, second = clients.session(2), clients.session(2)
    found, refusals = clients.hold(first)
    assert found == CLIENTS
    assert not refusals
    # Another session over the same numbers would show a client if it were over one client less.
    again, _ = clients.hold(second)
    assert not again
    clients.compute(1.5, -2.0)
    assert clients.hold(clients.session(2))[0] == CLIENTS


def test_a_session_for_other_numbers_gets_none() -> None:
    clients = Clients()
    clients.compute(1.5, -2.0)
    found, refusals = clients.hold(clients.session(3))
    assert not found
    assert set(refusals) == {"InvalidProof"}


def test_clients_of_one_session_are_told_one_clipval() -> None:
    """Else a server has the numbers of all others rounded to nothing, and keeps those of one."""
    clients = Clients()
    clients.compute(1.5)
    for told in list(clients.lines.values())[1:]:
        told.encrypter = GopaEncrypter(64, 1e30)
    clients.compute(1.5)
    found, refusals = clients.hold(clients.session(1))
    assert not found
    assert len(refusals) == CLIENTS - 1
    assert all(each.startswith("refuses: layout") for each in refusals)


def test_what_was_raised_is_told_by_its_name() -> None:
    """A server that sends a model of another shape would read the number of rows off the error."""
    (line, *_) = Clients().lines.values()
    said: list[Any] = []

    async def kept(message: Any) -> None:
        said.append(message.message)

    line._send = kept
    for error in (repr(ValueError("shapes (57,6) (31,)")), "57 rows are too few", "x" * 999):
        asyncio.run(line.send(Error(error)))
    assert said == [
        f"{name}: see the log of this client" for name in ("ValueError", "error", "error")
    ]


def test_messages_that_are_nonsense_have_no_outline() -> None:
    """A server that such a message stops would be stopped by any client."""
    specs: Any = [("total", 1, True)]
    sizes: Any = [("total", "1", True)]
    clear: Any = [1]
    outline(GopaAggregate([0], specs, {"count": 1}, MeanState))
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    wrong: list[Any] = [
        GopaAggregate([0], specs, clear, MeanState),
        GopaAggregate([], specs, None, MeanState),
        GopaAggregate([0], sizes, None, MeanState),
        deep,
    ]
    for each in wrong:
        with pytest.raises(_GARBLED):
            outline(each)


def test_a_budget_is_spent_over_all_sessions() -> None:
    noisy = {"exact_sums": False, "epsilon": 4.0, "delta": 1e-7}
    clients = Clients(exact_sums=False, epsilon=9.0)
    for _ in range(2):
        clients.compute(1.5)
        found, refusals = clients.hold(clients.session(1, **noisy))
        assert found == CLIENTS
        assert not refusals
    clients.compute(1.5)
    found, refusals = clients.hold(clients.session(1, **noisy))
    assert not found
    assert all("uses epsilon 4.0, you accept at most 1.0" in each for each in refusals)


def test_requests_that_do_not_hold_change_nothing() -> None:
    clients = Clients()
    clients.compute(1.0)
    key, line = next(iter(clients.lines.items()))
    hosted = clients.session(1)
    requests = hosted.open(frozenset(clients.keys))
    assert line.answer(GopaQuery(b"", requests[key])).refusal == "MalformedMessage"
    assert line.answer(GopaQuery(b"nonsense", requests[key])).refusal == "MalformedMessage"
    body = hosted.manifest.to_bytes()
    assert line.answer(GopaQuery(body, requests[key][:-1])).refusal == "MalformedMessage"
    reply = line.answer(GopaQuery(b"", requests[key]))
    assert isinstance(reply, GopaReply)
    assert not reply.refusal


def test_a_count_beyond_the_range_is_clipped_and_nobody_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clients = Clients()
    for place, line in enumerate(clients.lines.values()):
        assert line.encrypter is not None
        line.encrypter.encrypt_uint(10 + 10 * place)
        line.encrypter.seal()
    found, refusals = clients.hold(clients.session(1, bitsize=4))  # a server that looks for it
    assert found == CLIENTS
    assert not refusals
    assert caplog.text.count("a count is beyond 14 and is clipped") == 2


def test_a_session_does_not_begin_twice() -> None:
    clients = Clients()
    clients.compute(1.0)
    key, line = next(iter(clients.lines.items()))
    session = clients.session(1)
    query = GopaQuery(session.manifest.to_bytes(), session.open(frozenset(clients.keys))[key])
    assert not line.answer(query).refusal
    assert line.answer(query).refusal == "refuses: session: this session is over here"


def test_what_an_encrypter_returns_does_not_depend_on_numbers() -> None:
    one, other = GopaEncrypter(64, 1.0), GopaEncrypter(64, 1.0)
    for each, scale in ((one, 0.0), (other, 0.7)):
        array = np.full((2, 3), scale)
        said = (
            each.encrypt_uint(int(10 * scale)),
            each.encrypt_float(scale),
            each.encrypt_numpy_array(array),
            each.encrypt_numpy_array(array.astype(np.uint8)),
            each.encrypt_uint_list([3, int(scale)]),
        )
        assert said == (
            0,
            1,
            ([2] * 6, ([2, 3], "float64")),
            ([8] * 6, ([2, 3], "uint8")),
            [14, 15],
        )


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"mode": "off"}, "mode"),
        ({"exact_sums": False}, "epsilon"),
        ({"exact_sums": True, "epsilon": 1.0}, "epsilon"),
        ({"clipval": 0.0}, "clip"),
        ({"clipval": float("nan")}, "clip"),
        ({"bitsize": 1}, "largest"),
        ({"answer_seconds": 0.0}, "answer_seconds"),
    ],
)
def test_a_server_says_what_is_wrong(settings: dict[str, Any], field: str) -> None:
    usual: dict[str, Any] = {"bitsize": 64, "clipval": 1.0, "exact_sums": True}
    GopaSecaggConfigServer(**usual)
    with pytest.raises(UsageError) as caught:
        GopaSecaggConfigServer(**(usual | settings))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"mode": "Signed"}, "mode"), ({"exact_sums": False}, "epsilon"), ({"fewest": 1}, "fewest")],
)
def test_a_client_says_what_is_wrong(settings: dict[str, Any], field: str) -> None:
    key = Ed25519PrivateKey.generate()
    usual: dict[str, Any] = {"id_keys": IdentityKeys(key, [key.public_key()]), "exact_sums": True}
    GopaSecaggConfigClient(**usual)
    with pytest.raises(UsageError) as caught:
        GopaSecaggConfigClient(**(usual | settings))
    assert caught.value.field == field


def test_two_clients_are_too_few() -> None:
    server = GopaSecaggConfigServer(bitsize=64, clipval=1.0, exact_sums=True, mode="signed")
    keys = [Ed25519PrivateKey.generate().public_key().public_bytes_raw() for _ in range(3)]
    server.session(keys, 1)
    with pytest.raises(UsageError):
        server.session(keys[:2], 1)


@pytest.mark.slow
def test_sums_that_are_alike_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan with noise takes up to a second, and every sum of a training is a session."""
    asked: list[dict[str, Any]] = []
    plan = gopa.plan

    def counted(**given: Any) -> gopa.Plan:
        asked.append(given)
        return plan(**given)

    monkeypatch.setattr(gopa, "plan", counted)
    clients, noisy = Clients(), {"exact_sums": False, "epsilon": 7.25, "delta": 1e-5}
    first, again = (clients.session(2, **noisy) for _ in range(2))
    assert len(asked) == 2  # a grid for the noise, and the plan on it
    assert first.manifest.terms == again.manifest.terms
    assert first.manifest.to_bytes() != again.manifest.to_bytes()
    other = clients.session(2, **(noisy | {"epsilon": 8.25}))
    assert len(asked) == 4
    assert other.manifest.terms != first.manifest.terms
