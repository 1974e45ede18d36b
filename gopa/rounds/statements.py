"""Builds the statements that parties prove, from public bytes.

04-J3, 04-K3, 04-K6 and 04-A2. All raise `MalformedMessage` for bytes
that are no points.
"""

from __future__ import annotations

from dataclasses import dataclass

from commitments import Commitment
from gopa.contract.beacon.coins import draw_coin, flip_coins
from gopa.contract.parameters import Path
from gopa.rounds.context import RoundContext
from wire.errors import UsageError
from zkp import LastLargestStatement, sigma
from zkp.noise import PublicCoins
from zkp.sigma import LinearRelation


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
    context.manifest.terms.noise.require_provable(context.noise_setting)


@dataclass(frozen=True, slots=True)
class _Coins:
    """The public coins of one party in one round (04-V6)."""

    context: RoundContext
    joint: bytes
    party: bytes

    def number(self, width: int) -> int:
        place = self.context.session, self.context.round, self.party
        return draw_coin(self.joint, *place, 0, width)

    def flips(self, count: int) -> bytes:
        return flip_coins(self.joint, self.context.session, self.context.round, self.party, count)


def noise_coins(context: RoundContext, joint: bytes, party: bytes) -> PublicCoins:
    """The public half of the noise of a party (04-V6)."""
    law = context.manifest.terms.noise
    return law.coins(context.noise_setting, _Coins(context, joint, party))


def weighing_statement(context: RoundContext, given: bytes) -> LastLargestStatement:
    """What `weighing` of a commit is about; `given` is C_x (04-K6)."""
    return LastLargestStatement(_one(context, given), context.manifest.terms.steps)


def _one(context: RoundContext, data: bytes) -> Commitment:
    return Commitment(context.key, context.group.decode_points(data, 1))
