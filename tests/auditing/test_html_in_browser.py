"""The page of a report in a real browser, from a file, with its own policy in force.

Needs Debian's packages chromium and chromium-driver, like the page of a board.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.auditing.html.page import to_html
from gopa.auditing.report import Report
from tests.auditing.html_samples import as_json, fault, report
from tests.board.test_page import PHONE, Browser, browsing

EVIL = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>' + "W" * 300


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


def show(browser: Browser, whole: Report, directory: Path) -> None:
    path = directory / "report.html"
    path.write_text(to_html(as_json(whole)), encoding="utf-8")
    browser.open(path.as_uri())


def evil() -> Report:
    """Whoever could choose a text chose it with care."""
    whole = report(60, gone=7, dimension=12)
    assert whole.session is not None
    assert whole.log is not None
    return replace(
        whole,
        session=replace(whole.session, title=EVIL),
        log=replace(whole.log, origin=EVIL, input=EVIL, witnesses=(EVIL,)),
        faults=(replace(fault(), what=EVIL, expected=EVIL, got=EVIL),),
        limits=(EVIL,),
    )


@pytest.mark.slow
def test_the_style_holds_under_the_policy(browser: Browser, tmp_path: Path) -> None:
    show(browser, report(), tmp_path)
    style = "return getComputedStyle(document.querySelector('.verdict')).display"
    assert browser.run(style) == "flex"
    assert browser.run("return document.querySelectorAll('.legend ~ figcaption').length") == 1
    if os.environ.get("GOPA_SCREENSHOTS"):
        Path(os.environ["GOPA_SCREENSHOTS"]).write_bytes(browser.picture())


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE, {"width": 1200, "height": 900}], ids=["phone", "desk"])
def test_hostile_names_neither_run_nor_widen_the_page(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    browser.resize(size)
    show(browser, evil(), tmp_path)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("return window.broken") is None
    assert browser.run("return document.querySelectorAll('img, script').length") == 0
    assert EVIL[:150] in str(browser.run("return document.querySelector('h1').textContent"))
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.run(wide) is True


@pytest.mark.slow
def test_the_policy_stops_scripts_styles_and_requests(browser: Browser, tmp_path: Path) -> None:
    show(browser, report(), tmp_path)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
        "document.body.append(s);"
        "const t = document.createElement('style'); t.textContent = 'h1 { color: #123456 }';"
        "document.body.append(t);"
    )
    assert browser.run("return window.broken") is None
    colour = browser.run("return getComputedStyle(document.querySelector('h1')).color")
    assert colour != "rgb(18, 52, 86)"
    loaded = "return performance.getEntriesByType('resource').length"
    assert browser.run(loaded) == 0
