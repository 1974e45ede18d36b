"""What the kit refuses of attacks that somebody writes, and what it is asked to measure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_type_hints

import numpy as np
import pytest

from bulletin_board import Submission
from gopa.adversary import AttackRoles, Malicious, attack
from gopa.adversary.aims import counted, listed_at
from gopa.adversary.attack import KNOWN, SessionAttack, register, require_rule, story_of
from gopa.adversary.boards import closing, said
from gopa.adversary.boards.served_session import serve_session
from gopa.adversary.deeds import another_input, change, copied, copy_value, instead
from gopa.adversary.deeds.kinds import type_words
from gopa.adversary.library import ALL, chosen, of_family, run_all
from gopa.adversary.malicious import PHASES, Actor, Deed
from gopa.adversary.outcome import Catch, How
from gopa.adversary.pipeline import Aggregators
from gopa.adversary.privacy.distinguishers import FEWEST_DRAWS
from gopa.adversary.privacy.measuring import ViewClaim, measure
from gopa.adversary.privacy.views import Law, Masks, Release, World
from gopa.adversary.setup import SMALL, WEIGHTED
from gopa.cli.attack import listing
from gopa.cli.attack_privacy import verdict
from gopa.contract.bodies import BODIES, BODIES_OF_ROWS
from gopa.contract.party import OpenedEdge, RecoveredShare
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.graph import complete
from tests.auditing.logs import clean
from wire.codec import RecordCodec
from wire.errors import GopaError, UsageError
from zkp.noise import binomial


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
from gopa.contract.phases import Phase

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


def tried(at: str, deed: Deed) -> None:
    def plot(roles: AttackRoles) -> list[Actor]:
        """Lies. Caught: by a rule. Costs: its place."""
        return [Malicious(roles.liar, at=at, do=deed)]

    with apart():
        assert attack("a-deed", "04-P1", aim=counted, setup=SMALL)(plot).run().attack == "a-deed"


@pytest.mark.parametrize(
    ("at", "deed", "field"),
    [
        ("publish", change(lambda said: replace(said, value=5)), "value"),
        ("publish", change(lambda said: replace(said, acts_on=bytes(31))), "acts_on"),
        ("publish", change(lambda _: None), "do"),
        ("publish", copied(0, lambda own, _: replace(own, value="text")), "value"),
        ("commit", change(lambda said: replace(said, edges=list(said.edges))), "edges"),
        ("commit", change(lambda said: replace(said, edges=(1, *said.edges[1:]))), "edges[0]"),
        ("publish", instead(lambda _, post: cast("Any", post)), "do"),
    ],
    ids=["number", "short", "nothing", "copied", "list", "item", "no-list"],
)
def test_a_deed_of_another_type_is_refused_with_party_phase_and_field(
    at: str, deed: Deed, field: str
) -> None:
    tried(at, change(replace))
    with pytest.raises(UsageError) as failure:
        tried(at, deed)
    assert failure.value.field == field
    assert failure.value.message.startswith(f"party {AttackRoles().liar} at {at}: ")


@pytest.mark.parametrize("rule", ["99-Z9", "04-Z99", "4-P1", "04-P1 ", "05-", ""])
def test_a_rule_that_there_is_not_is_refused(rule: str) -> None:
    for name in ("04-P1", "14-P3", "05-W8", "11-K1"):
        require_rule(name)
    with pytest.raises(UsageError) as failure:
        attack("a-deed", "04-P1", rule, aim=counted)
    assert failure.value.field == "expects"
    assert "a-deed" not in KNOWN


def test_an_aim_is_a_function() -> None:
    attack("a-deed", "04-P1", aim=counted)
    with pytest.raises(UsageError) as failure:
        attack("a-deed", "04-P1", aim=cast("Any", None))
    assert failure.value.field == "aim"


def test_every_rule_that_the_catalogue_expects_is_one() -> None:
    for each in chosen([ALL]):
        for rule in each.expects:
            require_rule(rule)


BROKEN = """
from gopa.adversary import AttackRoles, Malicious, attack
from gopa.adversary.aims import counted
from gopa.adversary.deeds import change

@attack("broken-one", "04-P1", aim=counted)
def mine(roles: AttackRoles):
    \"\"\"Fails. Caught: by itself. Costs: time.\"\"\"
    return [Malicious(roles.liar, at="publish", do=change(lambda said: said.nothing))]
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_in_a_file_of_ones_own_is_named_by_its_line(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "broken.py"
    path.write_text(BROKEN)
    with apart():
        with pytest.raises(UsageError) as failure:
            list(run_all(["broken-one", "broken-one"], jobs=jobs, load=[path]))
        assert failure.value.field == "load"
        assert failure.value.message.startswith("broken.py, line 9, ")
        assert list(run_all(["copied-dh-key"]))


def test_attacks_are_listed_by_family() -> None:
    everything = chosen([ALL])
    families = {each.family for each in everything}
    for family in families:
        assert {each.family for each in of_family(family, everything)} == {family}
    assert sum(len(of_family(family, everything)) for family in families) == len(everything)
    lines = [line for line in listing(everything).splitlines() if not line.startswith(" ")]
    assert sorted(lines) == sorted(f"{family}:" for family in families)
    with pytest.raises(UsageError) as failure:
        of_family("nosie", everything)
    assert failure.value.field == "--family"


def test_the_page_has_the_fields_of_every_phase() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    rows = []
    for name, phase in PHASES.items():
        kind = KIND_IN[phase]
        for codec in dict.fromkeys((BODIES[kind], BODIES_OF_ROWS[kind])):
            assert isinstance(codec, RecordCodec)
            rows.append(f"| {name} | `{codec.cls.__name__}` | {fields_of(codec.cls)} |\n")
    rows += [f"| | `{each.__name__}` | {fields_of(each)} |\n" for each in PARTS]
    head = "| phase | message | fields |\n|---|---|---|\n"
    assert head + "".join(rows) in page


PARTS = (OpenedEdge, RecoveredShare)


def fields_of(message: type) -> str:
    hints = get_type_hints(message).items()
    return ", ".join(f"`{name}`: {type_words(hint)}" for name, hint in hints)
