"""The published proofs about long vectors: both backends make them, and judge them as they say."""

from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import installed_groups
from tests.zkp import rows_vectors as vectors
from tests.zkp.proof_vectors import published
from tests.zkp.rows.worlds import Vectors


@pytest.fixture(params=installed_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    found: Group = request.param
    return found


def test_every_record_is_judged_as_it_says(group: Group) -> None:
    records = published("rows")["proofs"]
    for record in records:
        if group.backend == "reference" and record["base"]:
            continue
        said = vectors.answer(group, vectors.whole(records, record))
        assert said == {key: record[key] for key in said}, record["name"]
        assert (said["error"] is None) == (record["base"] is None), record["name"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lengths", "weighted", "masks"])
def test_both_backends_make_the_same_proof(group: Group, kind: str) -> None:
    records = {each["name"]: each for each in published("rows")["proofs"]}
    drawn = (Vectors.weighted if kind == "weighted" else Vectors.random)(33)
    made = getattr(vectors, kind)(group, drawn)
    assert made.proof.hex() == records[kind]["proof"]
    record = vectors.mask_record if kind == "masks" else vectors.length_record
    written = record(made.statement, made.proof)
    assert written == {key: records[kind][key] for key in written}
