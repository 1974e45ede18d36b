"""Builds the statements that parties prove, from public bytes.

04-J3, 04-K3, 04-K6 and 04-A2. All raise `MalformedMessage` for bytes
that are no points.
"""

from __future__ import annotations

from commitments import Commitment, Pedersen, VectorPedersen
from gopa.contract.beacon.coins import draw_coin, flip_coins
from gopa.contract.parameters import Path
from gopa.rounds.context import RoundContext
from wire.errors import UsageError
from zkp import (
    GaussianNoiseStatement,
    GaussianTable,
    Interval,
    LastLargestStatement,
    RangeStatement,
    VectorRangeStatement,
    sigma,
)
from zkp.noise_table import NoNoise, WeightedBits
from zkp.sigma import LinearRelation
from zkp.weighted_noise import WeightedNoisePlan, WeightedNoiseStatement

NoiseStatement = (
    GaussianNoiseStatement | WeightedNoiseStatement | RangeStatement | VectorRangeStatement
)


def possession_statement(context: RoundContext, key: bytes) -> LinearRelation:
    """States that a party knows the logarithm of its key (04-J3)."""
    return sigma.discrete_log(context.group, context.group.decode_point(key))


def shared_key_statement(
    context: RoundContext, own: bytes, other: bytes, shared: bytes
) -> LinearRelation:
    """States that one secret makes `own` of the generator and `shared` of `other` (04-A2)."""
    group = context.group
    images = group.points([group.decode_point(own), group.decode_point(shared)])
    return sigma.dleq(group, images, group.points([group.decode_point(other)]))


def require_provable(context: RoundContext) -> None:
    """Raises `UsageError` for a session in which nothing is proved about noise."""
    if context.manifest.path is Path.ROWS:
        raise UsageError("the path of rows proves lengths and masks", "path")
    if not context.proved:
        raise UsageError("only full mode proves inputs and noise", "mode")
    if isinstance(context.manifest.terms.noise, WeightedBits):
        noise_plan(context)


def noise_plan(context: RoundContext) -> WeightedNoisePlan:
    """What is fixed before the coins where noise comes from weighted bits."""
    terms = context.manifest.terms
    if not isinstance(terms.noise, WeightedBits):
        raise UsageError("only noise from weighted bits has a plan of bits")
    interval = Interval(0, terms.steps)
    return WeightedNoisePlan(context.group, terms.noise, terms.dimension, interval, True)


def table_coins(context: RoundContext, joint: bytes, party: bytes) -> tuple[int, ...]:
    """The public half of the draw of a party whose noise comes from a table (04-V6)."""
    table = context.manifest.terms.noise
    if not isinstance(table, GaussianTable):
        raise UsageError("only noise from a table is drawn with one coin")
    width = (table.total - 1).bit_length()
    return (draw_coin(joint, context.session, context.round, party, 0, width),)


def bit_coins(context: RoundContext, joint: bytes, party: bytes) -> bytes:
    """The public coins of a party whose noise comes from weighted bits (04-V6)."""
    count = noise_plan(context).coin_count
    return flip_coins(joint, context.session, context.round, party, count)


def noise_statement(  # noqa: PLR0913 - what a commit and a join hold
    context: RoundContext, joint: bytes, party: bytes, *, given: bytes, seed: bytes, output: bytes
) -> NoiseStatement:
    """What `proof` of a commit is about; `given` is C_x, `seed` C_y or A, `output` D_u.

    Without noise it is about C_x alone: seed and output are empty.
    """
    terms, group = context.manifest.terms, context.group
    if isinstance(terms.noise, NoNoise):
        return _range_statement(context, given)
    if isinstance(terms.noise, GaussianTable):
        key = Pedersen(group)
        return GaussianNoiseStatement(
            terms.noise,
            key.decode(seed, 1),
            table_coins(context, joint, party),
            key.decode(output, 1),
            RangeStatement.up_to(key.decode(given, 1), terms.steps),
        )
    return WeightedNoiseStatement(
        noise_plan(context),
        group.decode_point(seed),
        bit_coins(context, joint, party),
        _one(context, output),
        _one(context, given),
    )


def _range_statement(context: RoundContext, given: bytes) -> RangeStatement | VectorRangeStatement:
    committed, steps = _one(context, given), context.manifest.terms.steps
    if isinstance(context.key, VectorPedersen):
        return VectorRangeStatement(committed, Interval(0, steps))
    return RangeStatement.up_to(committed, steps)


def weighing_statement(context: RoundContext, given: bytes) -> LastLargestStatement:
    """What `weighing` of a commit is about; `given` is C_x (04-K6)."""
    return LastLargestStatement(_one(context, given), context.manifest.terms.steps)


def _one(context: RoundContext, data: bytes) -> Commitment:
    return Commitment(context.key, context.group.decode_points(data, 1))
