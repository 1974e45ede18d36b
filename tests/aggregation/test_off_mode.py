"""Mode off computes the sum of inputs and noise, masks and all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import gopa.aggregation.off_mode as module
from commitments import ristretto255
from gopa.aggregation.dropouts import leaving
from gopa.aggregation.engine import Excluded
from gopa.aggregation.errors import RoundAborted
from gopa.aggregation.off_lists import Conditions
from gopa.aggregation.off_mode import OffMode
from gopa.contract.phases import Phase
from gopa.contract.terms import MOST_PARTIES, MOST_STEPS
from gopa.planning import Terms
from gopa.rounds import unproved_noise
from tests.aggregation.plans import terms
from tests.randomness import seeded
from wire.errors import UsageError
from zkp.noise import LARGEST_TOTAL_WEIGHT, MOST_ROWS, NoiseLaw

GROUP = ristretto255()
Noise = dict[int, np.ndarray[Any, Any]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Noise:
    """The noise of each party that published in the last round."""
    found: Noise = {}
    current: list[int] = []
    add: Callable[..., None] = unproved_noise.add_noise
    publish: Callable[..., Any] = OffMode._published

    def noted(array: Any, law: NoiseLaw, *means: Any) -> None:
        before = array.copy()
        add(array, law, *means)
        party = current.pop(0)
        found[party] = (array - before).view(f"i{array.itemsize}").astype(np.int64)

    def published(self: OffMode, attempt: Any, *more: Any) -> Any:
        found.clear()
        current[:] = attempt.parties(attempt.lists.published)
        return publish(self, attempt, *more)

    monkeypatch.setattr(module, "add_noise", noted)
    monkeypatch.setattr(OffMode, "_published", published)
    return found


def engine(
    script: Any = None, *, one_close: bool = False, seed: object = 1, **changes: Any
) -> OffMode:
    made = terms(**changes)
    conditions = Conditions(made, one_close, 8)
    return OffMode(conditions, GROUP, seeded(repr(seed)), leaving(script, made.parties))


def rows(made: Terms) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(5)
    return [random.integers(0, made.steps, made.dimension) for _ in range(made.parties)]


MASKS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "uniform, wide words": {"steps": 2**31, "squared_sensitivity": 2**62},
    "Gaussian": {"mask": "gaussian", "mask_deviation": 5000},
    "vectors": {"dimension": 7},
}
DROPPING = [Phase.JOIN, Phase.COMMIT, Phase.PUBLISH, Phase.ROLLBACK]


@pytest.mark.thirds
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_the_sum_is_that_of_inputs_and_noise(mask: dict[str, Any], drawn: Noise) -> None:
    """Exactly, for every pair of parties that leave in every pair of phases."""
    made = terms(**mask)
    given = rows(made)
    counts = set()
    for one, other in combinations(range(made.parties), 2):
        for first, second in product(DROPPING, repeat=2):
            script = {one: first, other: second}
            carried = engine(script, seed=(one, other, first, second), **mask).run(given)
            included = carried.included
            assert set(included) <= drawn.keys()
            expected = np.sum([given[party] + drawn[party] for party in included], axis=0)
            assert carried.sums.tolist() == expected.tolist()
            assert carried.residual == 0
            gone = {lost.party for lost in carried.excluded}
            assert gone == set(range(6)) - set(included)
            assert {party for party, phase in script.items() if phase < Phase.ROLLBACK} <= gone
            counts.add(len(included))
    assert counts <= {4, 5}
    assert 4 in counts


def test_masks_hide_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the published rows are still not the inputs, and their sum is."""
    monkeypatch.setattr(module, "add_noise", lambda *_: None)
    made = terms(dimension=500)
    given = rows(made)
    seen: list[Any] = []
    real = OffMode._published

    def noted(self: OffMode, *arguments: Any) -> Any:
        seen.append(real(self, *arguments))
        return seen[-1]

    monkeypatch.setattr(OffMode, "_published", noted)
    carried = engine(dimension=500).run(given)
    assert carried.sums.tolist() == np.sum(given, axis=0).tolist()
    for row, published in zip(given, seen[0], strict=True):
        assert np.mean(published == row) < 0.02
        assert published.min() < 2**28
        assert published.max() > 2**32 - 2**28


def test_masks_that_stay_are_accounted_for(drawn: Noise) -> None:
    """Honest but curious: the sum is off by the masks towards whoever left, and says so."""
    given = rows(terms())
    script = {2: Phase.PUBLISH}
    off = []
    for seed in range(400):
        masks = {"mask": "gaussian", "mask_deviation": 300}
        carried = engine(script, one_close=True, seed=seed, **masks).run(given)
        assert carried.included == (0, 1, 3, 4, 5)
        assert carried.rolled_back == ()
        plain = sum(int(given[party][0] + drawn[party][0]) for party in carried.included)
        edges = carried.residual / (300**2 + 1 / 12)
        assert 3 <= round(edges, 6) <= 5
        off.append((int(carried.sums[0]) - plain) / carried.residual**0.5)
    # 400 standard normals: mean within 4.5 of its deviations, variance within 4.5 of its own.
    assert abs(np.mean(off)) < 4.5 / 20
    assert abs(np.var(off) - 1) < 4.5 * (2 / 400) ** 0.5


def test_the_lists_are_told_by_party() -> None:
    script = {1: "join", 4: "publish"}
    carried = engine(script).run(rows(terms()))
    assert carried.excluded == (
        Excluded(1, "JOIN", "ABSENT"),
        Excluded(4, "PUBLISH", "ABSENT"),
    )
    assert carried.included == (0, 2, 3, 5)
    assert carried.rolled_back == (4,)
    assert (carried.attempts, carried.vetoes, carried.privacy) == (1, 0, None)
    assert not carried.transcript


def test_parties_without_a_row_do_not_join() -> None:
    given: list[Any] = rows(terms())
    given[3] = None
    carried = engine().run(given)
    assert carried.included == (0, 1, 2, 4, 5)
    assert carried.excluded == (Excluded(3, "JOIN", "ABSENT"),)


def test_who_refuses_to_unmask_is_barred_from_the_next_attempt() -> None:
    carried = engine({2: "unmask"}).run(rows(terms()))
    assert carried.included == (0, 1, 3, 4, 5)
    assert (carried.attempts, carried.vetoes) == (2, 1)


def test_vetoes_are_charged() -> None:
    """With one charged retry the second veto ends the logical round."""

    def script(number: int) -> Mapping[int, str]:
        return {number: "unmask"} if number < 3 else {}

    with pytest.raises(RoundAborted) as caught:
        engine(script).run(rows(terms()))
    error = caught.value
    assert (error.reason, error.culprits, error.released) == ("NOT_UNMASKED", (2,), "masked")
    assert error.attempts == 2
    assert engine(script, charged=2).run(rows(terms())).included == (0, 3, 4, 5)


def test_attempts_run_out() -> None:
    script = {0: "commit", 1: "commit", 2: "commit"}
    assert engine({0: "commit", 1: "commit"}).run(rows(terms())).attempts == 1
    with pytest.raises(RoundAborted) as caught:
        engine(script).run(rows(terms()))
    error = caught.value
    assert (error.reason, error.culprits, error.released) == ("TOO_FEW_LEFT", (0, 1, 2), "none")
    assert error.attempts == 3
    with pytest.raises(RoundAborted) as caught:
        engine(dict.fromkeys(range(3), "join")).run(rows(terms()))
    assert caught.value.reason == "TOO_FEW_JOINED"


def test_a_seed_gives_the_same_sum_and_rounds_differ() -> None:
    given = rows(terms(dimension=20))
    same = [engine(seed=9, dimension=20).run(given).sums.tolist() for _ in range(2)]
    assert same[0] == same[1]
    several = engine(seed=9, dimension=20)
    assert several.run(given).sums.tolist() != several.run(given).sums.tolist()
    assert engine(seed=10, dimension=20).run(given).sums.tolist() != same[0]


def test_masks_that_stay_are_not_uniform() -> None:
    engine(one_close=True, mask="gaussian", mask_deviation=2**16)
    with pytest.raises(UsageError) as caught:
        engine(one_close=True)
    assert caught.value.field == "trust"


def test_no_sum_that_terms_allow_overflows() -> None:
    widest = LARGEST_TOTAL_WEIGHT // 2
    assert max(widest, MOST_ROWS) == widest
    assert MOST_PARTIES * (MOST_STEPS + widest) < module._LARGEST < 2**63
    with pytest.raises(UsageError):
        terms(parties=MOST_PARTIES + 1)
    with pytest.raises(UsageError):
        terms(steps=MOST_STEPS + 1)
