"""What attackers are after, besides harm: each function asks whether an outcome is that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from gopa.adversary.malicious import Malicious
from gopa.adversary.outcome import STRANGER, AttackOutcome, How, RoundOutcome
from gopa.contract.phases import Phase

Aim: TypeAlias = Callable[[AttackOutcome], bool]
"""Whether an attack reached what it was after."""


# Of parties


def counted(outcome: AttackOutcome) -> bool:
    """A liar is in a result that stands.

    That of a round in which it lied: who is caught is back in the next one, unless it is barred.
    """
    return outcome.accepted and any(
        each.findings.sums is not None and outcome.has_lied(actor, each.number)
        for actor in outcome.actors
        if isinstance(actor, Malicious)
        for each in outcome.rounds
        if actor.party in (each.included or ())
    )


def all_counted(outcome: AttackOutcome) -> bool:
    """All liars are in a result that stands."""
    return outcome.accepted and outcome.has_result and outcome.liars <= outcome.included


def counted_later(outcome: AttackOutcome) -> bool:
    """All liars are in a result that stands, of a later round than the first."""
    return all_counted(outcome) and len(outcome.rounds) > 1


def unblamed(outcome: AttackOutcome) -> bool:
    """No liar was convicted."""
    names = {f"party {number}" for number in outcome.liars}
    return not any(c.how is How.CONVICTED and c.who in names for c in outcome.caught)


def unrecorded(outcome: AttackOutcome) -> bool:
    """A result stands in which a liar is not, and nothing says so."""
    if not (outcome.accepted and outcome.has_result):
        return False
    last = outcome.rounds[-1].findings
    named = {each.author for each in last.removals}
    return any(outcome.keys[liar] not in named for liar in outcome.liars - outcome.included)


def listed_at(phase: Phase) -> Aim:
    """All liars got on the list of a phase: what they said there was taken for good."""

    def listed(outcome: AttackOutcome) -> bool:
        return any(outcome.liars <= _listed(each, phase) for each in outcome.rounds)

    listed.__doc__ = f"All liars are on the list of {phase.name.lower()}."
    return listed


def in_the_final_list(outcome: AttackOutcome) -> bool:
    """All liars are in the final list of a round."""
    return any(outcome.liars <= frozenset(each.included or ()) for each in outcome.rounds)


def stranger_listed(outcome: AttackOutcome) -> bool:
    """Somebody who is not on the roster is on the roll."""
    return any(STRANGER in each.numbers for each in outcome.rounds)


# Against the session


def stopped(outcome: AttackOutcome) -> bool:
    """The session came to no result."""
    return not outcome.has_result


def delayed(outcome: AttackOutcome) -> bool:
    """A round came to no result."""
    return any(each.findings.sums is None for each in outcome.rounds)


def redrawn(outcome: AttackOutcome) -> bool:
    """Coins were drawn more often for one result than the plan pays for."""
    manifest = outcome.findings.manifest
    if manifest is None:
        return False
    attempts = manifest.terms.attempts
    return any(each.findings.attempt >= attempts for each in outcome.rounds)


BY_SILENCE: Final = frozenset({stopped, delayed})
"""What anybody can reach who may leave, where the plan has no more parties or attempts."""


# Of an organiser


def believed(outcome: AttackOutcome) -> bool:
    """An audit lets a session stand whose organiser lied."""
    return outcome.accepted and outcome.has_result


def gets_off(outcome: AttackOutcome) -> bool:
    """The organiser lied and nothing convicts it."""
    convicted = {catch.who for catch in outcome.caught if catch.how is How.CONVICTED}
    return "organiser" not in convicted


def honest_left_out(outcome: AttackOutcome) -> bool:
    """A result stands in which somebody is missing who kept the rules."""
    return outcome.accepted and outcome.has_result and bool(outcome.honest - outcome.included)


def held_against_the_honest(outcome: AttackOutcome) -> bool:
    """Somebody honest is barred or named in an abort, or the organiser's veto is not reported."""
    honest = {outcome.keys[number] for number in outcome.honest}
    barred = {key for each in outcome.rounds for key in each.findings.barred}
    named = {each.findings.roll[at] for each in outcome.rounds for at in each.findings.culprits}
    hidden = any(each.findings.abort is not None for each in outcome.rounds)
    hidden = hidden and not any(each.vetoed for each in outcome.report.rounds)
    return bool(honest & (barred | named)) or hidden


def unmasked_unconfirmed(outcome: AttackOutcome) -> bool:
    """Somebody honest opened its self-mask before the list of confirmations was one."""
    return any(
        not _listed(each, Phase.CONFIRM) and bool(each.open_to_all.seeds & outcome.honest)
        for each in outcome.rounds
    )


def committed_among_puppets(outcome: AttackOutcome) -> bool:
    """Somebody honest committed among parties that never joined."""
    return any(
        not _listed(each, Phase.COINS) and bool(each.open_to_all.commits & outcome.honest)
        for each in outcome.rounds
    )


def harmful(outcome: AttackOutcome) -> bool:
    """Whether harm was done: the attack is after nothing beyond that."""
    del outcome
    return False


def _listed(each: RoundOutcome, phase: Phase) -> frozenset[int]:
    """Numbers of the parties on the last list of a phase."""
    lists = [found.members for found in each.findings.lists if found.phase is phase]
    return frozenset(each.numbers[at] for at in lists[-1]) if lists else frozenset()
