"""Verified sums inside Flower: `VerifiableGrid` in the ServerApp, `gopa_mod` in the ClientApp.

Any strategy that only averages works unchanged on them: `docs/flower.md` has an example and
`examples/flower-verified` a whole app. Parties are called through Flower's messages
(`specs/12-sessions.md`, section 7), so the server is their network and is believed in nothing.
Flower is imported when it is used.
"""

from gopa.plugins.flower.accountant import LossAccountant
from gopa.plugins.flower.grid import FlowerRound, VerifiableGrid
from gopa.plugins.flower.mod import GopaMod, gopa_mod
from gopa.plugins.flower.strategies import UnfitStrategy

__all__ = [
    "FlowerRound",
    "GopaMod",
    "LossAccountant",
    "UnfitStrategy",
    "VerifiableGrid",
    "gopa_mod",
]
