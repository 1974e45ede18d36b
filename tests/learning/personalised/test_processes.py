"""Users in processes of their own learn what the simulation learns, whoever carries models."""

from __future__ import annotations

import os
from hashlib import sha256
from multiprocessing import Pipe
from threading import Thread
from typing import Any

import numpy as np
import pytest

from examples.personalised_processes import PARTS, TRICKS, live, problem, run, setting
from gopa import UsageError
from gopa.learning.personalised import Member, fit_descent
from gopa.sessions.tunnel import Correspondent
from wire.ed25519 import SigningKey


@pytest.mark.parametrize("users", [6, pytest.param(20, marks=pytest.mark.soak)])
def test_processes_learn_what_the_simulation_learns(users: int) -> None:
    models, relay = run(users)
    people, graph, actors = setting(users)
    how: dict[str, Any] = {"graph": graph, "seed": 1, "steps": len(actors)}
    simulated = fit_descent(problem(people, None), privacy=None, **how)
    assert np.array_equal(models, simulated.model)
    assert relay.carried == simulated.messages
    assert set(relay.refusals) == set(TRICKS)


def test_a_member_hears_its_neighbours_alone() -> None:
    people, graph, _ = setting(6)
    user = next(each for each in range(6) if 0 < len(graph.neighbours(each)) < 5)
    member = Member(problem(people, user), graph, user)
    neighbour = member.neighbours[0]
    before = member.step()
    member.hear(neighbour, np.ones(len(before)))
    assert (member.step() != before).all()
    stranger = next(each for each in range(6) if each not in {*member.neighbours, user})
    for other, model in (
        (stranger, before), (user, before), (neighbour, before[1:]), (neighbour, before * np.nan),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            member.hear(other, model)
    with pytest.raises(UsageError):
        Member(problem(people, user), graph, 6)


def test_a_neighbour_that_signs_what_is_no_model_ends_no_process() -> None:
    """A relay with a user on its side has letters that open, whatever they say."""
    _, graph, _ = setting(6)
    user = next(each for each in range(6) if len(graph.neighbours(each)))
    ours, theirs = Pipe()
    Thread(target=live, args=(theirs, user, 6), daemon=True).start()
    keys = [SigningKey.generate(os.urandom) for _ in range(6)]
    roster = [key.public.data for key in keys]
    roster[user] = ours.recv_bytes()
    ours.send_bytes(PARTS.encode(tuple(roster)))
    card = ours.recv_bytes()
    run_id = sha256(b"".join([b"personal models", *roster])).digest()
    others = {
        each: Correspondent(run_id, keys[each], rng=os.urandom) for each in graph.neighbours(user)
    }

    def ask(word: bytes, *parts: bytes) -> list[bytes]:
        ours.send_bytes(PARTS.encode((word, *parts)))
        assert ours.poll(60)
        return list(PARTS.decode(ours.recv_bytes()))

    cards = [others[each].card if each in others else b"" for each in range(6)]
    assert ask(b"cards", *cards) == [b""]
    for liar in others.values():
        liar.meet(roster[user], card)
    (model,) = ask(b"model")[1:]
    liar = next(iter(others.values()))
    assert ask(b"hear", liar.write(roster[user], model)) == [b""]
    for wrong in (b"abc", b"", model + model, np.full(len(model) // 8, np.nan).tobytes()):
        assert b"model" in ask(b"hear", liar.write(roster[user], wrong))[0]
        assert ask(b"model") == [b"", model]
    ours.send_bytes(b"")
