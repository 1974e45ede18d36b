"""A session of many rounds whose parties are behind messages of another framework.

The server's half of every plug-in: organiser, board and host in one object; and the
roster by which a party joins only with parties that it knows.

No clock runs here: a phase is over when everybody has answered who is still asked. The caller
brings requests to parties and their replies back, and waits as it likes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bulletin_board import KeyKind, NoteSigner
from gopa.aggregation.encoding import ValueEstimate
from gopa.aggregation.engine import RoundAborted, exact_remark
from gopa.aggregation.transcript import SessionTranscript
from gopa.aggregation.weighting import largest_weight
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, Released, ResultMessage
from gopa.contract.phases import Phase
from gopa.planning import Plan
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.rules import RoundPicture
from gopa.sessions.contribution import encoding_for, noisy_sum
from gopa.sessions.following import Horizon
from gopa.sessions.organising import (
    Deadlines,
    DurableOrganiser,
    Over,
    Schedule,
    Send,
)
from gopa.sessions.organising.reading import culprits_of
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import LocalBoard, TunnelHost
from gopa.sessions.vault import MemoryVault
from gopa.support.wording import abort_because, exclusion_reason, name_of
from wire.ed25519 import SigningKey
from wire.errors import Aborted, ProtocolError, UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
from gopa.contract.manifest import Roster
from gopa.protocol.party import LocalPolicy, Refusal

PHASE: Final = 1.0
"""Seconds of a phase and a pause, on a clock that stands still while parties are asked."""

_TOO_SMALL: Final = "the sum of the weights cannot be told from zero: plan with less noise"
_NOWHERE: Final = "https://tunnel.invalid"
"""The address in tickets: these parties reach no board."""


@dataclass(frozen=True, slots=True)
class RoundSum:
    """The mean of a round, the weight or number of the parties in it, and who they are.

    `deviation` is the standard error of each number that noise and rounding give it.
    """

    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]
    weight: float
    included: frozenset[bytes]


def new_signer(rng: Rng = os.urandom, name: str = "parties.invalid/log") -> NoteSigner:
    """A key for a log; parties that are told `str(signer.verifier)` believe no other."""
    return NoteSigner(name, KeyKind.LOG, SecretBytes(rng(32)))


class HostedSession:
    """The rounds of one session: `open`, `advance` until it asks nothing, then `outcome`.

    Raises `UsageError` if the plan does not fit the parties. One thread at a time.
    """

    def __init__(
        self,
        plan: Plan,
        parties: frozenset[bytes],
        setting: SessionSetting,
        signer: NoteSigner,
        rng: Rng,
    ) -> None:
        organiser = SigningKey.generate(rng)
        self.parties = parties
        self.manifest: Manifest = new_manifest(
            plan,
            parties,
            organiser=organiser.public.data,
            log=signer.verifier,
            rng=rng,
            setting=setting,
        )
        self.ticket = Ticket(_NOWHERE, signer.verifier, self.manifest.session)
        self._now, self._read = time.time(), 0
        self._board = LocalBoard(signer)
        self._organiser = DurableOrganiser(
            MemoryVault(),
            self.manifest,
            organiser,
            Schedule(Deadlines(join=PHASE, phase=PHASE), pause=PHASE),
            rng=rng,
            clock=lambda: self._now,
        )
        self._host = TunnelHost(self._board, self.manifest.session, sums=False)
        self._present: frozenset[bytes] = frozenset()
        self._asked: frozenset[bytes] = frozenset()
        self._begun = 0

    @property
    def transcript(self) -> SessionTranscript:
        """The log, to keep or to check."""
        return SessionTranscript(self.manifest.session, 1, None, self._board.reader)

    @property
    def rounds_left(self) -> int:
        """How many more rounds the plan has."""
        return 0 if self._organiser.state.over else self.manifest.terms.rounds - self._begun

    def open(self, present: frozenset[bytes]) -> dict[bytes, bytes]:
        """Begin the next round with these parties; what they are to be told first."""
        self._present, self._asked = present & self.parties, frozenset()
        self._begun += 1
        self._now += 2 * PHASE
        return self._next()

    def advance(self, replies: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Take the replies to what was asked last; what to ask next, nothing when it is over.

        A party that was asked and says no reply is asked no more in this round.
        """
        unheard = set(self._asked)
        for party, reply in replies.items():
            try:
                self._host.take(party, reply)
                unheard.discard(party)
            except ProtocolError:  # as if it had said nothing
                continue
        self._present -= unheard
        self._host.post()
        return self._next()

    def lacking(self) -> frozenset[bytes]:
        """The parties that may still join the round, so that they may need a value now."""
        found = self._organiser.state.round
        if found is None or found.opens is not Phase.JOIN:
            return frozenset()
        return frozenset(found.expected)

    def outcome(self, most: str | None) -> RoundSum:
        """The mean of the round that is over; `most` is the largest weight.

        Raises:
            RoundAborted: no attempt had a result.
            Aborted: the sum of the weights is too small to divide by.
        """
        found = self._ended()
        if found is None:
            raise UsageError("the round goes on: its requests were not answered", "session")
        if isinstance(found.ended, Abort):
            raise self._aborted(found, found.ended)
        result = found.ended
        if not isinstance(result, ResultMessage):
            raise UsageError("the session is over: a rule was broken", "session")
        count = len(found.members)
        weighted = most is not None
        largest = largest_weight(most) if most is not None else None
        encoding = encoding_for(self.manifest, 0.0 if weighted else None, largest)
        estimate = encoding.decode(noisy_sum(self.manifest, result, count))
        if not estimate.defined:
            raise Aborted(_TOO_SMALL, "masked")
        return RoundSum(
            mean=estimate.mean,
            deviation=estimate.mean_deviation,
            weight=_weight(estimate, count),
            included=frozenset(found.roll[place].author for place in found.members),
        )

    def left_out(self) -> dict[bytes, str]:
        """Who is not in the round that is over, and why, as the rules found it."""
        found = self._organiser.state.round
        if found is None:
            return {}
        named = {
            each.author: exclusion_reason(each.phase.name.lower(), name_of(each.cause), each.rule)
            for each in found.removals
        }
        if isinstance(found.ended, Abort):
            why = abort_because(name_of(found.ended.reason))
            named |= dict.fromkeys(culprits_of(found.ended, found.roll), why)
        return named

    def finish(self) -> dict[bytes, bytes]:
        """What all parties are to be told last."""
        self._host.refresh()
        found = {party: self._host.request(party) for party in self.parties}
        return {party: request for party, request in found.items() if request is not None}

    def _next(self) -> dict[bytes, bytes]:
        while True:
            over = self._speak()
            self._host.refresh()
            found = {} if over else {each: self._host.request(each) for each in self._present}
            requests = {party: request for party, request in found.items() if request is not None}
            self._asked = frozenset(requests)
            if requests or over:
                return requests
            self._now += PHASE  # whoever is still expected will not come

    def _speak(self) -> bool:
        """Post all that the organiser has to say now; whether the round is over."""
        while True:
            signed = self._board.update()
            self._organiser.take([posted for posted, _ in self._board.posted(self._read)])
            self._read = signed.size
            self._organiser.reached(Horizon(signed.size, signed.root), signed.to_bytes())
            act = self._organiser.act()
            if not isinstance(act, Send):
                # Between two rounds it waits for the end of a pause; a retry begins at once.
                return isinstance(act, Over) or self._ended() is not None
            self._board.submit_all(act.entries)

    def _ended(self) -> RoundPicture | None:
        found = self._organiser.state.round
        return None if found is None or found.ended is None else found

    def _aborted(self, found: RoundPicture, abort: Abort) -> RoundAborted:
        masked = abort.released is not Released.NONE
        return RoundAborted.after(
            found.attempt + 1,
            abort.reason,
            masked=masked,
            culprits=abort.culprits,
            remark=exact_remark(self.manifest.terms, masked=masked),
        )


def _weight(estimate: ValueEstimate, count: int) -> float:
    return float(count) if estimate.weight is None else estimate.weight


@dataclass(frozen=True, slots=True, repr=False)
class KnownRoster(LocalPolicy):
    """A policy that also asks that nobody is on the roster but `known`, if that is not None.

    Else a server could fill the session with parties of its own and subtract their values. With a
    `title` the manifest has to have it: it says how values become integers, so that parties that
    were told different things, and whose values would come to nothing, are in no session together.
    """

    known: frozenset[bytes] | None = None
    title: str | None = None

    @classmethod
    def of(
        cls, policy: LocalPolicy, known: frozenset[bytes] | None, title: str | None
    ) -> KnownRoster:
        """This policy, the roster and the title."""
        given = {name: getattr(policy, name) for name in LocalPolicy.__dataclass_fields__}
        return cls(**given, known=known, title=title)

    def require(self, manifest: Manifest, author: bytes) -> None:
        """Require what every policy does; then title and roster."""
        LocalPolicy.require(self, manifest, author)
        if self.title is not None and manifest.title != self.title.encode():
            raise Refusal("the session sums other numbers than this party was told", "layout")
        if self.known is None:
            return
        keys = manifest.admission.keys if isinstance(manifest.admission, Roster) else ()
        strangers = sorted(set(keys) - self.known - {author})
        if strangers or not keys:
            first = strangers[0].hex() if strangers else "anybody"
            raise Refusal(f"a party that you do not know is on the roster: {first}", "roster")
