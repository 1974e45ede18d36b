"""The account of what steps cost, which refuses the one that would cost too much.

Mechanisms that are known exactly compose by their loss distributions, `gopa.accounting.Loss`. A
step is charged before anything of it is sent: whoever is interrupted has paid for a step that
nobody saw, and never the other way round.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import numpy as np

from gopa import UsageError
from gopa.accounting import Loss, gaussian_sigma
from gopa.learning.checks import whole
from gopa.learning.history import History
from gopa.learning.privacy import Charge, Privacy, Spent

FORMAT: Final = "gopa-privacy-ledger/v1"
THEOREM: Final = "composition of loss distributions"
PURE_THEOREM: Final = "basic composition"

_MOST_TIMES: Final = 1 << 24
_POINTS: Final = 16
_CLOSED: Final = -1
_ROUNDING: Final = 1 + 1e-12
"""Above the roundings of whoever calibrates noise to a budget, or divides one by many steps."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One thing that was charged; `note` is the caller's word for it."""

    charge: Charge
    times: int
    note: str = ""


class BudgetExceeded(UsageError):
    """A step that would spend more privacy than was asked for; nothing was charged.

    `epsilon` is what all steps would have come to, infinite where their `delta` is the cause or
    they have no noise; `room` is how many of the asked steps still fit.
    """

    def __init__(self, message: str, epsilon: float, room: int, delta: float = 0.0) -> None:
        super().__init__(message, "privacy")
        self.args = (message, epsilon, room, delta)
        self.epsilon = epsilon
        self.room = room
        self.delta = delta


class PrivacyLedger:
    """Steps charged against what was asked for, for the user who is charged most.

    With `privacy=None` every step is granted, and `spent` claims nothing. What is too much by
    rounding alone, 10^-12 of the budget, counts as just enough.

    >>> from gopa.learning import Charge, Privacy, PrivacyLedger
    >>> ledger = PrivacyLedger(Privacy(1.0, 1e-5))
    >>> ledger.room(Charge.laplace(scale=4, sensitivity=1)) >= 4
    True
    >>> ledger.charge(Charge.laplace(scale=4, sensitivity=1), note="round 1")
    LedgerEntry(charge=laplace(scale=4, sensitivity=1), times=1, note='round 1')
    >>> ledger.charge(Charge.exact())
    Traceback (most recent call last):
    ...
    gopa.learning.ledger.BudgetExceeded: privacy: a number without noise: no budget covers it; ...
    """

    def __init__(
        self,
        privacy: Privacy | None,
        *,
        assumptions: Iterable[str] = (),
        entries: Iterable[LedgerEntry] = (),
    ) -> None:
        if not (privacy is None or isinstance(privacy, Privacy)):
            raise UsageError("a Privacy, such as Privacy(1.0, 1e-6), or None", "privacy")
        self.privacy = privacy
        self.assumptions = tuple(assumptions)
        self._entries: list[LedgerEntry] = []
        self._counts: Counter[Charge] = Counter()
        self._losses: dict[Charge, Loss] = {}
        self._largest_shift = 0.0
        # Where no noise is calibrated, it is composed like anything else.
        with suppress(UsageError):
            if privacy is not None:
                self._largest_shift = _ROUNDING / gaussian_sigma(privacy.epsilon, privacy.delta)
        self._known = _KnownRoom()
        self._file: int | None = None
        self._process = os.getpid()
        self._lock = Lock()
        for each in entries:
            self._take(each)

    @classmethod
    def at(cls, path: str | Path, privacy: Privacy, *, assumptions: Iterable[str] = ()) -> Self:
        """A ledger that is kept in a file, and goes on where that one ends.

        An entry is on disk before `charge` returns. The end of a line that was never finished is
        taken away: what it charged was not granted. One process at a time may have it open.

        Raises:
            UsageError: it was begun for another privacy, another process has it open, or it is
                no ledger.
        """
        import fcntl

        if not isinstance(privacy, Privacy):
            raise UsageError("what is kept in a file has a Privacy", "privacy")
        target = Path(path)
        handle = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError("another process has it open", str(target)) from None
            head = {"format": FORMAT, "privacy": asdict(privacy)}
            # By the locked handle: the path may lead elsewhere by now.
            with open(handle, "rb", closefd=False) as file:
                whole = _finished(file.read(), head, str(target))
            entries = _read(whole, head, str(target))
            ledger = cls(privacy, assumptions=assumptions, entries=entries)
            os.ftruncate(handle, len(whole))
            if not whole:
                _append(handle, head)
                _sync_folder(target.parent)
        except BaseException:
            os.close(handle)
            raise
        ledger._file = handle
        return ledger

    def close(self) -> None:
        """Lets another process have the file; nothing can be charged any more."""
        if self._file is not None:
            os.close(self._file)
            self._file = _CLOSED

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        """The same account: two that go on by themselves would spend it twice."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise UsageError(
            "an account stays in its process: keep it with `PrivacyLedger.at`", "ledger"
        )

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything that was charged, in order."""
        return tuple(self._entries)

    def charge(self, charge: Charge, times: int = 1, note: str = "") -> LedgerEntry:
        """Charges a mechanism, `times` runs of it. Call it before anything is sent.

        Raises:
            BudgetExceeded: it would cost more than was asked for; nothing was charged.
        """
        times = whole(times, "times", 1, _MOST_TIMES)
        if not isinstance(note, str):
            # In a file it would be a line that no ledger reads again.
            raise UsageError("text", "note")
        if self._file == _CLOSED:
            raise UsageError("this ledger was closed", "ledger")
        if self._file is not None and self._process != os.getpid():
            # A forked process has the lock, too: both would spend what is left.
            raise UsageError("it belongs to the process that opened it", "ledger")
        with self._lock:
            return self._charged(charge, times, note)

    def _charged(self, charge: Charge, times: int, note: str) -> LedgerEntry:
        # Asking for as many again as there were makes a thousand equal steps cost ten searches.
        again = bool(self._entries) and self._entries[-1].charge == charge
        room = self._room(charge, times, max(times, self._counts[charge]) if again else times)
        if room < times:
            raise self._refusal(charge, times, room)
        entry = LedgerEntry(charge, times, note)
        if self._file is not None:
            _append(self._file, asdict(entry))
        self._take(entry)
        return entry

    def room(self, charge: Charge, most: int = _MOST_TIMES) -> int:
        """How many runs of this mechanism still fit, or `most` if that many do."""
        with self._lock:
            return self._room(charge, most, most)

    def spent(self, points: int = _POINTS) -> Spent:
        """What all entries come to, with a curve of so many points."""
        if self.privacy is None:
            return Spent.nothing_hidden()
        steps, epsilons = [0], [0.0]
        counts: Counter[Charge] = Counter()
        last = len(self._entries) - 1
        chosen = set(np.linspace(0, last, points).astype(int).tolist()) | {last}
        for place, entry in enumerate(self._entries):
            counts[entry.charge] += entry.times
            if place in chosen:
                steps.append(counts.total())
                epsilons.append(self._epsilon(counts))
        return Spent.of(
            self.privacy,
            epsilons[-1],
            theorem=PURE_THEOREM if self.privacy.delta == 0 else THEOREM,
            assumptions=self.assumptions,
            curve=History({"steps": steps, "epsilon": epsilons}),
        )

    def _take(self, entry: LedgerEntry) -> None:
        self._entries.append(entry)
        self._counts[entry.charge] += entry.times
        known = self._known
        same = known.charge == entry.charge and known.runs >= entry.times
        self._known = replace(known, runs=known.runs - entry.times) if same else _KnownRoom()

    def _room(self, charge: Charge, most: int, ahead: int) -> int:
        """`room`; where it is not known yet, it is looked for as far as `ahead`."""
        if not isinstance(charge, Charge):
            raise UsageError("a Charge, such as Charge.gaussian(2.0, 1.0)", "charge")
        if self.privacy is None:
            return most
        if charge.relation not in {None, self.privacy.relation}:
            raise UsageError(f"{self.privacy.relation} was asked for", "relation")
        known = self._known if self._known.charge == charge else _KnownRoom(charge)
        if known.runs < most and not known.final:
            found = self._search(charge, known.runs, ahead)
            known = _KnownRoom(charge, found, final=found < ahead)
        self._known = known
        return min(known.runs, most)

    def _search(self, charge: Charge, low: int, most: int) -> int:
        """The largest number of runs that fits, up to `most`; `low` do."""
        step = 1
        while low < most:
            high = min(low + step, most)
            if not self._fits(charge, high):
                break
            low, step = high, 2 * step
        else:
            return most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._fits(charge, middle) else (low, middle)
        return low

    def _fits(self, charge: Charge, times: int) -> bool:
        return self._with(charge, times) <= (self.privacy.epsilon if self.privacy else math.inf)

    def _with(self, charge: Charge, times: int) -> float:
        return self._epsilon(self._counts + Counter({charge: times}))

    def _epsilon(self, counts: Mapping[Charge, int]) -> float:
        """What so many runs of each come to, at the delta that was asked for."""
        if self.privacy is None or any(each.law == "exact" for each in counts):
            return math.inf
        lost = math.fsum(each.lost * times for each, times in counts.items())
        if lost > self.privacy.delta * _ROUNDING:
            return math.inf
        simply, asked = _added_up(counts), self.privacy.epsilon
        if asked < simply <= asked * _ROUNDING or self._is_calibrated(counts):
            simply = asked
        if self.privacy.delta == 0:
            return simply
        return min(simply, self._composed(counts, self.privacy.delta))

    def _composed(self, counts: Mapping[Charge, int], delta: float) -> float:
        found: Loss | None = None
        beside: Counter[Charge] = Counter()
        for each, times in counts.items():
            if each.pure and each.has_loss:
                loss = self._loss(each).repeated(times)
                found = loss if found is None else found.then(loss)
            else:
                beside[each] = times
                delta -= each.lost * times
        added = _added_up(beside)
        if found is None:
            return added
        return added + found.epsilon(delta) if delta > 0 else math.inf

    def _is_calibrated(self, counts: Mapping[Charge, int]) -> bool:
        """Whether these are normal noises that together are exactly enough.

        They compose to one of their added precisions. The account of any mechanisms is a little
        above that, and would refuse what `gaussian_sigma` was asked for.
        """
        if any(each.law != "gaussian" or each.relation is not None for each in counts):
            return False
        shift = math.sqrt(sum(times * _shift(each) ** 2 for each, times in counts.items()))
        return shift <= self._largest_shift

    def _loss(self, charge: Charge) -> Loss:
        if charge not in self._losses:
            self._losses[charge] = charge.loss()
        return self._losses[charge]

    def _refusal(self, charge: Charge, times: int, room: int) -> BudgetExceeded:
        asked = self._with(charge, times)
        many = "" if times == 1 else f" {times} times"
        used = math.fsum(each.lost * runs for each, runs in self._counts.items())
        lost = used + charge.lost * times
        if charge.law == "exact":
            message = "a number without noise: no budget covers it; privacy=None asks for none"
        elif self.privacy is not None and asked == math.inf:
            takes = f"takes {charge.lost * times:.3g}" if charge.lost else "needs a part"
            message = (
                f"{charge!r}{many} {takes} of the delta, and of the {self.privacy.delta:.3g} that "
                f"was asked for {used:.3g} is used: ask for a larger delta, or let each part take "
                f"less of it; {room} more fit"
            )
        else:
            message = (
                f"{charge!r}{many} would come to epsilon {asked:.4g}, and {self.privacy} was asked "
                f"for; {room} more fit: stop here, ask for more, or add more noise"
            )
        return BudgetExceeded(message, asked, room, lost)


@dataclass(frozen=True, slots=True)
class _KnownRoom:
    """How many runs of a mechanism fit for sure, and whether one more is known not to."""

    charge: Charge | None = None
    runs: int = 0
    final: bool = False


def _shift(charge: Charge) -> float:
    """How many deviations one input moves a normal number by."""
    sigma, sensitivity = charge.numbers
    return sensitivity / sigma if sigma else math.inf


def _added_up(counts: Mapping[Charge, int]) -> float:
    """Basic composition, in the decimals that people write: nothing beats it where delta is 0."""
    if any(each.pure == math.inf for each in counts):
        return math.inf
    return float(sum(Fraction(repr(each.pure)) * times for each, times in counts.items()))


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _append(handle: int, record: Mapping[str, Any]) -> None:
    """Writes a line to disk; what it charges is granted only after that."""
    line = _line(record)
    start = os.lseek(handle, 0, os.SEEK_END)
    try:
        while line:
            line = line[os.write(handle, line) :]
        os.fsync(handle)
    except BaseException:
        # Else the next line would go on where this one broke off.
        os.ftruncate(handle, start)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _finished(data: bytes, head: Mapping[str, Any], path: str) -> bytes:
    """The lines that were written to their end."""
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and not _line(head).startswith(data):
        # Else any file without a line break would be emptied.
        raise UsageError("this is no ledger of privacy", path)
    return whole


def _read(data: bytes, head: Mapping[str, Any], path: str) -> list[LedgerEntry]:
    lines = data.splitlines()
    try:
        records = [json.loads(line) for line in lines]
        entries = [_entry(each) for each in records[1:]]
    except (ValueError, TypeError, KeyError, RecursionError, UsageError) as error:
        raise UsageError(f"this is no ledger of privacy: {error}", path) from None
    if records and records[0] != head:
        raise UsageError("it was begun for another privacy: ask for the same one", path)
    return entries


def _entry(record: Any) -> LedgerEntry:
    charge = record["charge"]
    made = Charge(charge["law"], tuple(charge["numbers"]), charge["rate"], charge["relation"])
    found = LedgerEntry(made, record["times"], record["note"])
    plain = json.loads(json.dumps(asdict(found)))
    if plain != record or not isinstance(found.note, str):
        raise UsageError("a line that no ledger writes", "entry")
    whole(found.times, "times", 1, _MOST_TIMES)
    return found
