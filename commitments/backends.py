"""Chooses which implementation of the group runs, and says why and how to get the fast one.

The choice is never silent: `GOPA_BACKEND` forces one, otherwise the native core
is used where it is installed, and `backend_status` tells which it is and why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from commitments.group import Group
from wire.errors import BackendError

NATIVE = "native"
REFERENCE = "reference"
CHOICES = (NATIVE, REFERENCE)
VARIABLE = "GOPA_BACKEND"

HOW_TO_GET_NATIVE = (
    "install a Rust toolchain (1.89 or newer), then run `pip install --verbose .` in a checkout "
    "of gopa, which also shows why a build fails; or install a wheel, which has the core in it"
)


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """The active backend and the reason for it, for people and for reports."""

    active: str
    reason: str
    native_error: str | None
    details: str

    @property
    def hint(self) -> str | None:
        """What to do for the fast backend, where it is not installed."""
        return None if self.native_error is None else HOW_TO_GET_NATIVE


def ristretto255(backend: str | None = None) -> Group:
    """The ristretto255 group on the named backend, by default the active one.

    Raises:
        BackendError: the name is unknown or that backend is not installed.
    """
    return _group(_active()[0] if backend is None else _known(backend))


def backend_status() -> BackendStatus:
    """What runs here. Raises `BackendError` when `GOPA_BACKEND` cannot be met."""
    active, reason = _active()
    group = _group(active)
    return BackendStatus(active, reason, _native_error(), group.details)


@contextmanager
def single_thread(group: Group) -> Iterator[None]:
    """Keep the batches of a group on one core, for measurements that add up."""
    if group.backend != NATIVE:
        yield
        return
    from commitments.native import set_threads, threads

    before = threads()
    set_threads(1)
    try:
        yield
    finally:
        set_threads(before)


def _known(name: str) -> str:
    if name not in CHOICES:
        raise BackendError(f"unknown backend {name!r}: use one of {', '.join(CHOICES)}")
    return name


def _active() -> tuple[str, str]:
    forced = os.environ.get(VARIABLE)
    if forced:
        return _known(forced), f"{VARIABLE}={forced} asks for it"
    error = _native_error()
    if error is None:
        return NATIVE, "the native core is installed"
    return REFERENCE, f"the native core is not installed ({error})"


@cache
def _native_error() -> str | None:
    try:
        # Not only the core itself: one left over from another version lacks what this asks for.
        import commitments.native  # noqa: F401  the import itself is the question
    except ImportError as error:
        return str(error)
    return None


@cache
def _group(name: str) -> Group:
    if name == NATIVE:
        error = _native_error()
        if error is not None:
            raise BackendError(
                f"the native backend is not installed ({error}): {HOW_TO_GET_NATIVE}"
            )
        from commitments.native import native_ristretto255

        return native_ristretto255()
    from commitments.reference import reference_ristretto255, warn_not_constant_time

    warn_not_constant_time()
    return reference_ristretto255()
