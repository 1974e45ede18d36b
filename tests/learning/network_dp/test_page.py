"""The page on tokens runs as it stands, and its figures can be made."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.network_privacy import figures
from gopa.learning import network_dp
from gopa.learning.history import History

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/learning/network_dp.md").read_text()


@pytest.mark.slow
def test_its_program_runs_and_shows_the_difference() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ast.parse(program).body) <= 10
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    near, far, noise = done.stdout.splitlines()
    assert "any single other user" in near
    assert "every message" in far
    assert "times" in noise
    missed = [abs(float(said.split(",")[0]) - float(said.split()[2])) for said in (near, far)]
    assert missed[0] < missed[1]


def test_what_it_names_is_there() -> None:
    called = set(re.findall(r"`(fit_[a-z]+)\(", PAGE)) | {"any_path_epsilon", "Walk"}
    assert len(called) == 7
    assert all(hasattr(network_dp, name) for name in called)


@pytest.mark.slow
def test_the_small_figure_of_the_gain(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = figures.make("gain", tmp_path, quick=True)
    assert run.folder.with_suffix(".png").stat().st_size > 5000
    lines = run.folder.with_suffix(".csv").read_text().splitlines()
    row = next(line for line in lines if line.startswith('"20 users: by orders"'))
    assert [float(each) for each in row.split(",")[1:]] == pytest.approx([1.55, 1.55], rel=5e-3)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["fig41", "groups"])
def test_small_figures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = figures.make(name, tmp_path, quick=True)
    assert run.folder.with_suffix(".png").stat().st_size > 5000


@pytest.mark.soak
def test_figure_4_1(tmp_path: Path) -> None:
    """With the file of houses: near the curator at epsilon 10, between both at 1."""
    pytest.importorskip("matplotlib")
    said: list[str] = []
    run = figures.make("fig41", tmp_path, say=said.append)
    if "made up" in said[0]:
        pytest.skip("no file of houses below GOPA_DATA")
    found = {
        (trust, epsilon): History.from_csv(run.folder / f"{trust}-{epsilon}.csv")["accuracy"][-1]
        for trust in ("central", "network", "local")
        for epsilon in (10, 1)
    }
    means = {key: float(each.mean()) for key, each in found.items()}
    assert all(len(each) == 20 for each in found.values())
    assert abs(means["network", 10] - means["central", 10]) <= 0.02
    assert means["network", 10] > means["local", 10]
    assert means["central", 1] > means["network", 1] > means["local", 1]
