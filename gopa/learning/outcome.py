"""How every algorithm is called, and what comes of a run: its model, history, privacy and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

import gopa
from gopa import Report, Unattributed, UsageError
from gopa.learning.checks import encoded, require_seed, whole
from gopa.learning.clipping import finite, numbers
from gopa.learning.data import likeliest
from gopa.learning.history import History, Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.privacy import Spent
from gopa.support.arrays import Floats
from gopa.support.progress import Advance, bar_if_slow

Bytes: TypeAlias = bytes


SIMULATION = "simulation; nothing here can be audited"


Progress: TypeAlias = bool | Callable[[str, int, int], None] | None
"""None: a bar after two seconds. True: at once. False: never. Or a function that is told of
what goes on, how many steps are done, of how many. `StopIteration` from it ends a run with what
is there by then, and anything else that it raises without."""


@contextmanager
def told(progress: Progress) -> Iterator[Advance]:
    """Offers the function to call after each step, whatever `progress` is.

    >>> from gopa.learning import told
    >>> with told(False) as advance:
    ...     advance("rounds", 1, 10)
    """
    if progress is None or isinstance(progress, bool):
        with bar_if_slow(progress) as advance:
            yield advance
    elif callable(progress):
        yield progress
    else:
        raise UsageError("True, False, None or a function", "progress")


def require_neither(graph: Any, clock: Any, why: str) -> None:
    """Refuses a graph and a clock where an algorithm has no use for them; `why` says so."""
    if graph is not None or clock is not None:
        raise UsageError(why, "graph")


@dataclass(frozen=True, slots=True)
class AuditedRounds:
    """The audits of all sessions of an outcome, one report for each session.

    `missing` are rounds that the outcome rests on and that are no result in any of the logs.
    """

    reports: tuple[Report, ...]
    rounds: int
    missing: tuple[tuple[Bytes, int], ...]

    @property
    def valid(self) -> bool:
        """Whether every round is there, in logs that hold by keys from outside of them."""
        return not self.missing and all(each.code == 0 for each in self.reports)

    def __str__(self) -> str:
        head = f"{self.rounds - len(self.missing)} of {self.rounds} rounds are in the logs"
        return "\n".join([head, *map(str, self.reports)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Outcome:
    """The outcome of `fit`, for every algorithm.

    `messages` and `bytes` count what users sent to each other or to a board; `spent` is the
    privacy that this cost. `transcript` has, for each round of verified aggregation, the
    transcript of its result; it is None where no session ran. `converged` is None where an
    algorithm has no notion of it.

    Arrays of the model are copied and read-only. Equal seeds give equal `to_bytes`: seconds and
    transcripts are left out of it. `noise` is about which part of the model's squared length is
    noise, by the law of the noise; None where nobody worked that out.
    `classes` are the labels that a model tells apart.
    """

    model: Any
    history: History
    spent: Spent
    messages: int
    bytes: int
    seconds: float
    seed: int
    transcript: tuple[Any, ...] | None = None
    converged: bool | None = None
    algorithm: str = ""
    warnings: tuple[str, ...] = ()
    noise: float | None = None
    classes: Any = None

    def __post_init__(self) -> None:
        for name in ("messages", "bytes"):
            object.__setattr__(self, name, whole(getattr(self, name), name, 0))
        if self.transcript is not None and not self.transcript:
            raise UsageError("None where no session ran", "transcript")
        for name in ("model", "classes"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        if self.classes is not None:
            require_classes(self.classes, _vectors(self.model, self.classes))

    def to_bytes(self) -> Bytes:
        """Everything that the seed decides, in one way only: model, history, spent, traffic."""
        return encoded(
            (
                self.algorithm,
                self.seed,
                self.model,
                self.history.columns,
                self.spent,
                None if self.spent.curve is None else self.spent.curve.columns,
                (self.messages, self.bytes, self.converged, self.warnings, self.noise),
                self.classes,
                0 if self.transcript is None else len(self.transcript),
            )
        )

    def digest(self) -> str:
        """The SHA-256 of `to_bytes`, in hexadecimal."""
        return sha256(self.to_bytes()).hexdigest()

    def audit(self, anchors: Any = None, **options: Any) -> AuditedRounds:
        """Audits the log of every session and looks for every round in them.

        `anchors` are those of `gopa.audit`; for several sessions, a dict of them by the id of the
        session. What is audited are the rounds. That the model follows from their results is
        computed, not proved: `reports` hold the numbers to compute it again.

        The log of a session between processes is read from its board: after that has stopped,
        audit what `transcript[-1].archive(path)` kept.

        Raises:
            UsageError: no session ran, one has no anchors among several, or a log cannot be read.
        """
        if self.transcript is None:
            raise UsageError(f"this is a {SIMULATION}", "transcript")
        sessions = {each.session: each for each in self.transcript}
        several = isinstance(anchors, Mapping)
        if len(sessions) > 1 and anchors is not None and not several:
            message = f"there are {len(sessions)} sessions: give a dict from their ids to anchors"
            raise UsageError(message, "anchors")
        reports = {}
        for session, transcript in sessions.items():
            if several and session not in anchors:
                raise UsageError(f"session {session.hex()} has none", "anchors")
            own = anchors[session] if several else anchors
            reports[session] = gopa.audit(transcript.log(), anchors=own, session=session, **options)
        there = {
            (session, each.number)
            for session, report in reports.items()
            for each in report.rounds
            if each.outcome == "result"
        }
        rounds = [(each.session, each.round) for each in self.transcript]
        # A round that is named twice stands for one of them.
        missing = tuple(
            each for place, each in enumerate(rounds) if each not in there - set(rounds[:place])
        )
        for session in {each for each, _ in missing}:
            _require_readable(sessions[session].log(), session)
        return AuditedRounds(tuple(reports.values()), len(rounds), missing)

    def predict(self, rows: npt.ArrayLike, user: int | None = None) -> npt.NDArray[Any]:
        """What a linear model says of rows, or the nearest of its centres.

        A class where it was trained on classes, else a number. Where each user has a model of its
        own, `user` says whose, by its place.

        Raises:
            UsageError: it is no model of rows, such as a statistic.
        """
        if hasattr(self.model, "predict"):
            return np.asarray(self.model.predict(rows, node=user))
        return np.asarray(predicted(self.model, self.classes, finite(rows, "rows"), user))

    def plot(self, *names: str, **options: Any) -> Any:
        """Draws its history: `history.plot`."""
        return self.history.plot(*names, **options)

    def save(self, path: str | Path) -> Path:
        """Writes it to one file, of JSON and arrays: all but the logs of sessions.

        The file is for its owner alone: the seed in it gives away all simulated noise.

        Raises:
            UsageError: the model has a number that is not finite, or parts that have no bytes.
        """
        from gopa.learning import saved

        return saved.write(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads what `save` wrote; its digest is that of what was saved.

        `start=` of `fedavg` goes on from it, and charges what it cost beside the rest.

        Raises:
            UsageError: the file is anything else.
        """
        from gopa.learning import saved

        found: Self = saved.read(cls, path)
        return found

    def lines(self) -> Iterator[tuple[str, str]]:
        """What a person wants to know: a name, a text."""
        if self.converged is False:
            yield "WARNING", "did not converge"
        for each in self.warnings:
            yield "warning", each
        yield "model", _shape(self.model)
        if self.noise is not None:
            yield "noise", f"about {self.noise:.0%} of the model's squared length"
        yield "history", f"{len(self.history)} rows: {', '.join(self.history.names)}"
        yield "privacy", str(self.spent)
        for each in self.spent.assumptions:
            yield "assumed", each
        yield "traffic", f"{self.messages:,} messages, {self.bytes:,} bytes"
        yield "time", f"{self.seconds:.2f} s"
        yield "seed", str(self.seed)
        many = len(self.transcript or ())
        yield "log", f"{many} rounds can be audited" if many else SIMULATION

    def __str__(self) -> str:
        body = "\n".join(f"{name:<9}{text}" for name, text in self.lines())
        return f"{self.algorithm}\n{body}" if self.algorithm else body

    def __repr__(self) -> str:
        doubt = ", DID NOT CONVERGE" if self.converged is False else ""
        simulated = ", simulation" if self.transcript is None else ""
        name = f" of {self.algorithm}" if self.algorithm else ""
        return f"<Outcome{name}: {_shape(self.model)}, {self.spent}{doubt}{simulated}>"

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        row = Markup("<tr><th>{}</th><td style='text-align:left'>{}</td></tr>")
        rows = Markup().join(row.format(name, text) for name, text in self.lines())
        return str(Markup("<table>{}</table>").format(rows))


def require_classes(classes: Any, vectors: int) -> None:
    """Refuses classes that so many vectors of weights do not tell apart: a file may say anything.

    Two classes have one vector, more of them one each. `UsageError` names `classes`.
    """
    many = classes.size if isinstance(classes, np.ndarray) and classes.ndim == 1 else 0
    if many < 2 or len(np.unique(classes)) < many:
        raise UsageError("an array of two or more, all of them different", "classes")
    if vectors != (1 if many == 2 else many):
        raise UsageError(f"{many} classes, and the model tells others apart", "classes")


def _vectors(model: Any, classes: Any) -> int:
    """How many vectors of weights a model has for these classes."""
    if isinstance(model, dict) and "coef" in model:
        return 1 if np.ndim(model["coef"]) < 2 else len(model["coef"])
    found = model.get("models", 0.0) if isinstance(model, dict) else model
    many = 1 if np.size(classes) == 2 else np.size(classes)
    # They stand one after the other in one vector.
    return many if not np.ndim(found) or np.shape(found)[-1] % max(1, many) == 0 else 0


def predicted(model: Any, classes: Any, rows: Floats, user: int | None = None) -> Any:
    """The classes or numbers that a model of coefficients, or of centres, has for rows."""
    own = model if isinstance(model, dict) else {"models": model}
    kinds = 1 if classes is None or len(classes) == 2 else len(classes)
    found: Any = own.get("coef", own.get("centres", own.get("models", 0.0)))
    coef = numbers(found, "model")
    if "models" in own and coef.ndim == 2:
        if user is None:
            raise UsageError(f"say whose model, by a number below {len(coef)}", "user")
        coef = coef[whole(user, "user", 0, len(coef) - 1)]
    if "models" in own and coef.ndim == 1 and kinds > 1:
        coef = coef.reshape(kinds, -1)
    if coef.ndim not in {1, 2}:
        raise UsageError("this outcome is no model of rows", "model")
    if rows.ndim != 2 or rows.shape[1] != coef.shape[-1]:
        message = f"rows of {coef.shape[-1]} numbers, the last 1 where models have an intercept"
        raise UsageError(message, "rows")
    if "centres" in own:
        return ((rows[:, None] - coef) ** 2).sum(axis=-1).argmin(axis=1)
    added = numbers(own.get("intercept", 0.0), "model")
    if added.shape not in {(), coef.shape[:-1]}:
        raise UsageError(f"one intercept, or one for each of {len(coef)} vectors", "model")
    scores = np.einsum("rd,...d->r...", rows, coef) + added
    if classes is None:
        return scores
    return likeliest(scores, classes)


def _frozen(model: Any) -> Any:
    """The same with read-only copies of the arrays that stand in tuples, lists and dicts."""
    if isinstance(model, np.ndarray):
        found = model.copy()
        found.flags.writeable = False
        return found
    if type(model) in {tuple, list}:
        return type(model)(_frozen(each) for each in model)
    if type(model) is dict:
        return {name: _frozen(each) for name, each in model.items()}
    return model


def _shape(model: Any) -> str:
    if isinstance(model, np.ndarray):
        return f"{model.size} numbers" if model.ndim == 1 else f"array {model.shape}"
    if isinstance(model, float | int):
        return f"{model:.6g}"
    if isinstance(model, dict):
        return ", ".join(f"{name}: {_shape(each)}" for name, each in model.items())
    if isinstance(model, tuple | list):
        return f"{len(model)} models"
    return type(model).__name__


def _require_readable(log: Any, session: Bytes) -> None:
    """Refuses a log that nobody serves any more: its rounds would count as missing from it."""
    try:
        for _ in log.bundles():
            pass
    except Unattributed as error:
        message = (
            f"the log of session {session.hex()[:16]} cannot be read ({error}): audit while its "
            "board answers, or keep the log until then with transcript[-1].archive(path), and "
            "give that file to gopa.audit"
        )
        raise UsageError(message, "transcript") from None


class AlgorithmRun:
    """A run of an algorithm, from the first check to its outcome. A context manager.

    Whoever watches it by a function may end it by `StopIteration`, where it `stops`: everything
    was charged before the first step, so what is there by then costs no more than all of it, and
    nothing comes back. What was planned to hide numbers in its last step does not stop.

    >>> from gopa.learning.outcome import AlgorithmRun
    >>> with AlgorithmRun(seed=1, progress=False) as run:
    ...     for step in run.steps(3):
    ...         run.note(step=step, error=2.0 ** -step)
    >>> run.outcome("halving", 0.25, messages=0, bytes=0).history
    <History: 3 rows of step, error>
    """

    def __init__(
        self,
        *,
        seed: int,
        progress: Progress = None,
        ledger: PrivacyLedger | None = None,
        stops: bool = True,
    ) -> None:
        require_seed(seed)
        self.seed, self.ledger, self.stopped = seed, ledger, False
        self.progress, self._stops = progress, stops
        self._begun, self._notes = perf_counter(), Recorder()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._advance = self._open.enter_context(told(self.progress))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def advance(self, what: str, done: int, total: int) -> None:
        """Tells whoever watches how far it is; `stopped` is true after `StopIteration`."""
        self.asks(self._advance, what, done, total)

    def asks(self, watcher: Callable[..., None], *said: Any) -> None:
        """Tells something to whoever watches, who may stop the run."""
        try:
            watcher(*said)
        except StopIteration:
            if not self._stops:
                message = "half of this run is no result: let it end, or ask for fewer steps"
                raise UsageError(message, "progress") from None
            self.stopped = True

    def steps(self, total: int, what: str = "steps") -> Iterator[int]:
        """The numbers of all steps from 0 on, until whoever watches stops the run."""
        for number in range(total):
            yield number
            self.advance(what, number + 1, total)
            if self.stopped:
                return

    def note(self, **numbers: Any) -> None:
        """Adds a row to the history."""
        self._notes.note(**numbers)

    @property
    def history(self) -> History:
        """All rows so far."""
        return self._notes.history()

    def outcome(
        self, algorithm: str, model: Any, *, spent: Spent | None = None, **more: Any
    ) -> Outcome:
        """What came of it; `more` are fields of `Outcome`, and what was spent is the account's."""
        if spent is None:
            spent = Spent.nothing_hidden() if self.ledger is None else self.ledger.spent()
        if self.stopped:
            more["warnings"] = (*more.get("warnings", ()), "stopped by whoever watched it")
        return Outcome(
            algorithm=algorithm,
            model=model,
            history=more.pop("history", None) or self.history,
            spent=spent,
            seconds=perf_counter() - self._begun,
            seed=self.seed,
            **more,
        )
