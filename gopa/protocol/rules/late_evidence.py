"""Judges evidence that came too late to change a list: it convicts by [A5], [E3], [F3] and [O5]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gopa.contract.framing import Message
from gopa.contract.party import OPENING, EdgeOpenings
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.accusations import AccusationJudge, Conviction
from gopa.protocol.rules.findings import Fault
from gopa.protocol.rules.mailbox import LEAF_SIZE
from gopa.protocol.rules.rollback import wrong_keys
from gopa.protocol.rules.round_state import RoundState
from wire.errors import MalformedMessage
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class LateEvidence:
    """Lists convictions that bar from later rounds, faults, and edges public all the same."""

    convicted: Mapping[bytes, Conviction]
    faults: tuple[Fault, ...]
    opened: tuple[tuple[int, int], ...]


def judge_late(state: RoundState, judge: AccusationJudge | None) -> LateEvidence:
    """Judge the late evidence of one round; it never changes a list or a result.

    Else a second signature could undo the final list when edges are open already (attack
    `second-signature-after-the-final-close`).
    """
    convicted = dict(judge.convict(state.late_accusations)) if judge is not None else {}
    faults = [
        state.fault(each.author, each.rule, each.what, each.entry) for each in convicted.values()
    ]
    opened: set[tuple[int, int]] = set()
    for message in state.stray_openings:
        edges = _public_inside(state, message)
        opened |= edges
        faults += _stray_faults(state, message, edges)
    return LateEvidence(convicted, tuple(faults), tuple(sorted(opened)))


def _public_inside(state: RoundState, message: Message) -> set[tuple[int, int]]:
    """Edges inside the final list whose keys this message gives away, whatever it acts on."""
    opening = _decoded(message)
    place, final = state.places[message.author], set(state.final or ())
    if opening is None or place not in final:
        return set()
    keys: list[tuple[int, SecretBytes]] = []
    for each in opening.edges:
        edge = state.matched.find(place, each.neighbour) if each.neighbour in final else None
        if edge is not None:
            keys.append((edge, SecretBytes(each.key)))
    wrong = wrong_keys(state, keys)
    return {
        state.matched.ends(edge) for number, (edge, _) in enumerate(keys) if number not in wrong
    }


def _stray_faults(
    state: RoundState, message: Message, edges: set[tuple[int, int]]
) -> Iterator[Fault]:
    """Faults of a party in the final list: it opened an edge that may stay closed (`betray`).

    Only if its message acts on a close of this log, and not of a forked one.
    """
    author, index = message.author, message.index
    if state.final is None or state.places[author] not in state.final:
        return
    if message.kind != Kind.OPENING or message.body[:LEAF_SIZE] not in state.publish_leaves:
        return
    if edges:
        yield state.fault(author, "04-O5", "it opened an edge inside the final list", index)
    confirmed = state.confirmed_at.get(state.places[author], index)
    # What it opened before it confirmed says nothing about what it does from then on.
    if confirmed < index:
        what = "it confirmed the final close and opens edges"
        yield state.fault(author, "04-F3", what, confirmed, index)


def _decoded(message: Message) -> EdgeOpenings | None:
    if message.kind != Kind.OPENING or message.phase != Phase.ROLLBACK:
        return None
    try:
        return OPENING.decode(message.body)
    except MalformedMessage:
        return None
