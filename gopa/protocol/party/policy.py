"""Decides whether a party takes part: before it joins, and again once it knows who else did.

04-S2, 04-S3 and 04-S5; `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Final

from gopa.contract.beacon import KNOWN_CHAINS, DrandChain
from gopa.contract.manifest import (
    Beacon,
    CommitReveal,
    DrandBeacon,
    Manifest,
    Mode,
    Path,
    Roster,
    TestCoins,
    Trust,
)
from gopa.contract.terms import Terms
from gopa.planning.result import Worth, guarantee, judge
from gopa.planning.target import CORRUPT, colluding
from gopa.support.wording import BEACONS, EXACT, EXACT_DIFFERENCE
from wire.brief import Brief
from wire.errors import GopaError

_BEACONS: Final[dict[type[Beacon], str]] = {
    CommitReveal: BEACONS["commit_reveal"],
    DrandBeacon: BEACONS["drand"],
    TestCoins: BEACONS["simulation"],
}


_PROVED: Final[dict[Path, str]] = {
    Path.ROWS: "this session proves of noise only that nobody can aim it",
    Path.BITS: "this session proves ranges of numbers and no length of vectors",
}


class Refusal(GopaError):
    """A refusal to take part; `field` is what the party's policy asks more of.

    `needed` is the value of that field with which the party would take part, where there is one.
    """

    def __init__(self, message: str = "", field: str = "", needed: str = "") -> None:
        super().__init__(message, field, needed)
        self.message = message
        self.field = field
        self.needed = needed

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(frozen=True, slots=True, repr=False)
class LocalPolicy(Brief):
    """The least that a party asks of a session.

    `epsilon` and `delta` bound the privacy cost of the whole session; `corrupt_share` is the part
    of the roster that the plan must withstand, counted as `gopa.plan` counts it: rounded down, and
    at least one. Who accepts plans for fewer says a smaller part; 0 accepts those for one.
    `beacons` are the kinds of coins the party takes part with. `paths` is how full mode may prove
    vectors: row by row less is claimed of the noise of others, on which results rest, and nobody's
    privacy.
    `witnesses`: closes need a quorum. `chains` are the drand chains whose values it believes nobody
    knows in advance: a session has to name one of them in all its parts. `exact_sums`: it takes
    part in sessions without noise, whatever `epsilon` is; no epsilon, however large, stands for
    that. `vouched`: programs on its side may give vectors longer than the plan's norm, and answer
    for how far apart two of them are that are not to be told apart.
    """

    epsilon: Decimal
    delta: Decimal
    corrupt_share: Fraction = Fraction(str(CORRUPT))
    modes: frozenset[Mode] = frozenset({Mode.FULL})
    paths: frozenset[Path] = frozenset(Path)
    honest_but_curious: bool = False
    beacons: frozenset[type[Beacon]] = frozenset({CommitReveal, DrandBeacon})
    witnesses: bool = False
    open_admission: bool = False
    simulation: bool = False
    exact_sums: bool = False
    vouched: bool = False
    chains: frozenset[DrandChain] = frozenset(KNOWN_CHAINS)

    def require(self, manifest: Manifest, author: bytes) -> None:
        """Return if the party with this Ed25519 key may join; `Refusal` says what is missing."""
        self._require_kind(manifest)
        self._require_beacon(manifest)
        self._require_witnesses(manifest)
        self._require_membership(manifest, author)
        self._require_privacy(manifest)

    def require_joined(self, manifest: Manifest, joined: int) -> None:
        """The same about those who really joined, before the coins are known."""
        worth = guarantee(manifest.terms, joined).total
        if worth > self.delta:
            needed = _upwards(worth)
            message = f"with the {joined} parties that joined delta is {needed}, you accept at most"
            raise Refusal(f"{message} {self.delta}", "joined", needed)

    def require_vouching(self) -> None:
        """Refuse long vectors, unless those who answer for them may (10-Q14).

        Nothing that an organiser says asks for them, no ticket and no manifest: else it could have
        a party send what the noise of the session does not hide.
        """
        if not self.vouched:
            message = "you did not accept vectors longer than the plan's norm (vouched=True)"
            raise Refusal(message, "vouched", "true")

    def _require_kind(self, manifest: Manifest) -> None:
        """Refuse weaker kinds of session, so that no organiser can choose one for the party."""
        if manifest.simulation and not self.simulation:
            raise Refusal("this session is a simulation", "simulation")
        if manifest.mode not in self.modes:
            raise Refusal(
                f"this session has mode {manifest.mode.name.lower()}, which you do not accept",
                "mode",
            )
        vectors = manifest.mode is Mode.FULL and manifest.terms.dimension > 1
        if vectors and manifest.path not in self.paths:
            raise Refusal(f"{_PROVED[manifest.path]}, which you do not accept", "path")
        if manifest.trust is Trust.HONEST_BUT_CURIOUS and not self.honest_but_curious:
            raise Refusal("this session does not find liars", "trust")

    def _require_beacon(self, manifest: Manifest) -> None:
        beacon = manifest.beacon
        if isinstance(beacon, TestCoins):
            return  # a manifest has them in simulations only, which are judged as such
        if type(beacon) not in self.beacons:
            source = _BEACONS[type(beacon)]
            raise Refusal(
                f"you do not accept the source of this session's coins: {source}", "beacon"
            )
        # An organiser could run a chain of its own, and know its values in advance. The hash of a
        # chain leaves out the scheme: under another one its key signs what nobody has published.
        if isinstance(beacon, DrandBeacon) and beacon.chain not in self.chains:
            raise Refusal(
                "this session draws its coins from a drand chain that you do not accept", "chain"
            )

    def _require_witnesses(self, manifest: Manifest) -> None:
        """Require witnesses if this policy does, and always with a beacon.

        Without them nobody notices a fork (attack `fork-without-witness`), nor a roll that was made
        when the beacon's value was known (`late-witnesses`).
        """
        needed = self.witnesses or isinstance(manifest.beacon, DrandBeacon)
        if needed and manifest.quorum is None:
            optional = "" if isinstance(manifest.beacon, DrandBeacon) else "no witnesses"
            raise Refusal("this session asks for no quorum of witnesses", "policy", optional)

    def _require_membership(self, manifest: Manifest, author: bytes) -> None:
        """Require a roster with this key, unless the party takes part among strangers.

        With open admission an adversary may bring any number of parties.
        """
        if author == manifest.organiser:
            raise Refusal(
                "your key is the organiser's: the organiser must take part under another key",
                "organiser",
            )
        if isinstance(manifest.admission, Roster):
            if author not in manifest.admission.keys:
                raise Refusal("your key is not on the roster of this session", "admission")
        elif not self.open_admission:
            message = "anybody may join this session: nothing bounds the number of corrupt parties"
            raise Refusal(message, "admission", "anyone")

    def _require_one_exact_sum(self, manifest: Manifest) -> None:
        """Refuse a session without noise unless the party said that it wants one (04-S5).

        An organiser could ask for one in place of the noisy session that people agreed to
        (attack `exact-downgrade`).
        """
        if not self.exact_sums:
            message = f"{EXACT}; you did not accept that (exact_sums, or --accept-exact-sum)"
            raise Refusal(message, "exact_sums", "true")
        # A second sum without this party in it would show its value (attack `second-exact-sum`).
        if not manifest.releases_one_sum:
            message = f"this session could release two exact sums of a round: {EXACT_DIFFERENCE}"
            raise Refusal(message, "terms")

    def _require_withstood(self, terms: Terms) -> None:
        """Require that as many may collude as this policy assumes, whatever the plan assumes.

        Else an organiser could plan for a single one, with noise that two see through.
        """
        asked = colluding(self.corrupt_share, terms.parties)
        if terms.corrupt < asked:
            message = (
                f"this session withstands {terms.corrupt} of {terms.parties} parties that collude, "
                f"you ask for {asked}: a part of {self.corrupt_share}"
            )
            raise Refusal(message, "corrupt", f"{terms.corrupt}/{terms.parties}")

    def _require_privacy(self, manifest: Manifest) -> None:
        """Require the epsilon and delta of this policy, computed here from the terms.

        What a manifest says of its own delta is no reason to believe it (attack
        `manifest-claims-too-much`).
        """
        terms = manifest.terms
        if terms.epsilon is None:
            self._require_one_exact_sum(manifest)
        elif terms.epsilon > self.epsilon:
            message = (
                f"this session uses epsilon {terms.epsilon}, you accept at most {self.epsilon}"
            )
            raise Refusal(message, "epsilon", str(terms.epsilon))
        self._require_withstood(terms)
        worth = guarantee(terms).total
        if judge(terms) is not Worth.KEPT:
            raise Refusal(
                f"this session claims delta {terms.delta}, and its plan only reaches {worth:.3g}",
                "terms",
            )
        if worth > self.delta:
            needed = _upwards(worth)
            message = f"this session uses delta {needed}, you accept at most {self.delta}"
            raise Refusal(message, "delta", needed)


def _upwards(delta: float) -> str:
    """Three digits, rounded up: who accepts so much accepts the session."""
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(delta))
    return str(rounded.normalize())
