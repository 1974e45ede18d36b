"""Computes how likely a round is to finish, and a session to get a result, when parties fail.

Before that: how many neighbours may drop out in a plan, and how many parties must remain then.
This is about liveness: privacy depends on none of it. Specification: `specs/03-privacy.md`,
section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, gammaln, xlog1py, xlogy

from gopa.contract.phases import CLOSED, Phase, course
from gopa.contract.terms import BeaconKind, Terms
from gopa.support.arrays import Floats

PEELED: Final = 1e-3
"""The planned chance that a party loses more neighbours than allowed and is removed."""

STUCK: Final = 1e-2
"""The planned chance that a round ends because some party misses more than allowed at confirm."""

DEVIATIONS: Final = 4.0

_MOST_COVERED: Final = 200
"""Loss bounds do not allow for more withheld nonces than that: k would be in the thousands."""


@dataclass(frozen=True, slots=True)
class PlannedDropouts:
    """Which losses a plan survives; the privacy bound holds whatever they are."""

    loss: int
    survivors: int


@dataclass(frozen=True, slots=True)
class OwedMessages:
    """Which messages a round asks of its parties, one after the other."""

    coins: bool
    recovery: bool
    one_close: bool = False
    rows: bool = False

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages in order; a party that fails is silent from one of them on."""
        phases = course(rows=self.rows, trusted=self.one_close, recovers=self.recovery)
        asked = CLOSED if self.coins else CLOSED - {Phase.COINS}
        return tuple(phase.name.lower() for phase in phases if phase in asked)

    def share(self, *names: str) -> float:
        """The part of all failures that come before one of these messages."""
        messages = self.messages
        return sum(name in messages for name in names) / len(messages)


def plan_dropouts(
    parties: int, k: int, dropout: float, course: OwedMessages, fewest: int = 0
) -> PlannedDropouts:
    """Loss bound and smallest number of survivors for independent dropouts.

    A party has k neighbours it chose and about k that chose it; a sum of both, each
    missing with probability `dropout`, stays below the loss bound except with probability
    `PEELED`. So does, for all parties at once except with probability `STUCK`, the sum of
    withheld nonces and of neighbours that fail before confirm. The bound cannot exceed the
    number of parties that may be missing. Survivors allow for four deviations and for the
    removed parties, and are at least `fewest`. Parties that never join are missing too.
    """
    if dropout == 0:
        return PlannedDropouts(0, parties)
    survivors = fewest_survivors(parties, dropout, fewest)
    loss = max(_loss_bound(parties, k, dropout), _missing_bound(parties, k, dropout, course))
    return PlannedDropouts(min(loss, parties - survivors), survivors)


def fewest_survivors(parties: int, dropout: float, fewest: int = 0) -> int:
    """How many remain but for four deviations and those that are removed; at least `fewest`."""
    if dropout == 0:
        return parties
    spread = math.sqrt(parties * dropout * (1 - dropout))
    missing = parties * dropout + DEVIATIONS * spread + 2 * PEELED * parties
    return max(fewest, math.floor(parties - missing), 0)


@lru_cache(maxsize=4096)
def _loss_bound(parties: int, k: int, dropout: float) -> int:
    """Smallest r with P(lost > r) <= PEELED."""
    return _exceeded(_lost_neighbours(parties, k, dropout), PEELED)


@lru_cache(maxsize=4096)
def _missing_bound(parties: int, k: int, dropout: float, course: OwedMessages) -> int:
    """Smallest r with P(withheld + lost before confirm > r) <= STUCK / parties, or PEELED."""
    late = dropout * course.share("commit", "publish", "prove", "rollback", "confirm")
    found = _lost_neighbours(parties, k, late)
    withheld = dropout * course.share("coins")
    if 0 < parties * withheld <= _MOST_COVERED:
        most = math.ceil(parties * withheld + 12 * math.sqrt(parties * withheld + 1))
        found = np.convolve(found, _binomial(parties, withheld, min(parties, most)))
    return _exceeded(found, min(PEELED, STUCK / parties))


def _lost_neighbours(parties: int, k: int, chance: float) -> Floats:
    """How many neighbours fail; in-degrees as a binomial of the whole roster."""
    own = _binomial(k, chance, k)
    most = min(parties - 1, 4 * k + 40)
    incoming = _binomial(parties - 1, k * chance / (parties - 1), most)
    return np.convolve(own, incoming)


def _exceeded(masses: Floats, chance: float) -> int:
    """The smallest count that is exceeded with at most this chance."""
    above = np.cumsum(masses[::-1])[::-1]
    return max(0, int(np.searchsorted(-above, -chance, side="left")) - 1)


def _binomial(trials: int, chance: float, most: int) -> Floats:
    """The probabilities of 0, 1, .., `most` hits."""
    hits = np.arange(most + 1)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    found: Floats = np.exp(ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance))
    return found


Counts: TypeAlias = npt.NDArray[np.int64]
Chances: TypeAlias = npt.NDArray[np.float64]
Truths: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = Counts | Chances

_SESSIONS: Final = 20_000
"""Sessions that are drawn: the chance is within about a hundredth of what the model says."""

_SEED: Final = 0x1F1E
_ALMOST_ONE: Final = 1 - 1e-15


@dataclass(frozen=True, slots=True)
class Liveness:
    """The chance that one round has a result, that a logical round gets one, and in how many.

    Every party fails in a round with probability `dropout`, independently, before any of
    the messages that it owes in the round, each as likely as the others; it is silent from
    there on and back in the next attempt. Nobody lies, and the organiser and the board work.
    """

    dropout: float
    round: float
    session: float
    attempts: float


@dataclass(frozen=True, slots=True)
class LivenessTerms:
    """The numbers of a plan that decide how a session goes on when parties fail."""

    parties: int
    survivors: int
    loss: int
    k: int
    threshold: Fraction | None
    beacon: BeaconKind
    attempts: int
    charged: int
    one_close: bool = False
    late: int | None = None

    @classmethod
    def of(cls, terms: Terms, *, one_close: bool = False) -> LivenessTerms:
        """What liveness depends on in terms; with `one_close` the close of publish is final."""
        return cls(
            parties=terms.parties,
            survivors=terms.survivors,
            loss=terms.loss,
            k=terms.k,
            threshold=terms.threshold,
            beacon=terms.beacon,
            attempts=terms.attempts,
            charged=terms.charged,
            one_close=one_close,
            late=terms.late if terms.squared_norm else None,
        )

    @property
    def course(self) -> OwedMessages:
        """The messages of a round."""
        recovery = self.threshold is not None
        rows = self.late is not None
        return OwedMessages(self.beacon == "commit-reveal", recovery, self.one_close, rows)


@lru_cache(maxsize=64)
def liveness(rules: LivenessTerms, dropout: float) -> Liveness:
    """The chances of a session with these rules.

    Attempts are drawn with the numbers of parties that fail before each message; whether
    single parties lose too many neighbours then follows from these numbers.
    """
    if dropout == 0:
        return Liveness(dropout, 1.0, 1.0, 1.0)
    draws = np.random.Generator(np.random.PCG64(_SEED))
    model = _Model(rules, dropout, draws)
    left = np.full(_SESSIONS, rules.parties, dtype=np.int64)
    charges = np.zeros(_SESSIONS, dtype=np.int64)
    first = finished = made = 0
    for attempt in range(rules.attempts):
        made += len(left)
        done, charged, barred = model.attempt(left)
        finished += int(done.sum())
        if not attempt:
            first = finished
        charges = charges + charged
        again = ~done & (charges <= rules.charged)
        left, charges = (left - barred)[again], charges[again]
        if not len(left):
            break
    return Liveness(dropout, first / _SESSIONS, finished / _SESSIONS, made / _SESSIONS)


class _Model:
    """One attempt after another, for many sessions at once."""

    def __init__(self, rules: LivenessTerms, dropout: float, draws: np.random.Generator) -> None:
        self._rules = rules
        self._messages = rules.course.messages
        self._each = dropout / len(self._messages)
        self._draws = draws

    def attempt(self, left: Counts) -> tuple[Truths, Truths, Counts]:
        """Which sessions get a result, which lose a charge, and how many each one bars."""
        failed = self._failures(left)
        terms = self._rules
        joined = left - failed["join"]
        members = joined - failed.get("coins", 0)
        withheld = joined - members
        open_ = (joined >= terms.survivors) & (withheld <= terms.loss)
        # Peeling, the edges that are owed and the final close.
        near = _closeness(np.maximum(joined, 2), terms.k)
        spare = terms.loss - withheld
        unproved = failed.get("prove", np.zeros_like(left))
        early = failed["commit"] + failed["publish"] + unproved
        rollback = failed.get("rollback", np.zeros_like(left))
        owing = self._draws.binomial(rollback, 1 - (1 - near) ** (failed["publish"] + unproved))
        early = early + owing
        peeled = np.rint((members - early) * _more(spare, early, near)).astype(np.int64)
        gone = early + peeled
        final = members - gone
        listed = open_ & (final >= terms.survivors)
        if terms.late is not None:
            listed &= unproved + owing <= terms.late
        late = rollback - owing + failed.get("confirm", 0)
        finished = listed & self._confirmed(final, late, gone, spare, near)
        sealed = late + failed.get("unmask", 0)
        dead = gone + sealed + failed.get("recover", 0)
        finished &= self._unmasked(members, sealed, dead, near)
        charged = listed & ~finished
        barred = np.where(
            members - failed["commit"] >= terms.survivors, failed["publish"] + unproved + owing, 0
        )
        barred = np.where(open_, barred, 0) + np.where(charged, sealed, 0)
        return finished, charged, barred

    def _failures(self, left: Counts) -> dict[str, Counts]:
        """How many fail before each message; the others are there at the next."""
        found: dict[str, Counts] = {}
        there, before = left, 0.0
        for message in self._messages:
            found[message] = self._draws.binomial(there, self._each / (1 - before))
            there, before = there - found[message], before + self._each
        return found

    def _confirmed(
        self, final: Counts, late: Counts, gone: Counts, spare: Counts, near: Chances
    ) -> Truths:
        """04-F2: enough confirm, and nobody in the final list misses too many neighbours."""
        exceeds = _more(spare, gone + late, near) - _more(spare, gone, near)
        exceeds = np.clip(exceeds, 0.0, _ALMOST_ONE)
        nobody = np.exp(np.maximum(final, 0) * np.log1p(-exceeds))
        enough = final - late >= self._rules.survivors
        return np.asarray(enough & (self._draws.random(len(final)) < nobody))

    def _unmasked(self, members: Counts, sealed: Numbers, dead: Numbers, near: Chances) -> Truths:
        """04-U2, 04-U4: every self-mask in the result is opened, by its party or its neighbours."""
        tau = self._rules.threshold
        if tau is None:
            return np.asarray(sealed == 0)
        degree = np.rint((members - 1) * near)
        spare = degree - np.floor(degree * float(tau) + 1e-9) - 1
        closed = np.minimum(_more(spare, dead - 1, near), _ALMOST_ONE)
        opened = np.exp(sealed * np.log1p(-closed))
        return np.asarray((sealed == 0) | (self._draws.random(len(sealed)) < opened))


def _closeness(joined: Counts, k: int) -> Chances:
    """The chance that two of those who joined are neighbours."""
    return 1 - (1 - np.minimum(k / (joined - 1), 1.0)) ** 2


def _more(limit: Numbers, gone: Numbers, near: Chances) -> Chances:
    """The chance that more than `limit` of those who are gone are neighbours of a party."""
    sure = limit < 0
    found = bdtrc(np.maximum(limit, 0), np.maximum(gone, 0), near)
    return np.where(sure, 1.0, np.where(gone <= limit, 0.0, found))
