"""What the page shows runs, with the app of the example."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

import gopa
from gopa.contract.manifest import Mode
from gopa.plugins.flower import VerifiableGrid, gopa_mod
from tests.plugins.flower.deployed import EXAMPLE
from tests.plugins.flower.worlds import FakeGrid

PAGE = (EXAMPLE.parents[1] / "docs" / "flower.md").read_text()


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    from flower_verified import client_app, task

    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    server, client = code.split("# client_app.py\n")
    names: dict[str, Any] = {
        "ClientApp": ClientApp, "Decimal": Decimal, "FedAvg": FedAvg, "Mode": Mode, "Path": Path,
        "VerifiableGrid": VerifiableGrid, "gopa": gopa, "gopa_mod": gopa_mod,
        "initial_arrays": ArrayRecord(list(task.beginning())),
    }  # fmt: skip
    exec(compile(client, "docs/flower.md", "exec"), names)  # noqa: S102 - our own page
    names["app"].train()(client_app.train)
    grid = FakeGrid(names["app"], 10, run_config={"clients": 10}, keep_seen=False)
    names["grid"] = grid
    exec(compile(server, "docs/flower.md", "exec"), names)  # noqa: S102 - our own page
    verified = names["verified"]
    assert [len(each.included) for each in verified.reports] == [10, 10, 10]
    assert verified.reports[0].weight == pytest.approx(1797, abs=1e-2)
    (log,) = Path("logs").glob("*.gopa")
    report = gopa.audit(log, anchors=log.with_suffix(".anchors"))
    assert report.verdict.value == "SIGNED-ONLY"
    assert np.isfinite(verified.reports[0].stderr)
