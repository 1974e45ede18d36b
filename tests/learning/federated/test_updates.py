"""Federated averaging of any updates: what leaves a user, the server's rule, the account."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.learning import BudgetExceeded, Charge, Outcome, Privacy, PrivacyLedger
from gopa.learning.clipping import clip, length
from gopa.learning.federated import AdaptiveClip, Setting, SumSession
from gopa.learning.federated.updates import ArrayLayout, ServerAdam, ServerSGD, UpdateRun
from gopa.learning.torch import fedavg
from gopa.support.arrays import Floats
from tests.learning.federated.problems import NEAR
from wire.errors import BackendError

LAYOUT = ArrayLayout({"weight": (2, 3), "bias": (2,)})
RNG = np.random.default_rng(5)
TARGETS = RNG.normal(0, 1, (6, LAYOUT.width))
"""Where each of six users would like to have the weights."""

BOUND = 1.5


def towards(weights: Floats, number: int) -> Floats:
    del number
    return np.asarray(0.5 * (TARGETS - weights))


def run(
    updates: Any = towards,
    *,
    privacy: Privacy | None = None,
    ledger: PrivacyLedger | None = None,
    rounds: int = 3,
    callback: Any = None,
    start: Floats | None = None,
    **asked: Any,
) -> Outcome:
    setting = Setting(privacy, 1, mode="off", session=NEAR, ledger=ledger)
    how: dict[str, Any] = {"clip": BOUND, "server": ServerSGD()} | asked
    begun = np.zeros(LAYOUT.width) if start is None else start
    made = UpdateRun(setting, LAYOUT, begun, updates, users=6, rounds=rounds, **how)
    users: Any = [None] * 6
    return made.carried_out(users, rounds, False, callback)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Floats]:
    """All vectors that leave users, one array for each round."""
    found: list[Floats] = []
    honest = SumSession.sum

    def spied(session: SumSession, vectors: Any) -> Any:
        found.append(np.array(vectors))
        return honest(session, vectors)

    monkeypatch.setattr(SumSession, "sum", spied)
    return found


def test_named_arrays_are_one_vector_and_come_back() -> None:
    arrays = {"bias": np.array([7.0, 8.0]), "weight": np.arange(6.0).reshape(2, 3)}
    vector = LAYOUT.joined(arrays)
    assert vector.tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    back = LAYOUT.split(vector)
    assert list(back) == ["weight", "bias"]
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)
    assert ArrayLayout({"scale": ()}).split(ArrayLayout({"scale": ()}).joined({"scale": 3.0})) == {
        "scale": 3
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("bias"),
        lambda arrays: arrays.update(more=np.zeros(1)),
        lambda arrays: arrays.update(bias=np.zeros(3)),
        lambda arrays: arrays.update(weight=np.zeros((3, 2))),
    ],
    ids=["one less", "one more", "longer", "turned"],
)
def test_other_names_and_shapes_have_no_place(change: Any) -> None:
    arrays = {"weight": np.zeros((2, 3)), "bias": np.zeros(2)}
    assert LAYOUT.joined(arrays).shape == (8,)
    change(arrays)
    with pytest.raises(UsageError) as caught:
        LAYOUT.joined(arrays)
    assert caught.value.field == "module"


def test_the_model_moves_by_the_mean_of_shortened_updates() -> None:
    outcome, weights = run(), np.zeros(LAYOUT.width)
    for _ in range(3):
        weights = weights + clip(towards(weights, 0), 2, BOUND).mean(axis=0)
    assert np.allclose(LAYOUT.joined(outcome.model), weights, atol=1e-7)
    shortened = outcome.history["shortened"]
    assert shortened[0] == (length(towards(np.zeros(8), 0), 2) > BOUND).sum() > 0
    assert f"{int(shortened.sum())} updates were shortened" in outcome.warnings[0]
    assert outcome.digest() == run().digest()


def test_what_leaves_a_user_is_the_shortened_vector(sent: list[Floats]) -> None:
    huge = TARGETS * np.array([1e-3, 1, 1e3, 1e100, 1e300, 0])[:, None]
    run(lambda *_: huge, privacy=Privacy(8.0, 1e-5), rounds=1)
    (vectors,) = sent
    assert np.allclose(vectors * BOUND, clip(huge, 2, BOUND), rtol=1e-12)
    assert (length(vectors, 2) <= 1).all()


def test_a_run_from_other_numbers_has_other_noise(sent: list[Floats]) -> None:
    """Whoever trains on with one seed would publish the exact difference of two mean updates."""
    published: list[Floats] = []

    def noise(start: Floats) -> Floats:
        outcome = run(privacy=Privacy(8.0, 1e-5), rounds=1, start=start)
        published.append(LAYOUT.joined(outcome.model))
        return np.asarray((published[-1] - start) * 6 / BOUND - sent[-1].sum(axis=0))

    first, again = noise(np.zeros(LAYOUT.width)), noise(np.zeros(LAYOUT.width))
    assert np.allclose(first, again)
    second = noise(published[0])
    assert (np.abs(second - first) > 0.05 * np.abs(first).max()).any()
    assert length(second - first, 2) > 0.5 * length(first, 2)


def test_users_who_change_nothing_are_no_silent_run() -> None:
    """A procedure that returns a new model in place of training the one it gets."""
    assert not any("no user changed" in each for each in run(rounds=1).warnings)
    idle = run(lambda *_: np.zeros((6, LAYOUT.width)), rounds=1)
    assert any("no user changed" in each for each in idle.warnings)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_an_update_that_is_not_finite_counts_as_none(wrong: float, sent: list[Floats]) -> None:
    def broken(weights: Floats, number: int) -> Floats:
        found = towards(weights, number)
        found[2, 5] = wrong
        return found

    outcome = run(broken, rounds=1)
    (vectors,) = sent
    assert not vectors[2].any()
    expected = clip(towards(np.zeros(8), 1), 2, BOUND)
    others = [0, 1, 3, 4, 5]
    assert np.allclose(vectors[others] * BOUND, expected[others])
    assert outcome.history["broken"].tolist() == [1]
    assert any("1 updates were not finite" in each for each in outcome.warnings)
    assert np.isfinite(LAYOUT.joined(outcome.model)).all()
    assert run(rounds=1).history["broken"].tolist() == [0]


def test_the_account_refuses_before_anybody_trains() -> None:
    asked = Privacy(2.0, 1e-5)
    calls: list[int] = []

    def counted(weights: Floats, number: int) -> Floats:
        calls.append(number)
        return towards(weights, number)

    account = PrivacyLedger(Privacy(3.0, 2e-5))
    outcome = run(counted, privacy=asked, ledger=account)
    assert calls == [1, 2, 3]
    assert outcome.spent.within(asked)
    with pytest.raises(BudgetExceeded):
        run(counted, privacy=asked, ledger=account)
    assert calls == [1, 2, 3]
    with pytest.raises(BudgetExceeded):
        run(counted, ledger=account)  # without noise no budget covers it
    assert calls == [1, 2, 3]


def test_the_curve_says_what_each_round_has_cost() -> None:
    outcome = run(privacy=Privacy(4.0, 1e-5))
    assert outcome.spent.curve is not None
    spent = outcome.spent.curve["epsilon"]
    assert spent[0] == 0
    assert (np.diff(spent) > 0).all()
    assert spent[-1] == outcome.spent.epsilon <= 4.0
    assert (outcome.history["noise"] > 0.1 * BOUND / 6).all()


def test_whoever_watches_may_stop_it() -> None:
    def twice(number: int, model: Any) -> None:
        assert set(model) == set(LAYOUT.shapes)
        if number == 2:
            raise StopIteration

    outcome = run(privacy=Privacy(4.0, 1e-5), callback=twice)
    assert len(outcome.history) == 2
    assert outcome.spent.epsilon == pytest.approx(run(privacy=Privacy(4.0, 1e-5)).spent.epsilon)


def test_sgd_remembers_by_its_momentum() -> None:
    step, velocity = ServerSGD(0.5, 0.9).begun(8), np.zeros(8)
    for mean in TARGETS:
        velocity = 0.9 * velocity + mean
        assert np.allclose(step(mean), 0.5 * velocity)
    assert np.array_equal(ServerSGD().begun(8)(TARGETS[0]), TARGETS[0])


def test_adam_is_that_of_the_paper() -> None:
    """Reddi et al. (2021), algorithm 2: v begins with the square of tau."""
    step = ServerAdam(0.1, 0.9, 0.99, 0.01).begun(8)
    first, second = np.zeros(8), np.full(8, 1e-4)
    for mean in TARGETS:
        first = 0.9 * first + 0.1 * mean
        second = 0.99 * second + 0.01 * mean**2
        assert np.allclose(step(mean), 0.1 * first / (np.sqrt(second) + 0.01))
    again = ServerAdam(0.1, 0.9, 0.99, 0.01).begun(8)
    assert not np.allclose(again(TARGETS[0]), step(TARGETS[0]))  # each run begins anew


def test_a_bound_may_follow_the_updates() -> None:
    outcome = run(clip=AdaptiveClip(0.01, rate=1.0), rounds=4)
    bounds = outcome.history["bound"]
    assert bounds[0] == 0.01
    assert np.allclose(bounds[1:] / bounds[:-1], math.exp(0.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"privacy": Privacy(4.0, 1e-5, unit="record")}, "privacy"),
        ({"server": "adam"}, "server"),
        ({"clip": None}, "clip"),
        ({"clip": 0.0}, "clip"),
        ({"clip": math.nan}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"rounds": 0}, "rounds"),
    ],
    ids=repr,
)
def test_what_is_wrong_is_refused(asked: dict[str, Any], field: str) -> None:
    assert len(run(rounds=1).history) == 1
    with pytest.raises(UsageError) as caught:
        run(**asked)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: ServerSGD(0.0), "rate"),
        (lambda: ServerSGD(1.0, 1.0), "momentum"),
        (lambda: ServerAdam(math.inf), "rate"),
        (lambda: ServerAdam(beta1=-0.1), "beta1"),
        (lambda: ServerAdam(beta2=1.0), "beta2"),
        (lambda: ServerAdam(tau=0.0), "tau"),
    ],
)
def test_rules_of_the_server_have_rates(make: Any, field: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.field == field


def test_a_ledger_of_other_things_is_charged_too() -> None:
    account = PrivacyLedger(Privacy(10.0, 1e-4))
    account.charge(Charge.guarantee(1.0, 1e-6), note="before")
    run(privacy=Privacy(2.0, 1e-5), ledger=account)
    assert len(account.entries) == 2
    assert account.entries[1].charge.law == "guarantee"


def test_without_pytorch_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    module: Any = object()
    with pytest.raises(BackendError) as caught:
        fedavg(module, [1, 2, 3], print, privacy=None, seed=1, clip=1.0)
    assert "pip install '.[torch]'" in str(caught.value)
