from __future__ import annotations

import pytest

from tests.vectors.registry import FOLDER, SOURCES, render


def test_every_published_file_has_a_source() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(SOURCES)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_regeneration_changes_nothing(name: str) -> None:
    assert render(SOURCES[name]()) == (FOLDER / name).read_text()
