"""The page of a board with sessions on it, in a real browser: what it shows, and that it fits.

Needs Debian's packages chromium and chromium-driver, like the other pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.admission.view import Sessions
from gopa.rounds.toolkit import Toolkit
from tests.board.live import client, live_board
from tests.board.test_page import Browser, browsing
from tests.contract.samples import signing_key
from tests.protocol.rules.worlds import KINDS
from tests.protocol.scribe import World
from tests.rounds.doubles import ProofDoubles

SIZES = {"phone": {"width": 390, "height": 2_400}, "desk": {"width": 1_280, "height": 1_600}}

CLIPPED = """
const inside = (box, frame) => box.left >= frame.left - 1 && box.right <= frame.right + 1
  && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
const frame = (node) => (node.closest('svg') || node.closest('article')).getBoundingClientRect();
return [...document.querySelectorAll('article text, article bdi, article dd, article li span')]
  .filter((node) => !inside(node.getBoundingClientRect(), frame(node)))
  .map((node) => node.textContent);
"""

BARS = """
return [...document.querySelectorAll('article')].map((card) =>
  [...card.querySelectorAll('.bar')].map((bar) => Math.round(
    100 * bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)));
"""


def world(title: str) -> World:
    agreed = replace(KINDS["scalar"](), title=title.encode())
    keys = [signing_key(f"party {number}") for number in range(agreed.terms.parties)]
    return World(agreed, Toolkit(proofs=ProofDoubles()), signing_key("organiser"), keys, title)


def worlds() -> list[World]:
    """A session with a result, one whose round was aborted, and one that goes on."""
    done, failed, running = world("Working hours"), world("Sick days"), world("Commuting")
    done.run(skip={Phase.PUBLISH: [2]})
    failed.run(until=Phase.COMMIT)
    failed.phase(skip=[0, 1, 2, 3])
    failed.control()
    running.run(until=Phase.PUBLISH)
    running.phase(skip=[0, 1])
    return [done, failed, running]


@contextmanager
def shown(root: Path) -> Iterator[str]:
    sessions = Sessions()
    with live_board(root, admission=sessions.policy, view=sessions) as url:
        for each in worlds():
            posting = client(url)
            for raw in each.raws:
                posting.submit(raw)
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shown(tmp_path_factory.mktemp("board") / "log") as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_clipped(browser: Browser, url: str, size: str) -> None:
    browser.resize(SIZES[size])
    browser.open(url)
    browser.wait_for("state", "live")
    assert browser.run("return document.querySelectorAll('article text').length") == 15
    assert browser.run(CLIPPED) == []
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth") is True
    if os.environ.get("GOPA_SCREENSHOTS"):
        Path(os.environ["GOPA_SCREENSHOTS"], f"board-{size}.png").write_bytes(browser.picture())


@pytest.mark.slow
def test_the_newest_session_stands_first_and_says_how_it_stands(browser: Browser, url: str) -> None:
    browser.open(url)
    browser.wait_for("state", "live")
    titles = browser.run("return [...document.querySelectorAll('h3')].map((n) => n.textContent)")
    assert isinstance(titles, list)
    assert [title.split(" (")[0] for title in titles] == ["Commuting", "Sick days", "Working hours"]
    states = browser.run("return [...document.querySelectorAll('.state')].map((n) => n.className)")
    assert states == ["state ", "state bad", "state good"]
    times = browser.run("return document.querySelector('.times').textContent")
    assert isinstance(times, str)
    assert "begun 20" in times
    assert "last entry 20" in times


@pytest.mark.slow
def test_bars_say_how_many_of_those_who_may(browser: Browser, url: str) -> None:
    browser.open(url)
    browser.wait_for("state", "live")
    assert browser.run(BARS) == [
        [100, 100, 100, 60],
        [100, 100, 20],
        [100, 100, 100, 80, 100, 100],
    ]
