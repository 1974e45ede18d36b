"""The terms of a plan in bytes: every number exactly, each with one spelling."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.contract.manifest import TERMS
from gopa.contract.terms import Terms
from tests.contract.samples import terms
from tests.pace import examples
from tests.planning.classic import plan
from wire.errors import MalformedMessage, UsageError
from zkp.noise import binomial, irwin_hall


def text(value: Decimal) -> bytes:
    """How a number stands in the encoding of terms, with its length."""
    encoded = str(value).encode()
    return bytes([len(encoded)]) + encoded


@pytest.mark.parametrize(
    "given",
    [
        terms(),
        terms(noise=binomial(64), mask="uniform", mask_deviation=0, beacon="drand"),
        terms(dimension=4, squared_sensitivity=900, noise=irwin_hall(4, 2)),
        terms(threshold_numerator=65_534, threshold_denominator=65_535),
        terms(low=Decimal("-1E+30"), high=Decimal("1.50"), epsilon=Decimal("1E+1")),
        terms(delta=Decimal("1E-20"), beta=Decimal(0)),
    ],
    ids=["table", "bits", "vectors", "threshold", "exponents", "small"],
)
def test_terms_round_trip(given: Terms) -> None:
    data = TERMS.encode(given)
    assert TERMS.decode(data) == given
    assert TERMS.encode(TERMS.decode(data)) == data


def test_what_the_planner_makes_round_trips() -> None:
    made = plan(n=50, epsilon="0.7", delta="1e-6", corrupt=0.1).terms
    assert TERMS.decode(TERMS.encode(made)) == made


@given(st.decimals(allow_nan=False, allow_infinity=False, places=None))
@settings(max_examples=examples(200), deadline=None)
def test_every_decimal_comes_back_as_it_was(value: Decimal) -> None:
    try:
        made = terms(low=value, high=Decimal("1E+59"))
    except UsageError:
        return
    back = TERMS.decode(TERMS.encode(made)).low
    assert back.as_tuple() == value.as_tuple()


SPELLINGS = [
    "+0.25", " 0.25", "0.25 ", "00.25", ".25", "0.2_5", "25E-2", "2.5E-1", "0.25E0", "0.25e0",
    "\N{ARABIC-INDIC DIGIT ZERO}.25", "NaN", "sNaN", "Infinity", "-Infinity", "0x1", "", "1/4",
    "0.25\n", "1e1", "1E1",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_numbers_have_one_spelling(spelling: str) -> None:
    data = TERMS.encode(terms(epsilon=Decimal("0.25")))
    assert data.count(text(Decimal("0.25"))) == 1
    assert TERMS.decode(data).epsilon == Decimal("0.25")
    raw = spelling.encode()
    with pytest.raises(MalformedMessage) as refused:
        TERMS.decode(data.replace(text(Decimal("0.25")), bytes([len(raw)]) + raw))
    assert refused.value.field == "epsilon"


def test_equal_numbers_of_other_digits_are_other_terms() -> None:
    """1.5 and 1.50 are one number with two spellings: their sessions differ, both decode."""
    short, long = terms(epsilon=Decimal("1.5")), terms(epsilon=Decimal("1.50"))
    assert TERMS.encode(short) != TERMS.encode(long)
    assert (
        TERMS.decode(TERMS.encode(long)).promised_epsilon.as_tuple() == Decimal("1.50").as_tuple()
    )


def test_spelling_ignores_the_context_of_the_program() -> None:
    expected = TERMS.encode(terms(delta=Decimal("1E-20")))
    with localcontext() as context:
        context.capitals = 0
        context.prec = 2
        made = TERMS.encode(terms(delta=Decimal("1E-20"), epsilon=Decimal("1.5")))
        assert made == expected
        assert TERMS.decode(made).delta == Decimal("1E-20")


@pytest.mark.parametrize(
    ("name", "at_end", "bad"), [("mask", 29, 2), ("mask", 29, 255), ("beacon", 37, 2)]
)
def test_unknown_names_are_refused(name: str, at_end: int, bad: int) -> None:
    given = terms(epsilon=Decimal("0.25"))
    data = bytearray(TERMS.encode(given))
    assert TERMS.decode(bytes(data)) == given
    at = len(data) - at_end
    if name == "mask":
        at = bytes(data).index((1000).to_bytes(8)) - 1
    data[at] = bad
    with pytest.raises(MalformedMessage) as refused:
        TERMS.decode(bytes(data))
    assert refused.value.field == name


def test_terms_that_contradict_each_other_do_not_decode() -> None:
    given = terms()
    data = bytearray(TERMS.encode(given))
    assert TERMS.decode(bytes(data)) == given
    data[7] = 5  # all parties corrupt
    with pytest.raises(MalformedMessage) as refused:
        TERMS.decode(bytes(data))
    assert refused.value.field == "corrupt"
