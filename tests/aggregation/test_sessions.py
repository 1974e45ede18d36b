"""The same API over whole sessions: logs, proofs, culprits, and who stays in which list."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from gopa import LocalAggregator, RoundAborted, UsageError
from gopa.adversary.deeds import spoil_proof
from gopa.adversary.deeds.organising import AlteredClose, with_cut
from gopa.aggregation import sessions
from gopa.aggregation.engine import Excluded
from gopa.contract.phases import Phase
from gopa.graph import complete
from gopa.protocol.simulation import Script
from tests.aggregation.plans import lasting
from tests.lies import lying
from tests.planning.lists import Conditions, crossing, follow
from tests.protocol.simulation.doubles import SWIFT
from wire.errors import GopaError
from zkp.noise import irwin_hall

VALUES = [0.0, 0.25, 0.5, 0.75, 1.0, 0.0, 0.25, 0.5]
PHASES = ["join", "commit", "publish", "rollback", "confirm", "unmask"]
MASKS: dict[str, dict[str, Any]] = {
    "malicious": {},
    "honest-but-curious": {"mask": "gaussian", "mask_deviation": 500, "survivors": 6, "loss": 2},
}


@pytest.fixture
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs that cost nothing."""
    monkeypatch.setattr(sessions, "LocalSession", partial(sessions.LocalSession, toolkit=SWIFT))


def signed(script: dict[int, str], trust: Any) -> Any:
    """What one attempt of a signed session comes to, but for its numbers."""
    made = lasting(rounds=1, charged=0, attempts=1, **MASKS[trust])
    with LocalAggregator(made, mode="signed", trust=trust, seed=1, script=script) as aggregator:
        try:
            result = aggregator.average(VALUES)
        except RoundAborted as error:
            return error.reason, error.culprits, error.released
    found = (result.included, set(result.excluded), result.rolled_back)
    return *found, round(float(result.sum_stderr), 9)


def played(script: dict[int, str], trust: Any) -> Any:
    """The same by lists alone. The graph is complete, so that chance has no say."""
    made, curious = lasting(rounds=1, charged=0, attempts=1, **MASKS[trust]), trust != "malicious"
    phases = {party: Phase[phase.upper()] for party, phase in script.items()}
    roll = [party for party in range(8) if phases.get(party) is not Phase.JOIN]
    graph = complete(len(roll))
    silent = {at: phases[party] for at, party in enumerate(roll) if party in phases}
    lists = follow(graph, silent, Conditions(made, curious, 8))
    if lists.abort is not None:
        culprits = tuple(roll[position] for position in lists.culprits)
        return lists.abort.name, culprits, "masked" if lists.masked else "none"
    crossed = crossing(graph, lists.final, set(lists.committed).difference(lists.final))
    fates = {roll[at]: (phase.name, cause.name) for at, (phase, cause) in lists.removed.items()}
    fates |= dict.fromkeys(set(range(8)).difference(roll), ("JOIN", "ABSENT"))
    opened = () if curious else sorted({roll[outside] for _, outside in crossed})
    stays = len(crossed) * (made.mask_deviation**2 + 1 / 12) if curious else 0.0
    blur = len(lists.final) * (float(made.noise.variance) + 1 / 4) + stays
    return (
        tuple(roll[position] for position in lists.final),
        {Excluded(party, *fate) for party, fate in fates.items()},
        tuple(opened),
        round(blur**0.5 / made.steps, 9),
    )


SINGLE: list[dict[int, str]] = [
    {},
    *({2: phase} for phase in PHASES),
    *(dict.fromkeys(range(1, 5), phase) for phase in PHASES),
    *(dict.fromkeys(range(1, 6), phase) for phase in PHASES),
]
"""Nobody fails, one party, as many as may fail, and one more."""


@pytest.mark.thirds
@pytest.mark.parametrize("script", SINGLE, ids=str)
def test_a_session_keeps_the_lists_that_are_played_out(script: dict[int, str]) -> None:
    assert signed(script, "malicious") == played(script, "malicious")


@pytest.mark.thirds
@pytest.mark.parametrize(("first", "second"), list(product(PHASES, repeat=2)))
def test_a_session_keeps_the_lists_of_pairs(first: str, second: str) -> None:
    script = {2: first, 5: second}
    assert signed(script, "malicious") == played(script, "malicious")


@pytest.mark.parametrize(
    "script", [{}, {2: "commit"}, {2: "publish"}, {2: "publish", 5: "commit"}], ids=str
)
def test_honest_but_curious_rounds_keep_their_lists_too(script: dict[int, str]) -> None:
    """Masks towards whoever left after committing stay in the sum, and in its error."""
    assert signed(script, "honest-but-curious") == played(script, "honest-but-curious")


@pytest.mark.parametrize("trust", MASKS)
def test_signed_rounds_say_what_is_not_proved(trust: Any) -> None:
    made = lasting(rounds=2, **MASKS[trust])
    with LocalAggregator(made, mode="signed", trust=trust, seed=1) as aggregator:
        result = aggregator.average(VALUES)
        aggregator.average(VALUES)
    assert (result.mode, result.trust, result.simulation) == ("signed", trust, True)
    assert result.privacy is not None
    said = " ".join(result.privacy.assumptions)
    assert "neither is proved" in said
    assert ("liars" in said) == (trust != "malicious")
    assert "NOT proved" in str(result)
    assert result.transcript.check().complete


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("beacon", ["test", "commit-reveal"])
def test_a_full_session_over_several_rounds(tmp_path: Path, beacon: Any) -> None:
    """Every round is in the log, which is checked strictly, from files, afterwards."""
    made = lasting(rounds=3)
    storage = tmp_path / "log"
    with LocalAggregator(
        made, mode="full", seed=1, storage=storage, beacon=beacon, script={3: "publish"}
    ) as aggregator:
        results = [aggregator.average(VALUES) for _ in range(3)]
    for result in results:
        assert result.included == (0, 1, 2, 4, 5, 6, 7)
        assert result.excluded == (Excluded(3, "PUBLISH", "ABSENT"),)
        assert result.rolled_back == (3,)
        assert abs(result.mean - np.mean(np.delete(VALUES, 3))) < 5 * result.stderr
    transcript = results[-1].transcript
    assert transcript.directory == storage
    findings = transcript.check()
    assert findings.complete
    assert findings.faults == ()
    assert [found.sums for found in findings.rounds] == [
        (round(float(result.sum) * made.steps),) for result in results
    ]
    assert str(storage) in repr(transcript)
    assert transcript.anchors(tmp_path / "keys").stat().st_size > 0
    with pytest.raises(UsageError) as absent:
        replace(transcript, session=bytes(32)).anchors(tmp_path / "others")
    assert absent.value.field == "log"
    assert not (tmp_path / "others").exists()
    archive = transcript.archive(tmp_path / "session.gopa")
    assert archive.stat().st_size > 1000
    with pytest.raises(GopaError):
        LocalAggregator(made, mode="full", seed=1, storage=storage)


def test_a_seed_reproduces_the_log(swift: None) -> None:
    def run(seed: int) -> tuple[float, bytes]:
        with LocalAggregator(lasting(rounds=1), seed=seed) as aggregator:
            result = aggregator.average(VALUES)
            return result.mean, result.transcript.session

    assert run(4) == run(4)
    assert run(4) != run(5)
    del swift


def test_a_liar_is_named() -> None:
    honest = lasting(rounds=1)
    with LocalAggregator(honest, seed=2) as aggregator:
        assert aggregator.average(VALUES).excluded == ()
    script = Script().misbehave(4, lying("commit", spoil_proof()))
    with LocalAggregator(honest, seed=2, script=script) as aggregator:
        result = aggregator.average(VALUES)
    assert result.excluded == (Excluded(4, "COMMIT", "INVALID"),)
    accused = {fault.author for fault in result.transcript.check().faults}
    assert len(accused) == 1
    with pytest.raises(UsageError) as caught:
        LocalAggregator(honest, mode="off", script=script)
    assert caught.value.field == "script"


def test_a_session_that_its_organiser_left_blames_no_party(swift: None) -> None:
    del swift
    with LocalAggregator(lasting(rounds=1), seed=2) as aggregator:
        assert aggregator.average(VALUES).count
    script = Script().organise(AlteredClose(Phase.COMMIT, with_cut(1)))
    with (
        LocalAggregator(lasting(rounds=1), seed=2, script=script) as aggregator,
        pytest.raises(RoundAborted) as caught,
    ):
        aggregator.average(VALUES)
    assert (caught.value.reason, caught.value.released) == ("ORGANISER", "none")
    assert caught.value.culprits == ()


def test_an_aborted_session_names_the_parties(swift: None) -> None:
    script = dict.fromkeys(range(1, 6), "commit")
    with LocalAggregator(lasting(rounds=2), seed=2, script=script) as aggregator:
        with pytest.raises(RoundAborted) as caught:
            aggregator.average(VALUES)
        assert caught.value.reason == "TOO_FEW_LEFT"
        assert caught.value.culprits == (1, 2, 3, 4, 5)
        assert caught.value.released == "none"
        assert aggregator.rounds_left == 1
    del swift


@pytest.mark.parametrize("mode", ["signed", "full"])
def test_weights_in_a_session(mode: Any) -> None:
    """In full mode parties prove that no coordinate exceeds the weight."""
    weights = [1, 2, 3, 4, 5, 6, 7, 8]
    made = lasting(rounds=1, dimension=2, steps=350, noise=irwin_hall(14, 6))
    with LocalAggregator(made, mode=mode, seed=2, max_weight=8) as aggregator:
        result = aggregator.average(VALUES, weights=weights)
    assert result.count == 8
    assert result.transcript.check().complete
    assert abs(result.mean - np.average(VALUES, weights=weights)) < 5 * result.stderr


@pytest.mark.parametrize(
    ("trust", "mask"), [("malicious", "honest-but-curious"), ("honest-but-curious", "malicious")]
)
def test_signed_mode_needs_the_masks_of_its_trust(trust: Any, mask: str) -> None:
    LocalAggregator(lasting(rounds=1, **MASKS[trust]), mode="signed", trust=trust).close()
    with pytest.raises(UsageError) as caught:
        LocalAggregator(lasting(rounds=1, **MASKS[mask]), mode="signed", trust=trust)
    assert caught.value.field == "mask"


def test_privacy_is_stated_against_everybody() -> None:
    with LocalAggregator(lasting(rounds=1), seed=2) as aggregator:
        statement = aggregator.average(VALUES).privacy
    assert statement is not None
    assert len(statement.claims) == 3
    assert statement.survivors == 8
    assert isinstance(statement, gopa.PrivacyStatement)
