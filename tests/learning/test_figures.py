"""Figures of the papers, small: every command makes its numbers and its picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples import correlated, without_replacement
from gopa import UsageError
from gopa.learning.experiments import FigureSet

SETS = {"correlated": correlated.figures, "without replacement": without_replacement.figures}
FIGURES = [(figures, name) for figures in SETS.values() for name in figures.names]


@pytest.mark.soak
@pytest.mark.parametrize(("figures", "name"), FIGURES, ids=[name for _, name in FIGURES])
def test_every_figure_is_made(
    figures: FigureSet, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    forests = np.column_stack([rng.integers(0, 99, (900, 54)), rng.integers(1, 8, 900)])
    np.savetxt(tmp_path / "covtype.data", forests, delimiter=",", fmt="%d")
    monkeypatch.setenv("COVERTYPE", str(tmp_path / "covtype.data"))
    said: list[str] = []
    figures.make(name, tmp_path, quick=True, say=said.append)
    assert (tmp_path / f"{name}.png").exists()
    assert (tmp_path / f"{name}.csv").read_text().count("\n") > 5
    if name.startswith("table"):
        assert any("published claim" in line for line in said)


def test_forests_need_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COVERTYPE", raising=False)
    assert set(without_replacement.figures.names) == {
        "table1", "table2", "fig1", "fig2", "fig3", "fig4",
    }  # fmt: skip
    with pytest.raises(UsageError, match="COVERTYPE"):
        without_replacement.figures.make("fig1", tmp_path, quick=True)
