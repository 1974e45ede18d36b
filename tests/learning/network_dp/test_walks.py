"""Tokens go where their clock says, and the path alone decides who adds data."""

from __future__ import annotations

import ast
import itertools
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from examples.network_privacy import figures
from gopa import UsageError
from gopa.accounting import gaussian_sigma
from gopa.graph import Graph, MixingMatrix, complete, from_edges, grid, metropolis, path, ring
from gopa.learning import Privacy, network_dp, ratings
from gopa.learning.clocks import Clock, ClockLaw, EdgeClock, InTurn, Poisson, Replayed, events
from gopa.learning.history import History
from gopa.learning.network_dp import (
    GraphWalk,
    Visits,
    Walk,
    carry,
    fit_gossip,
    fit_groups,
    gossip_shifts,
)
from gopa.learning.network_dp.walks import Flags, Users
from gopa.support.arrays import Floats

PATH = [0, 1, 0, 0, 2, 0, 1, 1, 0, 2]


def replayed(walk: Walk, path: list[int]) -> Visits:
    clock = Replayed(3, np.array(path)[None, :, None])
    return Walk(clock, walk.cap, walk.edge_cap).visits(0, steps=len(path))


def test_visits_are_counted() -> None:
    found = replayed(Walk(Poisson(3)), PATH)
    assert found.users.tolist() == [PATH]
    assert found.times.tolist() == [[0, 0, 1, 2, 0, 3, 1, 2, 4, 1]]
    assert found.active.all()


def test_past_the_cap_users_add_noise_only() -> None:
    found = replayed(Walk(Poisson(3), cap=2), PATH)
    assert (found.active == (found.times < 2)).all()


def test_past_the_cap_of_an_edge_users_add_noise_only() -> None:
    path = [*PATH, 2, 2, 0, 0, 0, 1]
    found = replayed(Walk(Poisson(3), edge_cap=1), path)
    used: Counter[tuple[int, int]] = Counter()
    for place, edge in enumerate(itertools.pairwise(path)):
        assert found.active[0, place] == (used[edge] < 1)
        used[edge] += 1
    assert used[0, 0] == 3
    assert found.active[0, -1]


def test_a_token_is_carried_step_by_step() -> None:
    """Against a loop over runs; in parts it is the same."""
    visits = Walk(Poisson(4), cap=3).visits(5, steps=30, runs=3)
    values = np.arange(4.0)

    def update(token: Floats, step: int, users: Users, times: Users, active: Flags) -> Floats:
        own = token[:, 0] / 2 + values[users] * active + step - times
        return np.asarray(own[:, None], dtype=np.float64)

    whole = carry(visits, update, np.zeros((3, 1)))
    parts = carry(visits, update, carry(visits, update, np.zeros((3, 1)), last=11), first=11)
    for run in range(3):
        token, seen = 0.0, Counter[int]()
        for step, user in enumerate(visits.users[run].tolist()):
            token += token / 2 + values[user] * (seen[user] < 3) + step - seen[user]
            seen[user] += 1
        assert whole[run, 0] == pytest.approx(token)
    assert (whole == parts).all()


@pytest.mark.parametrize(
    ("graph", "law"),
    [
        (None, ClockLaw.UNIFORM),
        (complete(6), ClockLaw.UNIFORM),
        (ring(6), ClockLaw.IN_TURN),
        (grid(2, 3), ClockLaw.MARKOV),
        (from_edges(6, [(0, 2), (2, 4), (1, 4), (1, 3), (3, 5), (0, 5)]), ClockLaw.MARKOV),
    ],
)
def test_a_graph_has_its_walk(graph: Graph | None, law: ClockLaw) -> None:
    assert Walk.on(6, graph, None).clock.law is law


def test_walks_on_graphs_keep_to_edges_and_visit_all_alike() -> None:
    graph = grid(3, 3)
    users = events(GraphWalk(graph), 3, steps=4000, runs=8).actors[:, :, 0]
    allowed = {*zip(*(each.tolist() for each in graph.edges()), strict=True)}
    steps = {*zip(users[:, :-1].ravel().tolist(), users[:, 1:].ravel().tolist(), strict=True)}
    assert {(min(each), max(each)) for each in steps if each[0] != each[1]} == allowed
    counts = np.bincount(users.ravel(), minlength=9)
    assert counts == pytest.approx(np.full(9, 32_000 / 9), rel=0.1)
    again = np.concatenate(
        [each.actors for each in GraphWalk(graph).blocks(3, steps=4000, runs=8, size=999)], axis=1
    )
    assert (again[:, :, 0] == users).all()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"users": 1}, "problem"),
        ({"graph": ring(5)}, "graph"),
        ({"graph": from_edges(6, [(0, 1)])}, "graph"),
        ({"clock": Poisson(6, [1, 1, 1, 1, 1, 2.0])}, "clock"),
        ({"clock": Replayed(6, np.zeros((1, 4, 1), dtype=int))}, "clock"),
        ({"clock": EdgeClock(ring(6))}, "clock"),
        ({"clock": InTurn(5)}, "clock"),
        ({"graph": ring(6)}, "clock"),
        ({"graph": grid(2, 3)}, "clock"),
        ({"cap": 0}, "cap"),
        ({"edge_cap": 1.5}, "edge_cap"),
    ],
)
def test_walks_that_no_theorem_is_about(change: dict[str, object], field: str) -> None:
    right: dict[str, object] = {"users": 6, "graph": None, "clock": Poisson(6)}
    Walk.on(**right)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        Walk.on(**{**right, **change})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_clock_alone_says_how_the_token_goes() -> None:
    clock: Clock = InTurn(3)
    assert Walk.on(3, complete(3), clock).clock is clock


ALL = Privacy(8.0, 1e-5)


def summed(mixing: MixingMatrix, rounds: int, observer: int) -> np.ndarray:
    """The formula for Muffliato: each message of a neighbour by itself, added up."""
    w = mixing.matrix.toarray()
    power, found = np.eye(len(w)), np.zeros(len(w))
    for _ in range(rounds):
        for other in np.flatnonzero((w[observer] > 0) & (np.arange(len(w)) != observer)):
            found += power[other] ** 2 / (power[other] ** 2).sum()
        power = power @ w
    return found


def test_messages_together_tell_more_than_their_sum() -> None:
    """Two rounds on a ring: (y0 + y1 + y2)/3 without y0 and y1 is y2 itself, and not a third."""
    mixing = metropolis(ring(20))
    assert summed(mixing, 2, 0)[2] == pytest.approx(1 / 3)
    assert gossip_shifts(mixing, 2, 0)[2] == pytest.approx(1)


def test_one_round_tells_of_neighbours_alone() -> None:
    found = gossip_shifts(metropolis(ring(8)), 1, 3)
    assert found == pytest.approx([0, 0, 1, 0, 1, 0, 0, 0])


def test_who_is_far_learns_later() -> None:
    mixing = metropolis(path(9))
    found = [gossip_shifts(mixing, rounds, 0)[6] for rounds in (1, 4, 9)]
    assert found[0] == found[1] == 0
    assert found[2] == pytest.approx(1)


def test_what_comes_from_far_is_known_however_small_it_has_become() -> None:
    """Weights fall to 3^-34 on the way, and nothing else is added to them."""
    found = gossip_shifts(metropolis(path(40)), 36, 0)
    assert found[1:35] == pytest.approx(np.ones(34))
    assert found[38] == 0


def test_messages_are_what_the_squared_shifts_are_about() -> None:
    """Noise of everybody, its covariance as an observer sees it; few rounds, so floats will do."""
    mixing, observer = metropolis(grid(3, 3)), 4
    w = mixing.matrix.toarray()
    others = np.flatnonzero((w[observer] > 0) & (np.arange(9) != observer))
    seen = np.concatenate([np.linalg.matrix_power(w, each)[others] for each in range(2)])
    seen[:, observer] = 0.0
    exact = np.einsum("su,st,tu->u", seen, np.linalg.pinv(seen @ seen.T), seen)
    assert gossip_shifts(mixing, 2, observer) == pytest.approx(exact, abs=1e-9)
    assert 0 < exact[0] < 1 - 1e-3


@pytest.mark.parametrize(("rounds", "observer"), [(0, 0), (-1, 0), (1, 8), (1, -1)])
def test_observers_and_rounds_that_are_refused(rounds: int, observer: int) -> None:
    with pytest.raises(UsageError):
        gossip_shifts(metropolis(ring(8)), rounds, observer)


def test_on_a_complete_graph_little_is_left() -> None:
    assert gossip_shifts(metropolis(complete(9)), 1, 0)[1:] == pytest.approx(np.ones(8))


def test_gossip_comes_to_the_noisy_mean() -> None:
    problem = ratings(12, seed=1)
    found = fit_gossip(problem, privacy=ALL, graph=ring(12), seed=1, high=5, rounds=300, runs=500)
    means = found.model.mean(axis=0)
    assert found.model == pytest.approx(np.tile(means, (12, 1)), abs=1e-6)
    assert means.std() == pytest.approx(gaussian_sigma(8.0, 1e-5, 5) / math.sqrt(12), rel=0.12)
    bare = fit_gossip(problem, privacy=None, graph=ring(12), seed=1, high=5, rounds=300)
    assert bare.model == pytest.approx(np.full(12, problem.table.features.mean()))
    assert not bare.spent.hides


def test_larger_groups_are_more_precise() -> None:
    """By the errors that the sessions themselves state."""
    problem, stated = ratings(12, seed=1), {}
    for size in (3, 12):
        found = fit_groups(problem, privacy=ALL, seed=2, high=5, size=size)
        groups = found.history["stderr"]
        stated[size] = math.sqrt((groups**2).sum()) / len(groups)
        assert len(groups) == len(found.transcript or ()) == 12 // size
        assert found.spent.within(ALL)
        assert found.model == pytest.approx(problem.table.features.mean(), abs=25 * stated[size])
    assert stated[12] == pytest.approx(stated[3] / 2, rel=0.25)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size": 2}, "size"),
        ({"size": 13}, "size"),
        ({"graph": ring(12)}, "privacy"),
        ({"privacy": None}, "privacy"),
        ({"privacy": Privacy(1.0, 1e-5, view="neighbour")}, "privacy"),
        ({"low": 7.0}, "low"),
    ],
)
def test_groups_that_are_refused(change: dict[str, object], field: str) -> None:
    right: dict[str, object] = {
        "problem": ratings(12, seed=1),
        "privacy": ALL,
        "seed": 1,
        "high": 5.0,
        "size": 12,
    }
    with pytest.raises(UsageError) as caught:
        fit_groups(**{**right, **change})
    assert caught.value.field == field


ROOT = Path(__file__).resolve().parents[3]


PAGE = (ROOT / "docs/learning/network_dp.md").read_text()


@pytest.mark.slow
def test_its_program_runs_and_shows_the_difference() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ast.parse(program).body) <= 10
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    near, far, noise = done.stdout.splitlines()
    assert "any single other user" in near
    assert "every message" in far
    assert "times" in noise
    missed = [abs(float(said.split(",")[0]) - float(said.split()[2])) for said in (near, far)]
    assert missed[0] < missed[1]


def test_what_it_names_is_there() -> None:
    called = set(re.findall(r"`(fit_[a-z]+)\(", PAGE)) | {"any_path_epsilon", "Walk"}
    assert len(called) == 7
    assert all(hasattr(network_dp, name) for name in called)


@pytest.mark.slow
def test_the_small_figure_of_the_gain(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = figures.make("gain", tmp_path, quick=True)
    assert run.folder.with_suffix(".png").stat().st_size > 5000
    lines = run.folder.with_suffix(".csv").read_text().splitlines()
    row = next(line for line in lines if line.startswith('"20 users: by orders"'))
    assert [float(each) for each in row.split(",")[1:]] == pytest.approx([1.55, 1.55], rel=5e-3)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["fig41", "groups"])
def test_small_figures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = figures.make(name, tmp_path, quick=True)
    assert run.folder.with_suffix(".png").stat().st_size > 5000


@pytest.mark.soak
def test_figure_4_1(tmp_path: Path) -> None:
    """With the file of houses: near the curator at epsilon 10, between both at 1."""
    pytest.importorskip("matplotlib")
    said: list[str] = []
    run = figures.make("fig41", tmp_path, say=said.append)
    if "made up" in said[0]:
        pytest.skip("no file of houses below GOPA_DATA")
    found = {
        (trust, epsilon): History.from_csv(run.folder / f"{trust}-{epsilon}.csv")["accuracy"][-1]
        for trust in ("central", "network", "local")
        for epsilon in (10, 1)
    }
    means = {key: float(each.mean()) for key, each in found.items()}
    assert all(len(each) == 20 for each in found.values())
    assert abs(means["network", 10] - means["central", 10]) <= 0.02
    assert means["network", 10] > means["local", 10]
    assert means["central", 1] > means["network", 1] > means["local", 1]
