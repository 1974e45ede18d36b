"""Whoever watches a run may stop it: what is there stays, and everything planned is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import ring
from gopa.learning import BudgetExceeded, Outcome, Privacy, PrivacyLedger, moons, ratings
from gopa.learning.federated import FederatedLogisticRegression, fedavg
from gopa.learning.network_dp import fit_gossip, fit_sum
from gopa.learning.run import Run
from tests.learning.federated.problems import OFF, two_sides


def stop_after(steps: int) -> Callable[[str, int, int], None]:
    def watch(_: str, done: int, __: int) -> None:
        if done == steps:
            raise StopIteration

    return watch


def trained(rounds: int, **how: Any) -> Outcome:
    return fedavg(moons([3, 3], 3, seed=1), privacy=None, seed=1, rounds=rounds, **OFF, **how)


def test_a_stopped_run_has_the_model_of_its_last_round() -> None:
    whole, two = trained(4), trained(2)
    stopped = trained(4, progress=stop_after(2))
    assert len(whole.history) == 4
    assert len(stopped.history) == 2
    assert np.array_equal(stopped.model["coef"], two.model["coef"])
    assert any("stopped" in each for each in stopped.warnings)
    assert not any("stopped" in each for each in whole.warnings)


def test_a_callback_hears_every_model() -> None:
    heard: list[Any] = []

    def watch(done: int, model: dict[str, Any]) -> None:
        heard.append(model["coef"])
        if done == 3:
            raise StopIteration

    found = trained(5, callback=watch)
    assert len(heard) == len(found.history) == 3
    assert np.array_equal(heard[-1], found.model["coef"])


def test_to_stop_gives_nothing_back_and_to_go_on_costs_nothing() -> None:
    problem = two_sides()
    groups = np.empty(len(problem.table), dtype=int)
    for user, rows in enumerate(problem.rows):
        groups[rows] = user
    x, y = problem.table.features, problem.table.labels
    how: dict[str, Any] = {"epsilon": 8.0, "rounds": 3, "most_rows": 8, "random_state": 1, **OFF}
    account = PrivacyLedger(Privacy(9.0, 1e-4))

    def watch(done: int, _: dict[str, Any]) -> None:
        if done == 1:
            raise StopIteration

    model = FederatedLogisticRegression(ledger=account, callback=watch, **how)
    model.fit(x, y, groups=groups)
    assert model.n_iter_ == 1
    assert model.outcome_.spent.epsilon > 7
    assert len(account.entries) == 1
    model.partial_fit(x, y, groups=groups)
    model.partial_fit(x, y, groups=groups)
    assert model.n_iter_ == 3
    assert len(account.entries) == 1
    with pytest.raises(BudgetExceeded):
        model.partial_fit(x, y, groups=groups)
    straight = FederatedLogisticRegression(**how).fit(x, y, groups=groups)
    assert np.allclose(model.coef_, straight.coef_)


def test_gossip_may_stop_and_half_a_token_may_not() -> None:
    users, graph = ratings(12, seed=1), ring(12)
    near = Privacy(1.0, 1e-5, view="neighbour")
    found = fit_gossip(users, privacy=None, graph=graph, seed=1, progress=stop_after(3), high=5)
    assert found.messages == 3 * 24
    whole: dict[str, Any] = {"privacy": near, "graph": graph, "seed": 1, "high": 5, "rounds": 3}
    assert fit_sum(users, progress=False, **whole).spent.within(near)
    # Its last noise is added in its last step: what it holds before is bare.
    with pytest.raises(UsageError) as caught:
        fit_sum(users, progress=stop_after(2), **whole)
    assert caught.value.field == "progress"


def test_steps_end_where_somebody_stops_them() -> None:
    with Run(seed=1, progress=stop_after(2)) as run:
        assert list(run.steps(5)) == [0, 1]
    with Run(seed=1, progress=False) as run:
        assert list(run.steps(5)) == [0, 1, 2, 3, 4]
