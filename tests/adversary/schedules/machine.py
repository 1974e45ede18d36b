"""Schedules at random: who speaks, hears, lies and is late when."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gopa.adversary import deeds
from gopa.adversary.malicious import Deed, Malicious
from gopa.contract.phases import Phase
from gopa.protocol.organiser import GiveUp, Idle, PhaseOver
from gopa.protocol.party import Party
from gopa.protocol.simulation import permissive
from tests.adversary.schedules.arena import Arena
from tests.adversary.schedules.deeds import LIES, deeds_in
from tests.adversary.schedules.desk import Ending
from tests.adversary.schedules.judgement import require_everything
from tests.adversary.schedules.worlds import WORLDS, World

MOST: Final = 7
PARTY: Final = st.integers(0, MOST - 1)
PLACE: Final = st.integers(0, 30)
SIDE: Final = st.integers(0, 1)
SOME: Final = st.one_of(st.none(), st.integers(1, 6))
SECOND_EVERY: Final = 50
FORKS: Final = ("alone", "two organisers", "partition")
FORK_AT: Final = (None, Phase.COINS, *3 * [Phase.COMMIT], Phase.PUBLISH, Phase.CONFIRM)
GOING_ON: Final = sorted(name for name in LIES if name.startswith("goes on with all at"))


class Schedules(RuleBasedStateMachine):
    """One session; when the schedule is over time passes fairly, and then everything must hold.

    `worlds` are those that are played; `deeds` names what liars do, or is empty for everything.
    """

    worlds: ClassVar[tuple[World, ...]] = tuple(WORLDS.values())
    deeds: ClassVar[frozenset[str]] = frozenset()
    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.arena: Arena | None = None
        self.steps = 0

    @initialize(world=st.integers(0, 1 << 16), seed=st.integers(0, 1 << 32), data=st.data())
    def begin(self, world: int, seed: int, data: st.DataObject) -> None:
        chosen = self.worlds[world % len(self.worlds)]
        self.arena = Arena(chosen, seed)
        parties = len(self.arena.parties)
        late = data.draw(st.sets(st.integers(0, parties - 1), max_size=2), "without input")
        for party in set(range(parties)) - late:
            for logical in range(chosen.terms.rounds):
                self.arena.supply(party, logical)

    @property
    def playing(self) -> Arena:
        assert self.arena is not None
        return self.arena

    @invariant()
    def counted(self) -> None:
        self.steps += self.arena is not None

    def _party(self, party: int) -> int:
        return party % len(self.playing.parties)

    # Time

    @rule(slow=st.sets(PARTY, max_size=3), delayed=st.booleans())
    def a_phase_passes(self, slow: set[int], delayed: bool) -> None:
        self.playing.fair_phase({self._party(u) for u in slow}, delayed=delayed)

    @rule(slow=st.sets(PARTY, max_size=1), times=st.integers(2, 6))
    def phases_pass(self, slow: set[int], times: int) -> None:
        for _ in range(times):
            self.playing.fair_phase({self._party(u) for u in slow})

    @rule(number=PLACE)
    def one_entry_lands(self, number: int) -> None:
        self.playing.land(number)

    @rule(backwards=st.booleans())
    def all_entries_land(self, backwards: bool) -> None:
        self.playing.land_all(backwards=backwards)

    @rule(number=PLACE)
    def an_entry_is_lost(self, number: int) -> None:
        self.playing.lose(number)

    @rule(number=PLACE, side=SIDE)
    def an_entry_comes_again(self, number: int, side: int) -> None:
        self.playing.again(side, number)

    @rule(party=PARTY, most=SOME)
    def a_party_hears(self, party: int, most: int | None) -> None:
        self.playing.hear(self._party(party), most)

    @rule()
    def everybody_hears(self) -> None:
        self.playing.hear_all()

    @rule(side=SIDE, most=SOME)
    def the_organiser_reads(self, side: int, most: int | None) -> None:
        self.playing.reads(side, most)

    @rule(side=SIDE, how=st.sampled_from([PhaseOver, PhaseOver, PhaseOver, Idle, GiveUp]))
    def the_organiser_ends(self, side: int, how: Ending) -> None:
        self.playing.ends(side, how)

    # Honest parties that are unlucky

    @rule(party=PARTY, from_start=st.booleans(), stumble=st.booleans())
    def a_party_restarts(self, party: int, from_start: bool, stumble: bool) -> None:
        self.playing.restart(self._party(party), from_start=from_start, stumble=stumble)

    @rule(party=PARTY)
    def a_party_times_out(self, party: int) -> None:
        self.playing.time_out(self._party(party))

    @rule(party=PARTY)
    def a_party_falls_silent(self, party: int) -> None:
        self.playing.silence(self._party(party))

    @rule(party=PARTY, logical=st.integers(0, 1))
    def a_party_gets_its_input(self, party: int, logical: int) -> None:
        arena = self.playing
        arena.supply(self._party(party), logical % arena.world.terms.rounds)

    # Liars

    @rule(party=PARTY, number=st.integers(0, 1 << 16), victim=PARTY, rounds=st.integers(0, 3))
    def a_party_lies(self, party: int, number: int, victim: int, rounds: int) -> None:
        arena = self.playing
        chosen = [d for d in deeds_in(arena.world) if not self.deeds or d.name in self.deeds]
        deed = chosen[number % len(chosen)]
        self._lies(self._party(party), deed.phase, deed.deed(self._party(victim)), rounds)

    @rule(party=PARTY, partner=PARTY)
    def two_parties_conspire(self, party: int, partner: int) -> None:
        u, v = self._party(party), self._party(partner)
        if u != v and self.playing.world.full:
            self._lies(u, Phase.COMMIT, deeds.conspire(v), 0)
            self._lies(v, Phase.COMMIT, deeds.conspire(u), 0)

    @rule(party=PARTY, factor=st.sampled_from([0, 2]))
    def a_party_scales_its_noise(self, party: int, factor: int) -> None:
        if self.playing.world.full:
            for phase in (Phase.COMMIT, Phase.PUBLISH):
                self._lies(self._party(party), phase, deeds.scale_noise(factor), 0)

    @rule(party=PARTY, victim=PARTY)
    def a_party_slanders(self, party: int, victim: int) -> None:
        u, v = self._party(party), self._party(victim)
        if u != v:
            self._lies(u, Phase.COMMIT, deeds.wrong_edge(v), 0)
            self._lies(u, Phase.ACCUSE, deeds.accuse(v, forged=True), 0)

    @rule(phase=st.sampled_from([each for each in Phase if each is not Phase.ORGANISER]))
    def liars_speak_last(self, phase: Phase) -> None:
        self.playing.last_words(phase)

    @rule(name=st.sampled_from(sorted(LIES)), party=PARTY, side=SIDE)
    def the_organiser_lies(self, name: str, party: int, side: int) -> None:
        arena = self.playing
        desk = arena.sides[side % len(arena.sides)].desk
        if desk is not None:
            position = self._party(party)
            desk.behaviours += (LIES[name](position, len(arena.parties)),)

    @rule(party=PARTY, phase=st.sampled_from(list(Phase)), side=SIDE)
    def the_organiser_reads_no_more(self, party: int, phase: Phase, side: int) -> None:
        arena = self.playing
        desk = arena.sides[side % len(arena.sides)].desk
        if desk is not None and phase is not Phase.ORGANISER:
            desk.blind.add((arena.parties[self._party(party)].author, phase))
            desk.lied = arena.lying_organiser = True

    @rule(party=PARTY, side=SIDE)
    def the_organiser_dreams(self, party: int, side: int) -> None:
        self.playing.dream(side, self._party(party))

    # Everybody else

    @rule(
        phase=st.sampled_from(list(Phase)),
        number=PLACE,
        seq=st.integers(0, 1),
        party=st.one_of(st.just(-1), PARTY),
        rounds=st.integers(0, 2),
    )
    def a_stranger_speaks(
        self, phase: Phase, number: int, seq: int, party: int, rounds: int
    ) -> None:
        arena = self.playing
        entries = arena.sides[0].board.entries
        body = entries[number % len(entries)].entry.body if entries else b""
        who = party if party < 0 else self._party(party)
        arena.stranger(phase, body, rounds, seq, party=who)

    @rule(
        others=st.sets(PARTY, min_size=1, max_size=2),
        how=st.sampled_from(FORKS),
        when=st.sampled_from(FORK_AT),
    )
    def the_board_forks(self, others: set[int], how: str, when: Phase | None) -> None:
        """Alone, or with an organiser in front of either log.

        After a partition the `others` are not heard in the first log, and their organiser goes
        on where the rules demand an abort.
        """
        arena = self.playing
        known = [u for u in sorted(others) if u < len(arena.parties)]
        if not known or arena.forked:
            return
        if when is not None:
            arena.until(when)
        arena.fork(known, two_organisers=how != "alone", hides=how == "partition")
        desk = arena.sides[1].desk
        if desk is not None and how == "partition":
            desk.behaviours += tuple(LIES[name](0, len(arena.parties)) for name in GOING_ON)

    @rule(number=PLACE, side=SIDE)
    def the_board_hides(self, number: int, side: int) -> None:
        self.playing.hide(number, side)

    def teardown(self) -> None:
        arena = self.arena
        if arena is None:
            return
        self.counts["runs"] += 1
        arena.finish()
        if not (arena.lying_organiser or arena.forked):
            desk = arena.sides[0].desk
            assert desk is not None
            assert desk.over, "an honest organiser does not come to an end"
        second = arena.world.real and self.counts["with proofs"] % SECOND_EVERY == 0
        judged = require_everything(arena, second=second)
        self.counts.update(
            {
                "with proofs": arena.world.real,
                "second verifier": second,
                "steps": self.steps,
                "entries": arena.sides[0].board.size,
                "with a result": judged.results > 0,
                "with an abort": judged.aborts > 0,
                "neither": not (judged.results or judged.aborts),
                "with lying parties": bool(arena.liars),
                "with a liar that got stuck": bool(arena.stuck),
                "with more than the bound": len(arena.liars) > arena.world.terms.corrupt,
                "with a lying organiser": arena.lying_organiser,
                "with a fork": arena.forked,
                f"verdict {judged.verdict.value}": 1,
            }
        )

    def _lies(self, party: int, phase: Phase, deed: Deed, rounds: int) -> None:
        arena = self.playing
        when = {rounds} if rounds else None
        behaviour = Malicious(party, phase, deed, when).behaviour()
        actor = arena.parties[party]
        if party not in arena.liars:
            arena.liars.add(party)
            # A machine without a journal: deeds may put states of their own in its place.
            actor.party = Party(
                arena.manifest,
                actor.access.key,
                permissive(arena.world.terms),
                rng=actor.access.rng,
                toolkit=arena.world.toolkit,
                session=arena.session,
            )
        actor.behaviours += (behaviour,)
