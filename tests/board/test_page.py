"""The page at the board's root, in a real browser.

Needs Debian's packages chromium and chromium-driver. Without them the tests are
skipped and say so; continuous integration installs them and forbids skips.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from bulletin_board.client.http import HttpTransport
from bulletin_board.server.page import CONTENT_SECURITY_POLICY, PAGE, PartyPicture, SessionPicture
from tests.board.live import client, free_port, live_board, live_witness, witnessed
from tests.board.tools import ORIGIN, SESSION, entry_bytes
from tests.board.waiting import LONG, until

EVIL = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>'
HIDDEN = "a\u202eb\x1b[31m"
PHONE = {"width": 375, "height": 700}

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class EvilView:
    """A session whose parties chose their names with care."""

    def picture(self, session: bytes) -> SessionPicture | None:
        if session != SESSION:
            return None
        parties = [
            PartyPicture("p1", EVIL, "joined"),
            PartyPicture("p2", HIDDEN, "late"),
            PartyPicture("p3", "x" * 300, ""),
        ]
        edges = [("p1", "p2"), ("p2", "p3"), ("p1", "absent")]
        return SessionPicture(EVIL, {1: f"join {EVIL}"}, parties, edges)


class Browser:
    """WebDriver over HTTP: only what these tests need."""

    def __init__(self, url: str, profile: Path) -> None:
        self._pool = urllib3.PoolManager(timeout=3 * LONG, retries=False)
        self._url = url
        arguments = [*FLAGS, f"--user-data-dir={profile}"]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options}}
        answer = self._call("POST", "/session", {"capabilities": capabilities})
        assert isinstance(answer, dict)
        self._session = f"/session/{answer['sessionId']}"

    def _call(self, method: str, path: str, body: object = None) -> object:
        answer = self._pool.request(method, self._url + path, json=body or None)
        value = answer.json()["value"]
        assert answer.status == 200, value
        return value

    def open(self, url: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": url})

    def resize(self, size: dict[str, int]) -> None:
        self._call("POST", f"{self._session}/window/rect", size)

    def run(self, script: str) -> object:
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def text(self, element: str) -> str:
        return str(self.run(f"return document.getElementById('{element}').textContent"))

    def wait_for(self, element: str, text: str) -> None:
        assert until(lambda: self.text(element) == text), self.text(element)

    def picture(self) -> bytes:
        return base64.b64decode(str(self._call("GET", f"{self._session}/screenshot")))

    def close(self) -> None:
        self._call("DELETE", self._session)
        self._pool.clear()


@contextmanager
def driver() -> Iterator[str]:
    command = shutil.which("chromedriver")
    if command is None or shutil.which("chromium") is None:
        pytest.skip("chromium and chromium-driver are not installed: the page was not tested")
    port = free_port()
    process = subprocess.Popen([command, f"--port={port}"], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        assert until(lambda: answers(f"{url}/status"))
        yield url
    finally:
        process.terminate()
        process.wait(LONG)


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with a driver of its own, which keeps what it must in this new directory."""
    with driver() as url:
        found = Browser(url, profile)
        yield found
        found.close()


def answers(url: str) -> bool:
    try:
        urllib3.request("GET", url, retries=False, timeout=2.0)
    except urllib3.exceptions.HTTPError:
        return False
    return True


@pytest.fixture(scope="module")
def browser(scratch: Path) -> Iterator[Browser]:
    with browsing(scratch / "profile") as found:
        yield found


@pytest.mark.slow
def test_the_page_shows_the_log_live(browser: Browser, tmp_path: Path) -> None:
    with live_witness(tmp_path, 1) as witness:
        policy = witnessed(1, witness)
        with live_board(tmp_path / "log", policy=policy) as url:
            browser.open(url)
            browser.wait_for("state", "live")
            assert (browser.text("origin"), browser.text("size")) == (ORIGIN, "0")
            assert "has not cosigned" in browser.text("witnesses")
            client(url).submit(entry_bytes(0))
            browser.wait_for("size", "1")
            assert ORIGIN in browser.text("checkpoint")
            assert SESSION.hex() in browser.text("sessions")
            assert "phase 1" in browser.text("sessions")
            assert until(lambda: "cosigned 20" in browser.text("witnesses"))


@pytest.mark.slow
def test_names_are_never_markup(browser: Browser, tmp_path: Path) -> None:
    with live_board(tmp_path / "log", view=EvilView()) as url:
        client(url).submit(entry_bytes(0))
        browser.resize(PHONE)
        browser.open(url)
        browser.wait_for("size", "1")
        shown = browser.text("sessions")
        assert EVIL in shown
        assert "a<U+202E>b<U+001B>[31mlate" in shown
        assert browser.run("return window.broken") is None
        assert (
            browser.run(
                "return document.querySelectorAll('#sessions img, #sessions script').length"
            )
            == 0
        )
        assert browser.run("return document.querySelectorAll('svg circle').length") == 3
        assert browser.run("return document.querySelectorAll('svg line').length") == 2
        wide = "return document.documentElement.scrollWidth <= window.innerWidth"
        assert browser.run(wide) is True
        if os.environ.get("GOPA_SCREENSHOTS"):
            Path(os.environ["GOPA_SCREENSHOTS"]).write_bytes(browser.picture())


@pytest.mark.slow
def test_a_witness_may_state_any_time(browser: Browser, tmp_path: Path) -> None:
    with (
        live_witness(tmp_path, 1, lambda: 2.0**62) as witness,
        live_board(tmp_path / "log", policy=witnessed(1, witness)) as url,
    ):
        client(url).submit(entry_bytes(0))
        browser.open(url)
        assert until(lambda: "cosigned at second" in browser.text("witnesses"))
        assert browser.text("state") == "live"


def test_the_policy_stops_scripts_that_are_not_the_page_s(browser: Browser, tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        browser.open(url)
        browser.wait_for("state", "live")
        browser.run(
            "const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
            "document.body.append(s);"
        )
        assert browser.run("return window.broken") is None


@pytest.mark.slow
def test_the_page_says_when_the_board_is_gone(browser: Browser, tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        browser.open(url)
        browser.wait_for("state", "live")
    assert until(lambda: "not reachable" in browser.text("state"))


@pytest.mark.slow
def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    assert not re.search(r"(src|href)=\"?(https?:)?//", PAGE)
    assert "http" not in PAGE.replace("http://www.w3.org/2000/svg", "")
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    with live_board(tmp_path / "log") as url:
        answer = HttpTransport().request("GET", url + "/", body=None, media_type="", limit=10**6)
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    for hashed in re.findall(r"'sha256-([^']+)'", CONTENT_SECURITY_POLICY):
        assert len(base64.b64decode(hashed)) == 32
