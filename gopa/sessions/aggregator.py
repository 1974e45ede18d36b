"""Averages in real sessions: learning code moves here by changing one object."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from gopa.aggregation.aggregator import AggregatorBase
from gopa.aggregation.engine import Carried, Mode
from gopa.aggregation.engine import Trust as EngineTrust
from gopa.aggregation.result import Reading, Result, result_of
from gopa.aggregation.sessions import Account
from gopa.aggregation.transcript import SessionTranscript
from gopa.aggregation.values import (
    Absent,
    Structure,
    Value,
    Values,
    entries_of,
    values_of,
    weights_of,
)
from gopa.aggregation.weighting import largest_weight
from gopa.contract.manifest import Manifest, Roster, Trust
from gopa.contract.manifest import Mode as ManifestMode
from gopa.contract.terms import check_name
from gopa.planning import Terms
from gopa.protocol.rules import Findings, check_log
from gopa.sessions.client import Background, Client, Membership
from gopa.sessions.contribution import Contribution, encoding_for
from gopa.sessions.ticket import Ticket
from gopa.support.wording import counted
from wire.errors import UsageError

_MODES: Final[dict[ManifestMode, Mode]] = {
    ManifestMode.FULL: "full",
    ManifestMode.SIGNED: "signed",
}
_T = TypeVar("_T")


class SessionAggregator(AggregatorBase):
    """Averages in a session between processes; this one holds the values of `clients`.

    Every round waits until the organiser has opened and closed it. Then the whole log is
    read and every rule is evaluated over it, so a result is one that an audit accepts. A
    context manager: leaving it stops following the session, which its organiser ends.

    `max_weight` is the largest weight of the session; with it every round takes weights.
    With `clip`, values the plan does not allow are moved to the nearest ones that it does. With
    `absent` "nan" a value that is NaN stands for a client that does not take part, as None does.
    With `vouched` vectors may be longer than the plan's norm: the caller answers for it that no two
    vectors that are not to be told apart are farther apart than twice the norm. The policy of each
    client has to allow that. Others are hidden as before, and no proof says less than it did: how
    long vectors are is proved in no mode.

    Raises:
        Refusal: the session, or `vouched`, asks for more than a client's policy allows.
        UsageError: no client, or one that is not on the roster.
        ProtocolError: what the board shows is wrong.
    """

    def __init__(
        self,
        session: Ticket | str | Path,
        *clients: Client,
        max_weight: float | str | Decimal | None = None,
        clip: bool = False,
        absent: Absent = "none",
        vouched: bool = False,
    ) -> None:
        if not clients:
            raise UsageError("must be at least one client whose values are averaged", "clients")
        self._most = None if max_weight is None else largest_weight(max_weight)
        self._clip = clip
        check_name(absent, get_args(Absent), "absent")
        self._absent: Absent = absent
        self._vouched = vouched
        if vouched:
            for client in clients:
                client.policy.require_vouching()
        self._clients = clients
        self._background = Background()
        try:
            self._members = self._background.run(self._join(session))
            self._manifest = self._members[0].manifest
            self._own = tuple(_position(self._manifest, client.key) for client in clients)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        left = counted(self.rounds_left, "round")
        return f"<{type(self).__name__}: {self.terms.parties} parties, {left} left>"

    @property
    def terms(self) -> Terms:
        """What the rounds are planned for."""
        return self._manifest.terms

    @property
    def own(self) -> Sequence[int]:
        """Where the clients stand on the roster, which is in the order of its keys."""
        return self._own

    @property
    def rounds_left(self) -> int:
        """How many more results the session can have for this process."""
        return min(member.rounds_left for member in self._members)

    def average(self, values: Values, *, weights: Values | None = None) -> Result:
        """Run one round over the values of everybody; `values` has one for each client here.

        Raises:
            InvalidValue, OutOfRange, UsageError: values or weights do not fit the session; nothing
                was said.
            RoundAborted: too many parties were lost in every attempt.
            SessionOver: the session has no more rounds.
            WeightTooSmall: the noisy sum of the weights cannot be told from zero.
            ProtocolError: somebody broke a rule that concerns these clients.
        """
        return self._background.run(self._average(values, weights))

    def close(self) -> None:
        """Follow the session no longer; calling it again does nothing."""
        if not self._background.closed:
            self._background.run(self._leave())
            self._background.close()

    async def _join(self, session: Ticket | str | Path) -> tuple[Membership, ...]:
        joined = [await client.join(session) for client in self._clients]
        return tuple(joined)

    async def _leave(self) -> None:
        for client in self._clients:
            await client.close()

    async def _average(self, values: Values, weights: Values | None) -> Result:
        given = self._given(values, weights)
        # All of them before the first is given: one that does not fit must not cost a round.
        encoded = [
            (
                member,
                member.encoded(
                    value,
                    weight=weight,
                    max_weight=self._most,
                    clip=self._clip,
                    vouched=self._vouched,
                ),
            )
            for member, (value, weight) in zip(self._members, given, strict=True)
            if value is not None
        ]
        contributions = await _all([member.give(each) for member, each in encoded])
        first = next(value for value, _ in given if value is not None)
        carried = await self._carried(contributions[0])
        weight = None if self._most is None else 0.0
        encoding = encoding_for(self._manifest, weight, self._most, vouched=self._vouched)
        return result_of(
            carried,
            Reading(self.terms, encoding, Structure.of(first), exact=False),
            clipped=sum(each.clipped for each in contributions),
            scaled=sum(each.scaled for each in contributions),
            mode=_MODES[self._manifest.mode],
            trust=self._trust,
            simulation=self._manifest.simulation,
        )

    def _given(
        self, values: Values, weights: Values | None
    ) -> list[tuple[Value | None, float | None]]:
        """One value and weight for each client; `UsageError` unless there are so many."""
        count = len(self._clients)
        listed = values_of(values, self._absent)
        if len(listed) != count:
            raise UsageError(
                f"must be one value for each of the {count} clients of this process", "values"
            )
        if all(value is None for value in listed):
            raise UsageError("at least one client must have a value", "values")
        if (weights is None) != (self._most is None):
            raise UsageError("weights come with max_weight, and in every round", "weights")
        if weights is None:
            return [(value, None) for value in listed]
        if len(entries_of(weights, "weights")) != count:
            raise UsageError(f"must be one weight for each of the {count} clients", "weights")
        return list(zip(listed, weights_of(weights, listed), strict=True))

    async def _carried(self, contribution: Contribution) -> Carried:
        """What an audit of the log finds about the round."""
        log = await self._members[0].reader()
        findings = await asyncio.to_thread(
            lambda: check_log(log.entries(), rng=os.urandom, session=contribution.session)
        )
        attempts = [each for each in findings.rounds if each.logical == contribution.logical]
        account = Account(
            self.terms,
            self._positions(findings),
            _MODES[self._manifest.mode],
            self._trust,
            os.urandom,
        )
        transcript = SessionTranscript(contribution.session, contribution.round, None, lambda: log)
        return await asyncio.to_thread(account.carried, findings, attempts, transcript)

    def _positions(self, findings: Findings) -> dict[bytes, int]:
        """The roster's; with open admission, of all that were on a roll, in order of the keys."""
        admission = self._manifest.admission
        keys = (
            admission.keys
            if isinstance(admission, Roster)
            else sorted({key for each in findings.rounds for key in each.roll})
        )
        return {key: position for position, key in enumerate(keys)}

    @property
    def _trust(self) -> EngineTrust:
        curious = self._manifest.trust is Trust.HONEST_BUT_CURIOUS
        return "honest-but-curious" if curious else "malicious"


def _position(manifest: Manifest, key: bytes) -> int:
    """Where a client stands on the roster."""
    admission = manifest.admission
    if not isinstance(admission, Roster):
        raise UsageError("positions need a roster: with open admission use Client", "session")
    return admission.keys.index(key)


async def _all(work: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """The results, or the first error once every one of them has ended."""
    ended = await asyncio.gather(*work, return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if not isinstance(each, BaseException)]
