"""The published Sigma proofs: made again without a difference, judged as they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from commitments.group import Group
from tests.vectors.registry import FOLDER
from tests.zkp import transcript_vectors
from tests.zkp.sigma import sigma_vectors
from tests.zkp.sigma.sigma_vectors import case_of, culprits, judge, prove_again, session_of

PUBLISHED: Final[dict[str, Any]] = json.loads((FOLDER / "sigma.json").read_text())
RECORDS: Final[list[dict[str, Any]]] = PUBLISHED["proofs"]
BY_NAME: Final = {record["name"]: record for record in RECORDS}


@pytest.mark.parametrize("module", [sigma_vectors, transcript_vectors], ids=["sigma", "transcript"])
def test_every_backend_makes_the_same_file(
    group: Group, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ristretto255", lambda: group)
    name = module.__name__.rpartition(".")[2].removesuffix("_vectors")
    make: Callable[[], dict[str, object]] = module.records
    assert make() == json.loads((FOLDER / f"{name}.json").read_text())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_record(group: Group, record: dict[str, Any]) -> None:
    case = case_of(record)
    assert session_of(group, case) == record["session_id"]
    if record["base"] is None:
        assert record["error"] is None
        assert prove_again(group, case) == case.proof
    else:
        assert judge(group, case_of(BY_NAME[record["base"]])) == {"error": None}
        assert record["error"] is not None
    answer = judge(group, case)
    assert answer == {field: record[field] for field in answer}


@pytest.mark.parametrize("index", range(len(PUBLISHED["batches"])))
def test_batch(group: Group, index: int) -> None:
    record = PUBLISHED["batches"][index]
    members = [case_of(BY_NAME[name]) for name in record["proofs"]]
    assert culprits(group, members) == record["culprits"]
    bad = [i for i, name in enumerate(record["proofs"]) if BY_NAME[name]["error"] is not None]
    assert record["culprits"] == bad


def test_every_check_of_the_specification_has_a_record() -> None:
    cited = {record["check"] for record in RECORDS if record["error"] == "InvalidProof"}
    structure = {f"02-I{n}" for n in (1, 4, 5, 6, 9, 10)}
    assert cited == structure | {"02-T1", "02-T2", "02-N4", "02-N5", "02-N6"}
