"""Shows sessions on the page of a board: phases, parties, who masks with whom."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from bulletin_board.admission import AdmissionPolicy
from bulletin_board.server.page import PartyPicture, SessionPicture
from commitments import ristretto255
from gopa.admission import Limits, ProtocolAdmission
from gopa.beacon import drand_coins, joint_coins, simulation_coins
from gopa.graph import Graph
from gopa.messages.framing import party_id
from gopa.messages.manifest import Manifest
from gopa.messages.members import unpack_members
from gopa.messages.organiser import Coins, RemovalCause, ResultMessage, Roll
from gopa.messages.parameters import CommitReveal, DrandBeacon
from gopa.messages.phases import Phase
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import graph_of_round
from gopa.session_tracker import TrackedRound, TrackedSession
from gopa.wording import CAUSES, PHASES, name_of
from wire.errors import GopaError, MalformedMessage

MOST_SHOWN = 64
"""Parties and their edges are drawn up to here."""

_NAMES: Final[Mapping[int, str]] = {phase: PHASES[name_of(phase)].name for phase in Phase}


class Sessions:
    """Makes the admission policy of a board, and shows what that policy has seen.

    Give `policy` to the sequencer as its factory and the instance to the server as its
    view. Called by the server in a thread of its own.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits
        self._policy = ProtocolAdmission(limits)
        self._graphs: dict[bytes, tuple[int, bytes, Graph]] = {}

    def policy(self) -> AdmissionPolicy:
        """A new policy, which the pictures are of from now on."""
        self._policy = ProtocolAdmission(self._limits)
        return self._policy

    def picture(self, session: bytes) -> SessionPicture | None:
        """What to show about a session, or None; see `bulletin_board.server.page`."""
        policy = self._policy
        with policy.lock:
            known = policy.sessions.get(session)
            if known is None:
                return None
            title = _title(known)
            found = known.round
            if found is None or found.roll is None:
                return SessionPicture(title, _NAMES)
            parties = _parties(found)
            facts = known.manifest, found.number, found.roll, found.roll_leaf, found.coins
        edges = self._edges(session, *facts)
        return SessionPicture(title, _NAMES, parties, edges)

    def _edges(  # noqa: PLR0913, PLR0917 - what a graph follows from
        self,
        session: bytes,
        manifest: Manifest,
        number: int,
        roll: Roll,
        roll_leaf: bytes,
        coins: Coins | None,
    ) -> list[tuple[str, str]]:
        """The graph of a small session, as the closes say; nothing if they say nonsense."""
        if coins is None or len(roll.parties) > MOST_SHOWN:
            return []
        known = self._graphs.get(session)
        if known is None or known[:2] != (number, roll_leaf):
            context = RoundContext(manifest, session, number, ristretto255())
            try:
                graph = _graph(context, roll, roll_leaf, coins)
            except GopaError:
                return []
            known = self._graphs[session] = number, roll_leaf, graph
        names = [party_id(each.author).hex() for each in roll.parties]
        low, high = known[2].edges()
        return [(names[u], names[v]) for u, v in zip(low.tolist(), high.tolist(), strict=True)]


def _title(known: TrackedSession) -> str:
    manifest, found = known.manifest, known.round
    name = manifest.title.decode("utf-8", "replace") or "Session"
    label = f"{name} ({manifest.mode.name.lower()}{', simulation' if manifest.simulation else ''})"
    if found is None:
        return label
    return f"{label}, round {found.logical + 1}, attempt {found.attempt + 1}"


def _parties(found: TrackedRound) -> list[PartyPicture]:
    """The first parties of the roll, with what became of them."""
    enrolled = () if found.roll is None else found.roll.parties[:MOST_SHOWN]
    causes: dict[int, RemovalCause] = {}
    if isinstance(found.ended, ResultMessage):
        causes = {each.position: each.cause for each in found.ended.removed}
    return [
        PartyPicture(
            party_id(each.author).hex(),
            each.author.hex()[:16],
            _status(found, place, causes.get(place)),
        )
        for place, each in enumerate(enrolled)
    ]


def _status(found: TrackedRound, place: int, cause: RemovalCause | None) -> str:
    if cause is not None:
        return f"out: {CAUSES[name_of(cause)].short}"
    for phase, members in found.lists:
        if place not in members:
            return f"out at {_NAMES[phase]}" if found.final is None else f"no {_NAMES[phase]}"
    if isinstance(found.ended, ResultMessage):
        return "in the result"
    last = found.lists[-1][0] if found.lists else Phase.JOIN
    return PHASES[name_of(last)].done


def _graph(context: RoundContext, roll: Roll, roll_leaf: bytes, coins: Coins) -> Graph:
    members = unpack_members(coins.members, len(roll.parties))
    beacon = context.manifest.beacon
    if isinstance(beacon, CommitReveal):
        if len(coins.nonces) != len(members):
            raise MalformedMessage("one nonce for each member", "nonces")
        joint = joint_coins(context.session, context.round, roll_leaf, coins.nonces)
    elif isinstance(beacon, DrandBeacon):
        value = hashlib.sha256(coins.signature).digest()
        joint = drand_coins(context.session, context.round, roll_leaf, value)
    else:
        joint = simulation_coins(context.session, context.round, roll_leaf)
    return graph_of_round(context, roll, roll_leaf, members, coins, joint)
