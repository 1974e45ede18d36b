"""Shows sessions on the page of a board: where they stand, phases, parties, who masks with whom.

Nothing of it is checked: a result is what the organiser says, and an audit says whether it holds.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from bulletin_board.admission import AdmissionPolicy
from bulletin_board.server.page import PartyPicture, PhasePicture, SessionPicture
from commitments import ristretto255
from gopa.contract.beacon import drand_coins, joint_coins, simulation_coins
from gopa.contract.framing import party_id
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, Coins, RemovalCause, ResultMessage, Roll, unpack_members
from gopa.contract.parameters import CommitReveal, DrandBeacon, Trust
from gopa.contract.phases import TABLE, Owed, Phase
from gopa.graph import Graph
from gopa.planning.usefulness import is_mostly_noise
from gopa.protocol.admission.policy import Limits, ProtocolAdmission
from gopa.protocol.admission.tracker import TrackedRound, TrackedSession
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import graph_of_round
from gopa.support.rounding import listed
from gopa.support.wording import ABORTS, CAUSES, EXACT, PHASES, counted, name_of, sentence
from wire.errors import PUBLISHED, GopaError, MalformedMessage

MOST_SHOWN = 64
"""Parties and their edges are drawn up to here."""

_NAMES: Final[Mapping[int, str]] = {phase: PHASES[name_of(phase)].name for phase in Phase}


class Sessions:
    """The admission policy of a board, and the view of what that policy has seen.

    Give `policy` to the sequencer as its factory and the instance to the server as its
    view. Called by the server in a thread of its own.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits
        self._policy = ProtocolAdmission(limits)
        self._graphs: dict[bytes, tuple[int, bytes, Graph]] = {}

    def limit(self, limits: Limits) -> None:
        """Make policies under other limits from now on."""
        self._limits = limits

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
            found, (state, tone) = known.round, _state(known)
            if known.manifest.terms.exact:
                state = f"{state} {sentence(EXACT)}."
            progress = () if found is None else _progress(known.manifest, found)
            picture = SessionPicture(title, _NAMES, state=state, tone=tone, progress=progress)
            if found is None or found.roll is None:
                return picture
            parties = _parties(found)
            facts = known.manifest, found.number, found.roll, found.roll_leaf, found.coins
        return replace(picture, parties=parties, edges=self._edges(session, *facts))

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


def _state(known: TrackedSession) -> tuple[str, str]:
    """Where the session stands, and the tone of that."""
    found = known.round
    if known.broken:
        return "Stopped: a message of the organiser cannot be read.", "bad"
    if found is None:
        return "No round has begun yet.", ""
    ended = found.ended
    if isinstance(ended, ResultMessage):
        said, noisy = _result(known.manifest, found, ended)
        tone = "unsure" if noisy else "good"
        return f"Result: {said}. Whether it is right, gopa audit says.", tone
    if isinstance(ended, Abort):
        seen = PUBLISHED[name_of(ended.released)]
        return f"Aborted, without a result: {ABORTS[name_of(ended.reason)]}; {seen}.", "bad"
    doing = "waiting for the result" if found.opens is None else PHASES[name_of(found.opens)].doing
    before = counted(found.attempt, "attempt")
    return f"{sentence(doing)}{f', after {before} without a result' if found.attempt else ''}.", ""


def _result(manifest: Manifest, found: TrackedRound, ended: ResultMessage) -> tuple[str, bool]:
    """The mean with its error where the sums alone say what these are; is it mostly noise?"""
    final, terms = len(found.final or ()), manifest.terms
    over = f"over {counted(final, 'party', 'parties')}"
    curious = manifest.trust is Trust.HONEST_BUT_CURIOUS
    if manifest.weighted or curious or not final or len(ended.sums) != terms.dimension:
        return f"sums {over}", False
    step = Fraction(terms.high - terms.low) / terms.steps
    start = Fraction(terms.low) + step * manifest.origin
    means = [float(start + step * each / final) for each in ended.sums]
    error = float(step) * math.sqrt(final * float(terms.noise.variance) + final / 4) / final
    noisy = is_mostly_noise(terms, error)
    said = f"mean {listed(means, [error] * len(means))} {over}"
    return f"{said}{', mostly noise' if noisy else ''}", noisy


def _progress(manifest: Manifest, found: TrackedRound) -> list[PhasePicture]:
    """How many have posted a whole message in every phase that was opened, of how many."""
    posted = Counter(phase for (_, phase), stream in found.streams.items() if stream.whole)
    expected = _expected(manifest, found)
    return [
        PhasePicture(_NAMES[phase], min(posted[phase], most or posted[phase]), most)
        for phase, most in expected.items()
        if posted[phase] or (most is not None and phase is found.opens)
    ]


def _expected(manifest: Manifest, found: TrackedRound) -> dict[Phase, int | None]:
    """How many messages each phase waits for, in the order of phases; None where none is due."""
    joined = None if found.roll is None else len(found.roll.parties)
    lists = {phase: len(members) for phase, members in found.lists}
    before = {then: phase for phase, row in TABLE.items() for then in row.then.values()}
    owing = {
        Owed.BY_ADMITTED: manifest.terms.parties if joined is None else joined,
        Owed.BY_ROLL: joined if isinstance(manifest.beacon, CommitReveal) else None,
        Owed.BY_FINAL: None if found.final is None else len(found.final),
    }
    return {
        phase: lists.get(before[phase]) if row.owed is Owed.BY_LISTED else owing.get(row.owed)
        for phase, row in TABLE.items()
    }


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
    if isinstance(found.ended, Abort) and place in found.ended.culprits:
        return "missing or wrong"
    for phase, members in found.lists:
        if place not in members:
            return f"out at {_NAMES[phase]}" if found.final is None else f"no {_NAMES[phase]}"
    if isinstance(found.ended, ResultMessage):
        return "in the result"
    last = found.lists[-1][0] if found.lists else Phase.JOIN
    done = PHASES[name_of(last)].done
    return f"{done}; no result" if isinstance(found.ended, Abort) else done


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
