"""Runs a whole session in one process: a real log, the real machines, a script of departures.

A record says what each logical round came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO

from bulletin_board import LogReader
from gopa.contract.framing import Posted
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.planning.result import Plan
from gopa.protocol.organiser import (
    Cosigned,
    OrganiserOutput,
    PhaseOver,
    Seen,
    SendMessage,
    SessionSetting,
    WantBeacon,
    WantCheckpoint,
)
from gopa.protocol.party import Dated, Fetch, Post, Supplied, Witnessed
from gopa.protocol.party.states import Committed
from gopa.protocol.rules import Findings, RoundFindings
from gopa.protocol.simulation.party import SimulatedParty, Usage, noise_for_tests
from gopa.protocol.simulation.script import Script
from gopa.protocol.simulation.setup import SeededStreams, SimulationOptions, set_up
from wire.errors import ProtocolError, UsageError
from wire.randomness import Rng, draw


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """What one logical round came to, with all its attempts.

    Parties are named by their number in the simulation, from 0, in the order of their
    keys. `included` is the final list of the last attempt, if that has a result.
    `usage` is what each party posted, read and computed in this logical round.
    """

    logical: int
    findings: Findings
    attempts: tuple[RoundFindings, ...]
    outcome: ResultMessage | Abort | None
    included: tuple[int, ...]
    usage: tuple[Usage, ...]
    halted: Mapping[int, ProtocolError]

    @property
    def sums(self) -> tuple[int, ...] | None:
        """The result on the grid; None if the logical round has none."""
        return self.outcome.sums if isinstance(self.outcome, ResultMessage) else None


_BATCH = 512


class Simulation:
    """Parties, organiser and board in one process, labelled a simulation in the manifest.

    Party i has the i-th smallest key of the roster. The same `rng` gives the same log.
    """

    def __init__(
        self,
        plan: Plan | Terms,
        *,
        rng: Rng,
        setting: SessionSetting | None = None,
        script: Script | None = None,
        options: SimulationOptions | None = None,
    ) -> None:
        terms = plan.terms if isinstance(plan, Plan) else plan
        self._options = options or SimulationOptions()
        self._script = script or Script()
        streams = SeededStreams(draw(rng, 32))
        parts = set_up(terms, setting or SessionSetting(), self._options, self._script, streams)
        self.manifest, self.session = parts.manifest, parts.session
        self.parties = parts.parties
        self._board, self._organiser = parts.board, parts.organiser
        self._organiser_access = parts.organiser_access
        self._by_author = {party.author: party for party in self.parties}
        self._logical = 0
        self.noise_for_tests: dict[tuple[int, int], tuple[int, ...]] = {}
        self.inputs_for_tests: dict[tuple[int, int], tuple[int, ...]] = {}
        self._run(self._organiser.start())

    def run_round(self, inputs: Sequence[Sequence[int] | None]) -> RoundRecord:
        """Runs the next logical round, with all its attempts.

        `inputs` are vectors on the grid, one for each party that takes part; None for a
        party that has nothing to say.

        Raises:
            UsageError: the session is over, or there is not one input for each party.
        """
        if self.over:
            raise UsageError("the session is over", "inputs")
        if len(inputs) != len(self.parties):
            raise UsageError(f"{len(self.parties)} inputs, or None", "inputs")
        before = [replace(party.usage) for party in self.parties]
        first = self._organiser.state.rounds_ended
        for party, values in zip(self.parties, inputs, strict=True):
            if values is not None and party.halted is None:
                self._tell(party, Supplied(self._logical, tuple(values)))
        while self._attempt():
            pass
        self._logical += 1
        return self._record(before, first)

    @property
    def over(self) -> bool:
        """Whether the rules demand nothing more, or the organiser broke one."""
        return self._organiser.state.over

    def findings(self) -> Findings:
        """Everything that the rules found so far."""
        return self._organiser.findings()

    def log(self) -> LogReader:
        """The log, to be read strictly."""
        return self._board.reader()

    def archive(self, out: BinaryIO) -> None:
        """Write the log as a `.gopa` archive."""
        self._board.archive(out, self.session)

    def close(self) -> None:
        """Release the directory, if the log is in one."""
        self._board.close()

    def _attempt(self) -> bool:
        """Run one round; whether the rules ask for another attempt."""
        if not self._run(self._end_phase()):
            return False  # its last message was replaced: it waits for it for ever
        while not self._round_ended():
            if not self._close_phase():
                return False
        return self._next_is_retry()

    def _round_ended(self) -> bool:
        current = self._organiser.state.round
        return self.over or current is None or current.ended is not None

    def _next_is_retry(self) -> bool:
        state, terms = self._organiser.state, self.manifest.terms
        if state.over or state.round is None or not isinstance(state.round.ended, Abort):
            return False
        used_up = state.round.attempt + 1 >= terms.attempts or state.releases > terms.charged
        return not used_up

    def _close_phase(self) -> bool:
        """End the open phase; False if the organiser posts nothing more."""
        current = self._organiser.state.round
        phase = Phase.JOIN if current is None or current.opens is None else current.opens
        self._deliver([post for party in self.parties for post in party.last_words(phase)])
        done = self._run(self._end_phase())
        self._deliver([post for party in self.parties for post in party.after(phase)])
        return done

    def _end_phase(self) -> Sequence[OrganiserOutput]:
        """Tell the organiser what it sees of the log, and that nobody has more to say."""
        if self._board.size:
            self._organiser.step(Seen(self._board.size, self._board.root))
        return self._organiser.step(PhaseOver(self._board.size))

    def _run(self, outputs: Sequence[OrganiserOutput]) -> bool:
        """Do what the organiser asks for; whether it posted something."""
        posted = False
        for output in outputs:
            if isinstance(output, SendMessage):
                controls: Sequence[SendMessage] = (output,)
                for behaviour in self._script.organiser:
                    controls = [
                        new
                        for old in controls
                        for new in behaviour.publishes(self._organiser_access, old)
                    ]
                raws = [raw for control in controls for raw in control.entries]
                self._spread(self._board.post(raws))
                posted = True
            else:
                self._provide(output)
                again = self._end_phase()
                posted = self._run(again) or posted
        return posted

    def _provide(self, wanted: WantCheckpoint | WantBeacon) -> None:
        """Cosignatures and values of the beacon, from what the caller gave."""
        options = self._options
        if isinstance(wanted, WantCheckpoint):
            if options.witnesses is None:
                raise UsageError("the manifest needs witnesses", "options.witnesses")
            cosigned = options.witnesses.cosigned(self._board.checkpoint)
            self._organiser.step(Cosigned(cosigned, self._board.size))
            return
        if options.beacon is None:
            raise UsageError("the manifest needs values of its beacon", "options.beacon")
        number = wanted.round or options.beacon.name()
        self._organiser.step(options.beacon.value(number))

    def _deliver(self, posts: list[Post]) -> None:
        """Post, hand out what stands in the log, until nobody has anything to say."""
        raws = [raw for post in posts for raw in post.entries]
        for at in range(0, len(raws), _BATCH):
            self._spread(self._board.post(raws[at : at + _BATCH]))

    def _spread(self, fresh: Sequence[Posted]) -> None:
        """All goes to the organiser; its entries to everybody, a party's to that party."""
        said: list[Post] = []
        for posted in fresh:
            self._organiser.step(posted)
            author = posted.entry.author.data
            if author == self.manifest.organiser:
                said += self._broadcast(posted)
            elif author in self._by_author:
                said += self._tell(self._by_author[author], posted)
        if said:
            self._deliver(said)

    def _broadcast(self, posted: Posted) -> list[Post]:
        """What everybody answers, in the order of the parties, whoever was ready first."""
        hear = partial(self._hear, Witnessed(self._board.size, self._board.root), posted)
        threads = self._options.threads
        answers = map(hear, self.parties) if threads is None else threads.map(hear, self.parties)
        said: list[Post] = []
        for number, (party, posts) in enumerate(zip(self.parties, answers, strict=True)):
            said += posts
            self._remember(party)
            if self._options.watch is not None:
                self._options.watch(party)
            if self._options.progress is not None:
                current = self._organiser.state.round
                if current is not None and current.opens is not None:
                    self._options.progress(current.opens, number + 1, len(self.parties))
        return said

    def _hear(self, witnessed: Witnessed, posted: Posted, party: SimulatedParty) -> list[Post]:
        """Touches this party alone, and reads the log, which does not grow meanwhile."""
        party.reads((posted,), self._size_of)
        self._tell(party, witnessed)
        said = self._tell(party, posted)
        if self._roll_time is not None:
            self._tell(party, Dated(self._roll_time))
        return said

    @property
    def _roll_time(self) -> int | None:
        """When parties hear of rolls; None where that decides nothing."""
        options = self._options
        if options.witnesses is None or options.roll_time is not None:
            return options.roll_time
        return options.witnesses.time

    def _tell(
        self, party: SimulatedParty, event: Posted | Supplied | Witnessed | Dated
    ) -> list[Post]:
        return party.tell(event, self._answer, self._size_of)

    def _answer(self, fetch: Fetch) -> tuple[Posted, ...]:
        return self._board.fetch(fetch, self.session)

    def _size_of(self, entries: Sequence[Posted]) -> int:
        return sum(self._board.sizes[posted.index] for posted in entries)

    def _remember(self, party: SimulatedParty) -> None:
        if not self._options.remember_noise or not isinstance(party.state.stage, Committed):
            return
        place = party.state.chain.round, party.index
        if place not in self.noise_for_tests:
            values = next(
                tuple(each.values) for each in party.state.inputs if each.logical == self._logical
            )
            self.noise_for_tests[place] = noise_for_tests(party.state, party.author, values)
            self.inputs_for_tests[place] = values

    def _record(self, before: Sequence[Usage], first: int) -> RoundRecord:
        findings = self.findings()
        attempts, current = findings.rounds[first:], self._organiser.state.round
        outcome = None if current is None else current.ended
        included: tuple[int, ...] = ()
        if isinstance(outcome, ResultMessage):
            last = attempts[-1]
            keys = [last.roll[position] for position in last.final or ()]
            included = tuple(self._by_author[key].index for key in keys)
        spent = [party.usage.since(then) for party, then in zip(self.parties, before, strict=True)]
        return RoundRecord(
            logical=self._logical - 1,
            findings=findings,
            attempts=attempts,
            outcome=outcome,
            included=included,
            usage=tuple(spent),
            halted={party.index: party.halted for party in self.parties if party.halted},
        )
