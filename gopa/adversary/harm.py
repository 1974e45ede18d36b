"""What must never happen, whatever anybody does: each function finds one kind of it."""

from __future__ import annotations

from gopa.adversary.malicious import Malicious, phase_of
from gopa.adversary.outcome import AttackOutcome, RoundOutcome
from gopa.contract.phases import Phase
from wire.errors import FaultyParty


def harm(outcome: AttackOutcome) -> tuple[str, ...]:
    """Everything that happened and must not, in words; empty for a session that held."""
    return (
        *wrong_sums(outcome),
        *honest_blamed(outcome),
        *edges_opened(outcome),
        *inputs_exposed(outcome),
    )


def wrong_sums(outcome: AttackOutcome) -> tuple[str, ...]:
    """A result that an audit accepts, and that is not what the included parties contributed.

    That which the organiser announced counts, too.
    """
    if outcome.right or not outcome.accepted:
        return ()
    return ("a wrong sum was accepted",)


def honest_blamed(outcome: AttackOutcome) -> tuple[str, ...]:
    """A fault in the report whose author kept the rules, or an honest party that blames another.

    What a party says of its organiser when it stops convicts nobody: the report does.
    """
    innocent = {outcome.keys[number]: f"party {number}" for number in outcome.honest}
    if outcome.honest_organiser:
        innocent[outcome.organiser] = "the organiser"
    named = {each.author for each in outcome.report.faults if each.proved}
    halts = [outcome.halted[number] for number in outcome.honest & outcome.halted.keys()]
    accused = {error.party for error in halts if isinstance(error, FaultyParty)}
    named |= accused - {outcome.organiser}
    blamed = named & innocent.keys()
    return tuple(f"{innocent[key]} was blamed and is honest" for key in sorted(blamed))


def edges_opened(outcome: AttackOutcome) -> tuple[str, ...]:
    """An open edge between two honest parties that both are in the final list."""
    return tuple(
        f"round {each.findings.number}: the edge between honest parties {u} and {v} is open"
        for each in outcome.rounds
        for u, v in each.pairs(each.findings.opened)
        if {u, v} <= outcome.honest & frozenset(each.included or ())
    )


def inputs_exposed(outcome: AttackOutcome) -> tuple[str, ...]:
    """An honest party whose masked value is out while no mask is left that hides it.

    A value that a board keeps for itself is out as well. Liars know the masks they share
    with it, and everybody those whose keys or seeds were posted, whether or not the rules
    count the message. Says nothing about sessions with more liars than the terms allow.
    """
    manifest = outcome.findings.manifest
    if manifest is None or len(outcome.liars) > manifest.terms.corrupt:
        return ()
    return tuple(
        f"round {each.findings.number}: nothing hides the value of honest party {number}"
        for each in outcome.rounds
        for number in sorted(outcome.honest & _out(outcome, each) & each.open_to_all.seeds)
        if not _hidden(outcome, each, number)
    )


def _out(outcome: AttackOutcome, each: RoundOutcome) -> frozenset[int]:
    """Whose masked value somebody has: it is in the log, or a board does something else with it."""
    kept = {
        actor.party
        for actor in outcome.actors
        if isinstance(actor, Malicious)
        and actor.board
        and phase_of(actor.at) is Phase.PUBLISH
        and actor.meant_for(each.number)
    }
    return each.open_to_all.values | kept


def _hidden(outcome: AttackOutcome, each: RoundOutcome, number: int) -> bool:
    """Whether an edge to another honest party masks the value, and nobody opened it."""
    graph = each.findings.graph
    if graph is None:
        return True
    edges = each.pairs(tuple(zip(*(ends.tolist() for ends in graph.edges()), strict=True)))
    open_edges = each.open_to_all.edges | {
        frozenset(pair) for pair in each.pairs(each.findings.void)
    }
    return any(
        number in edge and set(edge) <= outcome.honest and frozenset(edge) not in open_edges
        for edge in edges
    )
