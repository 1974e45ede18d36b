"""Delta of all releases of a plan for single numbers.

Theorem D for one release, loss distributions for several. Specification:
`specs/03-privacy.md`, sections 4, 5 and 9.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from gopa.planning.convolution import Masses
from gopa.planning.loss import CUT, LossDistribution, loss_of_gaussian, loss_of_shift
from gopa.planning.round_privacy import theorem_d

BUCKETS_PER_DEVIATION: Final = 600
_HOPELESS: Final = 50.0
"""No epsilon that is ever asked for leaves a delta below one after so many deviations."""


def loss_of_round(noise: Masses, shift: int, mask_mu: float, step: float) -> LossDistribution:
    """The loss distribution of one scalar round: noise and masks together."""
    loss = loss_of_shift(noise, shift, step)
    return loss.then(loss_of_gaussian(mask_mu, step)) if mask_mu else loss


def delta_of_rounds(
    noise: Masses, shift: int, epsilon: float, *, mask_mu: float = 0.0, releases: int = 1
) -> float:
    """An upper bound on delta after `releases` rounds on the same inputs."""
    if releases == 1:
        return theorem_d(noise, shift, epsilon, mask_mu=mask_mu)
    if _total_mu(noise, shift, mask_mu, releases) > _HOPELESS:
        return 1.0
    found = composed(noise, shift, mask_mu, releases)
    # Everybody counts the same as lost, however they cut.
    lost = max(found.masses.lost, 4 * CUT * releases)
    return replace(found, masses=replace(found.masses, lost=lost)).delta(epsilon)


def composed(noise: Masses, shift: int, mask_mu: float, releases: int) -> LossDistribution:
    """The loss distribution of several rounds, on a grid fine enough for their spread."""
    step = _total_mu(noise, shift, mask_mu, releases) / BUCKETS_PER_DEVIATION
    return loss_of_round(noise, shift, mask_mu, step).repeated(releases)


def _total_mu(noise: Masses, shift: int, mask_mu: float, releases: int) -> float:
    """About how many deviations the change moves all releases together."""
    return math.hypot(shift / math.sqrt(noise.variance), mask_mu) * math.sqrt(releases)
