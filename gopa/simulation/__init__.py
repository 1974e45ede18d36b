"""Sessions in one process, with scripted departures and lies. Never a real session.

Everything is real but the secrets, which follow from a seed, and the network.
"""

from gopa.simulation.actor import Usage
from gopa.simulation.record import RoundRecord
from gopa.simulation.script import Behaviour, OrganiserBehaviour, Script
from gopa.simulation.setup import Progress, Stage, permissive
from gopa.simulation.simulation import Simulation
from gopa.simulation.witnesses import BeaconSource, Witnesses

__all__ = [
    "BeaconSource",
    "Behaviour",
    "OrganiserBehaviour",
    "Progress",
    "RoundRecord",
    "Script",
    "Simulation",
    "Stage",
    "Usage",
    "Witnesses",
    "permissive",
]
