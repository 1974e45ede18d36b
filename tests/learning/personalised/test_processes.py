"""Users in processes of their own learn what the simulation learns, whoever carries models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.personalised_processes import TRICKS, problem, run, setting
from gopa import UsageError
from gopa.learning.personalised import Member, fit_descent


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
