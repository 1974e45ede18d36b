"""Makes of the terms of a session what is proved of long vectors: lengths, and weights (14-W1)."""

from __future__ import annotations

from gopa.messages.row_terms import weighted_length
from gopa.planning.terms import Terms
from zkp.rows.bounds import LengthBounds, WeightBound


def length_bounds(terms: Terms) -> LengthBounds:
    """What the lengths of a party's vector and noise are proved to be within."""
    return LengthBounds(terms.squared_norm, terms.noise_square, terms.spike)


def weight_bound(terms: Terms) -> WeightBound:
    """What is proved, besides, of a vector with a weight."""
    slack = weighted_length(terms).rounding
    return WeightBound(terms.steps, terms.weight_length, terms.weight_scale, slack)
