"""Rules for the whole suite: soaks run only when asked for, and CI forbids skips."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

FORBID_SKIPS = "GOPA_FORBID_SKIPS"


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
