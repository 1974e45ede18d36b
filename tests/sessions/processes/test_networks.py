"""A session across networks that delay and break: one cut that heals, one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gopa.auditing.report import Verdict
from gopa.cli.join import UNREACHABLE_EXIT
from gopa.messages.phases import Phase
from tests.sessions.processes.incidents import Trouble
from tests.sessions.processes.judging import audit, findings, included, require_sum
from tests.sessions.processes.networks import Network, NotPermitted, network
from tests.sessions.processes.worlds import World, world

PARTIES = 8
HEALED, LOST = 2, 5


@pytest.fixture
def net() -> Iterator[Network]:
    with ExitStack() as stack:
        try:
            made = stack.enter_context(network())
            for node in ("board", "organiser", *(f"p{number}" for number in range(PARTIES))):
                made.add(node)
        except NotPermitted as error:
            pytest.skip(f"network namespaces are not permitted here: {error}")
        yield made


@pytest.mark.soak
def test_a_partition_that_heals_and_one_that_does_not(tmp_path: Path, net: Network) -> None:
    host = f"10.77.0.{net.nodes['board']}"
    with world(tmp_path, PARTIES, host=host, prefix=net.prefix) as place:
        place.prepare()
        trouble = Trouble(place, place.open())
        for number in range(PARTIES):
            patience = ("--patience", 5) if number == LOST else ()
            trouble.begin(
                number,
                lambda n=number, p=patience: place.join(n, "--value", value(n), *p),  # type: ignore[misc]
            )
        _cut(trouble, net)
        trouble.run(absent=[LOST])
        _require_ends(trouble)
        _require_result(place)


def value(number: int) -> float:
    return number / 10


def _cut(trouble: Trouble, net: Network) -> None:
    """Both are cut off in commit; one link comes back when only these two are waited for."""

    def only_they_are_missing() -> bool:
        now = trouble.watching.round
        if now is None or now.opens is not Phase.COMMIT:
            return False
        return now.expected <= {trouble.world.keys[HEALED], trouble.world.keys[LOST]}

    for number in (HEALED, LOST):
        trouble.when(
            f"p{number} is cut off",
            trouble.in_phase(number, Phase.COMMIT),
            lambda node=f"p{number}": net.cut(node),  # type: ignore[misc]
        )
    trouble.when(f"p{HEALED} is back", only_they_are_missing, lambda: net.heal(f"p{HEALED}"))


def _require_ends(trouble: Trouble) -> None:
    """Each party ends by itself: with the result, or with what kept it from the board."""
    for number, party in trouble.parties.items():
        code = party.wait()
        result = party.said("result")
        if number == LOST:
            assert code == UNREACHABLE_EXIT, party.complaint
            assert result is None
            assert party.said("board-lost") is not None
            assert party.complaint.startswith("gopa: no board for 5 seconds")
            assert "Traceback" not in party.complaint
            continue
        assert code == 0, (number, party.complaint, trouble.history)
        assert result is not None
        assert result["included"]


def _require_result(place: World) -> None:
    """Nobody is blamed for a network; who was cut off for good is out, or recovered."""
    found = findings(place)
    assert found.faults == ()
    last = found.rounds[-1]
    inside = included(last)
    assert set(place.keys) - inside <= {place.keys[LOST]}
    keys = place.keys
    require_sum(place, last, {keys[n]: value(n) for n in range(PARTIES) if keys[n] in inside})
    code, report = audit(place)
    assert (code, report["verdict"]) == (Verdict.VALID.code, Verdict.VALID.value)
    excluded = {each["author"] for each in report["rounds"][-1]["excluded"]}
    assert excluded == {key.hex() for key in place.keys if key not in inside}
