"""Calls as bytes for other processes: packed, carried out there, and their answers unpacked.

Pickle decides what may go, as with Python's own pools of processes: functions by name, and
data. Secrets of this library refuse to be pickled, so none can go by accident; packers that also
take closures apart would carry along whatever a closure holds.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from commitments.backends import NATIVE, backend_status
from wire.errors import UsageError


@cache
def keep_to_one_core() -> None:
    """Keeps a worker to one core: threads inside of it would take those of the others."""
    if backend_status().active == NATIVE:
        from commitments.native import set_threads

        set_threads(1)


def packed(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Packs a call into bytes that `perform` carries out.

    Raises:
        UsageError: it cannot be pickled, or holds a secret of this library.
    """
    try:
        return pickle.dumps((function, tuple(args), dict(kwargs)), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        # The words of the error may show the data.
        message = f"what runs elsewhere is a function with a name and plain data: {_kind(error)}"
        raise UsageError(message, "executor") from None


def perform(task: bytes) -> bytes:
    """Does what was packed, in the worker. Errors come back as values: nobody else logs them."""
    keep_to_one_core()
    try:
        function, args, kwargs = pickle.loads(task)  # noqa: S301 - from the caller of this worker
        answer = pickle.dumps((True, function(*args, **kwargs)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - the caller gets it, whatever it is
        answer = _failure(error)
    return answer


def unpacked(answer: bytes) -> Any:
    """Returns what the call returned; raises what it raised."""
    worked, value = pickle.loads(answer)  # noqa: S301 - the caller trusts its workers
    if not worked:
        raise value
    return value


def _failure(error: Exception) -> bytes:
    """An error that is not the same after a journey is named instead."""
    try:
        answer = pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
        pickle.loads(answer)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - constructors of strangers
        return pickle.dumps((False, RuntimeError(f"the task failed with {_kind(error)}")))
    return answer


def _kind(error: Exception) -> str:
    return type(error).__qualname__
