"""What users tell stays within what they are charged for, and what is wrong is found out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.accounting import composed_epsilon
from gopa.adversary import distinguish
from gopa.graph import from_edges
from gopa.learning import BudgetExceeded, Charge, Privacy
from gopa.learning.clipping import clip, length
from gopa.learning.clocks import InTurn
from gopa.learning.ledger import LedgerEntry, PrivacyLedger
from gopa.learning.objectives import LOGISTIC, SQUARED, Linear, Quadratic
from gopa.learning.personalised import (
    Accounts,
    Collaboration,
    Links,
    fit_descent,
    private_alone,
    propagated,
)
from gopa.learning.personalised.descent import GradientNoise, ModelDescent, schedule, turns
from gopa.learning.personalised.release import (
    GridSums,
    Mechanism,
    NoiseStream,
    plan,
    private_gradients,
)
from gopa.learning.personalised.warm import _learned, _moved, _units
from gopa.learning.rows import AgentRows
from tests.learning.personalised.problems import problem_of, rows_of

Floats = np.ndarray[Any, Any]
WIDTH = 10
START = np.array([80.0] + [0.0] * (WIDTH - 1))
RECORD = Privacy(1.0, 1e-5, unit="record")


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_sensitivity_is_reached_and_never_exceeded(noise: str) -> None:
    """Neighbouring rows are searched for, at any model, whatever rows and labels are."""
    mechanism = Mechanism.of(noise)  # type: ignore[arg-type]
    rng, width, most = np.random.default_rng(1), 4, 0.0
    for _ in range(150):
        reach = int(rng.choice([3, 50, 4000]))
        model = rng.normal(size=width) * rng.choice([0.1, 10.0, 1000.0])
        # Rows that the model has quite wrong, and that point away from each other otherwise.
        beside = (
            np.eye(width)[rng.integers(width)] if rng.random() < 0.5 else rng.normal(size=width)
        )
        along = model / np.linalg.norm(model)
        beside = beside - rng.choice([0.0, 1.0]) * (beside @ along) * along
        lean = rng.choice([0.01, 0.1, 1.0]) * along
        x = np.stack([lean + beside, lean - beside]) * rng.choice([0.3, 1e6])
        y = -np.sign(x @ model) if rng.random() < 0.7 else rng.choice([-1.0, 1.0], 2)
        other = rng.normal(size=(2, width))
        sums = []
        for place in (0, 1):
            pair = np.vstack([x[place], other]), np.append(y[place], [1.0, -1.0])
            rows = AgentRows.of([pair]).clipped(mechanism.norm, 1.0)
            local = Linear(LOGISTIC, rows)
            private = private_gradients(local, mechanism, "record", None)
            gradients = local.row_gradients(model[None], np.array([0]))
            sums.append(private.on_grid(gradients, np.array([reach]))[0])
        moved = float(length(sums[0] - sums[1], mechanism.norm))
        assert moved <= 2 * reach
        most = max(most, moved / (2 * reach))
    assert most >= 0.9


def test_a_row_on_the_grid_is_never_too_long() -> None:
    """Also where each number of it is a whole step, up to the last bit."""
    rng = np.random.default_rng(2)
    for noise in ("gaussian", "laplace"):
        mechanism = Mechanism.of(noise)
        private = GridSums(mechanism, 0.7, np.array([1]), "record")
        for reach in (2**16, 2**20):
            beside = np.array([[[reach, 1.0]]]) * (0.7 / math.hypot(reach, 1.0))
            found = private.on_grid(beside, np.array([reach]))
            assert (length(found, mechanism.norm) <= reach).all()
        for reach in (1, 7, 1000, 12345):
            whole = np.asarray(rng.integers(-3, 4, (200, 1, 5)) * (0.7 / reach), np.float64)
            whole[:, :, 0] = 0.7 * np.sign(rng.normal(size=(200, 1)))
            found = private.on_grid(whole, np.full(200, reach))
            assert (length(found, mechanism.norm) <= reach).all()


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_what_is_told_has_the_noise_that_is_charged(noise: str) -> None:
    """The noise of a release has the scale of the charge, and rows move it by twice their reach."""
    mechanism = Mechanism.of(noise)  # type: ignore[arg-type]
    scale, sensitivity = mechanism.charge(500).numbers
    assert sensitivity == 1000
    rows = GridSums(mechanism, 2.0, np.array([4]), "record")
    stream = NoiseStream(mechanism.law, 50, 1, "test")
    runs, users = np.zeros(200, dtype=np.int64), np.zeros(200, dtype=np.int64)
    drawn = stream.at(runs, np.arange(200))
    told = rows.released(np.zeros((200, 4, 50)), np.full(200, 500), drawn, users)
    spread = scale * (1.0 if noise == "gaussian" else math.sqrt(2)) * 2.0 / 500 / 4
    assert told.std() == pytest.approx(spread, rel=0.04)
    assert rows.deviations(np.array([500]), users[:1]) == pytest.approx([spread], rel=1e-3)
    assert abs(np.corrcoef(told[:-1].ravel(), told[1:].ravel())[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("noise", "allocation"),
    [("laplace", "equal"), ("gaussian", "expected"), ("laplace", "schedule")],
)
def test_every_user_keeps_its_budget_and_stops(noise: str, allocation: str) -> None:
    problem, _, rng = problem_of(3, users=5, width=3)
    local = problem.local
    assert isinstance(local, Linear)
    mechanism, accounts = Mechanism.of(noise), Accounts(RECORD, 5)  # type: ignore[arg-type]
    rows = private_gradients(local, mechanism, "record", None)
    actors = rng.integers(0, 5, (2, 20))
    reaches = plan(
        accounts, rows, actors, releases=3, allocation=allocation,  # type: ignore[arg-type]
        kept=0.9, width=3,
    )  # fmt: skip
    for run in range(2):
        for user in range(5):
            had = reaches[run, user]
            assert (had > 0).sum() == min(3, (actors[run] == user).sum())
            if allocation != "equal":
                assert (np.diff(had[had > 0]) >= 0).all()
    assert 0.8 < accounts.spent().epsilon <= 1
    for user in range(5):
        assert accounts.ledger(user).spent().epsilon <= 1
    with pytest.raises(BudgetExceeded):
        accounts.charge(0, mechanism.charge(5 * 10**4))


def test_losses_compose_to_less_than_the_published_bounds() -> None:
    """B17's theorem 1 is the least of three bounds; loss distributions give less."""
    mechanism = Mechanism.of("laplace")
    for reach, times in ((300, 20), (3000, 3)):
        accounts = Accounts(Privacy(50.0, 1e-5, unit="record"), 1)
        accounts.charge(0, mechanism.charge(reach), times)
        each = 2 * reach / mechanism.scale
        spent = accounts.spent().epsilon
        assert spent <= composed_epsilon([each] * times, 1e-5) * (1 + 1e-9)
        assert spent >= 0.3 * composed_epsilon([each] * times, 1e-5)


def test_later_steps_deserve_more() -> None:
    """What is printed the other way round costs more: noise of step t fades by C^(T-1-t)."""
    for norm, root in ((2, 4), (1, 3)):
        kept, left = 0.7, np.arange(8)[::-1]
        reach = kept ** (left / root)
        reach /= (reach**norm).sum() ** (1 / norm)

        def cost(reaches: Floats, kept: float = kept, left: Floats = left) -> float:
            return float((kept**left / reaches**2).sum())

        assert cost(reach) < cost(reach[::-1])
        rng = np.random.default_rng(norm)
        for _ in range(50):
            other = reach * rng.uniform(0.8, 1.2, 8)
            other /= (other**norm).sum() ** (1 / norm)
            assert cost(reach) <= cost(other)


def told(private: GridSums, rows: AgentRows, *, reach: int, seed: int, draws: int) -> Floats:
    """All that two users send in four rounds: (draws, steps, users, p)."""
    problem = Collaboration(Linear(LOGISTIC, rows, ridge=0.2), pull=1.0)
    links = Links.of(from_edges(2, [(0, 1)]))
    reaches = np.full((draws, 2, 4), reach)
    stream = NoiseStream(private.mechanism.law, WIDTH, seed, "test")
    disguise = GradientNoise(private, reaches, stream, np.zeros((draws, 2), dtype=np.int64))
    descent = ModelDescent(problem, links, np.full((draws, 2, WIDTH), START), disguise)
    actors = schedule(InTurn(2), 2, 1, steps=8, runs=draws)
    seen = [descent.models.copy()]
    for now in turns(actors, links, 0, 8):
        descent(now)
        seen.append(descent.models.copy())
    return np.stack(seen, axis=1)


def neighbours(norm: float) -> tuple[AgentRows, AgentRows]:
    """Two data sets of user 0 that differ in a row as much as they can; user 1 is the same.

    The model from which users start has both rows quite wrong.
    """
    found = []
    for sign in (1.0, -1.0):
        row = np.array([[0.1, sign * 0.9] + [0.0] * (WIDTH - 2)])
        if norm == math.inf:
            row = np.array([[0.1] + [sign] * (WIDTH - 1)])
        pairs = [(np.vstack([row, 0 * row]), [-1.0, 1.0]), (0 * row, [1.0])]
        found.append(AgentRows.of(pairs).clipped(norm, 1.0))
    return found[0], found[1]


def distinguished(private: GridSums, norm: float, *, reach: int, draws: int) -> float:
    """How large epsilon is at least, seen by whoever reads everything that both send."""

    def side(rows: AgentRows) -> Any:
        return lambda rng, many: told(
            private, rows, reach=reach, seed=int(rng.integers(2**31)), draws=many
        )

    # Data move user 0 along one direction; what it heard before is known and taken off.
    one, two = neighbours(norm)
    along = one.x[0, 0] - two.x[0, 0]
    problem = Collaboration(Linear(LOGISTIC, one, ridge=0.2), pull=1.0)
    pace = float(problem.paces[0])

    def score(seen: Floats) -> Floats:
        total = np.zeros(len(seen))
        for step in range(0, 8, 2):
            own, other, after = seen[:, step, 0], seen[:, step, 1], seen[:, step + 1, 0]
            public = own - pace * (own - other + problem.confidences[0] * 0.2 * own)
            total += (after - public) @ along
        return total

    return distinguish(side(one), side(two), score, 1e-3, draws, seed=3).epsilon


@pytest.mark.parametrize(
    ("noise", "draws"),
    [
        ("gaussian", 900),
        pytest.param("gaussian", 40_000, marks=pytest.mark.soak),
        pytest.param("laplace", 40_000, marks=pytest.mark.soak),
    ],
)
def test_full_transcripts_stay_below_epsilon(noise: str, draws: int) -> None:
    mechanism = Mechanism.of(noise)  # type: ignore[arg-type]
    accounts = Accounts(Privacy(6.0, 1e-3, unit="record"), 1)
    reach = mechanism.most(accounts, 4)
    rows, _ = neighbours(mechanism.norm)
    private = private_gradients(Linear(LOGISTIC, rows, ridge=0.2), mechanism, "record", None)
    assert 0.7 < distinguished(private, mechanism.norm, reach=reach, draws=draws) < 6.0


class _ClippedAfterNoise(GridSums):
    """Clips what is told, and not what it is made of."""

    def on_grid(self, rows: Floats, reach: Any) -> Floats:
        units = self.unit_length(reach)[..., None, None]
        return np.asarray(np.trunc(rows / units).sum(axis=-2), dtype=np.int64)

    def released(self, rows: Floats, reach: Floats, noise: Floats, users: Floats) -> Floats:
        return clip(super().released(rows, reach, noise, users), self.mechanism.norm, 1.0)


def test_clipping_after_noise_is_found_out() -> None:
    mechanism = Mechanism.of("gaussian")
    reach = mechanism.most(Accounts(Privacy(2.0, 1e-3, unit="record"), 1), 4)
    # Rows are ten times as long as gradients are said to be after they were clipped.
    wrong = _ClippedAfterNoise(mechanism, 0.1, np.array([2, 1]), "record")
    assert distinguished(wrong, 2, reach=reach, draws=900) > 2.0
    right = GridSums(mechanism, 0.1, np.array([2, 1]), "record")
    assert distinguished(right, 2, reach=reach, draws=900) < 2.0


def test_the_printed_lipschitz_norm_is_found_out() -> None:
    """Lipschitz in the sum of moduli bounds the largest number of a gradient only."""
    laplace = Mechanism.of("laplace")
    reach = laplace.most(Accounts(Privacy(2.0, 1e-3, unit="record"), 1), 4)
    printed = Mechanism(laplace.law, laplace.scale, math.inf)
    wrong = GridSums(printed, 1.0, np.array([2, 1]), "record")
    assert distinguished(wrong, math.inf, reach=reach, draws=900) > 2.0
    right = GridSums(laplace, 1.0, np.array([2, 1]), "record")
    assert distinguished(right, math.inf, reach=reach, draws=900) < 2.0
    rows = np.ones((1, 1, WIDTH))
    assert length(wrong.on_grid(rows, np.array([reach]))[0], 1) > 9 * reach


def test_models_learned_alone_move_no_more_than_charged() -> None:
    """Output perturbation: the best model moves by 2 L / (m r), and the steps of it are charged."""
    rng, most = np.random.default_rng(4), 0.0
    for _ in range(40):
        many, ridge = int(rng.integers(1, 5)), float(rng.choice([0.05, 0.5, 3.0]))
        x, y = rng.normal(size=(many, 2)) * 5, rng.choice([-1.0, 1.0], many)
        other = x.copy()
        other[0] = -x[0] if rng.random() < 0.7 else rng.normal(size=2)
        models = []
        for rows in (x, other):
            local = Linear(LOGISTIC, AgentRows.of([(rows, y)]).clipped(2, 1.0), ridge=ridge)
            models.append(Collaboration(local, pull=1.0).alone())
        most = max(most, float(np.linalg.norm(models[0] - models[1])) * many * ridge / 2)
    assert 0.4 < most <= 1


def test_a_row_that_others_make_wrong_moves_a_model_as_far_as_is_charged() -> None:
    """Many rows hold the model where the row is wrong, whichever of two neighbours it is."""
    many, ridge, only = 1000, 5e-3, np.array([0])
    rest = np.tile([[1.0, 0.0]], (many - 1, 1))
    locals_ = [
        Linear(
            LOGISTIC,
            AgentRows.of([(np.vstack([[-0.4, beside], rest]), np.ones(many))]).clipped(2, 1.0),
            ridge=ridge,
        )
        for beside in (0.9, -0.9)
    ]
    moved = float(np.linalg.norm(_learned(locals_[0], only) - _learned(locals_[1], only)))
    assert 0.6 < moved / float(_moved(locals_[0], only, Accounts(RECORD, 1))[0]) <= 1


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_model_is_told_behind_the_noise_that_is_charged(noise: str) -> None:
    width, users = 20, 30
    rng = np.random.default_rng(7)
    rows = AgentRows.of([(rng.normal(size=(4, width)), np.ones(4)) for _ in range(users)])
    problem = Collaboration(Linear(LOGISTIC, rows.clipped(2, 1.0), ridge=0.5), pull=1.0)
    accounts = Accounts(RECORD, users)
    how: dict[str, Any] = {"seed": 1, "share": RECORD, "noise": noise}
    told = private_alone(problem, accounts, **how)
    (scale, sensitivity), everybody = _charged(accounts), np.arange(users)
    moved = float(_moved(problem.private, everybody[:1], accounts)[0])
    widening = 1.0 if noise == "gaussian" else math.sqrt(2 * width)
    spread = moved * widening * scale / sensitivity
    off = told - _learned(problem.private, everybody)
    assert off.std() == pytest.approx(spread, rel=0.1)


def _charged(accounts: Accounts) -> tuple[float, float]:
    entries = accounts.ledger(0).entries
    (charge,) = [each.charge for each in entries if each.charge.law != "guarantee"]
    return charge.numbers[0], charge.numbers[1]


def test_a_model_that_is_told_tells_of_its_own_rows_alone() -> None:
    """No other user's message moves, not by a rounding, where a row of one is replaced.

    Found together, with one rule for when to stop, all of them would; none is charged for that.
    """
    problem, _, _ = problem_of(6, users=5, width=3)
    rows = problem.local.rows  # type: ignore[attr-defined]
    x = rows.x.copy()
    x[1, 0] *= -1
    told = []
    for given in (rows.x, x):
        replaced = replace(rows, x=given.copy(), y=rows.y.copy(), counts=rows.counts.copy())
        local = Linear(LOGISTIC, replaced, ridge=problem.local.strong_curvature())
        how: dict[str, Any] = {"seed": 1, "share": RECORD, "noise": "gaussian"}
        told.append(private_alone(Collaboration(local, pull=1.0), Accounts(RECORD, 5), **how))
    moved = (told[0] != told[1]).any(axis=1)
    assert moved.tolist() == [False, True, False, False, False]


def test_models_are_found_as_closely_as_is_charged() -> None:
    """However many steps that takes: they are counted from what is declared."""
    for seed, ridge in ((1, 2.0), (2, 0.05), (3, 1e-3)):
        rows = rows_of(np.random.default_rng(seed), 6, 4)
        local = Linear(LOGISTIC, rows, ridge=ridge)
        present = np.flatnonzero(rows.counts)
        slope = local.gradient(_learned(local, present), present)
        moved = _moved(local, present, Accounts(RECORD, 6))
        assert (np.linalg.norm(slope, axis=1) / ridge <= 1e-7 * moved / 2).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_what_moves_so_far_moves_no_more_steps_than_charged(norm: int) -> None:
    """Also what rounding adds, where a step of the grid is long, and in the norm of the noise."""
    rng, width, reach, most = np.random.default_rng(5), 4, 5, 0.0
    unit = _units(np.ones(1), width, norm, reach)
    for _ in range(400):
        along = np.diag(np.ones(width))[0] if rng.random() < 0.5 else rng.choice([-1.0, 1.0], width)
        ends = rng.normal(size=width) + np.array([0, 1])[:, None] * along / np.linalg.norm(along)
        moved = np.diff(np.rint(ends / unit), axis=0)
        most = max(most, float(length(moved, norm)[0]))
    assert 1.6 * reach <= most <= 2 * reach


def test_all_rows_of_a_user_move_its_model_farther() -> None:
    x, y = np.tile([[0.6, 0.8]], (8, 1)), np.ones(8)
    locals_ = [
        Linear(LOGISTIC, AgentRows.of([(sign * x, y)]).clipped(2, 1.0), ridge=8.0)
        for sign in (1, -1)
    ]
    only = np.array([0])
    moved = float(np.linalg.norm(_learned(locals_[0], only) - _learned(locals_[1], only)))
    accounts = [Accounts(Privacy(1.0, 1e-5, unit=unit), 1) for unit in ("record", "user")]
    record, user = (float(_moved(locals_[0], only, each)[0]) for each in accounts)
    assert record < moved <= user
    assert user == pytest.approx(8 * record)


def test_an_account_never_shrinks_and_is_that_of_the_run() -> None:
    accounts = Accounts(Privacy(4.0, 1e-5, unit="record"), 6)
    sampled = Charge.gaussian(4.0, 1.0).subsampled(1.0, "replace-one")
    accounts.charge(0, sampled)
    before = accounts.spent().epsilon
    alone = PrivacyLedger(accounts.privacy, entries=(LedgerEntry(sampled, 1, ""),))
    assert before == pytest.approx(alone.spent(points=1).epsilon)
    # Both numbers of a sample are for one user more or less: added to others, they count half.
    accounts.charge(0, Charge.gaussian(1000.0, 1.0))
    assert accounts.spent().epsilon >= before
    for user, times in ((0, 0), (0, -1), (-1, 1), (6, 1)):
        with pytest.raises(UsageError):
            accounts.charge(user, Charge.gaussian(1000.0, 1.0), times)
    problem, graph, _ = problem_of(6, users=6, width=2)
    accounts = Accounts(accounts.privacy, 6)
    how: dict[str, Any] = {"graph": graph, "seed": 1, "steps": 8, "accounts": accounts}
    fit_descent(problem, privacy=accounts.privacy, **how)
    for privacy in (RECORD, replace(accounts.privacy, unit="user"), None):
        with pytest.raises(UsageError, match="accounts"):
            fit_descent(problem, privacy=privacy, **how)
    with pytest.raises(UsageError, match="accounts"):
        fit_descent(problem, privacy=RECORD, **{**how, "accounts": Accounts(RECORD, 3)})


@pytest.mark.parametrize("noise", ["gaussian", pytest.param("laplace", marks=pytest.mark.soak)])
def test_a_private_start_is_charged_to_the_same_accounts(noise: Any) -> None:
    problem, graph, _ = problem_of(6, users=4, width=2)
    accounts = Accounts(Privacy(3.0, 1e-5, unit="record"), 4)
    begin = private_alone(
        problem, accounts, seed=1, share=Privacy(1.0, 4e-6, unit="record"), noise=noise
    )
    first = accounts.spent().epsilon
    assert 0.7 < first <= 1
    start = fit_descent(propagated(problem, begin), privacy=None, graph=graph, seed=1).model
    found = fit_descent(
        problem, privacy=accounts.privacy, accounts=accounts, graph=graph, seed=1, steps=20,
        start=start, noise=noise,
    )  # fmt: skip
    assert first < found.spent.epsilon <= 3
    # Another run of the same seed with equal noise would show the difference of both without any.
    assert accounts.next_run() == 3
    runs = [Accounts(Privacy(3.0, 1e-5, unit="record"), 4) for _ in range(2)]
    runs[1].next_run()
    told = [
        fit_descent(
            problem, privacy=each.privacy, accounts=each, graph=graph, seed=1, steps=8, noise=noise
        ).model
        for each in runs
    ]
    assert (told[0] != told[1])[told[0] != 0].all()
    assert found.spent.unit == "record"
    with pytest.raises(BudgetExceeded):
        accounts.charge(0, Charge.gaussian(1.0, 2.0))


def test_users_are_hidden_whole_behind_more_noise() -> None:
    problem, graph, _ = problem_of(6, users=4, width=2)
    assert isinstance(problem.local, Linear)
    noise = Mechanism.of("gaussian")
    for unit, many in (("record", 1), ("user", 5)):
        private = GridSums(noise, 1.0, np.array([5]), unit)  # type: ignore[arg-type]
        assert private.reach_of(1000, 0) == 1000 // many
        assert private.moved(np.array([200]), 0) == [200 * many]
    whole = replace(RECORD, unit="user")
    found = fit_descent(problem, privacy=whole, graph=graph, seed=1, steps=8)
    assert found.spent.within(whole)


def test_what_cannot_be_hidden_is_refused() -> None:
    problem, graph, rng = problem_of(6, users=4, width=2)
    how: dict[str, Any] = {"graph": graph, "seed": 1, "steps": 8}
    assert fit_descent(problem, privacy=RECORD, **how).spent.within(RECORD)
    centres = Collaboration(Quadratic(rng.normal(size=(4, 2))), pull=1.0)
    for other in (
        {"problem": centres}, {"privacy": replace(RECORD, delta=0.0)}, {"clipping": 0.0},
        {"privacy": Privacy(1.0, 1e-5, view="neighbour")}, {"noise": "uniform"},
        {"privacy": Privacy(1.0, 1e-5, relation="add-remove")}, {"allocation": "all"},
        {"releases": 0}, {"privacy": Privacy(1e-5, 1e-9, unit="record")},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            fit_descent(**{"problem": problem, "privacy": RECORD, **how, **other})
    bare = Collaboration(Linear(LOGISTIC, problem.local.rows), pull=1.0)  # type: ignore[attr-defined]
    steep = Linear(SQUARED, problem.local.rows, ridge=1.0)  # type: ignore[attr-defined]
    for wrong, match in ((bare, "ridge"), (Collaboration(steep, pull=1.0), "no bound")):
        with pytest.raises(UsageError, match=match):
            private_alone(wrong, Accounts(RECORD, 4), seed=1, share=RECORD, noise="gaussian")
