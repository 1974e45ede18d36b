"""The accountant has all members of Flower's protocol, and never says less than the truth."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from flwr.serverapp import (
    GaussianPrivacyEvent,
    NeighboringRelation,
    PrivacyAccountant,
    PrivacyConfig,
    SamplingMethod,
)
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from scipy.stats import norm

from gopa.plugins.flower import LossAccountant
from tests.plugins.flower.worlds import planned
from wire.errors import MalformedMessage, UsageError

CONFIG = PrivacyConfig(
    target_delta=1e-5,
    population_size=40,
    neighboring_relation=NeighboringRelation.REPLACE_ONE,
    sampling_method=SamplingMethod.WITHOUT_REPLACEMENT,
    max_epsilon=3.0,
)
FULL = PrivacyConfig(
    1e-5, 40, NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.NO_AMPLIFICATION
)


def event(multiplier: float = 2.0, sample: int = 40, population: int = 40) -> GaussianPrivacyEvent:
    return GaussianPrivacyEvent(multiplier, sample, population)


def exact_delta(epsilon: float, mu: float) -> float:
    """What Gaussian noise costs, in closed form."""
    return float(
        norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    )


def test_it_has_every_member_of_the_protocol() -> None:
    wanted = {name for name in vars(PrivacyAccountant) if not name.startswith("_")}
    assert wanted == {
        "config", "num_releases", "compose", "get_epsilon", "get_delta", "get_privacy_spent",
        "would_exceed", "state_dict", "load_state_dict",
    }  # fmt: skip
    accountant = LossAccountant(CONFIG)
    assert all(hasattr(accountant, name) for name in wanted)
    assert accountant.config is CONFIG


def test_gaussian_releases_cost_what_they_cost() -> None:
    accountant = LossAccountant(CONFIG)
    assert accountant.num_releases == 0
    assert accountant.get_epsilon(1e-5) == 0
    accountant.compose(event(), 3)
    accountant.compose(event(4.0))
    assert accountant.num_releases == 4
    mu = math.sqrt(3 / 2**2 + 1 / 4**2)
    for epsilon in (0.5, 1.0, 2.0):
        truth = exact_delta(epsilon, mu)
        assert truth <= accountant.get_delta(epsilon) <= truth * 1.01
    spent = accountant.get_privacy_spent()
    assert spent.accounting_method == "gopa"
    assert spent.num_releases == 4
    assert exact_delta(spent.epsilon * 1.005, mu) <= 1e-5
    assert exact_delta(spent.epsilon * 0.99, mu) > 1e-5
    assert accountant.get_privacy_spent(1e-3).epsilon < spent.epsilon


def test_it_says_what_would_exceed_and_adds_nothing() -> None:
    accountant = LossAccountant(CONFIG)
    assert not accountant.would_exceed(event(), count=1)
    assert accountant.would_exceed(event(), count=20)
    assert accountant.would_exceed(event(), max_epsilon=0.1)
    assert accountant.num_releases == 0
    with pytest.raises(UsageError):
        LossAccountant(FULL).would_exceed(event())


def test_sessions_cost_what_their_plans_promise() -> None:
    accountant = LossAccountant(CONFIG)
    plan = planned(40, 3, epsilon=1, delta=1e-6, steps=None, rounds=4)
    accountant.compose_session(plan)
    assert accountant.num_releases == 4
    assert accountant.get_epsilon(1.1e-6) == pytest.approx(1, rel=1e-3)
    assert accountant.get_epsilon(1e-7) == math.inf
    accountant.compose_session(plan)
    assert 1.9 < accountant.get_epsilon(2.1e-6) <= 2.001
    accountant.compose(event())
    assert accountant.get_epsilon(1e-5) > 2
    with pytest.raises(UsageError):
        accountant.compose_session(planned(3, 3))
    with pytest.raises(UsageError):
        LossAccountant(FULL).compose_session(plan)


def test_a_state_comes_back_and_another_one_does_not() -> None:
    accountant = LossAccountant(CONFIG)
    accountant.compose(event(), 2)
    accountant.compose_session(planned(40, 3, epsilon=1, delta=1e-6, steps=None))
    kept = json.loads(json.dumps(accountant.state_dict()))
    other = LossAccountant(CONFIG)
    other.load_state_dict(kept)
    assert other.state_dict() == accountant.state_dict()
    assert other.get_epsilon(1e-5) == accountant.get_epsilon(1e-5)
    changes: list[dict[str, Any]] = [
        {"backend": "rdp"},
        {"schema_version": 2},
        {"events": [[2.0, 40, 41, 1]]},
        {"events": [[2.0, 40, 40, 0]]},
        {"events": None},
        {"sessions": [[1.0]]},
    ]
    for change in changes:
        with pytest.raises(MalformedMessage):
            other.load_state_dict({**kept, **change})
    with pytest.raises(MalformedMessage):
        LossAccountant(FULL).load_state_dict(kept)
    assert other.state_dict() == accountant.state_dict()


def test_nothing_is_saved_by_sampling() -> None:
    poisson = PrivacyConfig(1e-5, 40, NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.POISSON)
    with pytest.raises(UsageError):
        LossAccountant(poisson)
    with pytest.raises(UsageError) as sample:
        LossAccountant(CONFIG).compose(event(sample=10))
    assert sample.value.field == "sample_size"
    with pytest.raises(UsageError):
        LossAccountant(CONFIG).compose(event(sample=30, population=30))
    one, other = LossAccountant(FULL), LossAccountant(FULL)
    one.compose(event(sample=10))
    other.compose(event())
    assert one.get_epsilon(1e-5) == other.get_epsilon(1e-5)


def test_flowers_own_wrappers_take_it() -> None:
    inner = FedAvg(fraction_evaluate=0, min_train_nodes=40, min_available_nodes=40)
    accountant = LossAccountant(FULL)
    wrapped = DifferentialPrivacyServerSideFixedClipping(
        inner, noise_multiplier=2.0, clipping_norm=1.0, num_sampled_clients=40,
        accountant=accountant,
    )  # fmt: skip
    assert wrapped.privacy_spent() is not None
