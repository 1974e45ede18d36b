"""What a curious server does with all that it sees: it learns from runs, and looks for numbers."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from flwr.app import ArrayRecord, Context, Message
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FEW: Final = 30
MANY: Final = 100
KEPT: Final = {FEW: 5, MANY: 30}
"""Features that a classifier looks at, by pairs of runs, chosen from all on its training data: with
few runs it would learn noise if it looked at more."""


def bytes_of(message: Message) -> bytes:
    """All that a message carries, numbers as they are in memory."""
    if message.has_error():
        return str(message.error.reason).encode()
    return b"".join(_bytes(each) for record in message.content.values() for each in _parts(record))


def states_of(context: Context) -> bytes:
    """What passes through the server's process in a simulation besides messages."""
    return b"".join(_bytes(e) for record in context.state.values() for e in _parts(record))


def _parts(record: Any) -> Iterable[Any]:
    return (
        (each.data for each in record.values())
        if isinstance(record, ArrayRecord)
        else (record.values())
    )


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        return struct.pack("<d", value)
    return value.encode() if isinstance(value, str) else pickle.dumps(value)


def told_apart(runs: Sequence[Sequence[bytes]], classes: Sequence[int]) -> float:
    """The area under the curve of a classifier that sees only runs of other pairs.

    A run is a list of messages; runs 2i and 2i + 1 are a pair. Its features are all bytes at their
    places and all lengths.
    """
    kept = KEPT[len(runs) // 2]
    count = max(map(len, runs))
    lengths = np.array([[len(m) for m in run] + [0] * (count - len(run)) for run in runs])
    widths = lengths.max(axis=0)
    starts = np.concatenate([[0], np.cumsum(widths)])
    found = np.zeros((len(runs), starts[-1] + count), dtype=np.float32)
    for row, run in zip(found, runs, strict=True):
        for message, start in zip(run, starts, strict=False):
            row[start : start + len(message)] = np.frombuffer(message, dtype=np.uint8)
    found[:, starts[-1] :] = lengths
    varied: npt.NDArray[np.float32] = found[:, found.std(axis=0) > 0]
    judge = make_pipeline(SelectKBest(f_classif, k=kept), StandardScaler(), LogisticRegression())
    pairs = np.arange(len(runs)) // 2
    scores = cross_val_predict(
        judge, varied, classes, groups=pairs, cv=GroupKFold(10), method="decision_function"
    )
    return float(roc_auc_score(classes, scores))


def encodings(value: float, low: float, high: float, steps: int) -> dict[str, bytes]:
    """How a number may stand somewhere: as floats, and as the integer of a grid."""
    place = round((value - low) / (high - low) * steps)
    return {
        f"{kind}{order}": struct.pack(order + code, number)
        for kind, code, number in (
            ("float32", "f", value),
            ("float64", "d", value),
            ("grid in 4 bytes", "I", place),
            ("grid in 8 bytes", "Q", place),
        )
        for order in "<>"
    }


def seen(runs: Iterable[Sequence[bytes]], marks: dict[str, bytes]) -> set[str]:
    """Which of these occur in what was seen."""
    whole = b"\0".join(message for run in runs for message in run)
    return {name for name, mark in marks.items() if mark in whole}
