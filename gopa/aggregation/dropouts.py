"""Reads scripted dropouts: which parties fall silent, and from which phase on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from gopa.contract.phases import Phase
from gopa.planning.target import python_number
from wire.errors import UsageError

Dropouts: TypeAlias = Mapping[int, "str | Phase"]
"""From which phase on a party posts nothing, by its position: `{3: "publish"}`."""

if TYPE_CHECKING:
    from gopa.protocol.simulation import Script as Departures

Script: TypeAlias = "Dropouts | Callable[[int], Dropouts]"
"""Dropouts of every round, or a function of its number, from 1; attempts are rounds too."""

AnyScript: TypeAlias = "Script | Departures"
"""Sessions also take `gopa.protocol.simulation.Script`: parties that lie, and not only leave."""

Leaving: TypeAlias = Callable[[int], Mapping[int, Phase]]
"""A script whose phases are checked."""


def leaving(script: AnyScript | None, parties: int) -> Leaving:
    """The script as a function of the round; what that returns is checked when it is asked.

    Raises:
        UsageError: neither dropouts nor a function; from the function returned, too: an
            unknown party or phase.
    """
    if script is None:
        return lambda _round: {}
    if isinstance(script, Mapping):
        always = _checked(script, parties)
        return lambda _round: always
    if not callable(script):
        message = "dropouts by party, or a function of the round; parties lie in sessions only"
        raise UsageError(message, "script")
    return lambda number: _checked(script(number), parties)


def _checked(dropouts: Dropouts, parties: int) -> Mapping[int, Phase]:
    if not isinstance(dropouts, Mapping):
        raise UsageError("dropouts by party, {} for none", "script")
    return {_party(party, parties): _phase(phase) for party, phase in dropouts.items()}


def _party(party: int, parties: int) -> int:
    party = python_number(party)
    if isinstance(party, bool) or not isinstance(party, int) or not 0 <= party < parties:
        raise UsageError(f"a party must be a position from 0 to {parties - 1}", "script")
    return party


def _phase(phase: str | Phase) -> Phase:
    names = {known.name.lower(): known for known in Phase if known is not Phase.ORGANISER}
    found = phase if isinstance(phase, Phase) else names.get(str(phase).lower())
    if found is None or found is Phase.ORGANISER:
        raise UsageError(f"a phase must be one of {', '.join(names)}", "script")
    return found
