"""What must never happen in a served session, whatever the board and the organiser do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gopa.adversary.boards.outcome import ServedOutcome, of
from gopa.messages.party import OPENING
from gopa.messages.phases import Phase
from wire.errors import ProtocolError


def harm(outcome: ServedOutcome) -> tuple[str, ...]:
    """Everything that happened and must not, in words."""
    return (
        *masks_open(outcome),
        *honest_blamed(outcome),
        *wrong_sums(outcome),
        *fell_over(outcome),
        *hangs(outcome),
    )


def masks_open(outcome: ServedOutcome) -> tuple[str, ...]:
    """Neighbours opened their edges to a party, and it opened its own mask: nothing hides it.

    All faces together, and what was lost on the way: who runs them all sees all of it.
    """
    unmasked = {(each.round, each.author.data) for each in of(outcome.said, Phase.UNMASK)}
    honest = _honest(outcome)
    both = sorted({key for at, key in _given_up(outcome) if (at, key) in unmasked} & honest)
    return tuple(
        f"the edges to honest {outcome.name_of(key)} and its own mask are open" for key in both
    )


def honest_blamed(outcome: ServedOutcome) -> tuple[str, ...]:
    """Somebody honest is convicted by a face, or accused by another party."""
    innocent = _honest(outcome)
    if outcome.honest_organiser:
        innocent.add(outcome.organiser)
    faults = [each for face in outcome.faces for each in face.report.faults if each.proved]
    blamed = sorted({each.author for each in faults} & innocent)
    found = [f"{outcome.name_of(key)} was blamed and is honest" for key in blamed]
    if not outcome.liars and of(outcome.said, Phase.ACCUSE):
        found.append("honest parties accuse each other")
    return tuple(found)


def wrong_sums(outcome: ServedOutcome) -> tuple[str, ...]:
    """A face has a result that an audit accepts, and that cannot be right."""
    return ("a wrong sum was accepted",) if outcome.result == "wrong" else ()


def fell_over(outcome: ServedOutcome) -> tuple[str, ...]:
    """An honest party ended with an error that says nothing about the board."""
    return tuple(
        f"party {end.number} fell over: {type(end.error).__name__}"
        for end in outcome.ends
        if end.error is not None and not isinstance(end.error, ProtocolError)
    )


def hangs(outcome: ServedOutcome) -> tuple[str, ...]:
    """Something that had to happen never did."""
    return (f"it did not end: {outcome.stuck}",) if outcome.stuck else ()


def _honest(outcome: ServedOutcome) -> set[bytes]:
    """The keys of parties that keep the rules."""
    return {key for number, key in enumerate(outcome.keys) if number not in outcome.liars}


def _given_up(outcome: ServedOutcome) -> Iterator[tuple[int, bytes]]:
    """The parties to whom somebody honest opened an edge, with the numbers of rounds.

    A liar may give away the edges that it knows: others are left.
    """
    honest, rolls = _honest(outcome), _rolls(outcome)
    for each in of(outcome.said, Phase.ROLLBACK):
        if each.author.data not in honest:
            continue
        roll = rolls.get(each.round, ())
        for edge in OPENING.decode(each.body).edges:
            if edge.neighbour < len(roll):
                yield each.round, roll[edge.neighbour]


def _rolls(outcome: ServedOutcome) -> Mapping[int, Sequence[bytes]]:
    """By round. Faces share what was said before anybody had a value out."""
    rounds = [found for face in outcome.faces for found in face.findings.rounds]
    return {found.number: found.roll for found in rounds if found.roll}
