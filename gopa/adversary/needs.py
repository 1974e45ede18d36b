"""What an attack takes of a session that is somebody else's, such as proofs or witnesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from gopa.adversary.malicious import NotApplicable
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Mode, Path


@dataclass(frozen=True, slots=True)
class Requirement:
    """Asks something of the session of an attack, in words that follow `it needs`."""

    words: str
    met: Callable[[Manifest], bool]


PROOFS: Final = Requirement(
    "proofs, which only full mode has, about one commitment for each party",
    lambda m: m.mode is Mode.FULL and m.path is Path.BITS,
)
NOISE: Final = Requirement("noise, which exact sums do without", lambda m: not m.terms.exact)
RECOVERY: Final = Requirement("recovery of self-masks", lambda m: m.terms.threshold is not None)
SEEDS: Final = Requirement("recovery of self-masks by their seeds", lambda m: m.deals_seeds)
WEIGHTS: Final = Requirement("weights", lambda m: m.weighted)
NONCES: Final = Requirement("coins from nonces", lambda m: isinstance(m.beacon, CommitReveal))
DRAND: Final = Requirement("coins from drand", lambda m: isinstance(m.beacon, DrandBeacon))
ROWS: Final = Requirement("vectors that are proved row by row", lambda m: m.path is Path.ROWS)
WITNESSES: Final = Requirement("a quorum of witnesses", lambda m: m.quorum is not None)


def require_met(needs: Iterable[Requirement], manifest: Manifest) -> None:
    """Raises `NotApplicable` with the first need that a session does not meet."""
    for need in needs:
        if not need.met(manifest):
            raise NotApplicable(f"it needs {need.words}", "attack")
