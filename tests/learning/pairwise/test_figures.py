"""Figures about pairs are made at a small size, with numbers that mean something."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import pairwise, pairwise_strangers
from gopa.learning import DataNotFound
from gopa.learning.experiments import FigureRun

SETS = dict.fromkeys(pairwise.figures.names, pairwise.figures)
SETS |= dict.fromkeys(pairwise_strangers.figures.names, pairwise_strangers.figures)


def made(name: str, folder: Path) -> FigureRun:
    try:
        return SETS[name].make(name, folder, quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "name",
    [
        "depth",
        *(pytest.param(name, marks=pytest.mark.soak) for name in SETS if name != "depth"),
    ],
)
def test_a_figure_is_made(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made(name, tmp_path)
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) > 3
