"""What an algorithm noted while it ran: columns of numbers, a row for each time it looked."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import BackendError, UsageError
from gopa.support.extras import missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers: TypeAlias = npt.NDArray[Any]

_BAND = (0.1, 0.9)
"""Of several runs the middle eight of ten are shaded."""


class History:
    """Named columns of equal length, which nobody can change.

    A column has one number for each row, or one for each row and run where several runs went
    side by side. The first column says where a row belongs: a step, a round, a budget.

    >>> from gopa.learning import History
    >>> history = History({"step": [0, 10, 20], "error": [0.5, 0.25, 0.125]})
    >>> history.names, float(history["error"][-1])
    (('step', 'error'), 0.125)
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, npt.ArrayLike]) -> None:
        self._columns = {name: _column(name, values) for name, values in columns.items()}
        if not self._columns:
            raise UsageError("a history has at least one column", "columns")
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"columns have one length, and these have {lengths}", "columns")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    @property
    def columns(self) -> dict[str, Numbers]:
        """All columns by name; the arrays are read-only."""
        return dict(self._columns)

    def __getitem__(self, name: str) -> Numbers:
        if name not in self._columns:
            raise UsageError(f"there is no column {name}: {', '.join(self.names)}", "history")
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __repr__(self) -> str:
        return f"<History: {len(self)} rows of {', '.join(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (self._columns,)

    def flat(self) -> dict[str, Numbers]:
        """Columns of single numbers: run 2 of `error` is called `error[2]`."""
        found: dict[str, Numbers] = {}
        for name, values in self._columns.items():
            if values.ndim == 1:
                found[name] = values
            else:
                found |= {f"{name}[{run}]": values[:, run] for run in range(values.shape[1])}
        return found

    def to_csv(self, path: str | Path) -> Path:
        """Writes `flat` as text; floats are written so that they read back as the same ones."""
        columns, target = self.flat(), Path(path)
        with target.open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(columns)
            listed = (values.tolist() for values in columns.values())
            rows.writerows([repr(each) for each in row] for row in zip(*listed, strict=True))
        return target

    @classmethod
    def from_csv(cls, path: str | Path) -> History:
        """Reads what `to_csv` wrote. `UsageError` names a line that it did not write."""
        with Path(path).open(newline="") as file:
            head, *rows = list(csv.reader(file)) or [[]]
        if len(set(head)) < len(head):
            raise UsageError("a column stands there once", f"{path}:1")
        for number, row in enumerate(rows, 2):
            if len(row) != len(head):
                raise UsageError(f"{len(head)} numbers stand in each line", f"{path}:{number}")
        columns: dict[str, list[Numbers]] = {}
        for place, name in enumerate(head):
            values = _read([row[place] for row in rows], f"{path}, column {name}")
            columns.setdefault(name.partition("[")[0], []).append(values)
        many = {name.partition("[")[0] for name in head if name.endswith("]")}
        return cls(
            {
                name: np.stack(found, axis=1) if name in many else found[0]
                for name, found in columns.items()
            }
        )

    def to_frame(self) -> Any:
        """The columns of `flat` as a `pandas.DataFrame`.

        Raises:
            BackendError: pandas is not installed. Nothing else here needs it.
        """
        try:
            import pandas as pd
        except ImportError:
            raise BackendError("a frame needs pandas: pip install pandas") from None
        return pd.DataFrame(self.flat())

    def plot(self, *names: str, x: str | None = None, ax: Axes | None = None) -> Axes:
        """Draws these columns, or all, against `x`, the first one if none is named.

        Of several runs the mean is drawn, and the middle eight of ten are shaded.

        Raises:
            BackendError: the extra `plot` is not installed.
        """
        along = self.names[0] if x is None else x
        axes = own_axes() if ax is None else ax
        places = self[along]
        if places.ndim > 1:
            raise UsageError("what a history is drawn against has one number a row", "x")
        for name in names or [each for each in self.names if each != along]:
            values = self[name].astype(float)
            if values.ndim > 1:
                low, high = np.quantile(values, _BAND, axis=1)
                axes.fill_between(places, low, high, alpha=0.2)
                values = values.mean(axis=1)
            axes.plot(places, values, label=name, marker="." if len(self) < 30 else "")
        axes.set_xlabel(along)
        axes.legend()
        return axes


class Recorder:
    """The rows of a history, collected one by one.

    >>> from gopa.learning import Recorder
    >>> notes = Recorder()
    >>> for step in range(3):
    ...     notes.note(step=step, error=2.0 ** -step)
    >>> notes.history()
    <History: 3 rows of step, error>
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, npt.ArrayLike]] = []

    def note(self, **numbers: npt.ArrayLike) -> None:
        """Adds a row. Every row has the names of the first one."""
        if self._rows and list(self._rows[0]) != list(numbers):
            raise UsageError(f"every row has the columns {', '.join(self._rows[0])}", "note")
        self._rows.append(numbers)

    def history(self) -> History:
        """All rows so far."""
        names: Sequence[str] = list(self._rows[0]) if self._rows else []
        return History({name: np.array([row[name] for row in self._rows]) for name in names})


def own_axes() -> Axes:
    """An empty picture; `BackendError` says how to get matplotlib where it is missing."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise missing("plot") from None
    axes: Axes = plt.subplots(layout="constrained")[1]
    return axes


def _column(name: str, values: npt.ArrayLike) -> Numbers:
    if not isinstance(name, str) or not name.replace("_", "").replace(" ", "").isalnum():
        raise UsageError(f"{name!r} is no name: letters, digits, spaces and _", "columns")
    try:
        found = np.array(values)
    except ValueError:
        raise UsageError("rows have equally many numbers", name) from None
    if found.dtype.kind not in "biuf":
        raise UsageError("a column holds numbers", name)
    if found.ndim not in {1, 2}:
        raise UsageError("a column has one number a row, or one for each row and run", name)
    found.flags.writeable = False
    return found


def _read(texts: Sequence[str], field: str) -> Numbers:
    if set(texts) <= {"True", "False"} and texts:
        return np.array([each == "True" for each in texts])
    try:
        return np.array([int(each) for each in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(each) for each in texts])
    except ValueError:
        raise UsageError("a column holds numbers", field) from None
