"""Holds one session in the server of another framework, whose messages carry the tunnel.

The server is organiser, board and host at once, and believed in nothing by the parties
(`specs/12-sessions.md`, section 7). Whoever has a `HostedSession` brings its requests to the
parties and their replies back, and waits as it likes: no clock runs here. A phase is over when
everybody who answers has said what they had to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bulletin_board import KeyKind, NoteSigner
from bulletin_board.note import VerifierKey
from gopa.aggregation.transcript import SessionTranscript
from gopa.messages.manifest import MANIFEST, Manifest, Roster, session_id
from gopa.messages.organiser import Abort, ResultMessage
from gopa.organiser import SessionSetting, new_manifest
from gopa.party import LocalPolicy, Refusal
from gopa.planning import Plan
from gopa.rules import Fault
from gopa.sessions.following import Horizon, entries_of_session
from gopa.sessions.organising import Deadlines, DurableOrganiser, Schedule, Send
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import Guard, LocalBoard, SealingKey, TunnelHost, TunnelParty
from gopa.sessions.vault import MemoryVault
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage, ProtocolError, UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes

_PHASE: Final = 1.0
"""Seconds that a phase lasts, on a clock that stands still while parties are asked."""

_NOWHERE: Final = "https://tunnel.invalid"
"""The address in tickets: these parties reach no board."""


@dataclass(frozen=True, slots=True)
class SessionSum:
    """Reports the one round of a session: the sums over those `included`, by their keys.

    `silent` did not answer any more, `faults` are rules that somebody broke. `abort` is set where
    there is no sum.
    """

    sums: npt.NDArray[np.int64]
    included: frozenset[bytes]
    silent: frozenset[bytes]
    faults: tuple[Fault, ...]
    abort: Abort | None


class HostedSession:
    """Runs a session of one round: say `advance` what came back, ask what it sends.

    Raises `UsageError` if the plan does not fit the parties. One thread at a time.
    """

    def __init__(
        self, plan: Plan, parties: Sequence[bytes], setting: SessionSetting, rng: Rng = os.urandom
    ) -> None:
        organiser = SigningKey.generate(rng)
        signer = NoteSigner(f"tunnel.invalid/{rng(8).hex()}", KeyKind.LOG, SecretBytes(rng(32)))
        self.manifest: Manifest = new_manifest(
            plan,
            parties,
            organiser=organiser.public.data,
            log=signer.verifier,
            rng=rng,
            setting=setting,
        )
        self._parties, self._rng = tuple(parties), rng
        self._now, self._read = 0.0, 0
        self._board = LocalBoard(signer)
        self._organiser = DurableOrganiser(
            MemoryVault(),
            self.manifest,
            organiser,
            Schedule(Deadlines(join=_PHASE, phase=_PHASE), rounds=1),
            rng=rng,
            clock=lambda: self._now,
        )
        self._host = TunnelHost(self._board, self.manifest.session)
        self._asked: frozenset[bytes] = frozenset()
        self._silent: frozenset[bytes] = frozenset()

    @property
    def transcript(self) -> SessionTranscript:
        """The log, to keep or to check."""
        return SessionTranscript(self.manifest.session, 1, None, self._board.reader)

    def advance(self, replies: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Take the replies to what was asked last; the next requests, none when all is over.

        A party that was asked and does not answer is asked no more. Replies that are none count
        like that too.
        """
        unheard = set(self._asked)
        for party, reply in replies.items():
            try:
                self._host.take(party, reply)
                unheard.discard(party)
            except ProtocolError:  # it is no reply of this party: as if it had said nothing
                continue
        self._silent |= unheard
        self._host.post()
        while True:
            over = self._speak()
            self._host.refresh()
            requests = self._requests()
            self._asked = frozenset(requests)
            if requests or over:
                return requests
            self._now += _PHASE  # whoever is still expected will not come

    def outcome(self) -> SessionSum:
        """What became of the round, once `advance` has nothing to ask any more."""
        found = self._organiser.state.round
        if found is None or found.ended is None:
            raise UsageError("the round goes on: its requests were not answered", "session")
        listed: Sequence[int] = found.members if isinstance(found.ended, ResultMessage) else ()
        included = frozenset(found.roll[place].author for place in listed)
        answered = set(self._parties) - self._silent
        # Whoever answered to the end and is not in the sum has said something wrong.
        faults = () if answered <= included else self.transcript.check().faults
        ended = found.ended
        return SessionSum(
            sums=np.array(ended.sums if isinstance(ended, ResultMessage) else (), dtype=np.int64),
            included=included,
            silent=self._silent,
            faults=faults,
            abort=ended if isinstance(ended, Abort) else None,
        )

    def keep(self, directory: Path) -> Path:
        """Write the log for `gopa audit`, and beside it the anchors; the path of the log."""
        directory.mkdir(parents=True, exist_ok=True)
        stem = directory / self.manifest.session.hex()[:16]
        self.transcript.anchors(stem.with_suffix(".anchors"))
        return self.transcript.archive(stem.with_suffix(".gopa"))

    def _speak(self) -> bool:
        """Post all that the organiser has to say now; whether the round is over."""
        while True:
            reader = self._board.reader()
            raws = reader.entries(self._read)
            self._organiser.take(entries_of_session(raws, self.manifest.session, self._read))
            self._read = reader.size
            horizon = Horizon(reader.size, reader.signed.root)
            self._organiser.reached(horizon, reader.signed.to_bytes())
            if self._ended():
                return True
            act = self._organiser.act()
            if not isinstance(act, Send):
                return False
            for raw in act.entries:
                self._board.submit(raw)

    def _ended(self) -> bool:
        """Whether the round has its result, or no attempt is left."""
        state, terms = self._organiser.state, self.manifest.terms
        current = state.round
        if current is None or current.ended is None:
            return state.over
        again = current.attempt + 1 < terms.attempts and state.releases <= terms.charged
        return isinstance(current.ended, ResultMessage) or state.over or not again

    def _requests(self) -> dict[bytes, bytes]:
        asked = [party for party in self._parties if party not in self._silent]
        found = {party: self._host.request(party) for party in asked}
        return {party: request for party, request in found.items() if request is not None}


def invited(  # noqa: PLR0913 - everything that a party decides by
    body: bytes,
    identity: SigningKey,
    policy: LocalPolicy,
    *,
    known: frozenset[bytes],
    fewest: int,
    secret: SealingKey,
    guard: Guard,
) -> tuple[Manifest, TunnelParty]:
    """Take a server's invitation: the manifest of a session, and the party that answers in it.

    Nobody may be on the roster but this party and those it knows, and at least `fewest` have to be
    in the sum: else a server could fill the session with parties of its own and subtract them.

    Raises:
        Refusal: the session asks for more than the party allows.
        MalformedMessage: it is no manifest.
    """
    manifest = MANIFEST.decode(body)
    own = identity.public.data
    policy.require(manifest, own)
    if not isinstance(manifest.admission, Roster):
        raise Refusal("anybody may join this session", "admission")
    strangers = sorted(set(manifest.admission.keys) - known - {own})
    if strangers:
        message = f"{len(strangers)} parties that you do not trust are on the roster"
        raise Refusal(f"{message}, the first has the key {strangers[0].hex()}", "roster")
    if manifest.terms.survivors < fewest:
        needed = str(manifest.terms.survivors)
        message = f"the sum may be over {needed} parties only, you ask for {fewest}"
        raise Refusal(message, "fewest", needed)
    log = VerifierKey.parse(manifest.log.decode())
    if manifest.policy:
        raise MalformedMessage("a log inside a server has no witnesses", "policy")
    ticket = Ticket(_NOWHERE, log, session_id(body))
    return manifest, TunnelParty(ticket, identity, policy, secret=secret, guard=guard)
