"""Input plus noise of a party stays hidden, whoever leaves, lies, is dropped or colludes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pytest

from gopa.adversary.deeds import wrong_edge, wrong_key, wrong_seed
from gopa.contract.manifest import Mode
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import PUBLISH
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.graph import from_edges
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.simulation import Behaviour, RoundRecord, Script, Simulation, SimulationOptions
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import Honest, PostsLate, Skip
from gopa.rounds.toolkit import Toolkit
from tests.lies import lying
from tests.protocol.simulation.prying import Coalition, edge_of, left_over
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

TARGET, PARTIES, LOSS = 2, 8, SCALAR.loss
COLLUDERS = (0, 1, 3, 4, 5, 6)
OTHERS = (*COLLUDERS, 7)

WORLDS = {
    "full": (SCALAR, FULL),
    "recovery": (RECOVERING, FULL),
    "vectors": (VECTOR, FULL),
    "signed": (VECTOR, SIGNED),
    "wide words": (VECTOR, replace(SIGNED, word_width=64)),
}


@dataclass(slots=True)
class Watched:
    """A session in which some collude, and another coalition has the target's own seed as well."""

    terms: Terms
    colluders: Collection[int]
    script: Script = field(default_factory=Script)
    setting: SessionSetting = FULL
    toolkit: Toolkit | None = None
    liars: Collection[int] = ()
    simulation: Simulation = field(init=False)
    colluding: Coalition = field(init=False)
    knowing: Coalition = field(init=False)

    def __post_init__(self) -> None:
        self.colluding = Coalition(self.colluders)
        self.knowing = Coalition({*self.colluders, TARGET})
        options = SimulationOptions(toolkit=self.toolkit, remember_noise=True, watch=self._watch)
        self.simulation = Simulation(
            self.terms,
            rng=seeded(5),
            setting=self.setting,
            script=self.script,
            options=options,
        )

    def _watch(self, actor: SimulatedParty) -> None:
        self.colluding.watch(actor)
        self.knowing.watch(actor)

    def round(self) -> RoundRecord:
        """One more round, in which nobody but the liars is blamed and the sum is right."""
        record = self.simulation.run_round(self.inputs)
        require_sound(self.simulation, record, self.inputs, self.liars)
        return record

    @property
    def inputs(self) -> list[list[int]]:
        return inputs_for(self.terms, 5)

    def author(self, party: int) -> bytes:
        return self.simulation.parties[party].author

    def secret(self, party: int, number: int = 1) -> tuple[int, ...]:
        """Input and noise of a party."""
        noise = self.simulation.noise_for_tests[number, party]
        return tuple(x + y for x, y in zip(self.inputs[party], noise, strict=True))

    def left(
        self, coalition: Coalition, party: int, number: int = 1, value: bytes | None = None
    ) -> tuple[int, ...]:
        """What a coalition makes of the value of a party."""
        return left_over(self.simulation, coalition, number, self.author(party), value)

    def hides(self, party: int, number: int = 1, value: bytes | None = None) -> bool:
        """Whether what is left over is far from the party's input and noise in each coordinate."""
        secret, rest = (
            self.secret(party, number),
            self.left(self.colluding, party, number, value),
        )
        assert all(abs(each) < 2**20 for each in secret)
        large = 2**64 if self.simulation.manifest.mode is Mode.FULL else 2**3
        differ = all(one != other for one, other in zip(rest, secret, strict=True))
        return differ and max(map(abs, rest)) > large


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


def test_the_attack_finds_what_everybody_else_together_knows() -> None:
    """All others with one's own opened mask are enough: so the attack does work."""
    watched = Watched(RECOVERING, [i for i in range(PARTIES) if i != TARGET])
    watched.round()
    assert watched.left(watched.colluding, TARGET) == watched.secret(TARGET)


@pytest.mark.parametrize("colluders", [(), (0,), (0, 1, 3), (0, 1, 3, 4, 5, 6)])
def test_coalition_that_lacks_one_honest_neighbour_learns_nothing(
    colluders: tuple[int, ...],
) -> None:
    watched = Watched(RECOVERING, colluders)
    watched.round()
    assert all(watched.hides(honest) for honest in set(range(PARTIES)) - set(colluders))


def rolled_back(
    terms: Terms, setting: SessionSetting, script: Script, value: list[bytes] | None = None
) -> None:
    """The target is out, all others open their edges to it, and six of them collude besides.

    Only its own seed would give it away.
    """
    watched = Watched(terms, COLLUDERS, script, setting, liars={TARGET})
    record = watched.round()
    assert TARGET not in record.included
    assert len([pair for pair in record.attempts[0].opened if TARGET in pair]) >= 5
    kept = None if value is None else PUBLISH.decode(value[0]).value
    assert watched.hides(TARGET, value=kept)
    there = watched.author(TARGET)
    gone = {each.position for each in record.attempts[0].removals}
    for other in set(OTHERS) - gone:
        assert edge_of(1, there, watched.author(other)) in watched.colluding.keys
    assert (1, there) not in watched.colluding.seeds
    if gone == {TARGET}:
        assert watched.left(watched.knowing, TARGET, value=kept) == watched.secret(TARGET)


@pytest.mark.parametrize(("terms", "setting"), WORLDS.values(), ids=WORLDS)
def test_late_value_stays_hidden_when_all_edges_are_open(
    terms: Terms, setting: SessionSetting
) -> None:
    rolled_back(terms, setting, Script().misbehave(TARGET, PostsLate(Phase.PUBLISH)))


@pytest.mark.parametrize(("terms", "setting"), WORLDS.values(), ids=WORLDS)
def test_withheld_value_stays_hidden_from_whoever_kept_it(
    terms: Terms, setting: SessionSetting
) -> None:
    withheld = Kept()
    rolled_back(terms, setting, Script().misbehave(TARGET, withheld), withheld.kept)


@pytest.mark.parametrize(
    "script",
    [
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, Skip(Phase.ROLLBACK)),
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, lying("rollback", wrong_key())),
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, PostsLate(Phase.ROLLBACK)),
        Script().misbehave(TARGET, lying("commit", wrong_edge())),
    ],
    ids=["opened nothing", "opened wrongly", "opened late", "convicted"],
)
def test_value_of_a_party_that_was_rolled_back_stays_behind_its_own_mask(script: Script) -> None:
    rolled_back(RECOVERING, FULL, script)


@pytest.mark.parametrize(
    "lie", [Skip(Phase.UNMASK), lying("unmask", wrong_seed())], ids=["refuses", "lies"]
)
def test_recovery_opens_the_own_mask_and_no_edge(lie: Behaviour) -> None:
    watched = Watched(RECOVERING, (0, 1), Script().misbehave(TARGET, lie), liars={TARGET})
    record = watched.round()
    assert record.attempts[0].recovered == (TARGET,)
    assert not record.attempts[0].opened
    assert watched.hides(TARGET)


@pytest.mark.slow
def test_edge_opened_in_one_round_says_nothing_about_another() -> None:
    """The same pair of parties has other keys and other masks in the next round."""
    script = Script().drop(7, before=Phase.PUBLISH, rounds={1})
    watched = Watched(RECOVERING, (), script)
    for number in (1, 2):
        watched.round()
        watched.colluding.read(watched.simulation, number)
    opened = {key[1:] for key in watched.colluding.keys if key[0] == 1}
    assert len(opened) == 7
    assert not [key for key in watched.colluding.keys if key[0] == 2]
    watched = Watched(RECOVERING, [i for i in range(PARTIES) if i != TARGET], script)
    watched.round()
    watched.round()
    assert not watched.hides(TARGET, 2)
    one, other = next(ends for ends in opened if watched.author(TARGET) in ends)
    keys = watched.colluding.keys
    keys[2, one, other] = keys[1, one, other]
    assert watched.hides(TARGET, 2)


def test_two_colluders_cannot_leave_a_residual() -> None:
    """One of them drops and the other refuses to open: whatever mask they shared is gone."""
    script = Script().drop(0, before=Phase.PUBLISH).misbehave(1, Skip(Phase.ROLLBACK))
    record = Watched(SCALAR, (0, 1), script).round()
    assert record.included == (2, 3, 4, 5, 6, 7)
    assert record.sums is not None


VICTIM, LEAVERS = 6, (0, 1, 2, 3)


@pytest.mark.parametrize("lost", range(LOSS + 2))
def test_victim_stays_hidden_up_to_the_bound_and_is_out_beyond_it(lost: int) -> None:
    """Whoever is dropped colludes besides; two honest neighbours are left to the victim.

    Beyond the bound everybody in a complete graph has lost too many, and nobody unmasks.
    """
    script = Script()
    for party in LEAVERS[:lost]:
        script = script.drop(party, before=Phase.PUBLISH)
    watched = Watched(SCALAR, LEAVERS, script)
    record = watched.round()
    assert watched.hides(VICTIM)
    first = record.attempts[0]
    if lost <= LOSS:
        assert VICTIM in record.included
        assert first.unmasked == first.final
    else:
        assert first.abort is AbortReason.TOO_FEW_LEFT
        assert not any(each.released or each.unmasked for each in record.attempts)
        assert not [key for key in watched.colluding.seeds if key[1] == watched.author(VICTIM)]


SPARSE_VICTIM = 7
EDGES = [
    *((SPARSE_VICTIM, other) for other in (0, 1, 6)),
    *((0, other) for other in (2, 3)),
    *((1, other) for other in (4, 5)),
    *((6, other) for other in (2, 3, 4, 5)),
    *((2, 3), (3, 4), (4, 5), (5, 2)),
]
"""Parties 0 and 1 have one neighbour in common: the victim."""


@pytest.mark.parametrize("loss", [2, 1], ids=["within the bound", "beyond it"])
def test_victim_whose_neighbours_alone_are_dropped_is_removed_with_its_mask_closed(
    loss: int,
) -> None:
    """Two of its three neighbours are gone and collude, the third opens its edge if it must.

    Within the bound the victim stays, and its last edge is never opened.
    """
    toolkit = Toolkit(graph=lambda *_: from_edges(PARTIES, EDGES))
    script = Script().drop(0, before=Phase.PUBLISH).drop(1, before=Phase.PUBLISH)
    watched = Watched(replace(SCALAR, loss=loss), (0, 1), script, toolkit=toolkit)
    record = watched.round()
    assert watched.hides(SPARSE_VICTIM)
    coalition, author = watched.colluding, watched.author(SPARSE_VICTIM)
    removed = {row.position: row.cause for row in record.attempts[0].removals}
    last_edge = edge_of(1, author, watched.author(6))
    assert record.sums is not None
    out = {SPARSE_VICTIM: RemovalCause.LOST} if loss == 1 else {}
    assert removed == {0: RemovalCause.ABSENT, 1: RemovalCause.ABSENT, **out}
    assert (last_edge in coalition.keys) is (loss == 1)
    assert ((1, author) in coalition.seeds) is (loss == 2)
