"""Sums vectors of users in one session of `gopa`, planned and charged as a whole.

Everything that users tell is a sum of this kind, whatever algorithm asks. Specification:
`specs/22-federated.md`, section 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, ClassVar, Final, Self, TypeAlias

import numpy as np

import gopa
from gopa import Aggregator, OutOfRange, Result, RoundAborted, UsageError
from gopa.learning.checks import whole
from gopa.learning.data import Users
from gopa.learning.federated.setting import Setting
from gopa.learning.history import History, Recorder
from gopa.learning.ledger import LedgerEntry, PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Charge, Privacy, Spent
from gopa.support.arrays import Floats

_NO_SESSION: Final = "mode off: the arithmetic of a session, without one"
_VOUCHED: Final = "the algorithm bounds how much {} changes a vector: nothing else checks that"
_SIMULATED: Final = (
    "whoever runs this simulation keeps its seed, which gives away all noise, and what it says of "
    "data that was shortened or moved, which is exact"
)

_MOSTLY, _ROUGH = 0.5, 1e-8
_NOISE: Final = (
    "the model is mostly noise, {:.0%} of its squared length: enlist more parties, ask for a "
    "larger epsilon, or take fewer rounds, fewer numbers, or a smaller bound (clip, radius)"
)
_DIFFER: Final = (
    "not all sums have the same parties, and nothing is hidden by noise: where two sums differ by "
    "one party, their difference is what that party gave"
)
_ROUNDING: Final = (
    "the grid is too coarse: rounding is {:.1g} of the model's squared length. A bound far above "
    "the data (clip, radius) makes it so: take a smaller one, or None, and the data decide"
)


class SumSession:
    """Sums one vector of each user, round after round, and remembers what that cost.

    The whole session is charged when it is made, before anything is sent. A context manager.
    With `vouched` vectors may be longer than `half`, as one record does not move them by more.
    `before` are sessions that ended before and belong to the same outcome. A session between
    processes is the setting's `aggregator`; whoever made that closes it.

    Raises:
        BudgetExceeded: the account of the setting does not cover it.
        UsageError: there is no such plan, or the aggregator has another one.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        *,
        users: int,
        width: int,
        half: float,
        rounds: int,
        vouched: bool = False,
        before: Sequence[SumSession] = (),
    ) -> None:
        self.name, self.setting, self.before = name, setting, before
        self.run = AlgorithmRun(seed=setting.seed)
        given, self._plan = setting.aggregator, None
        if given is None:
            needed = whole(rounds, "rounds")
            self._plan = setting.plan(users, width, half, needed, vouched=vouched)
            self.terms = self._plan.terms
            assumed = [_SIMULATED, _NO_SESSION] if setting.mode == "off" else [_SIMULATED]
        else:
            setting.require_session(given, users, width, half, whole(rounds, "rounds"))
            self.terms, assumed = given.terms, []
        corrupt, parties = self.terms.corrupt, self.terms.parties
        assumed = [f"at most {corrupt} of {parties} users collude", *assumed]
        assumed += [_VOUCHED.format(f"one {setting.unit}")] if vouched else []
        assumed = list(dict.fromkeys([*assumed, *setting.assumed]))
        self._ledger = PrivacyLedger(setting.privacy, assumptions=assumed, entries=setting.before)
        noise_seed = setting.noise_seed
        for ledger in (setting.ledger, self._ledger):
            if ledger is not None:
                ledger.charge(
                    _price(setting.left, self.terms.epsilon), note=f"{name}, {rounds} rounds"
                )
        self._aggregator: Aggregator = given or gopa.LocalAggregator(
            self.terms,
            mode=setting.mode,
            seed=noise_seed,
            progress=False,
            vouched=vouched,
            **setting.run,
        )
        self.users, self._covered, self._begun = users, rounds, 0
        self.results: list[Result] = []
        self.warnings: list[str] = []

    @property
    def begun(self) -> int:
        """How many rounds were begun."""
        return self._begun

    @property
    def rounds_left(self) -> int:
        """How many more rounds were charged."""
        return min(self._aggregator.rounds_left, self._covered - self._begun)

    def sum(self, vectors: Sequence[Floats | None]) -> Result:
        """One round; None stands for a user who stays away.

        Raises:
            RoundAborted: too many users were lost. The outcome will say so; others may follow.
            UsageError: the aggregator does not take vectors that are vouched for.
        """
        self._begun += 1
        try:
            result = self._aggregator.sum(vectors)
        except OutOfRange as error:
            message = f"{error}; here the algorithm answers for its length: make it vouched=True"
            raise UsageError(message, "aggregator") from None
        except RoundAborted as error:
            self.warn(f"round {self._begun} had no result: {error}")
            raise
        self.results.append(result)
        if result.simulation and self.setting.aggregator is not None:
            self.warn("this session is a simulation")
        if result.clipped or result.scaled:
            self.warn("the aggregator moved or shortened vectors: make it without clip")
        return result

    def warn(self, text: str) -> None:
        """Note a warning once in the outcome."""
        if text not in self.warnings:
            self.warnings.append(text)

    def outcome(
        self,
        model: Any,
        history: History,
        *,
        converged: bool | None = None,
        warnings: Sequence[str] = (),
        noise: float | None = None,
    ) -> Outcome:
        """What came of it, with all that this session and those before it know.

        `noise` is the part of the model's squared length that is noise, or only rounding.
        """
        doubts: list[str] = []
        said: list[str] = []
        hidden = self.setting.privacy is not None
        if noise is not None and noise > (_MOSTLY if hidden else _ROUGH):
            doubts.append((_NOISE if hidden else _ROUNDING).format(min(noise, 1.0)))
        if not hidden and len({each.included for each in self.results}) > 1:
            doubts.append(_DIFFER)
        transcripts: list[Any] = []
        messages = size = 0
        for each in (*self.before, self):
            more, bytes_more = each.traffic()
            messages, size = messages + more, size + bytes_more
            transcripts += [found.transcript for found in each.results if found.transcript]
            said += each.warnings
        return self.run.outcome(
            self.name,
            model,
            history=history,
            spent=self.spent(),
            messages=messages,
            bytes=size,
            transcript=tuple(transcripts) or None,
            converged=converged,
            warnings=tuple(dict.fromkeys([*doubts, *said, *warnings])),
            noise=None if noise is None or not hidden else min(noise, 1.0),
        )

    @property
    def charged(self) -> tuple[LedgerEntry, ...]:
        """All charges that the model rests on, those before this session among them."""
        return self._ledger.entries

    def spent(self) -> Spent:
        """All that was charged; its curve says what of it the rounds so far have used."""
        found = self._ledger.spent()
        if not found.hides:
            return found
        if self._plan is None:
            return found
        used = np.ceil(np.array(self._plan.epsilon_by_round()[: self._begun]) * 1e6) / 1e6
        first = sum(each.times * each.charge.numbers[0] for each in self.setting.before)
        epsilons = np.minimum(np.concatenate([[0.0], used]) + first, found.epsilon)
        curve = History({"round": range(len(epsilons)), "epsilon": epsilons})
        return replace(found, curve=curve)

    def traffic(self) -> tuple[int, int]:
        """Messages and bytes: all of the log, or in mode off what users would publish."""
        transcript = self.results[-1].transcript if self.results else None
        if not transcript:
            messages = sum(each.count for each in self.results)
            return messages, 8 * self.terms.dimension * messages
        log = transcript.log()
        return log.size, sum(map(len, log.entries()))

    def close(self) -> None:
        """No more rounds; what was said stays."""
        for each in self.before:
            each.close()
        if isinstance(self._aggregator, gopa.LocalAggregator):
            self._aggregator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Callback: TypeAlias = Callable[[int, dict[str, Any]], None]
"""Hears how many rounds are done, and the model after them; `StopIteration` ends the run."""


class SumRun(ABC):
    """An algorithm between its rounds, all of which belong to one session."""

    session: SumSession
    converged: bool | None = None

    def __init__(self) -> None:
        self.done, self.notes = 0, Recorder()

    def round(self, problem: Users) -> None:
        """One round over the rows of these users; without a result all stays as it is."""
        if len(problem) != self.session.users:
            raise UsageError(f"the session has {self.session.users} users", "groups")
        self.done += 1
        try:
            self._round(problem)
        except RoundAborted:
            return

    def carried_out(
        self,
        problem: Users,
        rounds: int,
        progress: Progress = None,
        callback: Callback | None = None,
        *,
        goes_on: bool = False,
    ) -> Outcome:
        """So many rounds, or as many as the session has, or until the model stands still.

        Where it `goes_on`, a session that whoever watches has stopped stays open: its other rounds
        were charged, too.
        """
        covered, run = self.session.rounds_left, self.session.run
        run.progress = progress
        with ExitStack() as opened:
            opened.callback(self._ended, goes_on=goes_on)
            opened.enter_context(run)
            run.advance("rounds", 0, rounds)
            for done in range(whole(rounds, "rounds")):
                if not self.session.rounds_left:
                    self.session.warn(
                        f"stopped before round {done + 1} of {rounds}: the budget covers {covered}"
                    )
                    break
                self.round(problem)
                if callback is not None and self.session.results:
                    run.asks(callback, done + 1, self._model())
                run.advance("rounds", done + 1, rounds)
                if self.converged or run.stopped:
                    break
            return self.outcome()

    def _ended(self, *, goes_on: bool) -> None:
        if not (goes_on and self.session.run.stopped):
            self.session.close()

    def outcome(self) -> Outcome:
        """What came of all rounds so far."""
        if not self.session.results:
            raise UsageError("no round had a result: let fewer users fail", "session")
        return self.session.outcome(
            self._model(),
            self.notes.history(),
            converged=self.converged,
            warnings=self._warnings(),
            noise=self._noise(),
        )

    @property
    def charged(self) -> tuple[LedgerEntry, ...]:
        """What another session is charged beside, if it goes on from here."""
        return self.session.charged

    def carried(self) -> SimpleNamespace:
        """What another run needs of this one to go on, without its session."""
        parts = {name: getattr(self, name) for name in self._carried}
        return SimpleNamespace(**parts, session=None, charged=self.charged)

    _carried: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _round(self, problem: Users) -> None: ...

    @abstractmethod
    def _model(self) -> dict[str, Any]: ...

    def _warnings(self) -> Sequence[str]:
        """Beside what the session knows."""
        return ()

    def _noise(self) -> float | None:
        """Which part of the model's squared length is noise or rounding, if that is known."""
        return None


def _price(privacy: Privacy | None, kept: Decimal | None) -> Charge:
    """What a session costs: its terms may keep less epsilon than was asked for."""
    if privacy is None or kept is None:
        return Charge.exact()
    return Charge.guarantee(min(privacy.epsilon, float(kept)), privacy.delta)
