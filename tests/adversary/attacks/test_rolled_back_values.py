"""A value that is late or withheld: all edges of its author are opened, its self-mask is not.

The organiser, the board and all parties but the author and one more collude. They have the
value in either case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from gopa.contract.manifest import Mode
from gopa.contract.party import PUBLISH
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.simulation import Behaviour, RoundRecord, Script, Simulation, SimulationOptions
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import Honest, PostsLate
from tests.adversary.attacks.stripping import stripped
from tests.protocol.simulation.prying import Coalition, edge_of
from tests.protocol.simulation.worlds import (
    FULL,
    RECOVERING,
    SCALAR,
    SIGNED,
    VECTOR,
    inputs_for,
    require_sound,
)
from tests.randomness import seeded

TARGET, HONEST, PARTIES = 2, 7, 8
COLLUDERS = (0, 1, 3, 4, 5, 6)
OTHERS = (*COLLUDERS, HONEST)

WORLDS = {
    "full": (SCALAR, FULL),
    "recovery": (RECOVERING, FULL),
    "vectors": (VECTOR, FULL),
    "signed": (VECTOR, SIGNED),
    "wide words": (VECTOR, replace(SIGNED, word_width=64)),
}
in_every_mode = pytest.mark.parametrize(("terms", "setting"), WORLDS.values(), ids=WORLDS)


@dataclass(frozen=True)
class Kept(Honest):
    """Sends its value to the attacker and not to the log."""

    kept: list[bytes] = field(default_factory=list, compare=False)

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        if post.phase is not Phase.PUBLISH:
            return [post]
        self.kept.append(body_of(post.entries))
        return []


@dataclass(frozen=True, slots=True)
class Played:
    """A round in which the target does not publish in time."""

    simulation: Simulation
    record: RoundRecord
    inputs: list[list[int]]
    colluding: Coalition
    knowing: Coalition

    @property
    def author(self) -> bytes:
        return self.simulation.parties[TARGET].author

    @property
    def secret(self) -> tuple[int, ...]:
        """Input and noise of the target."""
        noise = self.simulation.noise_for_tests[1, TARGET]
        return tuple(x + y for x, y in zip(self.inputs[TARGET], noise, strict=True))


def play(terms: Terms, setting: SessionSetting, lateness: Behaviour) -> Played:
    """`knowing` is a coalition that has the target's own seed as well."""
    colluding, knowing = Coalition(COLLUDERS), Coalition((*COLLUDERS, TARGET))

    def watch(actor: SimulatedParty) -> None:
        colluding.watch(actor)
        knowing.watch(actor)

    options = SimulationOptions(remember_noise=True, watch=watch)
    script = Script().misbehave(TARGET, lateness)
    simulation = Simulation(terms, rng=seeded(5), setting=setting, script=script, options=options)
    inputs = inputs_for(terms, 5)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs, {TARGET})
    assert record.included == tuple(party for party in range(PARTIES) if party != TARGET)
    return Played(simulation, record, inputs, colluding, knowing)


def require_hidden(played: Played, value: bytes) -> None:
    """Every edge of the target is known, and only its own seed would give it away."""
    content, simulation = PUBLISH.decode(value), played.simulation
    left = stripped(simulation, played.colluding, played.author, content)
    for other in OTHERS:
        ends = edge_of(1, played.author, simulation.parties[other].author)
        assert ends in played.colluding.keys
    assert (1, played.author) not in played.colluding.seeds
    assert stripped(simulation, played.knowing, played.author, content) == played.secret
    large = 2**64 if simulation.manifest.mode is Mode.FULL else 2**3
    assert all(abs(secret) < 2**20 for secret in played.secret)
    assert all(one != other for one, other in zip(left, played.secret, strict=True))
    assert max(map(abs, left)) > large


@in_every_mode
def test_late_value_stays_hidden_when_all_edges_are_open(
    terms: Terms, setting: SessionSetting
) -> None:
    played = play(terms, setting, PostsLate(Phase.PUBLISH))
    board = played.simulation.parties[0].access.board
    (posted,) = board.stream(played.author, Phase.PUBLISH, 1)
    require_hidden(played, posted.entry.body)


@in_every_mode
def test_withheld_value_stays_hidden_from_whoever_kept_it(
    terms: Terms, setting: SessionSetting
) -> None:
    behaviour = Kept()
    played = play(terms, setting, behaviour)
    board = played.simulation.parties[0].access.board
    assert board.stream(played.author, Phase.PUBLISH, 1) == ()
    require_hidden(played, behaviour.kept[0])
