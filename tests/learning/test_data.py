"""Rows are divided completely, made-up problems have their laws, and files are what they say."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from gopa import BackendError, UsageError
from gopa.learning import (
    DataNotFound,
    Table,
    Users,
    dirichlet,
    encoded,
    from_csv,
    from_sklearn,
    generator,
    iid,
    linear_models,
    load,
    moons,
    natural,
    quadratics,
    ratings,
    stacked,
)
from tests.learning import covertype


def table(rows: int = 60) -> Table:
    features = np.arange(2.0 * rows).reshape(rows, 2)
    return Table(features, np.arange(rows) % 3, "made up", np.arange(rows) // 7)


def owners(users: Users) -> np.ndarray:
    return np.sort(np.concatenate(users.rows))


@pytest.mark.parametrize(
    "divide",
    [
        lambda: iid(table(), 7, 1),
        lambda: iid(table(), 60, 1),
        lambda: dirichlet(table(), 7, 0.05, 1),
        lambda: dirichlet(table(), 60, 0.5, 1),
        lambda: dirichlet(table(), 7, 1000.0, 1),
        lambda: natural(table()),
    ],
)
def test_every_row_belongs_to_one_user_and_everybody_has_one(divide: Callable[[], Users]) -> None:
    users = divide()
    assert owners(users).tolist() == list(range(60))
    assert users.counts.min() >= 1
    assert users.counts.sum() == 60
    parts = users.pairs()
    assert sum(len(labels) for _, labels in parts) == 60
    assert all(len(features) == len(labels) for features, labels in parts)


def test_equal_shares_are_equal_and_small_alphas_are_not() -> None:
    assert set(iid(table(), 7, 1).counts.tolist()) == {8, 9}

    def largest_share(alpha: float) -> float:
        users = dirichlet(table(600), 6, alpha, 3)
        shares = [np.bincount(y, minlength=3).max() / len(y) for _, y in users.pairs()]
        return float(np.mean(shares))

    assert largest_share(0.05) > 0.75
    assert largest_share(1000.0) < 0.45


def test_seeds_decide() -> None:
    divisions: list[Callable[[int], Users]] = [
        lambda seed: iid(table(), 7, seed),
        lambda seed: dirichlet(table(), 7, 1.0, seed),
    ]
    for divide in divisions:
        assert encoded(divide(1).rows) == encoded(divide(1).rows)
        assert encoded(divide(1).rows) != encoded(divide(2).rows)
    streams = [generator(*each).random() for each in ((1, "a"), (1, "b"), (2, "a"), (1, "a", "b"))]
    assert len(set(streams)) == 4


def test_draws_are_those_of_every_machine() -> None:
    """Integers and permutations: a digest of them is part of what a seed promises."""
    drawn = (iid(table(), 7, 5).rows, ratings(50, seed=5).table.labels, moons(seed=5).counts)
    digest = hashlib.sha256(encoded(drawn)).hexdigest()
    assert digest == "1ebdfb4d90383f23f31438c1237df186dd537d5bb80046e46fc308b5485dc8c0"


def test_a_user_without_rows_is_a_user() -> None:
    users = Users(table(4), (np.array([0, 1]), np.array([], dtype=np.int64), np.array([3])))
    assert users.counts.tolist() == [2, 0, 1]
    assert len(users.of(1)) == 0


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Table(np.ones((2, 2)), np.ones(3), ""), "labels"),
        (lambda: Table(np.ones((2, 2)), np.ones(2), "", np.ones(1)), "groups"),
        (lambda: Table(np.ones(2), np.ones(2), ""), "features"),
        (lambda: Table(np.array([[1.0], [np.nan]]), np.ones(2), ""), "features[1, 0]"),
        (lambda: Table(np.array([[1.0, np.inf]]), np.ones(1), ""), "features[0, 1]"),
        (lambda: Table(np.ones((1, 1)), np.array([np.nan]), ""), "labels"),
        (lambda: Table([[1.0], [1.0, 2.0]], [1, 1], ""), "features"),  # type: ignore[arg-type]
        (lambda: Table(np.array([["1"]]), np.ones(1), ""), "features"),
        (lambda: Table(np.array([[1j]]), np.ones(1), ""), "features"),
        (lambda: Table(np.ones((1, 1)), np.array([None]), ""), "labels"),
        (lambda: Table(np.ones((1, 1)), np.array([np.nan], dtype=object), ""), "labels"),
        (lambda: Table(np.ones((2, 1)), np.ones(2), "", np.array(["a", 1], object)), "groups"),
        (lambda: table(4).take([4]), "rows"),
        (lambda: table(4).take([0.5]), "rows"),
        (lambda: table(4).scaled(0, [1, 1, 1]), "low"),
        (lambda: table(4).scaled(-np.inf, np.inf), "low"),
        (lambda: natural(table(4).take([])), "rows"),
        (lambda: Users(table(4), (np.array([0]), np.array([0, 1]))), "rows"),
        (lambda: Users(table(4), (np.array([4]),)), "rows[0]"),
        (lambda: Users(table(4), (np.array([-1]),)), "rows[0]"),
        (lambda: Users(table(4), (np.array([0.5]),)), "rows[0]"),
        (lambda: Users(table(4), ()), "rows"),
        (lambda: iid(table(4), 5, 1), "users"),
        (lambda: iid(table(4), 0, 1), "users"),
        (lambda: iid(table(4), 2, -1), "seed"),
        (lambda: dirichlet(table(4), 2, 0.0, 1), "alpha"),
        (lambda: natural(Table(np.ones((2, 1)), np.ones(2), "")), "groups"),
        (lambda: natural(table(4), [1, 2]), "groups"),
        (lambda: table(4).split(1.0, 1), "share"),
        (lambda: table(4).scaled([1, 1], [0, 2]), "high"),
        (lambda: stacked([(np.ones((1, each)), np.ones(1)) for each in (2, 3)], ""), "parts"),
        (lambda: moons(columns=1, seed=1), "columns"),
        (lambda: linear_models(0, seed=1), "users"),
        (lambda: linear_models(seed=1, rows=(5, 4)), "rows"),
        (lambda: ratings(seed=1, agreement=2.0), "agreement"),
        (lambda: quadratics(0), "users"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(make: Callable[[], Any], field: str) -> None:
    assert Users(table(4), (np.array([0]), np.array([2, 1]))).counts.tolist() == [1, 2]
    assert len(iid(table(4), 4, 1)) == 4
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.field == field


def test_frames_are_tables_whatever_their_index_is() -> None:
    """Rows that were shuffled keep the labels of their index, which are no places."""
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"], "who": ["b", "a", "a"]}, index=[2, 0, 1]
    )
    found = Table(frame[["x"]], frame["y"], "", frame["who"])
    assert found.take([1, 2]).groups.tolist() == ["a", "a"]  # type: ignore[union-attr]
    assert found.take(found.labels == "no").features.tolist() == [[1.0], [3.0]]
    assert [each.labels.tolist() for each in map(natural(found).of, range(2))] == [
        ["yes", "no"],
        ["no"],
    ]


def test_scaling_by_public_ends_cuts_off_and_constant_columns_become_zero() -> None:
    found = Table(np.array([[0.0, 5.0], [10.0, 5.0], [30.0, 5.0]]), np.zeros(3), "")
    assert found.scaled([0, 5], [20, 5]).features.tolist() == [[0, 0], [0.5, 0], [1, 0]]


def test_a_split_loses_nothing() -> None:
    train, test = table().split(0.75, 1)
    assert (len(train), len(test)) == (45, 15)
    both = np.concatenate([train.features[:, 0], test.features[:, 0]])
    assert np.sort(both).tolist() == table().features[:, 0].tolist()
    assert train.groups is not None


def test_linear_models_are_those_of_the_paper() -> None:
    users = linear_models(200, 10, seed=4)
    targets, weights = users.truth["targets"], users.truth["weights"]
    assert (targets[:, 2:] == 0).all()
    assert users.counts.min() >= 10
    assert users.counts.max() <= 100
    right = [np.mean(np.sign(x @ w) == y) for (x, y), w in zip(users.pairs(), targets, strict=True)]
    assert np.average(right, weights=users.counts) == pytest.approx(0.95, abs=0.01)
    cosine = targets[0] @ targets[1] / np.linalg.norm(targets[0]) / np.linalg.norm(targets[1])
    assert weights[0, 1] == pytest.approx(np.exp((cosine - 1) / 0.1))
    assert (weights == weights.T).all()
    assert (weights.diagonal() == 0).all()
    assert np.abs(users.table.features).max() <= 1


def test_moons_are_turned_by_cluster() -> None:
    users = moons(seed=4, rows=(60, 60))
    angles, cluster = users.truth["angles"], users.truth["clusters"]
    assert np.bincount(cluster).tolist() == [10, 20, 30, 40]
    weights = users.truth["weights"]
    inside = cluster[:, None] == cluster
    np.fill_diagonal(inside, val=False)
    assert weights[inside].mean() > 100 * weights[cluster[:, None] != cluster].mean()
    # Turned back, the moons of all users lie on each other: no point is far from its half circle.
    for (points, labels), angle in zip(users.pairs(), angles, strict=True):
        back = points[:, :2] @ np.array(
            [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        )
        centre = back * labels[:, None] + np.array([0.5, 0.25])
        assert np.abs(np.linalg.norm(centre, axis=1) - 1).max() < 0.5
    assert users.table.features.shape[1] == 20
    assert np.abs(users.table.features[:, 2:]).mean() < 0.1


def test_ratings_follow_their_law() -> None:
    users = ratings(20_000, seed=4)
    law = users.truth["law"]
    seen = np.zeros((6, 6))
    np.add.at(seen, (users.table.features[:, 0].astype(int), users.table.labels), 1)
    expected = law * 20_000
    chi = ((seen - expected) ** 2 / expected).sum()
    assert chi < 35 + 5 * np.sqrt(70)
    first, second = users.table.features[:10_000, 0], users.table.features[10_000:, 0]
    one, two = users.table.labels[:10_000], users.table.labels[10_000:]
    tau = np.mean(np.sign(first - second) * np.sign(one - two))
    assert tau == pytest.approx(users.truth["tau"], abs=0.03)


def test_the_quadratic_functions_have_their_minimum_in_the_middle() -> None:
    users = quadratics(4)
    places = users.table.features[:, 0]
    assert places.tolist() == [1, 2, 3, 4]
    assert users.truth["minimum"] == places.mean() == 2.5


HAVE = os.environ.get("GOPA_DATA")
KNOWN = {
    "breast-cancer": (683, 9, {-1: 444, 1: 239}, None),
    "computers": (3800, 14, {-1: 2186, 1: 1614}, 190),
    "houses": (20_640, 8, {-1: 8914, 1: 11_726}, None),
    "school": (15_362, 17, {-1: 8378, 1: 6984}, 139),
    "svmguide3": (1284, 21, {-1: 947, 1: 337}, None),
    "mnist": (10_000, 784, {0: 980, 9: 1009}, None),
    "diabetes": (101_766, 8, {-1: 90_409, 1: 11_357}, 71_518),
}


@pytest.mark.skipif(not HAVE, reason="GOPA_DATA names no folder of data sets")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=pytest.mark.soak if each in {"mnist", "diabetes"} else ())
        for each in KNOWN
    ],
)
def test_data_sets_have_the_rows_that_are_known(name: str) -> None:
    rows, columns, labels, users = KNOWN[name]
    found = load(name)
    assert found.features.shape == (rows, columns)
    for label, count in labels.items():
        assert (found.labels == label).sum() == count
    assert (None if users is None else len(natural(found))) == users
    assert str(HAVE) in found.source
    assert "SHA-256" in found.source


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "svmguide3").mkdir()
    row = ",".join(["1"] * 22)
    for name in ("svmguide3", "svmguide3.t"):
        (tmp_path / "svmguide3" / name).write_text(f"{row}\n{row}\n")
    assert len(load("svmguide3", tmp_path)) == 2
    monkeypatch.delenv("GOPA_DATA", raising=False)
    with pytest.raises(DataNotFound) as caught:
        load("svmguide3")
    assert caught.value.file == "svmguide3/svmguide3"
    (tmp_path / "svmguide3" / "svmguide3.t").unlink()
    with pytest.raises(DataNotFound) as caught:
        load("svmguide3", tmp_path)
    assert caught.value.file.endswith("svmguide3.t")
    with pytest.raises(UsageError):
        load("forests", tmp_path)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("houses", "houses/cal_housing.data"),
        ("school", "school/school_b.mat"),
        ("diabetes", "diabetes130/dataset_diabetes.zip"),
        ("breast-cancer", "breast_cancer_wisconsin/breast-cancer-wisconsin.data"),
        ("computers", "computer_buyers/conjointAnalysisComputerBuyers.mat"),
        ("covertype", "covertype/covtype.data"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a,b\nc,d\n"])
def test_another_file_under_the_name_is_one_line(
    name: str, file: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(name, tmp_path)
    assert not isinstance(caught.value, DataNotFound)
    assert caught.value.field == str(path)


def test_activities_of_subjects_are_read_from_the_folder_of_the_archive(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound):
        load("harws", tmp_path)
    first = activities_of_subjects(tmp_path, {"train": (2, 3, 1), "test": (3,)})
    found = load("harws", tmp_path)
    assert found.features.shape == (3, 561)
    assert found.features[:, :2].tolist() == [[0.2, -0.1], [0.3, -0.1], [0.3, -0.1]]
    assert found.labels.tolist() == [1, -1, -1]
    assert natural(found).counts.tolist() == [1, 2]
    wrong: dict[str, tuple[str, ...]] = {
        "y_train.txt": ("", "2\n", "2\nx\n3\n", "\xff", "2\n7\n1\n", "2 1\n3 1\n1 1\n"),
        "subject_train.txt": ("30\n29.5\n28\n", "30\nnan\n28\n"),
        "X_train.txt": ("0.1 0.2\n" * 3,),
    }
    for name, texts in wrong.items():
        path = first.with_name(name)
        right = path.read_bytes()
        for text in texts:
            path.write_bytes(text.encode("latin-1"))
            with pytest.raises(UsageError) as caught:
                load("harws", tmp_path)
            assert caught.value.field == str(first)
        path.write_bytes(right)
    assert len(load("harws", tmp_path)) == 3


def activities_of_subjects(folder: Path, parts: dict[str, tuple[int, ...]]) -> Path:
    """The first of the files that are written in the shape of the archive: 561 columns."""
    for part, activities in parts.items():
        inside = folder / "UCI HAR Dataset" / part
        inside.mkdir(parents=True)
        rows = [f"  0.{number}  -1.0e-01" + " 0.5" * 559 for number in activities]
        subjects = [str(30 - place) for place in range(len(activities))]
        for kind, lines in (("X", rows), ("y", map(str, activities)), ("subject", subjects)):
            (inside / f"{kind}_{part}.txt").write_text("\n".join(lines) + "\n")
    return folder / "UCI HAR Dataset" / "train" / "X_train.txt"


def test_vehicles_of_sensors_are_read_from_cells(tmp_path: Path) -> None:
    path = tmp_path / "vehicle" / "vehicle.mat"
    path.parent.mkdir()
    with pytest.raises(DataNotFound):
        load("vehicle", tmp_path)

    def written(*sensors: tuple[list[list[float]], list[float]]) -> None:
        cells = {name: np.empty((len(sensors), 1), dtype=object) for name in "XY"}
        for place, (rows, labels) in enumerate(sensors):
            cells["X"][place, 0] = np.array(rows)
            cells["Y"][place, 0] = np.array(labels)[:, None]
        savemat(path, cells)

    written(([[1.0, 2.0], [3.0, 4.0]], [1, -1]), ([[5.0, 6.0]], [1]))
    found = load("vehicle", tmp_path)
    assert found.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found.labels.tolist() == [1, -1, 1]
    assert natural(found).counts.tolist() == [2, 1]
    wrong: list[list[float]] = [[1], [1, 2], [1, 1.5]]
    for labels in wrong:
        written(([[1.0, 2.0], [3.0, 4.0]], labels), ([[5.0, 6.0]], [1]))
        with pytest.raises(UsageError) as caught:
            load("vehicle", tmp_path)
        assert caught.value.field == str(path)


def test_forests_have_one_area_one_soil_and_one_of_seven_kinds(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound):
        load("covertype", tmp_path)
    path = covertype(tmp_path, 30)
    found = load("covertype", tmp_path)
    assert found.features.shape == (30, 54)
    assert (found.features[:, 10:].sum(axis=1) == 2).all()
    first = [int(each) for each in path.read_text().split("\n")[0].split(",")]
    assert [*found.features[0].astype(int), found.labels[0]] == first
    right = ["0"] * 10 + ["1", *"000"] + ["1", *"0" * 39] + ["7"]
    for place, other in (
        (54, "0"), (54, "8"), (10, "0"), (11, "1"), (14, "2"), (53, "1"), (3, "x"), (3, "1.5"),
        (3, ""), (3, "1,1"), (3, "nan"), (3, "#"),
    ):  # fmt: skip
        path.write_text(",".join(right) + "\n")
        assert len(load("covertype", tmp_path)) == 1
        wrong = [*right[:place], other, *right[place + 1 :]]
        path.write_text(",".join(right) + "\n" + ",".join(wrong) + "\n")
        with pytest.raises(UsageError) as caught:
            load("covertype", tmp_path)
        assert caught.value.field == str(path)
        assert not isinstance(caught.value, DataNotFound)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("age,clinic,ill,weight\n30,a,1,70.5\n40,b,0,80\n50,a,1,90\n")
    found = from_csv(path, "ill", group="clinic")
    assert found.features.tolist() == [[30, 70.5], [40, 80], [50, 90]]
    assert found.names == ("age", "weight")
    assert found.labels.tolist() == [1, 0, 1]
    assert natural(found).counts.tolist() == [2, 1]
    assert str(path) in found.source
    path.write_text(path.read_text().replace("70.5", "71.5"))
    assert from_csv(path, "ill", group="clinic").source != found.source
    for text in ("age,ill\n1\n", "age,ill\nx,1\n", "age\n1\n", "", "age,ill,ill\n1,2,3\n"):
        path.write_text(text)
        with pytest.raises(UsageError):
            from_csv(path, "ill")
    path.write_text("age,ill\nnan,1\n")
    with pytest.raises(UsageError) as caught:
        from_csv(path, "ill")
    assert caught.value.field == "features[0, 0]"


def test_a_file_of_a_spreadsheet_is_read_and_one_of_another_alphabet_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes("\ufeffy,größe\r\nja,2\r\n".encode())
    found = from_csv(path, "y")
    assert (found.names, found.labels.tolist(), found.features.tolist()) == (
        ("größe",),
        ["ja"],
        [[2.0]],
    )
    for broken in ("y,größe\nja,2\n".encode("latin-1"), b'y,x\n"' + b"a" * 200_000):
        path.write_bytes(broken)
        with pytest.raises(UsageError) as caught:
            from_csv(path, "y")
        assert caught.value.field == str(path)


def test_data_sets_of_scikit_learn_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_sklearn("breast_cancer").features.shape == (569, 30)
    with pytest.raises(UsageError):
        from_sklearn("covtype")
    for name in [each for each in sys.modules if each.partition(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendError) as caught:
        from_sklearn("breast_cancer")
    assert "[learning]" in str(caught.value)
