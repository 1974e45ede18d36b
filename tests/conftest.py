"""Rules for the whole suite: soaks run only when asked for, CI forbids skips, no test is timed."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

FORBID_SKIPS = "GOPA_FORBID_SKIPS"

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" in (config.option.markexpr or ""):
        return
    soaks = [item for item in items if "soak" in item.keywords]
    config.hook.pytest_deselected(items=soaks)
    items[:] = [item for item in items if "soak" not in item.keywords]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _refuse_skip((yield))


def _refuse_skip(report: Report) -> Report:
    if report.skipped and os.environ.get(FORBID_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, and {FORBID_SKIPS} is set"
    return report
