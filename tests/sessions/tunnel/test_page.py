"""What the page on tunnels shows runs, and the printed formats are those that run."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from gopa.sessions.tunnel.guard import MARK
from gopa.sessions.tunnel.messages import REPLY, REQUEST
from gopa.sessions.tunnel.state import TUNNEL
from wire.codec import Codec

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "tunnel.md").read_text()
SPEC = (ROOT / "specs" / "12-sessions.md").read_text()


def test_the_example_prints_what_the_page_says() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, "docs/tunnel.md", "exec"), {})  # noqa: S102 - our own page
    assert out.getvalue() == printed


def test_the_printed_formats_are_those_that_run() -> None:
    codecs: list[Codec[Any]] = [REQUEST, REPLY, TUNNEL, MARK]
    running = dict(each for codec in codecs for each in codec.definitions())
    del running["Phase"]  # of the protocol
    (block,) = re.findall(r"^```tls tunnel\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    assert sorted(block.split("\n\n")) == sorted(running.values())


def test_rules_are_numbered_without_gaps() -> None:
    rules = [int(each) for each in re.findall(r"\*\*\[N(\d+)\]\*\*", SPEC)]
    assert rules == list(range(1, len(rules) + 1))
    cited = set(re.findall(r"\[N(\d+)\]|12-N(\d+)", _sources()))
    assert {int(a or b) for a, b in cited} <= set(rules)


def _sources() -> str:
    return "".join(path.read_text() for path in (ROOT / "gopa/sessions/tunnel").glob("*.py"))
