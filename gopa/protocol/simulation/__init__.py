"""Whole sessions in one process, with scripted departures and lies. Never a real session.

Everything is real but the secrets, which follow from a seed, and the network. Read `simulation`
(who is told what, in which order), `setup` (what it is made of), `script` (who misbehaves);
`access` is what misbehaviour may use.

    >>> import gopa, os
    >>> from gopa.contract.phases import Phase
    >>> from gopa.protocol.simulation import Script, Simulation
    >>> from gopa.protocol.simulation.script import Skip
    >>> plan = gopa.plan(n=10, epsilon=4, delta=1e-5, corrupt=1, dropout=0.2, integers=True)
    >>> silent = Script().misbehave(3, Skip(Phase.PUBLISH))
    >>> record = Simulation(plan, rng=os.urandom, script=silent).run_round([[1]] * 10)
    >>> record.included
    (0, 1, 2, 4, 5, 6, 7, 8, 9)
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
