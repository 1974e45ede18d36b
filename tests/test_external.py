from __future__ import annotations

from pathlib import Path

import pytest

from tests.external import VARIABLE, vectors


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
