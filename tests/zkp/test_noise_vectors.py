"""Published noise, L2 and bit-by-bit proofs: made again unchanged, judged as they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from commitments.group import Group
from tests.zkp import (
    gaussian_noise_vectors,
    l2_vectors,
    schnorr_bits_vectors,
    weighted_noise_vectors,
)
from tests.zkp.proof_vectors import published, verify_record
from zkp.gaussian_noise import verify_gaussian_noise
from zkp.l2 import verify_l2
from zkp.weighted_noise import verify_weighted_noise

FILES: dict[str, tuple[Any, Callable[..., None]]] = {
    "gaussian_noise": (gaussian_noise_vectors, verify_gaussian_noise),
    "weighted_noise": (weighted_noise_vectors, verify_weighted_noise),
    "l2": (l2_vectors, verify_l2),
    "schnorr_bits": (schnorr_bits_vectors, schnorr_bits_vectors.verify),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_what_every_backend_makes(
    group: Group, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = FILES[name]
    monkeypatch.setattr(module, "ristretto255", lambda: group)
    assert module.records() == published(name)


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_judged_as_it_says(group: Group, name: str) -> None:
    module, verify = FILES[name]
    for record in published(name)["proofs"]:
        answer = verify_record(group, record, module.statement_of, verify)
        assert answer == {key: record[key] for key in answer}
        assert answer["error"] == record["error"]


@pytest.mark.parametrize("name", FILES)
def test_every_reject_names_an_accepted_base(name: str) -> None:
    proofs = published(name)["proofs"]
    accepted = {record["name"] for record in proofs if record["error"] is None}
    names = [record["name"] for record in proofs]
    assert len(set(names)) == len(names)
    for record in proofs:
        assert (record["error"] is None) == (record["base"] is None), record["name"]
        assert record["base"] is None or record["base"] in accepted
