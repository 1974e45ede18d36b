"""What a session's integers mean."""

from __future__ import annotations

from decimal import Decimal

from gopa.aggregation.encoding import Encoding, Plain
from gopa.aggregation.weighting import Weights, encoding_with
from gopa.messages.manifest import Manifest, Mode
from wire.errors import UsageError


def encoding_for(manifest: Manifest, weight: float | None, most: Decimal | None) -> Encoding:
    """The encoding of one value, that of the first of as many as the plan has parties.

    Raises:
        UsageError: the session has no weights, or needs one, or the weight is out of range.
    """
    if (weight is None) != (most is None):
        raise UsageError("a weight and the largest weight of the session come together", "weight")
    if weight is None or most is None:
        if manifest.weighted:
            raise UsageError("this session has weights: give weight and max_weight", "weight")
        return Plain(manifest.terms)
    if not manifest.weighted:
        raise UsageError("this session has no weights: leave them out", "weight")
    parties = manifest.terms.parties
    weights = Weights.checked([weight, *[0.0] * (parties - 1)], most, parties)
    return encoding_with(weights, manifest.terms, proved=manifest.mode is Mode.FULL)
