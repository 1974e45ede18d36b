"""Rules for the whole suite: slow tests and soaks run when asked for; CI forbids skips.

`tests.pace` says what is drawn and in which order tests run.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
from collections import defaultdict
from collections.abc import Generator
from typing import Any, Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests import pace, verified

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

FORBID_SKIPS = "GOPA_FORBID_SKIPS"
ELSEWHERE = {"plugins": "GOPA_TEST_PLUGINS", "torch": "GOPA_TEST_TORCH"}
"""Folders that `make test-plugins` and `make test-torch` run, in environments of their own."""

RECORD_DURATIONS = "GOPA_RECORD_DURATIONS"
HANGS: Final = 600
"""Seconds after which a test waits for what never comes."""
SKIPPED = "skipped"
"""What the cache of pytest calls the tests that the last run skipped: `make test-skipped`."""

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=pace.examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")
# Workers share the cores: threads of linear algebra would spend them on waiting for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
collect_ignore = [folder for folder, asked in ELSEWHERE.items() if not os.environ.get(asked)]
verified.remember()
# What is collected stays until the end: there is no garbage among it to look for.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = config.option.markexpr or ""
    left_out = set() if "soak" in asked else {"soak"}
    if not (config.option.keyword or any("::" in name for name in config.args)):
        _soak_what_was_not_drawn(items)
        if "soak" not in asked and "slow" not in asked:
            left_out.add("slow")
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if _has(item, left_out)])
        items[:] = [item for item in items if not _has(item, left_out)]


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_begin_with_slow_ones(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Comes last: marks leave tests out, and fixtures of a session draw theirs together."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        planned = [pace.Planned(item.nodeid, item, _together(item)) for item in items]
        items[:] = pace.in_order(planned, pace.recorded().tests, workers)


def _has(item: pytest.Item, markers: set[str]) -> bool:
    return any(marker in item.keywords for marker in markers)


def _together(item: pytest.Item) -> str:
    mark = item.get_closest_marker("together")
    return str(mark.args[0]) if mark else ""


def pytest_collection_finish() -> None:
    """Spares the collector of garbage the tests and modules, which stay until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def _soak_what_was_not_drawn(items: list[pytest.Item]) -> None:
    many: defaultdict[int, list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("thirds")
        if (mark or pace.ON_REFERENCE) and "soak" not in item.keywords:
            many[mark.args[0] if mark and mark.args else 3].append(item)
    for parts, found in many.items():
        drawn = pace.drawn_third(((_kind(item), item.nodeid) for item in found), parts)
        for item in found:
            if item.nodeid not in drawn:
                item.add_marker("soak")


def _kind(item: pytest.Item) -> tuple[object, ...]:
    """What a third is drawn of: one function, and all parameters beside `part` if it has that."""
    function = item.nodeid.partition("[")[0]
    found = item.callspec.params if hasattr(item, "callspec") else {}
    others = found.items() if "part" in found else ()
    return (function, *(f"{name}={value!r}" for name, value in others if name != "part"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Ends a test that hangs with what all its tasks and threads wait for."""
    if "soak" in item.keywords:
        return (yield)
    before = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _hangs(*_: object) -> None:
    faulthandler.dump_traceback(file=2)
    try:
        for task in asyncio.all_tasks():
            task.print_stack()
    except RuntimeError:
        pass  # no loop runs
    pytest.fail(f"it hangs: {HANGS} s are over")


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


_durations: defaultdict[str, float] = defaultdict(float)
_skipped: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations[report.nodeid] += report.duration
    if report.skipped:
        _skipped.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.add(report.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Workers pass on one report only of all modules that are skipped for the same reason."""
    _skipped.update(getattr(node, "workeroutput", {}).get(SKIPPED, ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[SKIPPED] = sorted(_skipped)
    elif session.config.pluginmanager.hasplugin("cacheprovider"):
        text = "".join(f"{name}\n" for name in sorted(_skipped))
        (session.config.cache.mkdir(SKIPPED) / "tests.txt").write_text(text)
    if os.environ.get(RECORD_DURATIONS) and not hasattr(session.config, "workerinput"):
        pace.record(_durations)
