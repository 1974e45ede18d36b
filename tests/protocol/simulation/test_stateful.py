"""Sessions of many rounds in which parties come, go and lie at random."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gopa.adversary.deeds import (
    accuse,
    another_nonce,
    spoil_proof,
    spoil_value,
    unproved_key,
    wrong_edge,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.script import Drop, Garbage, PostsLate, Replay, Skip, Twice
from tests.lies import lying
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import (
    FULL,
    RECOVERING,
    SCALAR,
    SIGNED,
    inputs_for,
    require_sound,
    simulate,
)
from zkp.noise import GaussianTable

WIDE = GaussianTable.with_scale("16", bits=20, rows=91)
WORLDS = [
    (replace(terms, rounds=10, noise=WIDE), setting)
    for terms, setting in ((RECOVERING, FULL), (SCALAR, FULL), (SCALAR, SIGNED))
]
PHASES = st.sampled_from(
    [
        Phase.JOIN,
        Phase.COINS,
        Phase.COMMIT,
        Phase.PUBLISH,
        Phase.ROLLBACK,
        Phase.CONFIRM,
        Phase.UNMASK,
        Phase.RECOVER,
    ]
)
SILENCES: st.SearchStrategy[Behaviour] = st.one_of(
    st.builds(Drop, PHASES, st.booleans()),
    st.builds(Skip, PHASES),
    st.builds(PostsLate, PHASES),
    st.builds(Replay, PHASES),
)
WRONG_VALUE = lying("publish", spoil_value())
LIES: st.SearchStrategy[Behaviour] = st.one_of(
    st.builds(Twice, PHASES),
    st.builds(Garbage, PHASES),
    st.sampled_from(
        [
            lying("join", unproved_key()),
            lying("coins", another_nonce()),
            WRONG_VALUE,
            lying("rollback", wrong_key()),
            lying("unmask", wrong_seed()),
            lying("recover", wrong_recovery()),
            lying("commit", wrong_edge()),
            lying("accuse", accuse()),
            lying("accuse", accuse(proved=False)),
        ]
    ),
)


class Sessions(RuleBasedStateMachine):
    """Honest parties are never blamed and never stop; every result is exact."""

    @initialize(world=st.sampled_from(WORLDS), seed=st.integers(0, 2**32))
    def begin(self, world: tuple[Terms, SessionSetting], seed: int) -> None:
        self.terms, self.setting = world
        self.simulation = simulate(self.terms, self.setting, seed=seed, toolkit=SWIFT)
        self.liars: set[int] = set()
        self.rounds = 0

    @rule(party=st.integers(0, 7), silence=SILENCES)
    def leaves(self, party: int, silence: Behaviour) -> None:
        self.simulation.parties[party].behaviours += (silence,)

    @rule(party=st.integers(0, 3), lie=LIES)
    def lies(self, party: int, lie: Behaviour) -> None:
        self.simulation.parties[party].behaviours += (lie,)
        self.liars.add(party)

    @rule(party=st.integers(0, 3))
    def lies_about_proofs(self, party: int) -> None:
        lie = lying("commit", spoil_proof() if self.setting is FULL else wrong_edge())
        extra = (lying("commit", wrong_share()),) if self.terms.threshold is not None else ()
        self.simulation.parties[party].behaviours += (lie, *extra)
        self.liars.add(party)

    @rule(party=st.integers(0, 7))
    def behaves_again(self, party: int) -> None:
        self.simulation.parties[party].behaviours = ()

    @rule()
    def one_round(self) -> None:
        if self.simulation.over:
            return
        inputs = inputs_for(self.terms, self.rounds)
        record = self.simulation.run_round(inputs)
        self.rounds += 1
        exact = self.setting is FULL or not self._sums_are_moved()
        require_sound(self.simulation, record, inputs, self.liars, exact=exact)

    def _sums_are_moved(self) -> bool:
        """In signed mode a wrong masked value is like another input: nothing shows it."""
        return any(WRONG_VALUE in actor.behaviours for actor in self.simulation.parties)

    @invariant()
    def organiser_is_never_blamed(self) -> None:
        if self.rounds:
            key = self.simulation.manifest.organiser
            assert all(fault.author != key for fault in self.simulation.findings().faults)


Sessions.TestCase.settings = settings(
    max_examples=6,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestSessions = pytest.mark.slow(Sessions.TestCase)
