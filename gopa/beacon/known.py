"""Public drand networks that run for everybody, as they describe themselves.

A chain in a manifest is the organiser's word. Comparing it with these is what makes its
values unpredictable to the organiser.
"""

from __future__ import annotations

from typing import Final

from gopa.beacon.drand import DrandChain
from gopa.beacon.scheme import Scheme

LEAGUE_OF_ENTROPY: Final = DrandChain(
    scheme=Scheme.PEDERSEN_BLS_CHAINED,
    public_key=bytes.fromhex(
        "868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5cce96366b5d7a5699"
        "37c529eeda66c7293784a9402801af31"
    ),
    period=30,
    genesis=1_595_431_050,
    group_hash=bytes.fromhex("176f93498eac9ca337150b46d21dd58673ea4e3581185f869672e59fa4cb390a"),
    beacon_id="default",
    chain_hash=bytes.fromhex("8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce"),
)
"""A value every 30 seconds since 2020."""

QUICKNET: Final = DrandChain(
    scheme=Scheme.BLS_UNCHAINED_G1_RFC9380,
    public_key=bytes.fromhex(
        "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
        "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb"
        "5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
    ),
    period=3,
    genesis=1_692_803_367,
    group_hash=bytes.fromhex("f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"),
    beacon_id="quicknet",
    chain_hash=bytes.fromhex("52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"),
)
"""A value every 3 seconds since 2023, each verifiable on its own."""

KNOWN_CHAINS: Final = (LEAGUE_OF_ENTROPY, QUICKNET)
