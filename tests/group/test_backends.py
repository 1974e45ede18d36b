"""The rule that decides over which backends this folder runs."""

from __future__ import annotations

import sys

import pytest

from tests.group.backends import REQUIRE_NATIVE, installed_groups

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


@pytest.mark.parametrize("forced", [None, "reference", "native"])
def test_a_required_backend_that_is_missing_stops_everything(
    no_native: pytest.MonkeyPatch, forced: str | None
) -> None:
    if forced:
        no_native.setenv("GOPA_BACKEND", forced)
    no_native.setenv(REQUIRE_NATIVE, "1")
    with pytest.raises(RuntimeError):
        decide()


def test_the_native_backend_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRE_NATIVE, raising=False)
    monkeypatch.setenv("GOPA_BACKEND", "reference")
    assert [group.backend for group in decide()] == ["reference"]
    monkeypatch.setenv(REQUIRE_NATIVE, "1")
    with pytest.raises(RuntimeError):
        decide()
