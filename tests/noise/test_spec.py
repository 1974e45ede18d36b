"""The labels, names and limits of the code are those of the specification."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from gopa.noise import discrete_laplace, rounded_gaussian
from gopa.noise.laplace import BASE, MOST_TOP_SCALE
from wire import domains

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "specs" / "15-noise.md").read_text()


def test_labels_are_written_out() -> None:
    for label in (domains.NOISE_SEED, domains.NOISE_KEY, domains.NOISE_EDGE, domains.NOISE_DRAWS):
        assert f"`{label.decode()}`" in TEXT
    assert f"`{domains.EDGE_WORDS.decode()}`" in TEXT


def test_names_are_those_of_the_table() -> None:
    assert "`rounded-gaussian s`" in TEXT
    assert rounded_gaussian(50).name == "rounded-gaussian 50"
    assert "`discrete-laplace t`" in TEXT
    assert discrete_laplace(Fraction(14, 6)).name == "discrete-laplace 7/3"
    assert discrete_laplace(7.0).name == "discrete-laplace 7"


def test_digits_are_as_wide_as_it_says() -> None:
    assert f"-{BASE - 1} .. {BASE - 1}" in TEXT
    assert f"If t <= {MOST_TOP_SCALE} it is one digit" in TEXT
    assert "at most 710" in TEXT
    assert discrete_laplace(MOST_TOP_SCALE).largest == 710
    assert "|x| < 2^39" in TEXT
    assert 2**38 < discrete_laplace(2**32).largest < 2**39
