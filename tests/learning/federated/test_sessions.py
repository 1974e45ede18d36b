"""Every algorithm over sessions on a board: two processes' worth of users, who know their own rows.

A thread stands for a process. Both see nothing of each other but the board.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from gopa import OutOfRange, UsageError
from gopa.aggregation.encoding import VOUCHED
from gopa.contract.manifest import Mode
from gopa.learning import Outcome, Privacy, Table, Users, iid
from gopa.learning.federated import (
    AdaptiveClip,
    RoundShape,
    Setting,
    SumSession,
    contingency_table,
    fedavg,
    fedsgd,
    histogram,
    kmeans,
    least_squares,
    mean,
    mean_round,
    pca,
    quantiles,
    variance,
)
from gopa.learning.federated.updates import ArrayLayout, ServerSGD, UpdateRun
from gopa.learning.history import History
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Refusal
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.board_access import Together
from gopa.sessions.organising import Deadlines
from tests.board.waiting import LONG
from tests.learning.federated.problems import OFF
from tests.sessions.live.worlds import Gathering, gathering

RNG = np.random.default_rng(3)
ROWS = np.round(RNG.normal(0, 0.5, (40, 2)), 3)
SIDES = np.where(ROWS @ [2.0, -1.0] > 0.1, 1.0, -1.0)
EVERYBODY = iid(Table(ROWS, SIDES, "made up"), 4, 1)
MOST = 12
KEPT = Privacy(90.0, 1e-3, unit="record")


def plan(width: int, norm: float, rounds: int = 1, epsilon: float | None = None) -> gopa.Plan:
    """What an organiser plans who knows what is asked, and no rows."""
    return gopa.plan(
        n=4, epsilon=epsilon, delta=None if epsilon is None else "1e-3", corrupt=1, dropout=0.0,
        dimension=width, range=(-1, 1), norm=norm, rounds=rounds, least_chance=0, mode="signed",
        beacon="commit-reveal", steps=2**24 if epsilon is None else None,
    )  # fmt: skip


@contextmanager
def opened(root: Path, made: gopa.Plan, mode: Mode = Mode.SIGNED) -> Iterator[Gathering]:
    """A session that an organiser runs in a thread of its own, until the block ends."""
    setting = SessionSetting(mode=mode)
    patient = Deadlines(join=60, phase=60)
    with gathering(root, made.terms, deadlines=patient, setting=setting) as world:
        stop = threading.Event()

        async def organise() -> None:
            work = asyncio.create_task(world.open())
            await asyncio.wait(
                {work, asyncio.create_task(asyncio.to_thread(stop.wait))},
                return_when=asyncio.FIRST_COMPLETED,
            )
            work.cancel()
            stop.set()

        thread = threading.Thread(target=lambda: asyncio.run(organise()))
        thread.start()
        try:
            yield world
        finally:
            stop.set()
            thread.join(LONG)


def member(world: Gathering, number: int, together: Together, *, vouched: bool = True) -> Any:
    policy = replace(permissive(world.terms), vouched=vouched)
    return gopa.Client(world.identities[number], policy, connect=together)


@contextmanager
def process(world: Gathering, *numbers: int) -> Iterator[gopa.SessionAggregator]:
    """The aggregator of a process that has these users."""
    together = Together()
    clients = [member(world, each, together) for each in numbers]
    with gopa.SessionAggregator(world.ticket, *clients, vouched=True) as aggregator:
        yield aggregator


def of(*numbers: int) -> Users:
    """These users alone."""
    return Users(EVERYBODY.table, tuple(EVERYBODY.rows[each] for each in numbers))


def in_two_processes(world: Gathering, ask: Callable[..., Outcome]) -> list[Outcome]:
    def part(numbers: tuple[int, int]) -> Outcome:
        with process(world, *numbers) as aggregator:
            return ask(of(*numbers), aggregator=aggregator)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(part, [(0, 1), (2, 3)]))


def updates(
    problem: Users, *, rounds: int, mode: Any = "signed", session: Any = None,
    aggregator: Any = None, **asked: Any,
) -> Outcome:  # fmt: skip
    """What `gopa.learning.torch` does, with steps towards the mean of a user's rows."""
    setting = Setting(**asked, mode=mode, session=session, aggregator=aggregator)
    means = np.array([x.mean(axis=0) for x, _ in problem.pairs()])
    layout = ArrayLayout({"weight": (2,)})
    run = UpdateRun(
        setting,
        layout,
        np.zeros(2),
        lambda weights, _: means - weights,
        users=len(problem),
        rounds=rounds,
        clip=0.5,
        server=ServerSGD(rate=0.5, momentum=0.5),
    )
    return run.carried_out(problem, rounds, progress=False)


ASKED: list[tuple[Callable[..., Outcome], dict[str, Any], int, float, int]] = [
    (mean, {"low": -2, "high": 2}, 3, math.sqrt(2), 1),
    (variance, {"low": -1, "high": 1}, 5, math.sqrt(2), 1),  # some rows are moved to the ends
    (histogram, {"edges": [-2, 0, 1, 2]}, 3, math.sqrt(0.5), 1),
    (quantiles, {"at": [0.5], "low": -2, "high": 2, "levels": 4}, 30, math.sqrt(0.5), 1),
    (
        contingency_table,
        {"columns": (-1, -1), "categories": ([-1, 1], [-1, 1])},
        4,
        math.sqrt(0.5),
        1,
    ),
    (pca, {"components": 1, "radius": 2}, 6, math.sqrt(4.5) / 2, 2),
    (least_squares, {"radius": 2, "label_radius": 1}, 10, math.sqrt(4.5) / 2, 2),
    (kmeans, {"clusters": 2, "rounds": 2, "radius": 2}, 6, 1.0, 2),
    (fedavg, {"rounds": 2}, RoundShape(3, MOST).dimension, RoundShape(3, MOST).half, 2),
    (fedsgd, {"rounds": 2}, RoundShape(3, MOST).dimension, RoundShape(3, MOST).half, 2),
    (updates, {"rounds": 2}, 2, 1.0, 2),
]
"""Algorithm, its keywords, and what the page tells its organiser: numbers, norm, rounds."""


@pytest.mark.soak
@pytest.mark.parametrize("case", ASKED, ids=[each[0].__name__ for each in ASKED])
def test_models_are_those_of_a_simulation_over_all_rows(tmp_path: Path, case: Any) -> None:
    ask, given, width, norm, rounds = case
    asked: dict[str, Any] = {"privacy": None, "seed": 1, "most_rows": MOST, **given}
    expected = ask(EVERYBODY, **asked, **OFF)
    with opened(tmp_path, plan(width, norm, rounds)) as world:
        first, second = in_two_processes(world, lambda *rows, **more: ask(*rows, **asked, **more))
        assert first.audit().missing == ()
    for name, value in expected.model.items():
        assert np.allclose(first.model[name], value, atol=1e-3), name
        assert np.array_equal(first.model[name], second.model[name]), name
    assert len(first.history) == rounds
    if rounds == 1:  # else they count users
        assert {*first.warnings, *second.warnings} == {*expected.warnings}
    assert not any("simulation" in each for each in first.spent.assumptions)
    # With noise the same plan has room for this algorithm, and one of a smaller norm has not.
    private = {**asked, "privacy": Privacy(90.0, 1e-3)}
    assert _refused(ask, private, plan(width, norm, rounds, 90.0)) is None
    assert _refused(ask, private, plan(width, norm * 0.99, rounds, 90.0)) == "aggregator"


@pytest.mark.soak
def test_single_records_are_hidden_and_what_is_clipped_is_told(tmp_path: Path) -> None:
    """With a bound that follows the gradients, and fewer rounds than are asked for."""
    shape = RoundShape(3, MOST, adaptive=True, unit="record")
    made = plan(shape.dimension, shape.half * (1 + 1e-6), rounds=2, epsilon=90)
    clip = AdaptiveClip(0.05)
    asked: dict[str, Any] = {"privacy": KEPT, "seed": 1, "most_rows": MOST, "clip": clip}

    def ask(problem: Users, **more: Any) -> Outcome:
        return fedsgd(problem, rounds=3, planned=2, **asked, **more)

    with opened(tmp_path, made) as world:
        found = in_two_processes(world, ask)
    for outcome in found:
        assert np.array_equal(outcome.model["coef"], found[0].model["coef"])
        assert outcome.history["bound"].tolist() == found[0].history["bound"].tolist()
        assert outcome.history["bound"][0] == 0.05 != outcome.history["bound"][1]
        assert outcome.history["shortened"].sum() > 0
        assert "stopped before round 3 of 3: the budget covers 2" in outcome.warnings
        assert any("records were shortened" in each for each in outcome.warnings)
        assert outcome.spent.within(KEPT)
        assert any("nothing else checks that" in each for each in outcome.spent.assumptions)


@pytest.mark.soak
def test_between_machines_one_seed_makes_no_two_noises_alike(tmp_path: Path) -> None:
    """Else the difference of two models of one seed would have no noise, as in a simulation."""
    asked: dict[str, Any] = {"privacy": Privacy(90.0, 1e-3), "seed": 1, "most_rows": MOST}
    found = []
    for name in ("one", "two"):
        with opened(tmp_path / name, plan(3, math.sqrt(2), 1, 90.0)) as world:
            first, second = in_two_processes(
                world, lambda *rows, **more: mean(*rows, low=-2, high=2, **asked, **more)
            )
        assert np.array_equal(first.model["mean"], second.model["mean"])
        found.append(first.model["mean"])
    assert (found[0] != found[1]).all()


def _refused(ask: Callable[..., Outcome], asked: dict[str, Any], made: gopa.Plan) -> str | None:
    """The field that is wrong with such a session, without one."""
    try:
        ask(EVERYBODY, aggregator=Promised(made), **asked)
    except UsageError as error:
        return error.field
    except NotImplementedError:
        return None
    raise AssertionError


class Promised:
    """Stands for an aggregator of a session; it is there to be judged."""

    def __init__(self, made: gopa.Plan, own: int = 4, rounds_left: int | None = None) -> None:
        self.terms = made.terms
        self.own = range(own)
        self.rounds_left = made.terms.rounds if rounds_left is None else rounds_left

    def average(self, values: Any, *, weights: Any = None) -> gopa.Result:
        raise NotImplementedError

    sum = average

    async def average_async(self, values: Any, *, weights: Any = None) -> gopa.Result:
        raise NotImplementedError

    sum_async = average_async


RIGHT: dict[str, Any] = {"privacy": KEPT, "seed": 1, "most_rows": MOST}
NEEDED = math.sqrt(0.5) / MOST * (1 + 1e-6)


def judged(made: gopa.Plan, changes: dict[str, Any], **options: Any) -> SumSession:
    """A session of a histogram of three bins, one record hidden."""
    setting = Setting(**{**RIGHT, **changes}, aggregator=Promised(made, **options))
    half = math.sqrt(0.5) / MOST
    return SumSession("s", setting, users=4, width=3, half=half, rounds=1, vouched=True)


def test_what_an_organiser_opened_instead_is_refused_before_anything_is_charged() -> None:
    honest = plan(3, NEEDED, epsilon=90)
    assert judged(honest, {}).rounds_left == 1
    narrow = replace(honest, terms=replace(honest.terms, low=Decimal("-0.1"), high=Decimal("0.1")))
    account = gopa.learning.PrivacyLedger(KEPT)
    wrong: list[tuple[gopa.Plan, dict[str, Any], dict[str, Any], str]] = [
        (plan(3, NEEDED * 0.999, epsilon=90), {}, {}, "aggregator"),  # less noise than needed
        (plan(4, NEEDED, epsilon=90), {}, {}, "aggregator"),
        (narrow, {}, {}, "aggregator"),  # as much noise in steps, which are smaller
        (honest, {"privacy": replace(KEPT, epsilon=89.0)}, {}, "privacy"),
        (honest, {"privacy": replace(KEPT, delta=1e-4)}, {}, "privacy"),
        (honest, {"privacy": None}, {}, "privacy"),
        (plan(3, NEEDED), {}, {}, "privacy"),  # no noise at all
        (honest, {"privacy": replace(KEPT, view="coalition", colluders=2)}, {}, "colluders"),
        (honest, {"session": {"corrupt": 1}}, {}, "session"),
        (honest, {}, {"own": 3}, "problem"),
        (honest, {}, {"rounds_left": 0}, "rounds"),
    ]
    for made, changes, options, field in wrong:
        with pytest.raises(UsageError) as caught:
            judged(made, {"ledger": account, **changes}, **options)
        assert caught.value.field == field
    assert account.spent().epsilon == 0
    with pytest.raises(UsageError) as caught:
        judged(plan(3, 0.01, epsilon=90), {})
    needed = str(caught.value).rpartition("norm=")[2]
    assert judged(plan(3, float(needed), epsilon=90), {})  # the error says what to plan with
    with pytest.raises(UsageError) as caught:
        Setting(**RIGHT, aggregator=gopa.LocalAggregator(honest, mode="off"))
    assert caught.value.field == "aggregator"
    with pytest.raises(UsageError) as caught:
        Setting(**{**RIGHT, "privacy": (1.0, 1e-6)})
    assert caught.value.field == "privacy"


def test_an_aggregator_that_clips_is_named_in_the_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(3, NEEDED, epsilon=90)
    for long, said in ((False, 0), (True, 1)):
        with gopa.LocalAggregator(made, mode="off", seed=1, clip=True) as clips:
            monkeypatch.setattr(Promised, "sum", lambda _, vectors, sums=clips: sums.sum(vectors))
            session = judged(made, {})
            session.sum([np.full(3, 0.5 if long else 0.01)] * 4)
        told = session.outcome({}, History({"round": [1]})).warnings
        assert ["without clip" in each for each in told].count(True) == said


def test_what_depends_on_rows_of_others_has_to_be_said() -> None:
    asked: dict[str, Any] = {"privacy": None, "seed": 1}
    made = Promised(plan(6, 2))
    with pytest.raises(NotImplementedError):
        pca(EVERYBODY, components=1, radius=2, most_rows=MOST, aggregator=made, **asked)
    with pytest.raises(UsageError) as caught:
        pca(EVERYBODY, components=1, radius=2, aggregator=made, **asked)
    assert caught.value.field == "most_rows"
    with pytest.raises(UsageError) as caught:
        pca(EVERYBODY, components=1, most_rows=MOST, aggregator=made, **asked)
    assert caught.value.field == "radius"


def test_a_round_of_records_needs_as_much_noise_as_its_shape_says() -> None:
    shape = RoundShape(2, most=10, unit="record")
    given: Any = (shape, [[0.1, 0.1]] * 4, [10.0] * 4)
    with pytest.raises(NotImplementedError):
        mean_round(Promised(plan(3, 0.1 * (1 + 1e-6), epsilon=90)), *given, bound=1, kept=[1] * 4)
    with pytest.raises(UsageError) as caught:
        mean_round(Promised(plan(3, 0.09, epsilon=90)), *given, bound=1, kept=[1] * 4)
    assert caught.value.field == "aggregator"


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.FULL])
def test_a_party_that_did_not_agree_sends_no_long_vector(tmp_path: Path, mode: Mode) -> None:
    """Nor does one that agreed, unless its own program vouches for the vector."""
    long = [np.array([0.5, 0.5])] * 4
    with opened(tmp_path, plan(2, 0.1, epsilon=90), mode) as world:
        together = Together()
        careful = [member(world, each, together, vouched=False) for each in range(4)]
        with pytest.raises(Refusal) as refused:
            gopa.SessionAggregator(world.ticket, *careful, vouched=True)
        assert refused.value.field == "vouched"
        with gopa.SessionAggregator(world.ticket, *careful) as plain:
            with pytest.raises(OutOfRange):
                plain.average(long)
            setting = Setting(replace(KEPT, unit="user"), 1, MOST, aggregator=plain)
            sums = SumSession("s", setting, users=4, width=2, half=0.1, rounds=1, vouched=True)
            with pytest.raises(UsageError, match="vouched=True"):
                sums.sum(long)
        one = member(world, 0, together, vouched=False)
        with one, pytest.raises(Refusal):
            one.contribute_sync(world.ticket, long[0], vouched=True)
        with process(world, 0, 1, 2, 3) as aggregator:
            result = aggregator.average(long)
            assert result.privacy is not None
            assert result.privacy.assumptions[0] == VOUCHED
            assert np.abs(result.mean - 0.5).max() < 5 * result.stderr.max()
            assert result.transcript.check().faults == ()


@pytest.mark.slow
def test_training_in_a_session_that_proves_lengths(tmp_path: Path) -> None:
    """Row by row, in full mode: the model is that of the simulation; nothing is vouched for."""
    shape = RoundShape(3, MOST)
    made = gopa.plan(
        n=4, epsilon=None, corrupt=1, dropout=0.0, dimension=shape.dimension, range=(-1, 1),
        norm=shape.half, rounds=2, least_chance=0, path="rows",
    )  # fmt: skip
    assert made.path == "rows"
    asked: dict[str, Any] = {"rounds": 2, "most_rows": MOST, "seed": 1, "privacy": None}
    with opened(tmp_path, made, Mode.FULL) as world:
        together = Together()
        clients = [member(world, each, together, vouched=False) for each in range(4)]
        with gopa.SessionAggregator(world.ticket, *clients) as aggregator:
            found = fedavg(EVERYBODY, aggregator=aggregator, **asked)
            assert found.audit().missing == ()
    expected = fedavg(EVERYBODY, **asked, **OFF)
    for name, value in expected.model.items():
        assert np.allclose(found.model[name], value, atol=0.02), name
