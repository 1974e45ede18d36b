"""Public randomness: the coins of a round, from revealed nonces or from a drand beacon.

Everything here is pure. Checking a drand round needs the extra `drand`; nothing else does, and it
is imported only then. Read `coins`, then `drand`.

    >>> from gopa.contract.beacon import draw_coin, joint_coins, reveal_hash
    >>> nonce, session, leaf = bytes(32), bytes(32), bytes(32)
    >>> hash_posted_first = reveal_hash(session, 1, bytes(32), nonce)
    >>> coins = joint_coins(session, 1, leaf, [nonce])
    >>> draw_coin(coins, session, 1, bytes(32), draw=0, bits=8) < 256
    True

Specification: `specs/09-beacon.md`.
"""

from gopa.contract.beacon.chain_info import parse_chain_info
from gopa.contract.beacon.coins import (
    drand_coins,
    draw_coin,
    flip_coins,
    graph_seed,
    joint_coins,
    reveal_hash,
    seed_of_choices,
    simulation_coins,
)
from gopa.contract.beacon.drand import (
    DRAND_CHAIN,
    KNOWN_CHAINS,
    LEAGUE_OF_ENTROPY,
    QUICKNET,
    DrandChain,
    earliest_round,
    latest_cosignature_time,
    require_before,
    verify_round,
)
from gopa.contract.beacon.scheme import Scheme

__all__ = [
    "DRAND_CHAIN",
    "KNOWN_CHAINS",
    "LEAGUE_OF_ENTROPY",
    "QUICKNET",
    "DrandChain",
    "Scheme",
    "drand_coins",
    "draw_coin",
    "earliest_round",
    "flip_coins",
    "graph_seed",
    "joint_coins",
    "latest_cosignature_time",
    "parse_chain_info",
    "require_before",
    "reveal_hash",
    "seed_of_choices",
    "simulation_coins",
    "verify_round",
]
