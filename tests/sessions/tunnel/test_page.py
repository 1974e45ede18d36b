"""What the page on tunnels shows runs, and the printed formats are those that run."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from gopa.sessions.tunnel import SealingKey, StateOfAnother
from gopa.sessions.tunnel.messages import REPLY, REQUEST
from gopa.sessions.tunnel.packing import PACKED, unpack
from gopa.sessions.tunnel.state import TUNNEL, StatePlace, unseal
from gopa.sessions.vault import VaultDamaged
from gopa.sessions.vault.guard import MARK
from wire.codec import Codec
from wire.errors import MalformedMessage
from wire.secret import SecretBytes

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "tunnel.md").read_text()
VECTORS = json.loads((ROOT / "specs" / "vectors" / "tunnel.json").read_text())
SPEC = (ROOT / "specs" / "12-sessions.md").read_text()


def test_the_examples_print_what_the_page_says() -> None:
    found = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 2
    names: dict[str, Any] = {}
    for code, printed in found:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(code, "docs/tunnel.md", "exec"), names)  # noqa: S102 - our own page
        assert out.getvalue() == printed


def test_the_printed_formats_are_those_that_run() -> None:
    codecs: list[Codec[Any]] = [REQUEST, PACKED, REPLY, TUNNEL, MARK]
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


def test_published_messages_are_read_and_changed_ones_are_not() -> None:
    codecs: dict[str, Codec[Any]] = {"request": REQUEST, "reply": REPLY, "mark": MARK}
    for name, text in VECTORS["messages"].items():
        codec, data = codecs[name.partition(":")[0]], bytes.fromhex(text)
        assert codec.encode(codec.decode(data)) == data
        for wrong in (data[:-1], data + b"\0", b"\0\2" + data[2:]):
            with pytest.raises(MalformedMessage):
                codec.decode(wrong)


def test_the_published_request_is_unpacked() -> None:
    found = {name: bytes.fromhex(text) for name, text in VECTORS["packed"].items()}
    session = found["session"]
    dictionaries = found["manifest"] + session, session
    for name in ("with the manifest", "without the manifest"):
        assert unpack(found[name], dictionaries) == found["request"]
    with pytest.raises(MalformedMessage):
        unpack(found["with the manifest"], dictionaries[1:])


def test_the_published_state_opens_in_its_place() -> None:
    found = VECTORS["state"]
    secret = SealingKey(SecretBytes(bytes.fromhex(found["secret"])))
    place = StatePlace(bytes.fromhex(found["session"]), bytes.fromhex(found["party"]))
    sealed = bytes.fromhex(found["sealed"])
    opened = unseal(sealed, place, secret)
    counter, state = opened.counter, opened.content
    assert counter == found["counter"]
    assert TUNNEL.encode(state).hex() == found["content"]
    assert opened.slots.get(state.slots[0]).hex() == found["slot"]
    with pytest.raises(VaultDamaged):
        unseal(sealed.replace(counter.to_bytes(8), (counter + 1).to_bytes(8), 1), place, secret)
    with pytest.raises(StateOfAnother):
        unseal(sealed, StatePlace(place.party, place.session), secret)
