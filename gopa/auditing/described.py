"""Manifest and rounds as a report says them. `specs/11-audit.md`, [R1] and [R2]."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256
from typing import Final

from gopa.auditing.estimates import estimates_of
from gopa.auditing.figures import text_of
from gopa.auditing.report import (
    Claimed,
    Exclusion,
    ListReport,
    PrivacyReport,
    RoundReport,
    SessionReport,
)
from gopa.messages.manifest import CommitReveal, DrandBeacon, Manifest, TestCoins
from gopa.planning import privacy
from gopa.planning.choices import coin_choices
from gopa.rules import Findings, RoundFindings, outcome_of
from wire.randomness import Rng

MOST_DRAWN: Final = 256
"""The graph of a larger round is not listed."""


def session_report(session: bytes, manifest: Manifest) -> SessionReport:
    """What the manifest says."""
    terms = manifest.terms
    return SessionReport(
        session=session,
        manifest=sha256(manifest.to_bytes()).digest(),
        title=manifest.title.decode("utf-8", "replace"),
        organiser=manifest.organiser,
        mode=manifest.mode.name.lower(),
        trust=manifest.trust.name.lower().replace("_", "-"),
        beacon=beacon_name(manifest),
        coin_choices=_bits(manifest, coin_choices(terms).helped_bits),
        coin_choices_alone=_bits(manifest, coin_choices(terms).alone_bits),
        weighted=manifest.weighted,
        parties=terms.parties,
        corrupt=terms.corrupt,
        fewest=terms.survivors,
        dimension=terms.dimension,
        low=str(terms.low),
        high=str(terms.high),
        steps=terms.steps,
        epsilon=str(terms.epsilon),
        delta=str(terms.delta),
        noise=noise_name(manifest),
        mask=terms.mask,
    )


def beacon_name(manifest: Manifest) -> str:
    """Where the coins come from."""
    if isinstance(manifest.beacon, CommitReveal):
        return "commit-reveal"
    return "drand" if isinstance(manifest.beacon, DrandBeacon) else "simulation"


def _bits(manifest: Manifest, bits: Decimal) -> str:
    """Test coins are chosen by whoever runs the simulation, as often as it likes."""
    return "" if isinstance(manifest.beacon, TestCoins) else text_of(bits, upwards=True)


def noise_name(manifest: Manifest) -> str:
    """The law of the noise and the hash of its table."""
    law = manifest.terms.noise
    return f"{type(law).__name__} {law.table_hash().hex()}"


def round_report(
    manifest: Manifest, found: RoundFindings, statement: PrivacyReport | None
) -> RoundReport:
    """One round."""
    low, high = ((), ()) if found.graph is None else found.graph.edges()
    drawn = len(found.roll) <= MOST_DRAWN
    values = estimates_of(manifest, found)
    return RoundReport(
        number=found.number,
        logical=found.logical,
        attempt=found.attempt,
        joined=found.roll,
        included=tuple(found.roll[place] for place in found.final or ()),
        excluded=exclusions(found),
        lists=tuple(
            ListReport(
                each.phase.name.lower(),
                each.step,
                each.cut,
                each.index,
                each.members,
                each.final,
            )
            for each in found.lists
        ),
        withheld=found.withheld,
        edge_count=len(low),
        edges=tuple((int(u), int(v)) for u, v in zip(low, high, strict=True)) if drawn else (),
        opened=found.opened,
        outcome=_outcome(found),
        sums=found.sums or (),
        total=values.total,
        mean=values.mean,
        stderr=values.stderr,
        abort="" if found.abort is None else found.abort.name.lower(),
        vetoed=found.veto,
        privacy=statement,
    )


def exclusions(found: RoundFindings) -> tuple[Exclusion, ...]:
    """Everybody whom a list lost. Who was barred and posted nothing was never left out of one."""
    return tuple(
        Exclusion(
            each.author,
            each.phase.name.lower(),
            "barred" if each.rule == "04-X5" else each.cause.name.lower(),
            each.rule,
            each.entry,
        )
        for each in found.removals
    )


def privacy_report(findings: Findings, number: int, rng: Rng) -> PrivacyReport:
    """What round `number` gave away; it had a valid final close.

    Raises `GopaError` where that cannot be derived.
    """
    manifest = findings.manifest
    stated = privacy.of(outcome_of(findings, number), rng=rng)
    return PrivacyReport(
        epsilon=text_of(stated.epsilon),
        claims=tuple(
            Claimed(
                each.against,
                text_of(each.delta, upwards=True),
                text_of(each.beta, upwards=True),
                each.how,
            )
            for each in stated.claims
        ),
        noise="" if manifest is None else noise_name(manifest),
        mask=stated.mask,
        releases=stated.releases,
        assumptions=stated.assumptions,
    )


def _outcome(found: RoundFindings) -> str:
    if found.sums is not None:
        return "result"
    return "open" if found.abort is None else "abort"
