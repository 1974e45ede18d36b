"""A party says one thing at most, whatever becomes of its state; else it is silent for a round."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from gopa.plugins.flower import VerifiableGrid
from gopa.sessions.tunnel import called
from gopa.sessions.tunnel.checkpoint import Surroundings, read_state
from gopa.sessions.vault import StateDiverged
from tests.plugins.flower.worlds import FakeGrid, app_of, asking, planned
from tests.sessions.tunnel.worlds import slots

MODEL = {"a": np.zeros(6)}
NODE = 1_002

Change = Callable[["Scene", int], None]


def moved(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    return {"a": model["a"] + (number + 1) / 100}, {"num-examples": 1}


class Scene:
    """Five nodes, of which something happens to one in front of a message of a round."""

    def __init__(self, path: Path, rounds: int = 3) -> None:
        self.grid = FakeGrid(app_of(moved, path), 5, ask=self._ask)
        plan = planned(5, 6, dropout=0.05, rounds=rounds)
        self.verified = VerifiableGrid(self.grid, plan, mode="signed", patience=0.02)
        self.saved: dict[int, Context] = {}
        self.changes: dict[tuple[int, int], Change] = {}
        self._told: dict[int, int] = {}

    def _ask(self, node: int, message: Message) -> Message | None:
        if node != NODE or not message.content["gopa"]["ticket"]:
            return message
        number = len(self.verified.reports) + 1
        self._told[number] = self._told.get(number, 0) + 1
        self.saved[self._told[number]] = deepcopy(self.grid.contexts[NODE])
        change = self.changes.get((number, self._told[number]))
        if change is not None:
            change(self, self._told[number])
        return message

    def round(self) -> set[int]:
        """One round; who is in it."""
        self.verified.send_and_receive(asking(self.grid, MODEL), timeout=0.02)
        return set(self.verified.reports[-1].included)

    def raws(self) -> list[bytes]:
        """The logs of all sessions."""
        return [raw for each in self.verified.transcripts for raw in each.log().entries()]

    def one_statement_a_slot(self) -> bool:
        """Whether nobody said two things."""
        return all(len(found) == 1 for found in slots(self.raws()).values())


EVERYBODY = set(range(1_000, 1_005))


def lose(scene: Scene, _: int) -> None:
    """The SuperNode starts anew: its context is empty, its home is what it was."""
    scene.grid.contexts[NODE].state = RecordDict()


def updated(_: Scene, __: int) -> None:
    """The state of the node, which is read next, is that of another version of the library."""
    old: list[bytes] = []

    def other(data: bytes, given: Surroundings) -> Any:
        old.append(data)
        if data == old[0]:
            raise StateDiverged("another version")
        return read_state(data, given)

    vars(called)["read_state"] = other


def back(count: int) -> Change:
    """The context is put back to what it was so many messages ago."""

    def roll(scene: Scene, told: int) -> None:
        scene.grid.contexts[NODE] = deepcopy(scene.saved[told - count])

    return roll


@pytest.mark.parametrize("at", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("change", [lose, updated, back(1)], ids=["lost", "updated", "rolled back"])
def test_a_party_without_its_state_is_out_of_the_round_and_in_the_next(
    change: Change, at: int, tmp_path: Path
) -> None:
    scene = Scene(tmp_path)
    assert scene.round() == EVERYBODY
    scene.changes[2, at] = change
    ended = scene.round()
    # Who has confirmed already is not missed: others open its mask.
    assert ended == EVERYBODY - {NODE} or (ended == EVERYBODY and at > 4)
    assert scene.round() == EVERYBODY
    assert scene.one_statement_a_slot()


def test_a_party_that_is_lost_before_a_round_begins_anew_and_sits_out(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.changes[2, 1] = lose
    assert scene.round() == EVERYBODY
    assert scene.round() == EVERYBODY - {NODE}
    (said,) = scene.verified.reports[1].left_out.values()
    assert said.startswith("StateLost")
    assert scene.round() == EVERYBODY


def test_a_node_that_is_killed_between_commit_and_publish_comes_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    dead: list[bool] = []

    def kill(node: int, message: Message) -> Message | None:
        at = scene._told.get(2, 0)
        scene._ask(node, message)
        if node == NODE and len(scene.verified.reports) == 1 and at >= 3:
            if not dead:
                lose(scene, 0)
                dead.append(True)
            return None
        return message

    scene.grid.ask = kill
    assert scene.round() == EVERYBODY
    assert scene.round() == EVERYBODY - {NODE}
    assert dead
    scene.grid.ask = scene._ask
    assert scene.round() == EVERYBODY - {NODE}  # it says that it has lost its state
    assert scene.verified.reports[2].left_out[NODE].startswith("StateLost")
    assert scene.one_statement_a_slot()


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_of_two_messages_at_once_one_is_answered(at: int, tmp_path: Path) -> None:
    """Two workers of a simulation begin with one context; the slower one's is kept.

    Before the list of those who are in the sum: later it goes on without the node's answers.
    """
    scene = Scene(tmp_path)
    said: list[Message] = []

    def twice(node: int, message: Message) -> Message | None:
        scene._ask(node, message)
        if node == NODE and len(scene.verified.reports) == 1 and scene._told[2] == at:
            before = deepcopy(scene.grid.contexts[NODE])
            said.append(scene.grid.call(deepcopy(message)))
            scene.grid.contexts[NODE] = before
        return message

    scene.grid.ask = twice
    assert scene.round() == EVERYBODY
    # The other answer has left: here the host hears only that there is none any more.
    assert scene.round() == EVERYBODY - {NODE}
    assert scene.verified.reports[1].left_out[NODE].startswith("StateReplayed")
    assert said[0].content["gopa"]["reply"]
    scene.grid.ask = scene._ask
    assert scene.round() == EVERYBODY
    assert scene.one_statement_a_slot()


def test_a_second_run_of_a_series_begins_a_session_of_its_own(tmp_path: Path) -> None:
    first = Scene(tmp_path, rounds=5)
    assert first.round() == EVERYBODY  # and ends here, in the middle of its session
    second = Scene(tmp_path)
    for node, context in first.grid.contexts.items():
        second.grid.contexts[node] = deepcopy(context)
        second.grid.contexts[node].run_id += 1
    assert second.round() == EVERYBODY
    assert second.round() == EVERYBODY
    (kept,) = second.grid.contexts[NODE].state.config_records.values()
    assert kept["run"] == second.grid.contexts[NODE].run_id
    assert second.one_statement_a_slot()


def test_a_state_of_another_node_is_no_use(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    def swap(scene: Scene, _: int) -> None:
        scene.grid.contexts[NODE].state = deepcopy(scene.grid.contexts[1_001].state)

    scene.changes[2, 3] = swap
    assert scene.round() == EVERYBODY
    assert scene.round() == EVERYBODY - {NODE}
    assert "StateOfAnother" in scene.verified.reports[1].left_out[NODE]
    assert scene.one_statement_a_slot()


@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.soak)])
def test_nothing_grows_and_nothing_drifts_over_many_rounds(rounds: int, tmp_path: Path) -> None:
    scene = Scene(tmp_path, rounds=rounds)
    scene.grid.keep_seen = False
    sizes, model = [], MODEL
    for number in range(1, rounds + 1):
        replies = scene.verified.send_and_receive(asking(scene.grid, model), timeout=0.02)
        model = {"a": next(iter(replies)).content["arrays"]["a"].numpy()}
        kept = scene.grid.contexts[NODE].state.config_records.values()
        assert len(kept) == (number < rounds)
        sizes += [len(each["state"]) for each in kept]
    assert set(scene.verified.reports[-1].included) == EVERYBODY
    assert max(sizes[2:]) - min(sizes[2:]) < 600
    # Of five updates of 0.01 to 0.05 the mean is 0.03; each is rounded by less than a step.
    assert model["a"] == pytest.approx(np.full(6, 0.03 * rounds), abs=rounds * 2.0**-23)
    found = tmp_path / f"node-{NODE - 1_000}" / "sessions"
    assert [each.stat().st_size for each in found.iterdir()] == [0]
