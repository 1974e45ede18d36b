"""What a session sums of a model, without Flower: the rest is tested where that is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gopa.plugins.flower.home import NodeHome, home_of
from gopa.plugins.flower.layout import ModelLayout
from gopa.plugins.flower.records import Asked, Said
from wire.errors import MalformedMessage, UsageError

SENT = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "steps": np.array([7]),
    "on": np.array([True, False]),
}
LAYOUT = ModelLayout("num-examples", "64", -1.0, 1.0, (("loss", 0.0, 10.0), ("f1", 0.0, 1.0)))


def test_a_vector_is_the_difference_and_metrics_moved_into_the_range() -> None:
    trained = {"w": SENT["w"] + np.float32(0.5), "steps": SENT["steps"] + 1, "on": SENT["on"]}
    metrics = {"loss": 2.5, "f1": 1.0, "num-examples": 12}
    found = LAYOUT.vector(SENT, trained, metrics)
    assert found.tolist() == [0.5] * 6 + [1.0, 0.0, 0.0] + [-0.5, 1.0]
    assert len(found) == LAYOUT.size(SENT)
    assert LAYOUT.weight(metrics) == 12
    model, averages = LAYOUT.model(SENT, found)
    assert averages.tolist() == [2.5, 1.0]
    for name, array in model.items():
        assert array.dtype == SENT[name].dtype
        assert np.array_equal(array, trained[name])


def test_without_a_largest_weight_there_is_none() -> None:
    plain = ModelLayout("num-examples", None, 0.0, 1.0)
    assert plain.weight({}) is None
    assert plain.size(SENT) == 9


@pytest.mark.parametrize(
    ("trained", "metrics", "field"),
    [
        ({"w": SENT["w"], "on": SENT["on"], "steps": SENT["steps"]}, {}, "arrays"),
        ({**SENT, "w": np.zeros(6)}, {}, "arrays"),
        (SENT, {"loss": 1.0}, "metrics"),
        (SENT, {"loss": [1.0], "f1": 1.0}, "metrics"),
    ],
    ids=["another order", "another shape", "no metric", "a list"],
)
def test_what_does_not_fit_is_refused(trained: Any, metrics: Any, field: str) -> None:
    LAYOUT.vector(SENT, SENT, {"loss": 1.0, "f1": 1.0})
    with pytest.raises(UsageError) as error:
        LAYOUT.vector(SENT, trained, metrics)
    assert error.value.field == field


def test_a_layout_comes_back_and_another_text_does_not() -> None:
    text = LAYOUT.to_json()
    assert ModelLayout.from_json(text) == LAYOUT
    found = json.loads(text)
    wrong = [
        "", "[]", "{}", text[:-1], text + " " * 70_000,
        json.dumps({**found, "more": 1}),
        json.dumps({**found, "low": 2.0}),
        json.dumps({**found, "metrics": [["loss", 0.0]]}),
        json.dumps({**found, "high": float("nan")}),
        json.dumps({**found, "metrics": [["num-examples", 0.0, 1.0]]}),
    ]  # fmt: skip
    for each in wrong:
        with pytest.raises(MalformedMessage):
            ModelLayout.from_json(each)
    with pytest.raises(UsageError):
        ModelLayout("n", None, 1.0, 1.0)


def test_each_metric_is_summed_once() -> None:
    """Many ranges of one metric, each clipped, would say how the losses of nodes are spread."""
    given = json.loads(LAYOUT.to_json())
    assert ModelLayout.from_json(json.dumps(given)) == LAYOUT
    given["metrics"].append(["loss", 0.0, 5.0])
    with pytest.raises(MalformedMessage) as error:
        ModelLayout.from_json(json.dumps(given))
    assert "each metric once" in str(error.value)


def test_a_node_has_a_home_of_its_own(tmp_path: Path) -> None:
    assert home_of(tmp_path, {"gopa-home": "/own", "partition-id": 3}) == Path("/own")
    assert home_of(tmp_path, {"partition-id": 3}) == tmp_path / "node-3"
    assert home_of(tmp_path, {}) == tmp_path
    with pytest.raises(UsageError):
        home_of(None, {"partition-id": 3})
    home = NodeHome(tmp_path / "node-3")
    assert home.identity().public == home.identity().public
    session = bytes(32)
    secret = home.seal(session, 1)
    assert home.seal(session, 1).data.reveal() == secret.data.reveal()
    home.forget(session)
    assert (tmp_path / "node-3" / "sessions" / session.hex()).read_bytes() == b""


def test_nothing_is_said_by_default() -> None:
    assert Asked() == Asked(b"", b"", "", anew=False, last=False)
    assert Said() == Said(b"", b"", "", lost=False)
