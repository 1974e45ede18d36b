"""What the page on declearn shows is what works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from declearn.dataset import InMemoryDataset
from declearn.main.config import FLOptimConfig
from declearn.model.sklearn import SklearnSGDModel

from gopa.plugins.fixed_point import FixedPoint
from tests.plugins.declearn.test_configuration import write_key
from tests.plugins.declearn.worlds import Federation

PAGE = (Path(__file__).parents[3] / "docs" / "declearn.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_files_and_the_program_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in blocks("toml"):
        (tmp_path / text.split()[1]).write_text(text)
    for name in ("alice", "bob", "carol", "dave", "erin"):
        write_key(tmp_path, name, Ed25519PrivateKey.generate())
    world = Federation(clients=1)
    features, labels = world.parts["c0"]
    given: dict[str, Any] = {
        "model": SklearnSGDModel.from_parameters("classifier", loss="log_loss"),
        "optim": FLOptimConfig.from_params(aggregator="averaging", client_opt=0.02),
        "server_network": world.network,
        "client_network": world.endpoints["c0"],
        "data": InMemoryDataset(features, labels, expose_classes=True),
    }
    (program,) = blocks("python")
    exec(compile(program, "docs/declearn.md", "exec"), given)  # noqa: S102 - our own page
    assert given["server"].secagg.clipval == 1000.0
    assert given["client"].secagg.fewest == 4


def test_the_page_knows_how_fine_numbers_are() -> None:
    for count, bits in ((2, 31), (10_000, 25), (100_000, 23)):
        assert FixedPoint.finest(64, 1.0, count).largest == 2**bits - 2
        assert f"{bits} for {'two' if count == 2 else f'{count:,}'}" in PAGE
