"""What must never happen in a served session, whatever the board and the organiser do."""

from __future__ import annotations

from gopa.adversary.boards.known import known_of
from gopa.adversary.boards.outcome import ServedOutcome, of
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
    """Too few honest values hide each other: the other masks around them are known.

    All faces together, and what was lost on the way: who runs them all sees all of it. Where
    a log forks, some edges to a party may be open beside its own mask, and plans count on
    that. Says nothing about sessions with more liars than the terms allow.
    """
    found = [bared for known in known_of(outcome) for bared in known.bared()]
    return tuple(_in_words(outcome, keys) for keys in sorted(set(found)))


def _in_words(outcome: ServedOutcome, keys: tuple[bytes, ...]) -> str:
    names = " and ".join(map(outcome.name_of, keys))
    if len(keys) == 1:
        return f"the edges to honest {names} and its own mask are open"
    return f"the sum of the honest {names} is known"


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
