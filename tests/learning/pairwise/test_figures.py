"""Figures about pairs are made at a small size, with numbers that mean something."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.pairwise import figures
from gopa.learning import DataNotFound
from gopa.learning.experiments import FigureRun


def made(name: str, folder: Path) -> FigureRun:
    try:
        return figures.make(name, folder, quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "name",
    [
        "depth",
        *(pytest.param(name, marks=pytest.mark.soak) for name in figures.names if name != "depth"),
    ],
)
def test_a_figure_is_made(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made(name, tmp_path)
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) > 3
