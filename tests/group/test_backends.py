"""The rule that decides over which backends this folder runs."""

from __future__ import annotations

import importlib
import sys

import pytest

from commitments import backends
from commitments.backends import ristretto255, single_thread
from tests.group.backends import REQUIRE_NATIVE, installed_groups
from wire.errors import BackendError

decide = installed_groups.__wrapped__


@pytest.fixture
def no_native(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An interpreter in which the native backend cannot be imported."""
    monkeypatch.setitem(sys.modules, "commitments.native", None)
    monkeypatch.delenv("GOPA_BACKEND", raising=False)
    monkeypatch.delenv(REQUIRE_NATIVE, raising=False)
    return monkeypatch


def test_without_the_native_backend_the_reference_runs_alone(
    no_native: pytest.MonkeyPatch,
) -> None:
    assert [group.backend for group in decide()] == ["reference"]
    no_native.setenv(REQUIRE_NATIVE, "0")
    assert [group.backend for group in decide()] == ["reference"]


def test_a_core_that_is_missing_is_named_and_never_promised(
    no_native: pytest.MonkeyPatch,
) -> None:
    for name in ("_native_error", "_group"):  # what an interpreter found out before stays apart
        no_native.setattr(backends, name, getattr(backends, name).__wrapped__)
    status = backends.backend_status()
    assert status.active == ristretto255().backend == "reference"
    assert status.native_error
    assert status.hint
    with pytest.raises(BackendError):
        ristretto255("native")


@pytest.mark.parametrize("forced", [None, "reference", "native"])
def test_a_required_backend_that_is_missing_stops_everything(
    no_native: pytest.MonkeyPatch, forced: str | None
) -> None:
    if forced:
        no_native.setenv("GOPA_BACKEND", forced)
    no_native.setenv(REQUIRE_NATIVE, "1")
    with pytest.raises(RuntimeError):
        decide()


def test_measurements_stay_on_one_core() -> None:
    if "native" not in {group.backend for group in installed_groups()}:
        with single_thread(ristretto255("reference")):
            return
    native = importlib.import_module("commitments.native")
    before = native.threads()
    native.set_threads(2)
    try:
        with single_thread(ristretto255("native")):
            assert native.threads() == 1
        assert native.threads() == 2
        with single_thread(ristretto255("reference")):
            assert native.threads() == 2
    finally:
        native.set_threads(before)


def test_the_native_backend_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRE_NATIVE, raising=False)
    monkeypatch.setenv("GOPA_BACKEND", "reference")
    assert [group.backend for group in decide()] == ["reference"]
    monkeypatch.setenv(REQUIRE_NATIVE, "1")
    with pytest.raises(RuntimeError):
        decide()
