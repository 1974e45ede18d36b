"""What the kit refuses of attacks that somebody writes, and what it is asked to measure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bulletin_board import Submission
from gopa.adversary import AttackRoles, Malicious, attack
from gopa.adversary.aims import listed_at
from gopa.adversary.attack import KNOWN, SessionAttack, register, story_of
from gopa.adversary.boards import closing, said
from gopa.adversary.boards.served_session import serve_session
from gopa.adversary.deeds import another_input, copy_value
from gopa.adversary.library import ALL, chosen
from gopa.adversary.malicious import Actor, Deed
from gopa.adversary.outcome import Catch, How
from gopa.adversary.pipeline import Aggregators
from gopa.adversary.privacy.laws import Law, Masks
from gopa.adversary.privacy.measuring import ViewClaim, measure
from gopa.adversary.privacy.score_tests import FEWEST_DRAWS
from gopa.adversary.privacy.views import Release, World
from gopa.adversary.running import run_all
from gopa.adversary.setup import SMALL, WEIGHTED
from gopa.cli.attack_privacy import verdict
from gopa.graph import complete
from gopa.messages.phases import Kind, Phase
from tests.auditing.logs import clean
from wire.errors import GopaError, UsageError
from zkp.noise_table import binomial


@contextmanager
def apart() -> Iterator[None]:
    """What is registered meanwhile is forgotten."""
    before = dict(KNOWN)
    try:
        yield
    finally:
        KNOWN.clear()
        KNOWN.update(before)


def test_a_name_is_taken_once() -> None:
    known = chosen([ALL])[0]
    assert isinstance(known, SessionAttack)
    with apart():
        register(known)
        register(replace(known, name="a-name-of-its-own"))
        with pytest.raises(UsageError) as failure:
            register(replace(known, name="a-name-of-its-own"))
    assert failure.value.field == "name"
    assert "a-name-of-its-own" not in KNOWN


def test_a_docstring_says_all_three_things() -> None:
    whole = "Lies about\n  everything. Caught: by the audit. Costs: its place."
    found = story_of(whole)
    assert (found.tries, found.caught, found.costs) == (
        "Lies about everything.",
        "by the audit.",
        "its place.",
    )
    for wrong in ("", "Lies.", "Lies. Caught: by us.", "Lies. Costs: much. Caught: by us."):
        with pytest.raises(UsageError) as failure:
            story_of(wrong)
        assert failure.value.field == "docstring"


def test_boards_do_not_misbehave_in_an_aggregator() -> None:
    assert Aggregators.under("zero-noise").name == "zero-noise"
    assert Aggregators.under(None).attack is None
    with pytest.raises(UsageError) as failure:
        Aggregators.under("truncate-log")
    assert failure.value.field == "name"


def test_a_served_session_has_no_weights() -> None:
    with serve_session(SMALL) as session:
        assert len(session.identities) == SMALL.terms.parties
    with pytest.raises(UsageError) as failure, serve_session(WEIGHTED):
        pass
    assert failure.value.field == "setup"


def test_a_board_may_choose_entries_by_phase() -> None:
    entries = [Submission.decode(raw).entry for raw in clean().entries]
    joins = [each for each in entries if said(Phase.JOIN)(each)]
    assert len(joins) == clean().manifest.terms.parties
    assert {each.kind for each in joins} == {Kind.JOIN}
    for phase in (Phase.JOIN, Phase.COMMIT):
        (close,) = [each for each in entries if closing(phase)(each)]
        assert (close.kind, close.author.data) == (Kind.CLOSE, clean().manifest.organiser)


def test_a_catch_names_rule_check_and_who() -> None:
    known, unknown = Catch("04-K3", "party 1", How.REMOVED), Catch("none", "board", How.NOTICED)
    assert known.check
    for catch in (known, unknown):
        text = str(catch)
        assert all(part in text for part in (catch.rule, catch.check, catch.who, catch.how.value))
    assert ("check" in str(known), "check" in str(unknown)) == (True, False)


@pytest.mark.parametrize("risk", [0, 1, -0.1, 2, float("nan")])
def test_the_risk_of_a_measurement_is_a_probability(risk: float) -> None:
    world = World((Release(complete(4), 0),), Law.of(binomial(6)), Masks(30), (7,))
    claim, rng = ViewClaim(1.0, 0.05), np.random.default_rng(4)
    assert measure(world, claim, FEWEST_DRAWS, 0.01, rng).draws
    with pytest.raises(UsageError) as failure:
        measure(world, claim, FEWEST_DRAWS, risk, rng)
    assert failure.value.field == "confidence"


@pytest.mark.parametrize("name", [None, "copied-dh-key", "lying-result"])
def test_whoever_waits_for_others_and_whoever_organises_has_acted_too(name: str | None) -> None:
    made = Aggregators.under(name)
    with suppress(GopaError), made(SMALL.terms) as aggregator:
        aggregator.average([1, 0, 1, 0.5])
    assert made.disturbed == (name is not None)
    assert [row.attack for row in made.rows()] == [made.name]
    assert not any(row.succeeded for row in made.rows())


@pytest.mark.parametrize(
    ("phase", "deed", "rule", "left"),
    [
        (Phase.JOIN, another_input(), "04-K3", Phase.COMMIT),
        (Phase.PUBLISH, copy_value(AttackRoles().victim), "04-P1", Phase.PUBLISH),
    ],
    ids=["another-input", "copied-value"],
)
def test_deeds_that_no_attack_of_the_catalogue_takes_are_caught(
    phase: Phase, deed: Deed, rule: str, left: Phase
) -> None:
    def plot(roles: AttackRoles) -> list[Actor]:
        """Lies. Caught: by a rule. Costs: its place."""
        return [Malicious(roles.liar, at=phase.name.lower(), do=deed)]

    with apart():
        row = attack("a-deed", rule, aim=listed_at(left), setup=SMALL)(plot).run()
    assert row.held
    assert row.blamed == (f"party {AttackRoles().liar}",)


OWN = """
from gopa.adversary import AttackRoles, Malicious, attack
from gopa.adversary.malicious import Actor, Deed
from gopa.adversary.aims import listed_at
from gopa.adversary.boards.served_session import serve_session
from gopa.adversary.deeds import copy_key
from gopa.messages.phases import Phase

@attack("one-of-my-own", "04-J3", aim=listed_at(Phase.JOIN))
def mine(roles: AttackRoles):
    \"\"\"Joins with the key of another. Caught: by the proof. Costs: its place.\"\"\"
    return [Malicious(roles.liar, at="join", do=copy_key(roles.victim))]
"""


def test_every_process_reads_the_attacks_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    with apart():
        rows = list(run_all(["one-of-my-own", "copied-dh-key"], jobs=2, load=[path]))
    assert [row.attack for row in rows] == ["one-of-my-own", "copied-dh-key"]
    assert all(row.held for row in rows)


def test_a_claim_of_everything_is_called_none() -> None:
    def said(delta: float, *, inside: bool) -> str:
        view = SimpleNamespace(claim=ViewClaim(1.0, delta))
        return verdict(cast("Any", SimpleNamespace(view=view, inside=inside)))

    assert len({said(0.5, inside=True), said(0.5, inside=False), said(1.0, inside=True)}) == 3
    assert said(1.0, inside=True) == said(1.0, inside=False)
