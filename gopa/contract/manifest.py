"""The manifest: everything a session is, fixed before anybody joins.

`specs/04-protocol.md`, section 1, has its binary form and that of a plan's terms. Its parts owe
each other what 04-S2 and 04-Z2 say: every rule stops a session that could not end well, one that
overflows, that no message could serve, or that says of itself what it is not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, TypeVar

from bulletin_board.note import KeyKind, VerifierKey
from bulletin_board.policy import TrustPolicy
from gopa.contract.parameters import (
    ADMISSION,
    BEACON,
    MOST_REGISTERED,
    Admission,
    Beacon,
    CommitReveal,
    DrandBeacon,
    Mode,
    OpenAdmission,
    Path,
    Roster,
    TestCoins,
    Trust,
)
from gopa.contract.party import MOST_NEIGHBOURS
from gopa.contract.phases import Phase, Turn, course, turn_after
from gopa.contract.row_terms import origin, require_no_rows, require_rows
from gopa.contract.terms import MOST_SENSITIVITY, BeaconKind, MaskLaw, Terms
from wire.brief import Brief
from wire.codec import (
    Codec,
    boolean,
    converted,
    enumeration,
    fixed,
    opaque,
    record,
    u8,
    u16,
    u32,
    u64,
)
from wire.domains import SESSION
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage, UsageError
from zkp.noise import NOISE_LAW

MOST_ROUNDS: Final = 65_535
_WORD_WIDTHS: Final = range(8, 65)
_RADIUS_IN_DEVIATIONS: Final = 14
"""No rounded Gaussian of 128 bits is longer: its tail would be below 2^-129 (08, section 2)."""


def require_agreement(manifest: Manifest) -> None:
    """Raise `UsageError` with the field that does not fit the others."""
    _require_authorities(manifest)
    _require_beacon(manifest)
    _require_admission(manifest)
    _require_law(manifest)
    _require_mode(manifest)
    _require_path(manifest)
    _require_words(manifest)
    _require_sizes(manifest)


def _require_authorities(manifest: Manifest) -> None:
    """The organiser's key, the log's key and the policy are what they are said to be."""
    try:
        PublicKey(manifest.organiser)
    except MalformedMessage as error:
        raise UsageError(error.message, "organiser") from None
    try:
        log = VerifierKey.parse(manifest.log.decode())
    except (MalformedMessage, UnicodeDecodeError):
        raise UsageError("the verifier key of a log, as text", "log") from None
    if log.kind is not KeyKind.LOG:
        raise UsageError("the key of a log, not of a witness", "log")
    policy = policy_of(manifest.policy)
    if policy is not None and policy.log.key != log:
        raise UsageError("the policy trusts the log of this session", "policy")


@lru_cache(maxsize=64)
def policy_of(text: bytes) -> TrustPolicy | None:
    """The trust policy of a manifest; None where it has none. `UsageError` if it is none."""
    if not text:
        return None
    try:
        return TrustPolicy.parse(text)
    except MalformedMessage as error:
        raise UsageError(str(error), "policy") from None


def _require_beacon(manifest: Manifest) -> None:
    beacon = manifest.beacon
    if isinstance(beacon, TestCoins):
        if not manifest.simulation:
            raise UsageError("test coins are for simulations", "beacon")
        return
    planned = "commit-reveal" if isinstance(beacon, CommitReveal) else "drand"
    if manifest.terms.beacon != planned:
        raise UsageError(f"the plan was made for {manifest.terms.beacon}", "beacon")
    policy = policy_of(manifest.policy)
    # Without witnesses whoever runs the log may write the close of join after the value
    # of the beacon is known.
    if isinstance(beacon, DrandBeacon) and not (policy and policy.needs_witnesses):
        raise UsageError("drand needs a policy with a quorum of witnesses", "policy")


def _require_admission(manifest: Manifest) -> None:
    admission, terms = manifest.admission, manifest.terms
    if not isinstance(admission, Roster):
        if not terms.survivors <= admission.most <= terms.parties:
            raise UsageError(
                f"must be from {terms.survivors} to {terms.parties} parties", "admission"
            )
        # On a forked log each attempt could release a party's value beside others, who come
        # for that attempt alone; on a roster they run out.
        if terms.threshold is not None and terms.attempts != terms.charged + 1:
            message = "where anybody may come, recovery charges all retries: charged = attempts - 1"
            raise UsageError(message, "terms.charged")
        return
    if len(admission.keys) != terms.parties:
        raise UsageError("the roster has as many keys as the plan has parties", "admission")
    if manifest.organiser in admission.keys:
        raise UsageError("the organiser takes part under another key", "admission")


def _require_law(manifest: Manifest) -> None:
    terms = manifest.terms
    if manifest.weighted and terms.dimension < 2:
        raise UsageError("besides the weight there is at least one coordinate", "weighted")


def _require_mode(manifest: Manifest) -> None:
    terms = manifest.terms
    if manifest.mode is Mode.SIGNED:
        if manifest.word_width not in _WORD_WIDTHS:
            raise UsageError("words of 8 to 64 bits", "word_width")
        if (terms.mask == "gaussian") != (manifest.trust is Trust.HONEST_BUT_CURIOUS):
            message = "masks of words are uniform; those that stay in the sum Gaussian"
            raise UsageError(message, "trust")
        if terms.threshold is not None and manifest.trust is Trust.HONEST_BUT_CURIOUS:
            message = "recovery is of self-masks, and where parties are trusted there are none"
            raise UsageError(message, "terms.threshold_numerator")
        return
    if manifest.trust is not Trust.MALICIOUS:
        raise UsageError("full mode trusts nobody", "trust")
    if manifest.path is Path.ROWS:
        return
    if manifest.word_width:
        raise UsageError("full mode has no words: 0", "word_width")
    if terms.one_number and terms.dimension > 1:
        message = (
            "noise from a table is proved for single numbers: plan vectors with weighted bits, "
            'noise="irwin-hall" or "binomial"'
        )
        raise UsageError(message, "terms.noise")


def _require_path(manifest: Manifest) -> None:
    """14-L1, and what the terms of each path owe each other."""
    if manifest.path is Path.BITS:
        require_no_rows(manifest.terms)
        return
    if manifest.mode is not Mode.FULL:
        raise UsageError(
            "rows are proved in full mode only: plan for this mode, or path='bits'", "path"
        )
    require_rows(manifest.terms, weighted=manifest.weighted, word_width=manifest.word_width)


def _require_words(manifest: Manifest) -> None:
    """Require words that hold every sum, and the masks that stay in it where some do (04-Z2).

    The rest of 04-Z2 follows from other bounds: at most 2^20 parties with at most 2^40
    steps each, noise below 2^13, and masks of at most 2^36 edges below 2^20.
    """
    terms = manifest.terms
    largest = terms.parties * (terms.steps + terms.noise.radius)
    if manifest.trust is Trust.HONEST_BUT_CURIOUS:
        edges = terms.parties * terms.k
        largest += edges * _RADIUS_IN_DEVIATIONS * terms.mask_deviation
    if manifest.mode is Mode.SIGNED and largest >= 2 ** (manifest.word_width - 1):
        raise UsageError("words that hold the sum: widen them", "word_width")


def _require_sizes(manifest: Manifest) -> None:
    """No message of an honest session is too long to be written."""
    terms = manifest.terms
    if terms.squared_sensitivity >= MOST_SENSITIVITY:
        message = "a squared sensitivity below 2^64: lower the steps"
        raise UsageError(message, "terms.squared_sensitivity")
    if terms.parties > MOST_REGISTERED:
        raise UsageError(f"must be at most {MOST_REGISTERED} parties", "terms.parties")
    if most_neighbours(terms) > MOST_NEIGHBOURS:
        message = f"nobody may have more than {MOST_NEIGHBOURS} neighbours: lower k"
        raise UsageError(message, "terms.k")
    if terms.rounds * terms.attempts > MOST_ROUNDS:
        raise UsageError(f"must be at most {MOST_ROUNDS} rounds with all attempts", "terms.rounds")


def most_neighbours(terms: Terms) -> int:
    """Bounds how many neighbours anybody has: more have a probability below 2^-100.

    The others choose a party k times on average. More than 3 k + 64 times has, by Chernoff's
    bound, a probability below (e k / (3 k + 64))^(3 k + 64) < 2^-125 for each party and try;
    the rest is for all parties and for whoever tries many closes of join.
    """
    return min(terms.parties - 1, 4 * terms.k + 64)


_LONGEST_NUMBER: Final = 64
_PLAIN: Final = Context(capitals=1)
"""Spelling does not depend on the context that a program has set."""

_Name = TypeVar("_Name", bound=str)


def _decimal_text(value: Decimal) -> bytes:
    if type(value) is not Decimal or not value.is_finite():
        raise UsageError("must be a finite Decimal")
    return _PLAIN.to_sci_string(value).encode()


def _parse_decimal(data: bytes) -> Decimal:
    """One spelling for each value of `Decimal`: what `str` writes."""
    try:
        value = Decimal(data.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        raise MalformedMessage("not a decimal number") from None
    if not value.is_finite() or _decimal_text(value) != data:
        raise MalformedMessage("not the one spelling of a finite decimal number")
    return value


def _one_of(*names: _Name) -> Codec[_Name]:
    """A name by its position in this list."""

    def parse(number: int) -> _Name:
        if number >= len(names):
            raise MalformedMessage(f"a number below {len(names)}")
        return names[number]

    def unparse(name: _Name) -> int:
        if name not in names:
            raise UsageError(f"must be one of {', '.join(names)}")
        return names.index(name)

    return converted(u8, parse, unparse)


_DECIMAL: Final = converted(opaque(1, _LONGEST_NUMBER), _parse_decimal, _decimal_text)
_EPSILON: Final[Codec[Decimal | None]] = converted(
    opaque(0, _LONGEST_NUMBER),
    lambda data: _parse_decimal(data) if data else None,
    lambda value: b"" if value is None else _decimal_text(value),
)
_MASK: Final[Codec[MaskLaw]] = _one_of("gaussian", "uniform")
_BEACON: Final[Codec[BeaconKind]] = _one_of("commit-reveal", "drand")

TERMS: Codec[Terms] = record(
    Terms,
    parties=u32,
    corrupt=u32,
    survivors=u32,
    loss=u32,
    k=u32,
    dimension=u32,
    low=_DECIMAL,
    high=_DECIMAL,
    steps=u64,
    squared_sensitivity=u64,
    noise=NOISE_LAW,
    mask=_MASK,
    mask_deviation=u64,
    epsilon=_EPSILON,
    delta=_DECIMAL,
    beta=_DECIMAL,
    rounds=u16,
    charged=u16,
    attempts=u16,
    beacon=_BEACON,
    threshold_numerator=u16,
    threshold_denominator=u16,
    squared_norm=u64,
    noise_square=u64,
    spike=u32,
    late=u32,
    weight_length=u32,
    weight_scale=u32,
)


__all__ = [
    "MANIFEST",
    "Admission",
    "Beacon",
    "CommitReveal",
    "DrandBeacon",
    "Manifest",
    "Mode",
    "OpenAdmission",
    "Path",
    "Roster",
    "TestCoins",
    "Trust",
    "session_id",
]

VERSION: Final = 6


@dataclass(frozen=True, slots=True, repr=False)
class Manifest(Brief):
    """All terms of a session. Its encoding is the body of the session's first message.

    `salt` makes every session's id new. `log` is the verifier key of the board's log.
    `policy` is the trust policy whose quorum the closes need, as text, or empty.
    `path` says how what is proved in full mode is committed to. `word_width` is the width of
    values in signed mode and with the path of rows, else 0. With `weighted` the last
    coordinate is the weight of the others. An instance keeps 04-S2 and 04-Z2: `UsageError`
    names the field that does not fit.
    """

    version: int
    salt: bytes
    title: bytes
    organiser: bytes
    log: bytes
    policy: bytes
    simulation: bool
    mode: Mode
    path: Path
    trust: Trust
    terms: Terms
    weighted: bool
    word_width: int
    beacon: Beacon
    admission: Admission
    max_rollbacks: int

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        require_agreement(self)

    def to_bytes(self) -> bytes:
        """The body of the session's first message."""
        return MANIFEST.encode(self)

    @property
    def session(self) -> bytes:
        """The id of the session (04-S1)."""
        return session_id(self.to_bytes())

    @property
    def quorum(self) -> TrustPolicy | None:
        """The policy whose quorum closes need; None where they need none (04-C4)."""
        policy = policy_of(self.policy)
        return policy if policy is not None and policy.needs_witnesses else None

    @property
    def releases_one_sum(self) -> bool:
        """Whether at most one exact sum comes out of a logical round (04-S5).

        Where anybody may join others could come to the next attempt: then there is only one.
        """
        once = isinstance(self.admission, Roster) or self.terms.attempts == 1
        return once and self.terms.releases_one_sum

    @property
    def origin(self) -> int:
        """The point of the grid that a sum without steps stands for, of each party: 14-M6."""
        return origin(self.terms) if self.path is Path.ROWS else 0

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases that a round of the session may have."""
        recovers = self.terms.threshold is not None
        return frozenset(course(**self._sort, recovers=recovers))

    def turn_after(self, phase: Phase, *, final: bool) -> Turn:
        """What the close of a phase leaves to be done; `final` is what it says of its list."""
        return turn_after(phase, final=final, **self._sort)

    @property
    def _sort(self) -> dict[str, bool]:
        trusted = self.trust is Trust.HONEST_BUT_CURIOUS
        return {"rows": self.path is Path.ROWS, "trusted": trusted}

    @property
    def deals_seeds(self) -> bool:
        """Whether parties share the seeds of their self-masks; if they share, else the masks.

        A mask itself is shared where it is one scalar under Pedersen's commitment: the dealer
        cannot deal another one then, since C_0 is the commitment to the mask (04-K1).
        """
        in_the_group = self.mode is Mode.FULL and self.path is Path.BITS
        masks = in_the_group and self.terms.one_number
        return self.terms.threshold is not None and not masks

    def coefficients(self, neighbours: int) -> int:
        """How many coefficients a party with so many neighbours publishes (04-K1)."""
        needed = self.terms.shares_needed(neighbours)
        if needed is None or not neighbours:
            return 0
        return needed if self.deals_seeds else needed - 1


def session_id(body: bytes) -> bytes:
    """The id of the session with this manifest."""
    return hashlib.sha256(SESSION + body).digest()


MANIFEST: Final[Codec[Manifest]] = record(
    Manifest,
    version=u16,
    salt=fixed(32),
    title=opaque(0, 255),
    organiser=fixed(32),
    log=opaque(1, 1024),
    policy=opaque(0, 65_535),
    simulation=boolean,
    mode=enumeration(Mode, u8),
    path=enumeration(Path, u8),
    trust=enumeration(Trust, u8),
    terms=TERMS,
    weighted=boolean,
    word_width=u8,
    beacon=BEACON,
    admission=ADMISSION,
    max_rollbacks=u16,
)
