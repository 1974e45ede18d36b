"""The manifest of a plan and a roster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bulletin_board import TrustPolicy, VerifierKey
from gopa.contract.lengths import word_width
from gopa.contract.manifest import (
    VERSION,
    Admission,
    Beacon,
    CommitReveal,
    Manifest,
    Mode,
    OpenAdmission,
    Path,
    Roster,
    Trust,
)
from gopa.contract.terms import Terms
from gopa.planning.result import Plan
from wire.errors import UsageError
from wire.randomness import Rng, draw

SALT_SIZE = 32
MOST_ROLLBACKS = 8
_ROOM = 14
_WIDTHS = range(8, 65)


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """What a session is besides its plan. The defaults are those of a real session."""

    mode: Mode = Mode.FULL
    trust: Trust = Trust.MALICIOUS
    beacon: Beacon = field(default_factory=CommitReveal)
    title: str = ""
    weighted: bool = False
    simulation: bool = False
    max_rollbacks: int = MOST_ROLLBACKS
    word_width: int | None = None


def new_manifest(  # noqa: PLR0913 - what a session consists of
    plan: Plan | Terms,
    roster: Iterable[bytes] | OpenAdmission,
    *,
    organiser: bytes,
    log: VerifierKey,
    rng: Rng,
    setting: SessionSetting | None = None,
    policy: TrustPolicy | None = None,
) -> Manifest:
    """A manifest with a fresh salt, so that an equal plan never repeats a session's id.

    `roster` are the Ed25519 keys that may join, in any order. `organiser` is a key that is
    not among them, `log` the board's. Without `word_width` words are the narrowest that hold
    the sum. The path of full mode is that of the plan.

    Raises:
        UsageError: the parts do not fit each other; `field` says which.
    """
    setting = setting or SessionSetting()
    terms = plan.terms if isinstance(plan, Plan) else plan
    admission: Admission = (
        roster if isinstance(roster, OpenAdmission) else Roster(tuple(sorted(roster)))
    )
    width = _width(terms, setting) if setting.word_width is None else setting.word_width
    return Manifest(
        version=VERSION,
        salt=draw(rng, SALT_SIZE),
        title=setting.title.encode(),
        organiser=organiser,
        log=str(log).encode(),
        policy=b"" if policy is None else policy.to_bytes(),
        simulation=setting.simulation,
        mode=setting.mode,
        path=Path.ROWS if terms.squared_norm else Path.BITS,
        trust=setting.trust,
        terms=terms,
        weighted=setting.weighted,
        word_width=width,
        beacon=setting.beacon,
        admission=admission,
        max_rollbacks=setting.max_rollbacks,
    )


def _width(terms: Terms, setting: SessionSetting) -> int:
    """The narrowest words that hold the sum, with masks that stay in it where some do."""
    if terms.squared_norm:
        return word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike)
    if setting.mode is Mode.FULL:
        return 0
    largest = terms.parties * (terms.steps + terms.noise.radius)
    if setting.trust is Trust.HONEST_BUT_CURIOUS:
        largest += terms.parties * terms.k * _ROOM * terms.mask_deviation
    width = largest.bit_length() + 1
    if width > _WIDTHS.stop - 1:
        raise UsageError("no word holds the sum: lower the steps", "terms.steps")
    return max(width, _WIDTHS.start)
