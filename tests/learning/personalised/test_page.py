"""The page on personal models runs as it stands, and its figures can be made."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import replace
from hashlib import sha256
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from examples.personalised import (
    GRID,
    ROWS,
    SETTINGS,
    TABLE,
    Task,
    agreement,
    divided,
    figures,
    of_known_law,
    of_length,
    of_moons,
    pooled,
    rand_index,
    right,
    table_of,
    traits,
    vectors_to,
)
from examples.personalised_processes import PARTS, TRICKS, live, problem, run, setting
from gopa import UsageError
from gopa.learning import (
    DataNotFound,
    History,
    linear_models,
    load,
    moons,
    natural,
    personalised,
    stacked,
)
from gopa.learning.personalised import Member, fit_descent
from gopa.sessions.tunnel import Correspondent
from wire.ed25519 import SigningKey

ROOT = Path(__file__).resolve().parents[3]


PAGE = (ROOT / "docs/learning/personalised.md").read_text()


def test_its_program_runs_and_working_together_is_best(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ast.parse(program).body) <= 10
    exec(program, {})  # noqa: S102 - it is ours
    said = capsys.readouterr().out.splitlines()
    alone, everybody, together = (float(line[:5]) for line in said)
    assert together > alone + 0.03 > everybody
    assert (f"{alone:.2f}"[1:] in PAGE, f"{together:.2f}"[1:] in PAGE) == (True, True)


@pytest.mark.slow
def test_a_learned_graph_wants_a_smaller_pull() -> None:
    users = linear_models(30, 20, seed=1)
    rows = np.random.default_rng(1).uniform(-1, 1, (500, 20))
    truth = np.where(rows @ users.truth["targets"].T < 0, -1, 1)
    for pull in (1.0, 0.1):
        found = personalised.Personalised(pull=pull).fit(users)
        right = np.mean([found.score(rows, truth[:, user], user) for user in range(30)])
        assert f"to {right:.2f}".replace("0.", ".") in PAGE


def test_what_it_names_is_there() -> None:
    named = set(re.findall(r"`(fit_[a-z]+|[A-Z][a-z]+[A-Z][a-z]+|Collaboration|stumps)", PAGE))
    assert {"GraphSteps", "GossipPeers", "fit_jointly"} <= named
    assert all(hasattr(personalised, name) for name in named)


def test_the_numbers_of_figures_are_what_they_say() -> None:
    history = History({"objective": [4.0, 2.0, 1.0], "vectors": [0, 10, 20]})
    assert vectors_to(history, 3.0) == 5
    assert vectors_to(history, 4.0) == 0
    assert np.isnan(vectors_to(history, 0.5))
    pieces = np.asarray(np.kron(np.eye(3), np.ones((6, 6))), dtype=np.float64)
    assert agreement(pieces, np.repeat(np.arange(3), 6)) == 1
    assert abs(agreement(pieces, np.tile(np.arange(3), 6))) < 0.3
    task = Task.of(3, 1, 5)
    assert (task.accuracies(task.users.truth["targets"]) == 1).all()


def test_an_index_of_clusters_reads_who_is_together_and_not_how_clusters_are_called() -> None:
    clusters = np.repeat(np.arange(3), 6)
    assert rand_index(clusters, (clusters + 1) % 3) == 1
    moved = np.where(np.arange(18) == 0, 1, clusters)
    # 40 pairs together in both, 45 in one and 46 in the other, of 153.
    expected = 45 * 46 / 153
    assert rand_index(clusters, moved) == pytest.approx((40 - expected) / (45.5 - expected))


@pytest.mark.slow
def test_rows_tell_the_clusters_of_moons_and_labels_alone_do_not() -> None:
    users = moons(seed=1)
    found = of_known_law(users)
    assert found["rows"][0] > 0.99
    assert 0.5 < found["labels"][0] < 0.9
    angles, order = users.truth["angles"], np.random.default_rng(1).permutation(len(users))
    pairs = users.pairs()
    mixed = stacked([pairs[each] for each in order], "mixed", **{**users.truth, "angles": angles})
    assert abs(of_known_law(mixed)["rows"][0]) < 0.1


def test_traits_are_of_one_length_and_measured_by_how_rows_of_one_user_differ() -> None:
    users = moons((4, 6), columns=2, seed=1, rows=(30, 40))
    predictors = personalised.stumps(np.array([-1.2, -1.2]), np.array([1.2, 1.2]), 4)
    pairs = users.pairs()
    found = traits(pairs, predictors, 2.0)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.full(10, 2.0))
    # Groups lie opposite each other, and a rotation of all predictors changes no angle.
    inner = np.sign(found @ found.T)
    together = users.truth["clusters"][:, None] == users.truth["clusters"]
    assert np.array_equal(inner, np.where(together, 1, -1))
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    again = traits(pairs, lambda rows: predictors(rows) @ turned, 2.0)
    assert again @ again.T == pytest.approx(found @ found.T, abs=1e-9)


def test_pooled_traits_are_others_and_count_by_rows() -> None:
    own = np.array([[2.0, 0.0], [1.6, 1.2], [0.0, 2.0], [-2.0, 0.0]])
    counts = np.array([3, 1, 4, 1])
    first = pooled(own, counts, near=2, times=1)
    expected = np.array([1 * own[1] + 4 * own[2], 3 * own[0] + 4 * own[2]])
    assert first[:2] == pytest.approx(of_length(expected, 2.0))
    assert np.linalg.norm(pooled(own, counts, near=2, times=3), axis=1) == pytest.approx(2.0)
    assert of_length(np.zeros((1, 2)), 2.0).tolist() == [[0, 0]]


def test_rows_that_come_out_right_are_counted() -> None:
    predictors = personalised.stumps(np.array([-1.0]), np.array([1.0]), 1)
    rows = np.array([[-0.5], [0.5], [0.7]])
    pairs = [(rows, np.array([-1, 1, 1])), (rows[:2], np.array([1, -1]))]
    assert right(np.array([[1.0], [-1.0]]), pairs, predictors) == 1
    assert right(np.array([[1.0], [1.0]]), pairs, predictors) == 3 / 5


@pytest.mark.slow
def test_the_graph_of_moons_is_found_on_a_problem_that_no_setting_was_tried_on() -> None:
    history, weights, _, _ = of_moons(300, "learned", 500)
    assert history["adjusted Rand index"][0] >= 0.9
    assert np.array_equal(weights, weights.T)


@pytest.mark.parametrize("name", ["harws", "vehicle"])
@pytest.mark.slow
def test_the_table_is_made_of_files_of_the_right_shape(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(name, tmp_path)
    monkeypatch.setenv("GOPA_DATA", str(tmp_path))
    for kind in GRID:
        monkeypatch.setitem(GRID, kind, GRID[kind][: 1 if name == "harws" else 2])
    users = natural(load(name))
    found = table_of(name, 0, replace(TABLE[name], steps=60))
    assert len(users) == {"harws": 30, "vehicle": 23}[name]
    for row in ROWS:
        assert 60 < found[row.replace("-", " ")][0] <= 100
    tried = {kind: [dict(zip(SETTINGS, each, strict=True)) for each in GRID[kind]] for kind in GRID}
    for kind in GRID:
        assert {what: found[f"{what} {kind}"][0] for what in SETTINGS} in tried[kind]


def made_up(name: str, folder: Path) -> None:
    """Files in the shape of the real ones: two classes that the first columns tell apart."""
    rng = np.random.default_rng(1)
    users, width = (30, 561) if name == "harws" else (23, 100)
    labels = rng.choice([-1, 1], (users, 40))
    rows = np.clip(rng.normal(0, 0.4, (users, 40, width)), -1, 1)
    rows[:, :, :8] = np.clip(rows[:, :, :8] + 0.5 * labels[:, :, None], -1, 1)
    if name == "vehicle":
        cells = {key: np.empty((users, 1), dtype=object) for key in "XY"}
        for user in range(users):
            cells["X"][user, 0], cells["Y"][user, 0] = rows[user], labels[user][:, None]
        (folder / "vehicle").mkdir()
        savemat(folder / "vehicle" / "vehicle.mat", cells)
        return
    for part, side in (("train", slice(0, 30)), ("test", slice(30, 40))):
        inside = folder / "UCI HAR Dataset" / part
        inside.mkdir(parents=True)
        named = np.repeat(np.arange(1, users + 1), side.stop - side.start)
        np.savetxt(inside / f"X_{part}.txt", rows[:, side].reshape(-1, width), "%.4e")
        np.savetxt(inside / f"y_{part}.txt", np.where(labels[:, side].ravel() > 0, 2, 3), "%d")
        np.savetxt(inside / f"subject_{part}.txt", named, "%d")


def test_nobody_is_tested_on_computers_that_it_rated_in_training() -> None:
    try:
        train, test = divided("computers", 1)
    except DataNotFound as missing:
        pytest.skip(str(missing))
    every = {tuple(row) for rows, _ in (train[0], test[0]) for row in rows.tolist()}
    for (rows, labels), (others, _) in zip(train, test, strict=True):
        assert 5 <= len(labels) <= 10
        assert len(rows) + len(others) == 20
        assert {tuple(row) for row in (*rows.tolist(), *others.tolist())} == every
    assert not np.array_equal(train[0][0][:5], train[1][0][:5])


def test_school_is_divided_as_published() -> None:
    try:
        (train, test), (others, _) = divided("school", 0), divided("school", 1)
    except DataNotFound as missing:
        pytest.skip(str(missing))
    counted = [sum(len(labels) for _, labels in part) for part in (train, test)]
    assert (len(train), len(test), counted) == (139, 139, [11_472, 3890])
    assert not np.array_equal(train[0][0], others[0][0])
    with pytest.raises(DataNotFound):
        divided("school", 10)


@pytest.mark.soak
@pytest.mark.parametrize("name", figures.names)
def test_small_figures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    try:
        run = figures.make(name, tmp_path, quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))
    if name != "table21":
        assert run.folder.with_suffix(".png").stat().st_size > 5000
    assert run.folder.with_suffix(".csv").read_text().count("\n") > 2


@pytest.mark.soak
def test_working_together_pays_as_much_as_it_should() -> None:
    """Five seeds: .10 more than alone with 20 columns, .18 with 100; not less with 2."""
    for columns, pull, least in ((2, 0.3, 0.0), (20, 0.3, 0.10), (100, 1.0, 0.18)):
        gains = []
        for seed in range(5):
            task = Task.of(columns, seed)
            problem = task.problem(pull)
            found = personalised.fit_descent(problem, privacy=None, graph=task.graph, seed=seed)
            gain = task.accuracies(found.model) - task.accuracies(problem.alone(1e-6))
            gains.append(float(gain.mean()))
        assert np.mean(gains) >= least


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
