"""The changelog names the versions of formats that the code writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bulletin_board import archive, entry
from gopa.aggregation import result
from gopa.auditing import evidence, report
from gopa.contract import manifest
from gopa.learning import ledger
from gopa.sessions import contribution, ticket
from gopa.sessions import party_memory as memory
from gopa.sessions.tunnel import messages, packing, state
from gopa.sessions.vault import frames

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| ([^|]+) \| `?([^|`]+)`? \| [^|]+\|$", re.MULTILINE)
TABLE = dict(ROW.findall((ROOT / "CHANGELOG.md").read_text()))
WRITTEN = {
    "entry of the log": str(entry.VERSION),
    "manifest": str(manifest.VERSION),
    "ticket": str(ticket.VERSION),
    "archive (`.gopa`)": archive.MAGIC.decode().strip(),
    "file of evidence": evidence.MAGIC.decode().strip(),
    "report as JSON": report.FORMAT,
    "result as JSON": result.FORMAT,
    "contribution as JSON": contribution.FORMAT,
    "ledger of privacy": ledger.FORMAT,
    "seal of a vault": str(frames.VERSION),
    "memory of a party": str(memory.VERSION),
    "request and reply of a party that is called": str(messages.VERSION),
    "the same, packed": str(packing.PACKED_VERSION),
    "state of a party that is called": state.FORMAT.decode().strip(),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_versions_of_formats(what: str) -> None:
    assert TABLE[what] == WRITTEN[what]


def test_no_other_format_is_named() -> None:
    assert set(TABLE) - {"what"} == set(WRITTEN)
