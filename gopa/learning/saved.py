"""Outcomes in one file: JSON beside arrays in a zip archive that is not compressed, and no pickle.

What is loaded is what was saved, byte for byte, or is refused. A file is not signed: what it says
of privacy is what whoever wrote it says.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from gopa import UsageError
from gopa.learning.checks import require_seed, whole
from gopa.learning.history import History
from gopa.learning.privacy import RELATIONS, UNITS, VIEWS, Spent
from wire.strict_json import read_json

FORMAT: Final = "gopa-outcome/v1"
_HEAD: Final = "outcome.json"
_PLAIN: Final = (
    "algorithm", "seed", "seconds", "messages", "bytes", "converged", "warnings", "noise",
)  # fmt: skip
_KEYS: Final = {"format", *_PLAIN, "model", "classes", "history", "spent", "rounds"}


@dataclass(frozen=True, slots=True)
class SavedRound:
    """The name of a round of verified aggregation, whose log is somewhere else."""

    session: bytes
    round: int

    def log(self) -> Any:
        """Refuses: the file has no log."""
        message = (
            "a file of an outcome has no log: give gopa.audit the one that "
            "transcript.archive(path) kept"
        )
        raise UsageError(message, "transcript")


class _Writer:
    """Values as JSON, with arrays put aside."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []

    def of(self, value: Any, *, finite: bool = True) -> Any:
        """The JSON of a value."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, np.ndarray | np.generic):
            return self._array(np.asarray(value), finite=finite)
        if isinstance(value, float):
            if not math.isfinite(value) and finite:
                raise UsageError("a model of finite numbers", "model")
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) in {tuple, list}:
            return {type(value).__name__: [self.of(each, finite=finite) for each in value]}
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": {name: self.of(each, finite=finite) for name, each in value.items()}}
        if type(value).__name__ in _RECORDS:
            own = {each.name: getattr(value, each.name) for each in fields(value)}
            return {type(value).__name__: self.of(own, finite=finite)}
        raise UsageError(f"a {type(value).__name__} is not kept in files", "model")

    def _array(self, values: Any, *, finite: bool) -> Any:
        if values.dtype.kind not in "biufU":
            raise UsageError("arrays hold numbers or text", "model")
        if finite and values.dtype.kind == "f" and not np.isfinite(values).all():
            raise UsageError("a model of finite numbers", "model")
        self.arrays.append(_npy(values))
        return {"array": len(self.arrays) - 1, "dtype": values.dtype.str, "shape": [*values.shape]}


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(values), allow_pickle=False)
    return file.getvalue()


_RECORDS: Final = {"Trained": "gopa.learning.without_replacement.models"}
"""Models that are objects with fields, and where they are."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write to, which becomes the file of this path at once: nobody finds half of it."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.unlink(missing_ok=True)
    yield unfinished
    os.replace(unfinished, path)  # noqa: PTH105 - at once


def write(outcome: Any, path: str | Path) -> Path:
    """Writes an outcome to a file of its owner alone."""
    target, writer = Path(path), _Writer()
    spent = {each.name: getattr(outcome.spent, each.name) for each in fields(outcome.spent)}
    curve = spent.pop("curve")
    head = {
        "format": FORMAT,
        **{name: writer.of(getattr(outcome, name)) for name in _PLAIN},
        "model": writer.of(outcome.model),
        "classes": writer.of(outcome.classes),
        "history": writer.of(outcome.history.columns, finite=False),
        "spent": writer.of(
            {**spent, "curve": None if curve is None else curve.columns}, finite=False
        ),
        "rounds": [[each.session.hex(), each.round] for each in outcome.transcript or ()],
    }
    # The seed is in it, from which all noise follows: nobody else reads it.
    with (
        replacing(target) as unfinished,
        open(unfinished, "xb", opener=partial(os.open, mode=0o600)) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        _put(archive, _HEAD, json.dumps(head, allow_nan=False).encode())
        for number, data in enumerate(writer.arrays):
            _put(archive, f"{number}.npy", data)
    return target


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def read(make: Callable[..., Any], path: str | Path) -> Any:
    """The outcome in a file, by its constructor.

    Raises:
        UsageError: the file is not one that `write` wrote.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            head, arrays = _members(archive)
        if not isinstance(head, dict) or set(head) != _KEYS or head["format"] != FORMAT:
            raise ValueError(f"keys or format are others than those of {FORMAT}")  # noqa: TRY301
        return make(**_parts(head, _Reader(arrays)))
    except FileNotFoundError:
        raise UsageError("there is no such file", str(path)) from None
    except (
        ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError, OSError,
        EOFError, OverflowError, MemoryError, zipfile.BadZipFile, UsageError,
    ) as error:  # fmt: skip
        raise UsageError(f"this is no outcome: {error}", str(path)) from None


def _members(archive: zipfile.ZipFile) -> tuple[Any, list[bytes]]:
    """The JSON and the arrays, if there is nothing else and nothing would grow in memory."""
    listed = archive.infolist()
    names = [each.filename for each in listed]
    if names != [_HEAD, *(f"{number}.npy" for number in range(len(names) - 1))]:
        raise ValueError("other parts than an outcome has")
    if any(each.compress_type != zipfile.ZIP_STORED for each in listed):
        raise ValueError("a part is compressed")
    head, *arrays = (archive.read(each) for each in listed)
    return read_json(head, pairs=_once), arrays


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members = list(pairs)
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a key stands twice")
    return found


class _Reader:
    """Values from JSON and arrays, each of which is used once."""

    def __init__(self, arrays: list[bytes]) -> None:
        self._arrays: dict[int, bytes] = dict(enumerate(arrays))

    def of(self, tree: Any, *, finite: bool = True) -> Any:
        """The value of a JSON tree."""
        if isinstance(tree, float) and not math.isfinite(tree):
            raise ValueError("no finite number")  # 1e999 is read as one that is not, as NaN is
        if tree is None or isinstance(tree, bool | int | str | float):
            return tree
        if not isinstance(tree, dict):
            raise TypeError("a list without its kind")
        if set(tree) == {"array", "dtype", "shape"}:
            return self._array(tree, finite=finite)
        ((kind, body),) = tree.items()
        if kind == "float" and not finite and body in {"inf", "-inf", "nan"}:
            return float(body)
        if kind in {"tuple", "list"} and isinstance(body, list):
            return (tuple if kind == "tuple" else list)(
                self.of(each, finite=finite) for each in body
            )
        if kind == "dict" and isinstance(body, dict):
            return {name: self.of(each, finite=finite) for name, each in body.items()}
        if kind in _RECORDS:
            return getattr(import_module(_RECORDS[kind]), kind)(**self.of(body, finite=finite))
        raise ValueError(f"no {kind} is kept in files")

    def _array(self, tree: Mapping[str, Any], *, finite: bool) -> Any:
        data = self._arrays.pop(tree["array"])
        if not data.startswith(b"\x93NUMPY"):
            raise ValueError("a part is no array")
        values = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        if values.dtype.str != tree["dtype"] or [*values.shape] != tree["shape"]:
            raise ValueError("an array has another kind or shape than is said of it")
        if values.dtype.kind not in "biufU" or _npy(values) != data:
            raise ValueError("an array that nobody writes")
        if finite and values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("a number of the model is not finite")
        return values

    def require_empty(self) -> None:
        """Refuses arrays that nothing refers to."""
        if self._arrays:
            raise ValueError("arrays that nothing refers to")


def _parts(head: Mapping[str, Any], reader: _Reader) -> dict[str, Any]:
    """The fields of an outcome."""
    found = {name: reader.of(head[name]) for name in _PLAIN}
    kinds = {
        "algorithm": str, "seed": int, "seconds": float, "messages": int, "bytes": int,
        "warnings": tuple,
    }  # fmt: skip
    for name, kind in kinds.items():
        if type(found[name]) is not kind:
            raise TypeError(f"{name} is no {kind.__name__}")
    if found["converged"] not in {None, True, False} or type(found["noise"]) not in {
        type(None),
        float,
    }:
        raise TypeError("converged or noise is of another kind")
    require_seed(found["seed"])
    _require_texts(found["warnings"], "warnings")
    found["model"], found["classes"] = reader.of(head["model"]), reader.of(head["classes"])
    found["history"] = History(reader.of(head["history"], finite=False))
    spent = reader.of(head["spent"], finite=False)
    if set(spent) != {each.name for each in fields(Spent)} or not (
        spent["unit"] in UNITS and spent["view"] in VIEWS and spent["relation"] in RELATIONS
    ):
        raise ValueError("what was spent is said in other words")
    _require_texts(spent["assumptions"], "assumptions")
    whole(spent["colluders"], "colluders")
    if type(spent["theorem"]) is not str:
        raise TypeError("a theorem is text")
    curve = spent.pop("curve")
    found["spent"] = Spent(**spent, curve=None if curve is None else History(curve))
    rounds = [
        SavedRound(bytes.fromhex(session), whole(number, "rounds"))
        for session, number in head["rounds"]
    ]
    found["transcript"] = tuple(rounds) or None
    reader.require_empty()
    return found


def _require_texts(found: Any, name: str) -> None:
    """Refuses all but a tuple of texts."""
    if type(found) is not tuple or not all(type(each) is str for each in found):
        raise TypeError(f"{name} are texts")
