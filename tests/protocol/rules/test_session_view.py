"""What the page of a board shows of sessions: who is where, and who masks with whom."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bulletin_board import Submission
from bulletin_board.server.page import SessionPicture
from gopa.contract.beacon import QUICKNET
from gopa.contract.framing import party_id
from gopa.contract.manifest import DrandBeacon
from gopa.contract.organiser import Close, Coins
from gopa.contract.phases import Phase
from gopa.protocol.admission.view import Sessions
from gopa.protocol.rules import BeaconValue
from gopa.rounds.toolkit import Toolkit
from gopa.support.wording import PHASES, sentence
from tests.contract.samples import POLICY, manifest, signing_key
from tests.protocol.rules.witnesses import EARLY, QUICK, checkpoint
from tests.protocol.rules.worlds import KINDS, make, small_terms
from tests.protocol.scribe import World
from tests.protocol.simulation.row_worlds import ROWS, simulate_rows, vectors_for
from tests.rounds.doubles import ProofDoubles


def tell(sessions: Sessions, world: World) -> None:
    """A new policy takes the whole log."""
    policy = sessions.policy()
    for index, raw in enumerate(world.raws):
        entry = Submission.decode(raw).entry
        policy.admit(entry)
        policy.observe(index, entry)


def pictured(world: World) -> SessionPicture:
    sessions = Sessions()
    tell(sessions, world)
    picture = sessions.picture(world.session)
    assert picture is not None
    assert sessions.picture(world.session) == picture  # its graph is kept
    return picture


def test_the_page_shows_parties_and_their_edges() -> None:
    world = make()
    world.run(skip={Phase.PUBLISH: [2]})
    picture = pictured(world)
    assert picture.title == "tests (full, simulation), round 1, attempt 1"
    assert picture.phases[Phase.COMMIT] == "commit"
    assert [party.status for party in picture.parties] == [
        "in the result",
        "in the result",
        "out: absent",
        "in the result",
        "in the result",
    ]
    graph = world.view.graph
    assert graph is not None
    names = [party.party for party in picture.parties]
    low, high = graph.edges()
    assert picture.edges == [(names[u], names[v]) for u, v in zip(low, high, strict=True)]


def test_a_session_without_a_title_is_called_a_session() -> None:
    agreed = replace(KINDS["scalar"](), title=b"")
    keys = [signing_key(f"party {number}") for number in range(agreed.terms.parties)]
    toolkit = Toolkit(proofs=ProofDoubles())
    world = World(agreed, toolkit, signing_key("organiser"), keys, "untitled")
    world.run(until=Phase.COINS)
    assert pictured(world).title == "Session (full, simulation), round 1, attempt 1"


@pytest.mark.parametrize(
    ("until", "status"),
    [
        (Phase.COINS, "joined"),
        (Phase.COMMIT, "coins are out"),
        (Phase.PUBLISH, "committed"),
        (Phase.CONFIRM, "published"),
        (Phase.UNMASK, "confirmed"),
    ],
)
def test_the_page_shows_how_far_everybody_is(until: Phase, status: str) -> None:
    world = make()
    world.run(until=until)
    assert {party.status for party in pictured(world).parties} == {status}


@pytest.mark.parametrize(
    ("skip", "until", "status"),
    [
        (Phase.COMMIT, Phase.PUBLISH, "out at commit"),
        (Phase.PUBLISH, Phase.ROLLBACK, "out at publish"),
        (Phase.CONFIRM, Phase.UNMASK, "no confirm"),
    ],
)
def test_the_page_shows_who_left_a_round_that_goes_on(
    skip: Phase, until: Phase, status: str
) -> None:
    world = make()
    world.run(skip={skip: [2]}, until=until)
    shown = [party.status for party in pictured(world).parties]
    assert shown.pop(2) == status
    assert status not in shown


def posted(world: World) -> dict[str, tuple[int, int | None]]:
    """How many have posted in each phase, of how many."""
    return {each.name: (each.posted, each.expected) for each in pictured(world).progress}


def test_bars_are_full_when_everybody_has_posted() -> None:
    world = make()
    world.run(skip={Phase.PUBLISH: [2]})
    assert posted(world) == {
        "join": (5, 5),
        "coins": (5, 5),
        "commit": (5, 5),
        "publish": (4, 5),
        "rollback": (4, None),
        "confirm": (4, 4),
        "unmask": (4, 4),
    }


def test_a_phase_that_has_just_begun_is_empty_and_later_ones_are_not_shown() -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    assert posted(world) == {"join": (5, 5), "coins": (5, 5), "commit": (0, 5)}


def test_the_page_shows_the_result_with_its_error() -> None:
    world = make()
    world.run()
    picture = pictured(world)
    assert (picture.tone, picture.state.split()[:2]) == ("good", ["Result:", "mean"])
    assert "over 5 parties" in picture.state


@pytest.mark.parametrize(("noisy", "tone"), [(False, "good"), (True, "unsure")])
def test_a_result_that_is_mostly_noise_is_not_shown_as_a_good_one(
    monkeypatch: pytest.MonkeyPatch, noisy: bool, tone: str
) -> None:
    world = make()
    world.run()
    monkeypatch.setattr("gopa.protocol.admission.view.is_mostly_noise", lambda *_: noisy)
    picture = pictured(world)
    assert (picture.tone, picture.state.startswith("Result:")) == (tone, True)


def test_a_round_that_was_aborted_is_called_so() -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    assert pictured(world).tone == ""
    world.phase(skip=[0, 1, 2, 3])
    world.control()
    picture = pictured(world)
    assert (picture.tone, picture.state.split(",")[0]) == ("bad", "Aborted")
    statuses = [party.status for party in picture.parties]
    assert statuses.count("coins are out; no result") == 1
    assert statuses.count("missing or wrong") == 4


SPARSE: dict[str, Any] = {
    "parties": 9,
    "k": 3,
    "survivors": 8,
    "loss": 1,
    "beta": Decimal("0.05"),  # that masks do not connect
}


def edges_of(world: World) -> list[tuple[str, str]]:
    """The edges by the rules: few enough to tell one graph from another."""
    graph = world.view.graph
    assert graph is not None
    low, high = graph.edges()
    assert len(low) < 36
    names = [party_id(each.author).hex() for each in world.view.roll]
    return [(names[u], names[v]) for u, v in zip(low.tolist(), high.tolist(), strict=True)]


@pytest.mark.parametrize("kind", ["test coins", "scalar"])
def test_the_page_draws_the_graph_that_the_coins_give(kind: str) -> None:
    world = make(kind, **SPARSE)
    world.run(until=Phase.COMMIT)
    assert pictured(world).edges == edges_of(world)


def test_the_page_draws_the_graph_of_a_beacon() -> None:
    terms = small_terms(beacon="drand", **SPARSE)
    agreed = manifest(terms, beacon=DrandBeacon(QUICKNET), policy=POLICY)
    keys = [signing_key(f"party {number}") for number in range(9)]
    world = World(agreed, make().toolkit, signing_key("organiser"), keys)
    world.control()
    world.phase()
    world.control(beacon=BeaconValue(QUICK.number))
    seen = checkpoint(world, time=EARLY)
    world.control(checkpoint=seen, beacon=BeaconValue(QUICK.number, QUICK.signature))
    assert pictured(world).edges == edges_of(world)


@pytest.mark.parametrize(
    "lie",
    [
        lambda coins: replace(coins, nonces=coins.nonces[1:]),
        lambda coins: replace(coins, nonces=(*coins.nonces, bytes(32))),
        lambda coins: replace(coins, nonces=()),
    ],
    ids=["a nonce too few", "a nonce too many", "no nonces"],
)
def test_the_page_draws_nothing_of_coins_that_are_nonsense(lie: Callable[[Coins], Coins]) -> None:
    """The board takes the organiser at its word: a wrong close still has a page."""
    honest = make()
    honest.run(until=Phase.COMMIT)
    assert len(pictured(honest).edges) == 10

    def lying(close: Close) -> Close:
        assert isinstance(close.content, Coins)
        return replace(close, content=lie(close.content))

    world = make()
    world.run(until=Phase.COINS)
    world.phase()
    world.control(change=lying)
    picture = pictured(world)
    assert len(picture.parties) == 5
    assert picture.edges == []


def test_the_page_knows_nothing_of_other_sessions() -> None:
    world = make()
    sessions = Sessions()
    assert sessions.picture(world.session) is None
    tell(sessions, world)
    picture = sessions.picture(world.session)
    assert picture is not None
    assert picture.parties == ()
    assert sessions.picture(bytes(32)) is None


def test_the_page_shows_proofs_of_masks_and_means_of_rows() -> None:
    """Lengths are measured from zero: the middle of the range is a mean of nothing."""
    simulation = simulate_rows(ROWS)
    record = simulation.run_round(vectors_for(ROWS))
    sessions, states = Sessions(), list[str]()
    policy, session = sessions.policy(), simulation.manifest.session
    for index, raw in enumerate(simulation.log().entries()):
        entry = Submission.decode(raw).entry
        policy.admit(entry)
        policy.observe(index, entry)
        picture = sessions.picture(session)
        assert picture is not None
        states.append(picture.state)
    assert picture is not None
    assert sentence(f"{PHASES['prove'].doing}.") in states
    (proved,) = [each for each in picture.progress if each.name == PHASES["prove"].name]
    assert (proved.posted, proved.expected) == (5, 5)
    assert record.sums is not None
    shown = re.search(r"mean (-?[0-9.]+)", states[-1])
    assert shown is not None
    step = float(ROWS.high - ROWS.low) / ROWS.steps
    assert float(shown[1]) == pytest.approx(step * record.sums[0] / 5, abs=0.2)
