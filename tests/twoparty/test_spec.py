"""The specification has the labels and numbers of the code; vectors are those of both backends."""

from __future__ import annotations

import pytest

from commitments.group import Group
from gopa.twoparty import comparison, laplace_noise
from gopa.twoparty.conversation import HEADER, MessageKind
from gopa.twoparty.transfer import COLUMNS, FAMILY
from tests.group.backends import installed_groups
from tests.noise.test_spec import ROOT
from tests.twoparty.two_party_vectors import records
from tests.vectors.registry import FOLDER, render
from wire import domains

TEXT = (ROOT / "specs" / "21-two-parties.md").read_text()


def test_labels_are_written_out() -> None:
    labels = [value for name, value in vars(domains).items() if name.startswith("TWO_PARTY_")]
    assert len(labels) == 5
    for label in labels:
        assert f"`{label.decode()}`" in TEXT
    assert f"`{FAMILY.decode()}`" in TEXT


def test_numbers_are_those_of_the_code() -> None:
    assert f"{HEADER} bytes in front of the body" in TEXT
    assert f"m < {COLUMNS} bits" in TEXT
    for kind in MessageKind:
        assert f"| {kind.value} | {kind.name.lower()} |" in TEXT
    small, large = laplace_noise(1), laplace_noise(100)
    assert f"at t = 1,\nM = {small.magnitude} and c = {small.coins}" in TEXT
    assert f"at t = 100 M = {large.magnitude} and c = {large.coins}" in TEXT
    assert f"| comparison of 16 bits | {comparison(16).ands} | 16 | 1,439 | 618 |" in TEXT


@pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)
def test_vectors_are_those_of_both_backends(group: Group) -> None:
    assert render(records(group)) == (FOLDER / "two_party.json").read_text()
