"""What a party gets from a round: for people, for programs, for notebooks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from commitments import ristretto255
from gopa.adversary.setup import EXACT as EXACT_SETUP
from gopa.adversary.setup import SMALL, SessionSetup
from gopa.aggregation.encoding import Plain
from gopa.aggregation.engine import RoundAborted, fresh_stream
from gopa.aggregation.weighting import Weights, encoding_with
from gopa.contract.organiser import Abort, AbortReason, Released
from gopa.protocol.party import Part
from gopa.protocol.simulation import Script
from gopa.sessions.client import _FARTHEST
from gopa.sessions.contribution import FORMAT, Contribution, Decided, contribution, offered
from gopa.support.wording import EXACT, EXACT_DIFFERENCE
from tests.protocol.simulation.worlds import VECTOR
from tests.randomness import seeded
from wire.domains import ROUNDING
from wire.errors import UsageError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"

ONE = Contribution(
    session=bytes(32),
    round=2,
    logical=1,
    attempt=0,
    mean=37.4,
    sum=336.6,
    stderr=19.0,
    sum_stderr=171.0,
    count=9,
    included=True,
    part=Part.ACTIVE,
    clipped=1,
    scaled=0,
)
MANY = replace(
    ONE,
    mean={"<b>": np.array([1.5, 2.5]), "age": np.float64(30)},
    stderr={"<b>": np.array([0.5, 0.5]), "age": np.float64(0.5)},
)


def test_a_person_sees_the_number_with_its_error() -> None:
    for shown in (str(ONE), repr(ONE), ONE._repr_html_()):
        assert "40 +- 19" in shown
    assert "of 3 numbers" in repr(MANY)
    noisy = replace(ONE, warnings=("mostly noise",))
    for shown in (str(noisy), repr(noisy), noisy._repr_html_()):
        assert "mostly noise" in shown


def test_whoever_reads_an_exact_sum_is_told() -> None:
    exact = replace(ONE, exact=True)
    for shown in (str(exact), repr(exact), exact._repr_html_()):
        assert EXACT in shown
    for shown in (str(ONE), repr(ONE), ONE._repr_html_()):
        assert EXACT not in shown
    assert (exact.to_dict()["exact"], ONE.to_dict()["exact"]) == (True, False)


@pytest.mark.parametrize("setup", [EXACT_SETUP, SMALL], ids=["exact", "noisy"])
@pytest.mark.parametrize("released", Released)
def test_after_a_veto_the_value_is_for_no_other_exact_sum(
    setup: SessionSetup, released: Released
) -> None:
    agreed = setup.simulation(Script()).manifest
    given = offered(agreed, Plain(agreed.terms), 0.5, clip=False, rng=seeded(1))
    ended = Abort(bytes(32), 9, AbortReason.ORGANISER, released, ())
    decided = Decided(1, 0, 0, Part.ACTIVE, ended, 3, included=True)
    with pytest.raises(RoundAborted) as aborted:
        contribution(agreed, given, decided)
    warned = EXACT_DIFFERENCE in str(aborted.value)
    assert warned is (setup is EXACT_SETUP and released is Released.MASKED)


def test_a_notebook_gets_a_table_without_markup_of_others() -> None:
    table = ET.fromstring(replace(ONE, warnings=("<script>",))._repr_html_())  # noqa: S314
    assert [row.text for row in table.iter("th")] == ["mean", "warning", "parties"]
    assert "<script>" in [row.text for row in table.iter("td")]


def test_it_is_a_number_where_it_holds_one() -> None:
    assert float(ONE) == 37.4
    with pytest.raises(UsageError) as refused:
        float(MANY)
    assert refused.value.field == "result"


def test_programs_get_plain_data_under_the_names_of_the_page() -> None:
    """What was done to the own value says something about it, and stays out."""
    found = json.loads(MANY.to_json())
    assert found == MANY.to_dict()
    assert found["mean"] == {"<b>": [1.5, 2.5], "age": 30.0}
    assert (found["format"], found["session"], found["part"]) == (FORMAT, "00" * 32, "active")
    section = PAGE.read_text().split("## A contribution for programs")[1]
    assert [name for name in found if f"`{name}`" not in section] == []
    assert not found.keys() & {"clipped", "scaled"}
    assert json.loads(replace(ONE, mean=math.nan).to_json())["mean"] is None


def test_roundings_of_a_weighted_value_are_two_steps_apart_at_most() -> None:
    """So a party that is started again is not told that it gave another value before."""
    terms = VECTOR
    weights = Weights((0.33, *[0.0] * (terms.parties - 1)), Decimal(1))
    encoding = encoding_with(weights, terms, proved=True)
    stream = fresh_stream(ristretto255(), seeded("weighted"), ROUNDING)
    values = [[0.6] * (terms.dimension - 1), *[None] * (terms.parties - 1)]
    found = [encoding.encode(values, stream, clip=False).rows[0] for _ in range(60)]
    rows = np.array([row for row in found if row is not None])
    assert np.ptp(rows, axis=0).max() <= _FARTHEST + 1
    assert np.ptp(rows[:, :-1], axis=0).max() > _FARTHEST
