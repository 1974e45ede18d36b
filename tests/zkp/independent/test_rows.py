"""A verifier written from specification 14 gives the published answers to all records."""

from __future__ import annotations

from typing import Any

import pytest

from commitments.group import Group
from tests.zkp.independent import rows
from tests.zkp.proof_vectors import published
from tests.zkp.rows.worlds import transcript
from tests.zkp.rows_vectors import whole
from wire.errors import InvalidProof, MalformedMessage

RECORDS: list[dict[str, Any]] = published("rows")["proofs"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_every_record_gets_the_published_answer(group: Group, record: dict[str, Any]) -> None:
    given = whole(RECORDS, record)
    check = rows.verify_masks if "points" in given else rows.verify_lengths
    error, failed = None, None
    try:
        check(group, given, transcript(bytes.fromhex(given["context"])))
    except InvalidProof as refused:
        error, failed = "InvalidProof", refused.check
    except MalformedMessage:
        error = "MalformedMessage"
    assert (error, failed) == (record["error"], record.get("check"))
