"""Simulated views, held against real ones.

From the log of a real session and the secrets of a coalition everything is taken off that
can be taken off. What is left must be input, noise and the masks of exactly those edges that
a simulated view has, to the last bit; and it must follow the laws that these are drawn from.

Numbers from real sessions are tested against the laws that simulated views are drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.special import chdtrc

from commitments import ristretto255
from gopa.accounting.convolution import Masses
from gopa.adversary.privacy.evidence import (
    StrippedValue,
    Stripper,
    centred,
    evidence_of,
    modulus,
    total_of,
)
from gopa.adversary.privacy.live import FULL_SESSIONS, SESSIONS, Live, Played
from gopa.adversary.privacy.scenarios import ReleaseScenario
from gopa.adversary.privacy.views import Law, Masks
from gopa.graph import Graph
from gopa.protocol.rules import RoundFindings
from gopa.rounds.context import RoundContext

_EXPECTED: Final = 8
"""So many draws, or a little more, are expected in each cell."""

_MOST_CELLS: Final = 64


def place(value: int, law: Law, rng: np.random.Generator) -> float:
    """Where a draw stands in its law: uniform on [0, 1) if it is of this law.

    The chance of less, and a random part of the chance of the value itself. -1 for what the
    law cannot give.
    """
    row = value - law.first
    if not 0 <= row < len(law.chances) or law.chances[row] == 0:
        return -1.0
    return float(law.chances[:row].sum() + rng.random() * law.chances[row])


def uniform_fit(places: Sequence[float]) -> float | None:
    """About the chance that uniform numbers look less uniform than these: Pearson's test.

    0 if one lies outside of [0, 1); None if there are too few numbers to tell anything.
    """
    found = np.asarray(places)
    cells = min(_MOST_CELLS, len(found) // _EXPECTED)
    if ((found < 0) | (found >= 1 + 1e-9)).any():
        return 0.0
    if cells < 2:
        return None
    counts = np.bincount(np.minimum((found * cells).astype(int), cells - 1), minlength=cells)
    expected = len(found) / cells
    return float(chdtrc(cells - 1, float(((counts - expected) ** 2).sum() / expected)))


UNLIKELY: Final = 1e-7
"""Laws that fit worse than this are other laws."""

_ROUNDS: Final = 10
"""In one session: more of them and its terms would be worth nothing."""

_CUT: Final = 1e-30


@dataclass(frozen=True, slots=True)
class ViewComparison:
    """What a kind of session showed when simulated and real views were compared.

    Of `values` masked values on the logs, `wrong` are not what they should be. `totals` and
    `singles` say how well sums of components and single values fit their laws, None where
    there are too few of them.
    """

    name: str
    rounds: int
    values: int
    wrong: int
    totals: float | None
    singles: float | None

    @property
    def holds(self) -> bool:
        """Views are what the audit draws."""
        fits = (each for each in (self.totals, self.singles) if each is not None)
        return not self.wrong and all(each > UNLIKELY for each in fits)


@dataclass(slots=True)
class _Tally:
    rounds: int = 0
    values: int = 0
    wrong: int = 0
    totals: list[float] = field(default_factory=list)
    singles: list[float] = field(default_factory=list)


def link(live: Live, rounds: int, rng: np.random.Generator) -> ViewComparison:
    """Runs sessions of so many logical rounds together and compares every honest value."""
    tally = _Tally()
    for first in range(0, rounds, _ROUNDS):
        played = live.played(min(_ROUNDS, rounds - first), rng.bytes)
        for found in played.simulation.findings().rounds:
            _compare(played, found, tally, rng)
    return ViewComparison(
        live.name,
        tally.rounds,
        tally.values,
        tally.wrong,
        uniform_fit(tally.totals),
        uniform_fit(tally.singles),
    )


def links(rounds: int, rng: np.random.Generator) -> Iterator[ViewComparison]:
    """All kinds; a fifth as many rounds where everything is proved."""
    for live in SESSIONS:
        yield link(live, max(2, rounds // 5) if live in FULL_SESSIONS else rounds, rng)


def _compare(played: Played, found: RoundFindings, tally: _Tally, rng: np.random.Generator) -> None:
    """One round: every value for itself, then the sum of the victim's component."""
    simulation = played.simulation
    context = RoundContext(simulation.manifest, simulation.session, found.number, ristretto255())
    evidence = evidence_of(simulation.log(), context, found)
    everybody = played.of_round(found.number)
    coalition = {
        at: secrets for at, secrets in everybody.items() if secrets.party in played.live.coalition
    }
    stripper = Stripper(context, found, evidence)
    rests = stripper.rests(coalition)
    tally.rounds += 1
    for at, rest in rests.items():
        plain = played.plain(found.number, everybody[at].party)
        right = stripper.expected(at, plain, rest, everybody) == rest.values
        tally.values += 1
        drawn = _as_drawn(found, rest, at, frozenset(coalition), stays=played.live.masks_stay)
        tally.wrong += not (right and drawn)
    _fit(played, found, rests, context, tally, rng)


def _as_drawn(
    found: RoundFindings, rest: StrippedValue, at: int, coalition: frozenset[int], *, stays: bool
) -> bool:
    """Whether exactly the masks are left that a simulated view of this round has.

    Where nobody lies no mask is opened: those with honest parties that are gone stay, also
    in a value that comes too late. Elsewhere such a value keeps its own mask.
    """
    if found.graph is None or found.final is None:
        return False
    outside = frozenset(range(len(found.roll))) - set(found.final)
    scenario = ReleaseScenario(found.graph, at, coalition, frozenset() if stays else outside)
    if at in scenario.gone:
        return rest.closed
    honest, release = scenario.honest, scenario.release()
    drawn = {honest[each] for each in release.graph.neighbours(release.victim)}
    return not rest.closed and set(rest.hidden) == drawn


def _fit(  # noqa: PLR0913, PLR0917 - what a round is, and where to put what it shows
    played: Played,
    found: RoundFindings,
    rests: Mapping[int, StrippedValue],
    context: RoundContext,
    tally: _Tally,
    rng: np.random.Generator,
) -> None:
    """Places of sums and of single values in their laws; rounds with masks left over add none."""
    inside = [at for at in found.final or () if at in rests]
    if not inside or any(not set(rests[at].hidden) <= set(inside) for at in inside):
        return
    terms, secrets = played.live.terms, played.of_round(found.number)
    graph = _unknown(found, inside)
    labels = graph.components()
    members = [at for at, label in zip(inside, labels, strict=True) if label == labels[0]]
    size, noise = modulus(context), Law.of(terms.noise)
    inputs = [played.inputs[secrets[at].party] for at in members]
    values = {at: rest.values for at, rest in rests.items()}
    total = total_of(values, members, size)
    sums = [
        value - sum(column) for value, column in zip(total, zip(*inputs, strict=True), strict=True)
    ]
    tally.totals += [place(value, noise.total(len(members)), rng) for value in sums]
    first = members[0]
    alone = centred([v - x for v, x in zip(values[first], inputs[0], strict=True)], size)
    law = _single(terms.mask_deviation, noise, len(rests[first].hidden))
    if law is None:
        tally.singles += [(value % size) / size for value in alone]
    else:
        tally.singles += [place(value, law, rng) for value in alone]


def _unknown(found: RoundFindings, inside: Sequence[int]) -> Graph:
    if found.graph is None:
        raise TypeError("a round with values has a graph")
    return found.graph.induced(list(inside))


def _single(deviation: int, noise: Law, masks: int) -> Law | None:
    """The law of one value without its input; None where it is uniform."""
    if not masks:
        return noise
    if not deviation:
        return None
    mask = Masks(deviation).law()
    spread = Masses(mask.first, mask.chances).times(masks, cut=_CUT)
    found = Masses(noise.first, noise.chances).plus(spread, cut=_CUT)
    return Law(found.first, found.values)
