"""Terms of numbers and of vectors in rows: their bytes, and each rule of 14 once more."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from math import comb, isqrt, sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.contract.lengths import WeightedLength
from gopa.contract.manifest import MANIFEST, TERMS, Manifest, Mode, Trust
from gopa.contract.row_terms import (
    MOST_POINTS,
    equation_points,
    largest_share,
    losses_allowed,
    origin,
)
from gopa.contract.terms import Terms
from tests.contract.samples import (
    manifest,
    row_manifest,
    row_terms,
    signed_manifest,
    terms,
    vector_terms,
)
from tests.pace import examples
from tests.planning.samples import plan
from tests.verifier.test_parts import part
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


Q = 2**252 + 27742317777372353535851937790883648493


def fits(m: Manifest) -> bool:
    """14-L1, 14-L5, 14-M6, 14-K2 and 14-W3."""
    return _of_rows(m) and _holds_sums(m) and _few_points(m) and _hides(m)


def _of_rows(m: Manifest) -> bool:
    kind = (m.mode, m.trust, m.terms.mask) == (Mode.FULL, Trust.MALICIOUS, "uniform")
    return kind and 2 <= m.terms.dimension <= 2**20 and 16 <= m.word_width <= 64


def _holds_sums(m: Manifest) -> bool:
    t = m.terms
    share = isqrt(t.squared_norm) + min(t.spike, isqrt(t.noise_square))
    squares = 1 <= t.squared_norm < 2**62 and 1 <= t.noise_square < 2**62
    return squares and 1 <= t.spike < 2**31 and t.parties * share < 2 ** (m.word_width - 1)


def _hides(m: Manifest) -> bool:
    t, steps = m.terms, m.terms.steps
    low, high = Fraction(t.low), Fraction(t.high)
    origin = -low * steps / (high - low)
    boxed = t.squared_sensitivity == t.dimension * steps**2
    counts = (t.squared_norm, t.squared_sensitivity) == (steps**2, 2 * steps**2)
    if m.weighted or (boxed and not counts):
        origin = Fraction(steps, 2)
    if origin.denominator != 1 or not 0 <= origin <= steps:
        return False
    if m.weighted:
        return _weighted(m)
    ball = 4 * t.squared_norm <= t.squared_sensitivity
    return not t.weight_length and not t.weight_scale and (ball or (counts and origin == 0))


def _few_points(m: Manifest) -> bool:
    d = m.terms.dimension
    size = (d - 1).bit_length()
    columns = max(5, (size + 3) // 2)
    rows = max(-(-d // 2**columns), -(-360 // 2**columns))
    bits = (rows - 1).bit_length() + columns
    lost = m.terms.parties - m.terms.survivors
    if not min(m.terms.corrupt, lost) <= m.terms.late <= lost:
        return False
    ways = choices = 1
    for lost in range(m.terms.late):
        ways = ways * (m.terms.parties - lost) // (lost + 1)
        choices += ways
    return bool(2**128 * bits**64 * choices <= Q**64)


def _weighted(m: Manifest) -> bool:
    k, scale, steps = m.terms.weight_length, m.terms.weight_scale, m.terms.steps
    if not k or not scale or steps >= 2**31:
        return False
    with localcontext(prec=80):
        half, spread = Decimal(m.terms.dimension).sqrt() / 2, (32 * Decimal(2).ln()).sqrt()
        sigma = k + int((scale * (half + spread)).to_integral_value(ROUND_CEILING))
        length = ((Decimal(k * steps) / scale) ** 2 + steps**2).sqrt()
        longest = min(length**2 + half**2 + 2 * (length + half) * spread, (length + 2 * half) ** 2)
    if m.terms.squared_norm < int(longest):
        return False
    both = Fraction(2 * k * steps + 2 * sigma, scale) ** 2
    one = Fraction(k * steps + 2 * sigma, scale) ** 2 + steps**2
    return max(both, one) <= m.terms.squared_sensitivity


Fields = dict[str, Any]


ROOM = WeightedLength(1, 2, 32, 40).squared_norm


WEIGHTED: Fields = {
    "squared_norm": ROOM,
    "squared_sensitivity": 2401,
    "weight_length": 1,
    "weight_scale": 2,
}


COUNTS: Fields = {
    "low": Decimal(0),
    "squared_norm": 32**2,
    "squared_sensitivity": 2 * 32**2,
}


BOX: Fields = {"squared_norm": 10 * 16**2, "squared_sensitivity": 10 * 32**2}


MANY: Fields = {"parties": 30_000, "k": 50, "corrupt": 600, "survivors": 26_000, "late": 3573}


ACCEPTED: dict[str, Manifest] = {
    "a norm": row_manifest(),
    "weights": row_manifest(row_terms(**WEIGHTED), weighted=True),
    "weights aside of zero": row_manifest(
        row_terms(**WEIGHTED | {"low": Decimal("0.3")}), weighted=True
    ),
    "counts in bins": row_manifest(row_terms(**COUNTS)),
    "counts in two bins": row_manifest(row_terms(2, **COUNTS)),
    "a box": row_manifest(row_terms(10, **BOX)),
    "a box beside zero": row_manifest(row_terms(10, **BOX | {"low": Decimal("0.3")})),
    "nobody may be missing": row_manifest(row_terms(survivors=5, late=0, loss=0)),
    "weighted bits": row_manifest(row_terms(noise=binomial(16))),
    "recovery": row_manifest(row_terms(threshold_numerator=1, threshold_denominator=2)),
    "as late as can be": row_manifest(row_terms(late=1)),
    "many parties": row_manifest(row_terms(**MANY), word_width=32),
}


REFUSED: dict[str, tuple[str, str, Fields, Fields]] = {
    # Which of the accepted ones, the field that is named, changes of the terms, of the manifest.
    "signed mode": ("a norm", "path", {}, {"mode": Mode.SIGNED}),
    "parties that are trusted": ("a norm", "trust", {}, {"trust": Trust.HONEST_BUT_CURIOUS}),
    "one number": (
        "a norm",
        "terms.dimension",
        {"dimension": 1, "squared_sensitivity": 32**2},
        {},
    ),
    "masks that are not uniform": (
        "a norm",
        "terms.mask",
        {"mask": "gaussian", "mask_deviation": 9},
        {},
    ),
    "narrow words": ("a norm", "word_width", {}, {"word_width": 15}),
    "wide words": ("a norm", "word_width", {}, {"word_width": 65}),
    "words that do not hold the sum": (
        "a norm",
        "word_width",
        {"noise_square": 2**30, "spike": 6537},
        {},
    ),
    "no bound on inputs": ("a norm", "terms.squared_norm", {"squared_norm": 0}, {}),
    "no bound on noise": ("a norm", "terms.noise_square", {"noise_square": 0}, {}),
    "no bound on one draw": ("a norm", "terms.spike", {"spike": 0}, {}),
    "rounds that the corrupt can end": ("a norm", "terms.late", {"late": 0}, {}),
    "more equations than can be checked": ("many parties", "terms.late", {"late": 3574}, {}),
    "longer vectors than the noise hides": (
        "a norm",
        "terms.squared_norm",
        {"squared_norm": 301},
        {},
    ),
    "zero between two steps": ("a norm", "terms.steps", {"steps": 33}, {}),
    "zero outside of the range": (
        "a norm",
        "terms.steps",
        {"low": Decimal(1), "high": Decimal(2)},
        {},
    ),
    "weights without weighting": ("a norm", "terms.weight_length", {"weight_length": 1}, {}),
    "a scale without weighting": ("a norm", "terms.weight_scale", {"weight_scale": 1}, {}),
    "weights of no length": ("weights", "terms.weight_length", {"weight_length": 0}, {}),
    "weights of no scale": ("weights", "terms.weight_scale", {"weight_scale": 0}, {}),
    "weights without room for what is rounded": (
        "weights",
        "terms.squared_norm",
        {"squared_norm": ROOM - 1},
        {},
    ),
    "weights that count for more than is hidden": (
        "weights",
        "terms.squared_sensitivity",
        {"squared_sensitivity": 2400},
        {},
    ),
    "weights around no point of the grid": (
        "weights",
        "terms.steps",
        {"steps": 31, "squared_norm": ROOM, "squared_sensitivity": 2401},
        {},
    ),
    "counts beside zero": ("counts in bins", "terms.squared_norm", {"low": Decimal(-1)}, {}),
    "counts of more than one": (
        "counts in bins",
        "terms.squared_norm",
        {"squared_norm": 32**2 + 1},
        {},
    ),
    "a box of odd steps": (
        "a box",
        "terms.steps",
        {"steps": 31, "squared_norm": 2000, "squared_sensitivity": 10 * 31**2},
        {},
    ),
}


def changed(given: Manifest, of_terms: Fields, others: Fields) -> Manifest:
    """The same manifest with other values of some fields, made anew."""
    terms_now = {field: getattr(given.terms, field) for field in Terms.__slots__}
    fields: dict[str, Any] = {"path": given.path, "weighted": given.weighted}
    fields |= {"word_width": given.word_width} | others
    return manifest(Terms(**terms_now | of_terms), **fields)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_fits_is_read(name: str) -> None:
    given = ACCEPTED[name]
    assert fits(given)
    assert given.deals_seeds == (given.terms.threshold is not None)
    body = given.to_bytes()
    assert MANIFEST.decode(body) == given
    read = part("manifest").read_manifest(body, given.organiser)
    assert (read.path, read.terms.squared_norm) == (
        given.path.name.lower(),
        given.terms.squared_norm,
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base, field, of_terms, others = REFUSED[name]
    given = ACCEPTED[base]
    assert changed(given, {}, {}) == given
    with pytest.raises(UsageError) as refused:
        changed(given, of_terms, others)
    assert refused.value.field == field
    with monkeypatch.context() as unchecked:
        unchecked.setattr("gopa.contract.manifest.require_agreement", lambda _: None)
        wrong = changed(given, of_terms, others)
        assert not fits(wrong)
        body = wrong.to_bytes()
    with pytest.raises(MalformedMessage):
        MANIFEST.decode(body)
    with pytest.raises(part("codec").Wrong):
        part("manifest").read_manifest(body, given.organiser)


@pytest.mark.parametrize(
    "field", ["squared_norm", "noise_square", "spike", "late", "weight_length", "weight_scale"]
)
@pytest.mark.parametrize("make", [manifest, signed_manifest], ids=["full", "signed"])
def test_other_sessions_have_no_terms_of_rows(
    make: Any, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = make()
    part("manifest").read_manifest(given.to_bytes(), given.organiser)
    agreed = vector_terms(**{field: 1}) if given.mode is Mode.SIGNED else terms(**{field: 1})
    words = {"mode": given.mode, "word_width": given.word_width}
    with pytest.raises(UsageError) as refused:
        manifest(agreed, **words)
    assert refused.value.field == f"terms.{field}"
    with monkeypatch.context() as unchecked:
        unchecked.setattr("gopa.contract.manifest.require_agreement", lambda _: None)
        body = manifest(agreed, **words).to_bytes()
    with pytest.raises(part("codec").Wrong):
        part("manifest").read_manifest(body, given.organiser)


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("squared_norm", 2**62 - 1),
        ("noise_square", 2**62 - 1),
        ("spike", 2**31 - 1),
        ("late", 2),
        ("weight_length", 2**32 - 1),
        ("weight_scale", 2**32 - 1),
    ],
)
def test_terms_have_limits(field: str, most: int) -> None:
    assert getattr(row_terms(**{field: most}), field) == most
    wrongs: tuple[Any, ...] = (-1, most + 1, 1.0, True)
    for wrong in wrongs:
        with pytest.raises(UsageError) as refused:
            row_terms(**{field: wrong})
        assert refused.value.field == field


def test_what_follows_from_the_terms() -> None:
    given = row_terms()
    assert (origin(given), largest_share(given)) == (16, 17 + 9)
    assert largest_share(row_terms(spike=1000)) == 17 + 15
    weighted = row_terms(**WEIGHTED)
    exact = 1 + 2 * (sqrt(40) / 2 + sqrt(22.18070977791825))
    assert exact == pytest.approx(16.74, abs=0.01)
    assert WeightedLength(1, 2, 32, weighted.dimension).rounding == 17
    # C is 16 steps, the weight 32: 16^2 + 32^2 + 40/4 and (2 sqrt(1280) + sqrt(40)) times 4.71.
    assert sqrt(22.18070977791825) * (2 * sqrt(1280) + sqrt(40)) == pytest.approx(366.8, abs=0.1)
    assert ROOM == 1280 + 10 + 366
    assert 4 * 2401 == (2 * 32 + 2 * 17) ** 2 > (32 + 2 * 17) ** 2 + 64**2


@pytest.mark.parametrize(
    ("listed", "losses", "points"),
    [(20, 10, 1), (250, 50, 2), (1_000, 100, 3), (10_000, 100, 4), (10_000, 500, 13)],
)
def test_points_are_those_of_the_table(listed: int, losses: int, points: int) -> None:
    """14-K2; and by its definition, with v = 17."""
    order, bits = 2**252 + 27742317777372353535851937790883648493, 17
    assert equation_points(listed, losses, bits) == points
    choices = sum(comb(listed, lost) for lost in range(losses + 1))
    enough = [order**t >= 2**128 * bits**t * choices for t in range(1, points + 1)]
    assert enough == [False] * (points - 1) + [True]


def test_points_grow_with_everything_and_end() -> None:
    assert equation_points(1000, 0, 10) == 1
    found = [equation_points(20_000, losses, 20) for losses in range(0, 2500, 50)]
    assert found == sorted(found)
    assert found[-1] <= MOST_POINTS
    with pytest.raises(UsageError, match="64 points"):
        equation_points(20_000, 8000, 20)
    assert losses_allowed(100, 90, 4) == 4
    assert losses_allowed(92, 90, 4) == 2
