"""Loads data sets: those of scikit-learn, files below the folder `GOPA_DATA`, a file of one's own.

Nothing is fetched from anywhere, and every table says which file it came from.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from gopa import UsageError
from gopa.learning.data import Table
from gopa.support.extras import missing

VARIABLE: Final = "GOPA_DATA"

_SCHOOL_FEATURES: Final = [*range(5, 21), 27]
_GOOD_SCORE: Final = 20
_LIKED: Final = 5
_PIXELS: Final = 28 * 28
_UPSTAIRS, _DOWNSTAIRS = 2, 3
_ACTIVITIES, _HARWS_COLUMNS = 6, 561
_COVERTYPE_COLUMNS: Final = 55
_NUMERIC: Final = (
    "time_in_hospital",
    "num_lab_procedures",
    "num_procedures",
    "num_medications",
    "number_outpatient",
    "number_emergency",
    "number_inpatient",
    "number_diagnoses",
)


class DataNotFound(UsageError):
    """A data set that is not where it was looked for; `file` is where it belongs."""

    def __init__(self, message: str, file: str) -> None:
        super().__init__(message, "data")
        self.args = (message, file)
        self.file = file


def load(name: str, folder: str | Path | None = None) -> Table:
    """A data set of the papers by its name, from a folder or from the one of `GOPA_DATA`.

    | name | label | users by nature |
    |---|---|---|
    | breast-cancer | 1 malignant, -1 benign; rows with a gap are left out | none |
    | houses | 1 if east of the mean longitude, else -1; its column is left out | none |
    | svmguide3 | as it is, -1 or 1 | none |
    | school | 1 if the score is above 20, else -1 | schools |
    | computers | 1 if liked more than 5 of 10, else -1 | buyers |
    | mnist | digits | none |
    | diabetes | 1 if readmitted within 30 days, else -1; numeric columns alone | patients |
    | harws | 1 upstairs, -1 downstairs; rows of other activities are left out | subjects |
    | vehicle | as it is, -1 or 1 | sensors |
    | covertype | kinds of forest, 1 to 7 | none |

    `harws` is the folder `UCI HAR Dataset` as UCI's archive has it. `vehicle` is a MATLAB file
    with cells X (rows of features) and Y (labels), one of each for every sensor.

    Raises:
        DataNotFound: the file is not there.
        UsageError: there is no such name, or the file is not what it should be.
    """
    if name not in _LOADERS:
        raise UsageError(f"one of {', '.join(sorted(_LOADERS))}", "name")
    files, read = _LOADERS[name]
    given = os.environ.get(VARIABLE) if folder is None else folder
    if not given:
        message = f"{name} is read from {files[0]} below a folder that {VARIABLE} names: set it"
        raise DataNotFound(message, files[0])
    paths = [Path(given) / file for file in files]
    for path in paths:
        if not path.is_file():
            raise DataNotFound(f"{name} needs {path}, which is not there", str(path))
    found = [path.read_bytes() for path in paths]
    try:
        return read(found, _source(f"{name} from {paths[0]}", *found))
    except (ValueError, KeyError, IndexError, OSError, EOFError, zipfile.BadZipFile) as error:
        message = f"not the file of {name} ({error}): get it again"
        raise UsageError(message, str(paths[0])) from None


def from_csv(path: str | Path, label: str, *, group: str | None = None) -> Table:
    """A table of one's own: a line of names, then numbers; one column has the labels.

    Raises:
        UsageError: a column is not there, or holds something else; the message says where.
    """
    data = Path(path).read_bytes()
    try:
        # Spreadsheets put a mark in front of the first name.
        text = data.decode("utf-8-sig")
        head, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"this is no table in UTF-8: {error}", str(path)) from None
    for name in (label, *([group] if group else [])):
        if head.count(name) != 1:
            raise UsageError(f"there is no column {name}: {', '.join(head)}", str(path))
    for number, row in enumerate(rows, 2):
        if len(row) != len(head):
            raise UsageError(f"{len(head)} entries stand in each line", f"{path}:{number}")
    names = [name for name in head if name not in {label, group}]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(head)}
    features = np.array([_floats(columns[name], f"{path}, column {name}") for name in names])
    return Table(
        features.T.reshape(len(rows), len(names)),
        _labels(columns[label]),
        _source(str(path), data),
        None if group is None else _labels(columns[group]),
        tuple(names),
    )


def from_sklearn(name: str) -> Table:
    """One of the data sets that scikit-learn brings along, such as "breast_cancer" or "digits".

    Raises:
        BackendError: the extra `learning` is not installed.
        UsageError: there is no such data set.
    """
    try:
        from sklearn import datasets
    except ImportError:
        raise missing("learning") from None
    bundled = ("breast_cancer", "diabetes", "digits", "iris", "wine")
    if name not in bundled:
        raise UsageError(f"one of {', '.join(bundled)}", "name")
    found = getattr(datasets, f"load_{name}")()
    return Table(
        found.data,
        found.target,
        f"{name} of scikit-learn",
        names=tuple(map(str, found.feature_names)),
    )


def _breast_cancer(files: list[bytes], source: str) -> Table:
    rows = [row for row in _csv(files[0])[1:] if "?" not in row]
    numbers = np.array(rows, dtype=np.float64)
    return Table(numbers[:, 1:10], np.where(numbers[:, 10] == 4, 1, -1), source)


def _houses(files: list[bytes], source: str) -> Table:
    numbers = np.array(_csv(files[0]), dtype=np.float64)
    longitude = numbers[:, 0]
    return Table(numbers[:, 1:], np.where(longitude >= longitude.mean(), 1, -1), source)


def _svmguide3(files: list[bytes], source: str) -> Table:
    numbers = np.array([row for each in files for row in _csv(each)[1:]], dtype=np.float64)
    return Table(numbers[:, 1:], numbers[:, 0].astype(np.int64), source)


def _school(files: list[bytes], source: str) -> Table:
    found = _matlab(files[0])
    starts = found["task_indexes"].ravel().astype(np.int64) - 1
    features = found["x"].T[:, _SCHOOL_FEATURES]
    school = np.searchsorted(starts, np.arange(len(features)), "right") - 1
    scores = found["y"].ravel().astype(np.int64)
    return Table(features, np.where(scores > _GOOD_SCORE, 1, -1), source, school)


def _computers(files: list[bytes], source: str) -> Table:
    found = _matlab(files[0])
    liked, designs = found["likeBuy"], found["designMarix"]
    buyers = np.repeat(np.arange(len(liked)), len(designs))
    labels = np.where(liked.ravel() > _LIKED, 1, -1)
    return Table(np.tile(designs, (len(liked), 1)), labels, source, buyers)


def _mnist(files: list[bytes], source: str) -> Table:
    images, labels = (gzip.decompress(each) for each in files)
    pixels = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(-1, _PIXELS)
    digits = np.frombuffer(labels, dtype=np.uint8, offset=8).astype(np.int64)
    return Table(pixels / 255.0, digits, source)


def _diabetes(files: list[bytes], source: str) -> Table:
    with zipfile.ZipFile(io.BytesIO(files[0])) as archive:
        head, *rows = _csv(archive.read("dataset_diabetes/diabetic_data.csv"))
    places = {name: place for place, name in enumerate(head)}
    features = np.array([[float(row[places[name]]) for name in _NUMERIC] for row in rows])
    again = np.array([row[places["readmitted"]] == "<30" for row in rows])
    patients = np.array([int(row[places["patient_nbr"]]) for row in rows])
    return Table(features, np.where(again, 1, -1), source, patients, _NUMERIC)


def _harws(files: list[bytes], source: str) -> Table:
    features, activities, subjects = (
        np.concatenate([_numbers(each, width) for each in files[part::3]])
        for part, width in enumerate((_HARWS_COLUMNS, 1, 1))
    )
    if not len(features) == len(activities) == len(subjects):
        raise ValueError("rows, activities and subjects are not as many")
    if not np.isin(activities, range(1, _ACTIVITIES + 1)).all() or (subjects % 1 != 0).any():
        raise ValueError(f"activities are 1 to {_ACTIVITIES}, and subjects whole numbers")
    kept = np.isin(activities[:, 0], (_UPSTAIRS, _DOWNSTAIRS))
    labels = np.where(activities[kept, 0] == _UPSTAIRS, 1, -1)
    return Table(features[kept], labels, source, subjects[kept, 0].astype(np.int64))


def _vehicle(files: list[bytes], source: str) -> Table:
    found = _matlab(files[0])
    rows, labels = ([np.asarray(each) for each in found[name].ravel()] for name in "XY")
    if [len(each) for each in rows] != [each.size for each in labels]:
        raise ValueError("a sensor has not as many labels as rows")
    signs = np.concatenate([each.ravel() for each in labels])
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError("labels are -1 and 1")
    sensors = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    features = np.concatenate(rows).astype(np.float64)
    return Table(features, signs.astype(np.int64), source, sensors)


def _covertype(files: list[bytes], source: str) -> Table:
    text = files[0].decode()
    if not text.strip():
        raise ValueError("there are no rows")
    found = np.loadtxt(io.StringIO(text), np.int64, comments=None, delimiter=",", ndmin=2)
    if found.shape[1] != _COVERTYPE_COLUMNS or not np.isin(found[:, -1], np.arange(1, 8)).all():
        raise ValueError("a row has 54 numbers and a kind of forest from 1 to 7")
    for one_of in (found[:, 10:14], found[:, 14:54]):
        if not (np.isin(one_of, (0, 1)).all() and (one_of.sum(axis=1) == 1).all()):
            raise ValueError("a row has one of 4 areas and one of 40 soils")
    return Table(found[:, :-1].astype(np.float64), found[:, -1], source)


def _numbers(data: bytes, width: int) -> np.ndarray[Any, Any]:
    """A table of numbers with spaces between them, so many in each line."""
    found = np.array([row.split() for row in data.decode().splitlines()], dtype=np.float64)
    if found.shape[1:] != (width,):
        raise ValueError(f"{width} numbers stand in each line")
    return found


def _csv(data: bytes) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(data.decode())) if row]


def _matlab(data: bytes) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found: dict[str, Any] = loadmat(io.BytesIO(data))
    except (MatReadError, NotImplementedError, TypeError) as error:
        raise ValueError(str(error)) from None
    return found


def _source(name: str, *files: bytes) -> str:
    """Where a table comes from; other contents are another source."""
    return f"{name} (SHA-256 {sha256(b''.join(files)).hexdigest()[:16]})"


def _floats(texts: list[str], field: str) -> list[float]:
    try:
        return [float(each) for each in texts]
    except ValueError as error:
        raise UsageError(f"a column holds numbers: {error}", field) from None


def _labels(texts: list[str]) -> np.ndarray[Any, Any]:
    try:
        return np.array([int(each) for each in texts], dtype=np.int64)
    except ValueError:
        return np.array(texts)


_LOADERS: Final[dict[str, tuple[tuple[str, ...], Callable[[list[bytes], str], Table]]]] = {
    "breast-cancer": (("breast_cancer_wisconsin/breast-cancer-wisconsin.data",), _breast_cancer),
    "computers": (("computer_buyers/conjointAnalysisComputerBuyers.mat",), _computers),
    "covertype": (("covertype/covtype.data",), _covertype),
    "diabetes": (("diabetes130/dataset_diabetes.zip",), _diabetes),
    "harws": (
        tuple(
            f"UCI HAR Dataset/{part}/{kind}_{part}.txt"
            for part in ("train", "test")
            for kind in ("X", "y", "subject")
        ),
        _harws,
    ),
    "houses": (("houses/cal_housing.data",), _houses),
    "mnist": (
        ("mnist_t10k/t10k-images-idx3-ubyte.gz", "mnist_t10k/t10k-labels-idx1-ubyte.gz"),
        _mnist,
    ),
    "school": (("school/school_b.mat",), _school),
    "svmguide3": (("svmguide3/svmguide3", "svmguide3/svmguide3.t"), _svmguide3),
    "vehicle": (("vehicle/vehicle.mat",), _vehicle),
}
