"""What `specs/vectors/beacon.json` holds: coins from given values, and encoded chains."""

from __future__ import annotations

import hashlib

from gopa.contract.beacon import (
    DRAND_CHAIN,
    KNOWN_CHAINS,
    drand_coins,
    draw_coin,
    flip_coins,
    graph_seed,
    joint_coins,
    reveal_hash,
    seed_of_choices,
    simulation_coins,
)

PLACES = ((0, "first"), (1, "second"), (65_535, "last"))
DRAWS = ((0, 1), (0, 16), (7, 48), (7, 62), (2**32 - 1, 63))
FLIPS = (1, 8, 13, 100)


def value(name: str) -> bytes:
    """32 bytes for each name."""
    return hashlib.sha256(f"gopa beacon vectors/{name}".encode()).digest()


def _hashes(number: int, name: str) -> dict[str, object]:
    session, party, nonce = value(f"session/{name}"), value("party"), value(f"nonce/{name}")
    leaf, drawn = value(f"leaf/{name}"), value(f"drand/{name}")
    nonces = [value(f"nonce/{name}/{i}") for i in range(number % 4 + 1)]
    from_drand = drand_coins(session, number, leaf, drawn)
    return {
        "session": session.hex(),
        "round": number,
        "party": party.hex(),
        "nonce": nonce.hex(),
        "join_leaf": leaf.hex(),
        "nonces": [nonce.hex() for nonce in nonces],
        "drand_value": drawn.hex(),
        "reveal_hash": reveal_hash(session, number, party, nonce).hex(),
        "seed_of_choices": seed_of_choices(session, number, leaf, nonce).hex(),
        "joint_coins": joint_coins(session, number, leaf, nonces).hex(),
        "drand_coins": from_drand.hex(),
        "graph_seed_of_drand_coins": graph_seed(from_drand).hex(),
        "simulation_coins": simulation_coins(session, number, leaf).hex(),
    }


def records() -> dict[str, object]:
    """The content of the vector file."""
    coins, session, party = value("coins"), value("session"), value("party")
    draws = [
        {"draw": draw, "bits": bits, "coin": draw_coin(coins, session, 3, party, draw, bits)}
        for draw, bits in DRAWS
    ]
    flips = [
        {"count": count, "flips": list(flip_coins(coins, session, 3, party, count))}
        for count in FLIPS
    ]
    chains = [
        {"beacon_id": chain.beacon_id, "encoded": DRAND_CHAIN.encode(chain).hex()}
        for chain in KNOWN_CHAINS
    ]
    return {
        "format": "bytes in hexadecimal; one entry of `hashes` for each round of a session",
        "hashes": [_hashes(number, name) for number, name in PLACES],
        "expansion": {
            "coins": coins.hex(),
            "session": session.hex(),
            "round": 3,
            "party": party.hex(),
            "draws": draws,
            "flips": flips,
        },
        "chains": chains,
    }
