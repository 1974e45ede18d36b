"""Strategies that need single updates are refused by their names, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.serverapp import strategy as all_strategies
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideAdaptiveClipping,
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdagrad,
    FedAvg,
    FedAvgM,
    FedMedian,
    FedXgbCyclic,
    Krum,
    QFedAvg,
    Strategy,
)

from gopa.plugins.flower import UnfitStrategy, VerifiableGrid
from gopa.plugins.flower.strategies import UNFIT, require_fit
from tests.plugins.flower.worlds import FakeGrid, app_of, planned, record

COMMON: dict[str, Any] = {"fraction_evaluate": 0, "min_train_nodes": 3, "min_available_nodes": 3}
AVERAGING = {"FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedProx", "FedYogi"}
WRAPPERS = [
    DifferentialPrivacyClientSideAdaptiveClipping,
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
]


def same(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    return {"a": model["a"] + number / 10}, {"num-examples": 1}


def test_every_strategy_of_flower_is_either_fit_or_refused() -> None:
    known = set(all_strategies.__all__) - {"Strategy", "Result"}
    assert known == set(UNFIT) | AVERAGING


def unfit() -> list[Strategy]:
    made = [
        getattr(all_strategies, name)
        for name in sorted(UNFIT)
        if not name.startswith("Differential")
    ]
    found: list[Strategy] = []
    for each in made:
        given = {} if each is FedXgbCyclic else dict(COMMON)
        if each is QFedAvg:
            given["client_learning_rate"] = 0.1
        found.append(each(**given))
    for wrapper in WRAPPERS:
        fixed = {"clipping_norm": 1.0} if "Fixed" in wrapper.__name__ else {}
        found.append(wrapper(FedAvg(**COMMON), 0.1, num_sampled_clients=3, **fixed))
    return found


@pytest.mark.parametrize("strategy", unfit(), ids=lambda each: type(each).__name__)
def test_a_strategy_is_refused_by_its_name(strategy: Strategy, tmp_path: Path) -> None:
    grid = FakeGrid(app_of(same, tmp_path), 3)
    verified = VerifiableGrid(grid, planned(3, 6), mode="signed")
    with pytest.raises(UnfitStrategy) as error:
        strategy.start(verified, record({"0": np.zeros(6)}), num_rounds=1)
    assert type(strategy).__name__ in str(error.value)
    assert not grid.seen


def test_what_is_derived_from_one_is_refused_too() -> None:
    class Mine(Krum):  # type: ignore[misc, unused-ignore]
        """A strategy of somebody."""

    class FedMedian2(FedAvg):  # type: ignore[misc, unused-ignore]
        """One that only sounds like it."""

    with pytest.raises(UnfitStrategy):
        require_fit(Mine(**COMMON))
    with pytest.raises(UnfitStrategy):
        require_fit(FedMedian(**COMMON))
    require_fit(FedMedian2(**COMMON))
    require_fit(None)


@pytest.mark.parametrize("kind", [FedAvgM, FedAdagrad])
def test_others_run(kind: Any, tmp_path: Path) -> None:
    grid = FakeGrid(app_of(same, tmp_path), 3)
    verified = VerifiableGrid(grid, planned(3, 6), mode="signed")
    result = kind(**COMMON).start(verified, record({"a": np.zeros(6)}), num_rounds=1)
    assert result.arrays.to_numpy_ndarrays()[0].shape == (6,)
