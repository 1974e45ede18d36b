"""Terms of long vectors: each rule of 14 about them, and each once more from the text."""

from __future__ import annotations

from decimal import Decimal
from math import comb, sqrt
from typing import Any

import pytest

from gopa.contract.lengths import WeightedLength
from gopa.contract.manifest import MANIFEST, Manifest, Mode, Trust
from gopa.contract.row_terms import (
    MOST_POINTS,
    equation_points,
    largest_share,
    losses_allowed,
    origin,
)
from gopa.contract.terms import Terms
from tests.contract.row_rules import fits
from tests.contract.samples import (
    manifest,
    row_manifest,
    row_terms,
    signed_manifest,
    terms,
    vector_terms,
)
from tests.verifier.test_parts import part
from wire.errors import MalformedMessage, UsageError
from zkp.noise import binomial

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
    """[K2] of 14; and by its definition, with v = 17."""
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
