"""Runs sessions in one process, with scripted departures and lies. Never a real session.

Everything is real but the secrets, which follow from a seed, and the network.
"""

from gopa.protocol.simulation.party import Usage
from gopa.protocol.simulation.script import Behaviour, OrganiserBehaviour, Script
from gopa.protocol.simulation.setup import (
    KnownBeaconValues,
    Progress,
    SimulatedWitnesses,
    SimulationOptions,
    permissive,
)
from gopa.protocol.simulation.simulation import RoundRecord, Simulation

__all__ = [
    "Behaviour",
    "KnownBeaconValues",
    "OrganiserBehaviour",
    "Progress",
    "RoundRecord",
    "Script",
    "SimulatedWitnesses",
    "Simulation",
    "SimulationOptions",
    "Usage",
    "permissive",
]
