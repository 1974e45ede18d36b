from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.external import VARIABLE, vectors

ROOT = Path(__file__).resolve().parents[1]


def test_a_file_that_exists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "vectors.json").write_text("[]")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert vectors("some/vectors.json").read_text() == "[]"


@pytest.mark.parametrize("name", ["other.json", "some"])
def test_a_missing_file_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    (tmp_path / "some").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception):
        vectors(name)


@pytest.mark.parametrize("value", [None, ""])
def test_no_folder_skips(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(pytest.skip.Exception):
        vectors("any.json")


@pytest.mark.slow
def test_what_was_skipped_is_written_down(tmp_path: Path) -> None:
    """Also modules that are skipped as a whole, of which workers tell one for each reason."""
    modules = ["test_one.py", "test_two.py"]
    for name in modules:
        (tmp_path / name).write_text("from tests.external import vectors\nvectors('any')\n")
    (tmp_path / "test_three.py").write_text("def test_nothing() -> None:\n    pass\n")
    bare = {name: each for name, each in os.environ.items() if not name.startswith("GOPA_")}
    options = ["-n2", "-q", "-p", "tests.conftest", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-o", f"cache_dir={tmp_path}", tmp_path],
        env=bare | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "d" / "skipped" / "tests.txt").read_text().splitlines() == modules
