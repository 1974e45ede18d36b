from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from gopa.adversary import attacks, catalogue, named
from gopa.adversary.attack import SessionAttack
from gopa.adversary.outcome import How
from gopa.adversary.setup import RECOVERING, SPARSE
from gopa.adversary.trial import played
from gopa.auditing.checks import check_of
from gopa.protocol.simulation import Script

NAMES: Final = tuple(name for name, each in attacks().items() if each.family != "served")
"""Those without a board over HTTP, which are tried in `tests/adversary/boards`."""

OF_ROWS: Final = frozenset({"long-vector", "abused-carries", "false-edge"})
"""One each of those about rows, words and masks; the others of their family are slow."""

TRIED: Final = [
    pytest.param(
        name,
        marks=[pytest.mark.slow] if named(name).family == "rows" and name not in OF_ROWS else [],
    )
    for name in NAMES
]

LIAR: Final = 1

PROMISED: Final = frozenset(
    {
        *("scale-noise", "zero-noise", "out-of-range-input", "wrong-mask", "copied-commitment"),
        *("copied-dh-key", "related-dh-key", "replay-round", "replay-session", "equivocate"),
        *("refuse-open", "false-accusation", "late-return", "abort-after-coins"),
        *("hidden-residual", "withheld-publish", "truncate-log", "lying-result"),
        *("hidden-exclusion", "invented-exclusion", "wrong-roll", "two-closes"),
        *("final-too-early", "cut-moved", "too-few-go-on", "abort-blames-innocent"),
        *("manifest-claims-too-much", "unwitnessed-close", "selective-dropping"),
        *("second-exact-sum", "exact-downgrade"),
        *("refuse-confirm", "refuse-unmask", "wrong-seed", "wrong-share", "wrong-recovery"),
        *(
            "another-seed",
            "betray",
            "changed-input-in-retry",
            "copied-noise-seed",
            "zero-self-mask",
        ),
        *(
            "missing-edge",
            "garbage",
            "oversized-message",
            "half-a-message",
            "value-above-weight",
            "stranger",
        ),
        *("second-signature-after-the-final-close", "late-witnesses"),
    }
)
"""Names that users may rely on."""

ENDED_BY_ITS_ORGANISER: Final = frozenset({"organiser", "board"})
"""Families after which there is no result. In others the round goes on without the liar."""

WITHOUT_RESULT: Final = frozenset({"exchanged-nonce", "late-witnesses"})

REPORTED: Final = frozenset({"early-cut", "early-cuts-bar"})
"""By the rules an organiser may do this: it is said who did, and the retry has its result."""

UNATTRIBUTABLE: Final = frozenset({"another-manifest", "exact-downgrade", "root-of-another-size"})
"""Which of two manifests the organiser meant, or of two logs it was shown, is for nobody to say."""


def test_there_are_enough_and_all_that_were_promised() -> None:
    assert len(NAMES) >= 48
    assert set(NAMES) >= PROMISED


def test_every_file_of_the_catalogue_is_imported() -> None:
    """Else its attacks do not exist, and nothing tells."""
    files = [each.stem for each in Path(catalogue.__file__).parent.glob("[!_]*.py")]
    assert [name for name in files if f"{catalogue.__name__}.{name}" not in sys.modules] == []


@pytest.mark.parametrize("name", TRIED)
def test_attack_fails_and_is_caught_by_what_it_says(name: str) -> None:
    """The honest twin was accepted, or `run` raises; whoever is blamed took part in the attack."""
    attack = named(name)
    row = attack.run()
    assert (row.succeeded, row.harm, row.missed) == (False, (), ())
    assert row.held
    assert attack.expects
    assert row.caught
    none = attack.family in ENDED_BY_ITS_ORGANISER or name in WITHOUT_RESULT
    none = none and name not in REPORTED
    assert row.result == ("none" if none else "right")
    blamed = {each.who for each in row.caught if each.how is How.CONVICTED}
    assert blamed == set(row.blamed)
    if attack.family == "board":
        assert blamed <= {"board"}
    elif name in REPORTED:
        assert not blamed
    elif attack.family == "organiser" or name in WITHOUT_RESULT:
        assert blamed == {"organiser"} or name in UNATTRIBUTABLE
    else:
        assert blamed <= {"party 1", "party 2", "party 3"}


@pytest.mark.parametrize("name", NAMES)
def test_story_and_rules_are_complete(name: str) -> None:
    attack = named(name)
    story = attack.story
    assert attack.family != "own"
    assert all(text.endswith(".") for text in (story.tries, story.caught, story.costs))
    assert all(rule == "04-C5" or check_of(rule) for rule in attack.expects)


def test_an_attack_is_the_same_every_time() -> None:
    attack = named("hidden-residual")
    assert attack.run() == attack.run()


@pytest.mark.parametrize("name", ["zero-noise", "scale-noise"])
def test_the_noise_that_is_scaled_is_not_zero(name: str) -> None:
    """Else the attack would change nothing."""
    attack = named(name)
    assert isinstance(attack, SessionAttack)
    assert attack.setup == RECOVERING
    simulation = RECOVERING.simulation(Script())
    simulation.run_round(RECOVERING.inputs())
    assert any(simulation.noise_for_tests[1, LIAR])


def test_the_victim_of_selective_dropping_has_three_neighbours() -> None:
    (found,) = played(SPARSE, ()).rounds
    graph = found.findings.graph
    assert graph is not None
    assert found.numbers == tuple(range(7))
    assert set(graph.neighbours(0).tolist()) == {1, 2, 3}
