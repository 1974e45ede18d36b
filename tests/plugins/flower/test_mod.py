"""What a node gives to a hostile server: nothing that a session does not ask for."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

import gopa
from gopa.contract.manifest import Mode
from gopa.plugins.flower import GopaMod, VerifiableGrid, gopa_mod
from gopa.plugins.flower.home import NodeHome
from gopa.plugins.session import new_signer
from tests.plugins.flower.worlds import FakeGrid, app_of, asking, exact, planned, record
from wire.ed25519 import SigningKey
from wire.errors import UsageError

MODEL = {"a": np.zeros(6)}


def moved(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    return {"a": model["a"] + (number + 1) / 100}, {"num-examples": 10, "loss": 1.5}


def verified(grid: FakeGrid, plan: gopa.Plan | None = None, **options: Any) -> VerifiableGrid:
    plan = plan or planned(len(grid.ids), 6)
    return VerifiableGrid(grid, plan, mode="signed", patience=0.02, **options)


def reasons(grid: VerifiableGrid, fake: FakeGrid, nodes: list[int] | None = None) -> set[str]:
    """Why nobody is in a round."""
    with pytest.raises(gopa.Aborted):
        grid.send_and_receive(asking(fake, MODEL, nodes), timeout=0.02)
    return {said.partition(":")[0] for said in grid.reports[-1].left_out.values()}


def test_a_message_that_trains_in_the_clear_is_refused(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 3)
    (reply, *_) = verified(grid).send_and_receive(asking(grid, MODEL), timeout=9)
    assert reply.has_content()
    for kind in ("train", "evaluate"):
        content = RecordDict({"arrays": record(MODEL)})
        replies = grid.send_and_receive([Message(content, each, kind) for each in grid.ids])
        assert all(each.has_error() for each in replies)
        assert all("num-examples" not in str(each.error.reason) for each in replies)


def test_evaluations_go_through_where_both_sides_want_them(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path, evaluation=True), 3)
    asked = [Message(RecordDict({"arrays": record(MODEL)}), each, "evaluate") for each in grid.ids]
    with pytest.raises(UsageError) as refused:
        verified(grid).send_and_receive(asked)
    assert refused.value.field == "evaluation"
    replies = verified(grid, evaluation="clear").send_and_receive(asked)
    assert all(each.has_content() for each in replies)


def test_queries_go_through(tmp_path: Path) -> None:
    app = app_of(moved, tmp_path)

    @app.query()  # type: ignore[untyped-decorator, unused-ignore]
    def asked(message: Message, context: Context) -> Message:
        del context
        return Message(message.content, reply_to=message)

    grid = FakeGrid(app, 3)
    messages = [Message(RecordDict(), each, "query") for each in grid.ids]
    assert all(each.has_content() for each in verified(grid).send_and_receive(messages))
    with pytest.raises(UsageError):
        verified(grid).push_messages(asking(grid, MODEL))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"policy": exact(exact_sums=False)}, "Refusal"),
        ({"policy": exact(modes=frozenset({Mode.FULL}))}, "Refusal"),
        ({"log": str(new_signer(os.urandom).verifier)}, "Refusal"),
        ({"roster": [SigningKey.generate(os.urandom).public.data]}, "Refusal"),
        ({"sessions": 0}, "Refusal"),
    ],
    ids=["exact sums", "mode", "log", "roster", "sessions"],
)
def test_a_node_refuses_what_its_owner_does_not_accept(
    changes: dict[str, Any], field: str, tmp_path: Path
) -> None:
    grid = FakeGrid(app_of(moved, tmp_path, **changes), 3)
    assert reasons(verified(grid), grid) == {field}


def test_a_node_takes_part_where_it_knows_log_and_roster(tmp_path: Path) -> None:
    keys = [NodeHome(tmp_path / f"node-{each}").identity().public.data for each in range(3)]
    signer = new_signer(os.urandom)
    app = app_of(moved, tmp_path, roster=keys, log=str(signer.verifier))
    grid = FakeGrid(app, 3)
    (reply,) = verified(grid, signer=signer).send_and_receive(asking(grid, MODEL), timeout=9)
    assert reply.has_content()


def test_a_noisy_session_is_the_only_one_unless_more_are_accepted(tmp_path: Path) -> None:
    policy = gopa.LocalPolicy(
        epsilon=Decimal(8), delta=Decimal("1e-5"), modes=frozenset({Mode.SIGNED})
    )
    plan = planned(3, 6, epsilon=8, delta=1e-5, steps=None)
    for sessions, second in ((None, {"Refusal"}), (2, set())):
        app = app_of(moved, tmp_path / str(sessions), policy=policy, sessions=sessions)
        grid = FakeGrid(app, 3)
        replies = verified(grid, plan).send_and_receive(asking(grid, MODEL), timeout=9)
        assert len(list(replies)) == 1
        again = verified(grid, plan)
        if second:
            assert reasons(again, grid) == second
        else:
            again.send_and_receive(asking(grid, MODEL), timeout=9)


def test_a_value_out_of_range_is_not_told_and_clipped_only_if_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def far(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        return {"a": model["a"] + 7 * (number == 1)}, {"num-examples": 10}

    grid = FakeGrid(app_of(far, tmp_path), 5)
    plan = planned(5, 6, dropout=0.05, rounds=2)
    strict = verified(grid, plan)
    strict.send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert strict.reports[0].left_out == {1_001: "OutOfRange: see the log of this node"}
    caplog.clear()
    (reply,) = verified(grid, plan, clip=True).send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert reply.content["arrays"]["a"].numpy() == pytest.approx(np.full(6, 0.2), abs=1e-6)
    (said,) = [each.getMessage() for each in caplog.records if each.filename == "mod.py"]
    assert "clipped" in said


def test_a_server_cannot_search_for_a_number_by_changing_ranges(tmp_path: Path) -> None:
    def changed(node: int, message: Message) -> Message:
        asked = message.content["gopa"]
        if node == 1_001 and asked["layout"] and len(out.reports) == 1:
            asked["layout"] = asked["layout"].replace('"64"', '"9"')
        return message

    grid = FakeGrid(app_of(moved, tmp_path), 5, ask=changed)
    out = verified(grid, planned(5, 7, dropout=0.05, rounds=3), max_weight=64)
    for _ in range(3):
        out.send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert [len(each.included) for each in out.reports] == [5, 4, 5]
    (said,) = out.reports[1].left_out.values()
    assert said.startswith("Refusal: layout")


@pytest.mark.parametrize("wrong", ["weight", "shape", "names", "nan", "metric"])
def test_what_an_app_gets_wrong_keeps_its_node_out(wrong: str, tmp_path: Path) -> None:
    def off(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        metrics = {"num-examples": 10.0, "loss": 0.5}
        if number != 1:
            return model, metrics
        if wrong == "weight":
            metrics["num-examples"] = 1_000
        if wrong == "metric":
            del metrics["loss"]
        changed = {"shape": np.zeros(5), "nan": np.full(6, np.nan)}.get(wrong, model["a"])
        return {"b" if wrong == "names" else "a": changed}, metrics

    grid = FakeGrid(app_of(off, tmp_path), 5)
    plan = planned(5, 8, dropout=0.05)
    out = verified(grid, plan, max_weight=64, metrics={"loss": (0, 1)})
    (reply, failure) = out.send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert reply.has_content()
    assert failure.has_error()
    assert list(out.reports[0].left_out) == [1_001]
    assert out.reports[0].left_out[1_001].endswith("see the log of this node")


def test_two_nodes_with_one_home_are_told_so(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 3, config={"gopa-home": str(tmp_path / "one")})
    with pytest.raises(UsageError) as error:
        verified(grid).send_and_receive(asking(grid, MODEL), timeout=9)
    assert error.value.field == "gopa-home"


def test_a_node_without_a_home_says_what_to_do(tmp_path: Path) -> None:
    app = ClientApp(mods=[gopa_mod(exact())])
    assert isinstance(app._mods[0], GopaMod)
    app._registered_funcs = app_of(moved, tmp_path)._registered_funcs

    @app.train("other")  # type: ignore[untyped-decorator, unused-ignore]
    def train(message: Message, context: Context) -> Message:
        raise NotImplementedError

    grid = FakeGrid(app, 3)
    content = RecordDict({"arrays": record(MODEL)})
    asked = [Message(content, each, "train.other") for each in grid.ids]
    with pytest.raises(UsageError) as error:
        verified(grid).send_and_receive(asked, timeout=0.02)
    assert error.value.field == "plan"


def test_what_does_not_fit_the_plan_is_said_at_once(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 4)
    with pytest.raises(UsageError) as nodes:
        verified(grid, planned(3, 6)).send_and_receive(asking(grid, MODEL), timeout=9)
    assert nodes.value.field == "plan"
    with pytest.raises(UsageError) as numbers:
        verified(grid, planned(4, 7)).send_and_receive(asking(grid, MODEL), timeout=9)
    assert "dimension=6" in str(numbers.value)
    with pytest.raises(UsageError) as mode:
        VerifiableGrid(grid, planned(4, 6), mode="off")  # type: ignore[arg-type]
    assert mode.value.field == "mode"


def test_a_round_that_fails_can_be_skipped(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path, sessions=0), 3)
    replies = list(verified(grid, skip_aborted=True).send_and_receive(asking(grid, MODEL)))
    assert len(replies) == 3
    assert all(each.has_error() for each in replies)


def test_another_set_of_nodes_gets_a_session_of_its_own(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 5)
    out = verified(grid, planned(3, 6, rounds=4))
    for nodes in ([1_000, 1_001, 1_002], [1_000, 1_001, 1_002], [1_002, 1_003, 1_004]):
        out.send_and_receive(asking(grid, MODEL, nodes), timeout=9)
    assert len(out.sessions) == 2
    assert [each.session == out.reports[0].session for each in out.reports] == [True, True, False]
    kept = [list(each.state) for each in grid.contexts.values()]
    assert list(map(len, kept)) == [0, 0, 1, 1, 1]  # the first session is over for its nodes
