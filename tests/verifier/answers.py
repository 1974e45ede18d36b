"""What both implementations say about one archive, in one form."""

from __future__ import annotations

import copy
import importlib
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from bulletin_board import ArchiveReader, Submission, TrustPolicy
from gopa.contract.manifest import Mode
from gopa.protocol.rules import Findings, check_log
from gopa.protocol.rules.findings import Role, RoundFindings
from gopa.protocol.rules.ledger import is_undecided
from gopa.protocol.rules.rounds import RoundSequence
from tests.randomness import seeded
from wire.errors import ProtocolError

PROGRAM: Final = Path(__file__).parents[2] / "specs" / "verifier"
REFUSED: Final = "INVALID"
STRAY: Final = ("board", "", "05-F6")
LONG: Final = "14-"
ACCEPTED: Final = frozenset({"VALID", "SIGNED-ONLY"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One round: who is in it, what came out, who left it, who is to blame for its end."""

    number: int
    included: tuple[str, ...]
    sums: tuple[int, ...] | None
    abort: str | None
    removed: frozenset[tuple[str, str, str]]
    barred: tuple[str, ...]
    to_blame: tuple[int, ...]
    veto: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict with what it rests on. `faults` are role, author and rule.

    `shown` are author, rule and entries of those that break a rule about long vectors.
    """

    verdict: str
    complete: bool = False
    rounds: tuple[Outcome, ...] = ()
    faults: frozenset[tuple[str, str, str]] = frozenset()
    shown: frozenset[tuple[str, str, tuple[int, ...]]] = frozenset()

    @property
    def meaning(self) -> tuple[object, ...]:
        """What an acceptance says."""
        return self.verdict, self.rounds


@cache
def program() -> ModuleType:
    """The second verifier, as a module."""
    sys.path.insert(0, str(PROGRAM))
    try:
        importlib.import_module("verify")
        _remember_sums()
        return importlib.import_module("report")
    finally:
        sys.path.remove(str(PROGRAM))


def _remember_sums() -> None:
    """Sums of points and masks of equal arguments are computed once for all logs.

    Logs of one world share most of their proofs, and nearly all time goes into these. Tests
    that start the program in a process of its own run it as it is.
    """
    curve, masks = map(importlib.import_module, ("curve", "masks"))
    plain, drawn, unpacked = curve.multi, masks.Masks._drawn, masks.unpack

    @lru_cache(maxsize=2048)
    def known(terms: tuple[Any, ...]) -> Any:
        return plain(terms)

    def multi(terms: Iterable[Any]) -> Any:
        return known(tuple(terms))

    @lru_cache(maxsize=256)
    def known_masks(dimension: int, width: int, key: bytes, *rest: Any) -> Any:
        whose, table = rest
        return drawn(masks.Masks(b"", b"", dimension, 0, width), key, whose, list(table))

    def masks_of(own: Any, key: bytes, whose: bytes, table: list[int]) -> Any:
        values, blinding = known_masks(own.dimension, own.width, key, whose, tuple(table))
        return list(values), blinding

    known_words = lru_cache(maxsize=64)(lambda *words: tuple(unpacked(*words)))

    def unpack(*words: Any) -> list[int]:
        return list(known_words(*words))

    for path in PROGRAM.glob("*.py"):
        names = vars(sys.modules[path.stem]) if path.stem in sys.modules else {}
        if names.get("unpack") is unpacked:
            names["unpack"] = unpack
        if names.get("multi") is plain:
            names["multi"] = multi
    masks.Masks._drawn = masks_of


@contextmanager
def any_roots() -> Iterator[None]:
    """Both believe what closes say about the log: else a changed log ends at its next close."""
    program()
    with pytest.MonkeyPatch.context() as patch:
        for whole in (RoundSequence, importlib.import_module("session").Session):
            patch.setattr(whole, "_require_root", lambda *_: None)
        _report.cache_clear()
        yield
    _report.cache_clear()


def anchors_of(log: str, manifest: str, policy: str = "") -> bytes:
    """A file of anchors, as an auditor brings it."""
    text = policy or f"log {log}\nquorum none\n"
    return f"manifest {manifest}\n{text}".encode()


def report(
    archive: bytes, anchors: bytes = b"", *, embedded: bool = False, since: bytes | None = None
) -> dict[str, Any]:
    """The second verifier's own words."""
    return copy.deepcopy(_report(archive, anchors, embedded, since))


@lru_cache(maxsize=8)
def _report(archive: bytes, anchors: bytes, embedded: bool, since: bytes | None) -> dict[str, Any]:
    """Tests ask several times in a row about one archive."""
    module = program()
    given = module.read_anchors(anchors)
    found: dict[str, Any] = module.verify(archive, given, embedded=embedded, since=since)
    return found


def second(archive: bytes, anchors: bytes) -> Answer:
    """The answer of the second verifier."""
    return answer_of(report(archive, anchors))


def answer_of(found: dict[str, Any]) -> Answer:
    """A report of the second verifier as an answer."""
    if found["verdict"] in {"INVALID", "UNSUPPORTED"} and not found["session"]:
        return Answer(REFUSED)
    return Answer(
        found["verdict"],
        found["complete"],
        tuple(_outcome(each) for each in found["rounds"]),
        frozenset((each["role"], each["author"], each["rule"]) for each in found["faults"]),
        frozenset(
            (each["author"], each["rule"], tuple(each["entries"]))
            for each in found["faults"]
            if each["rule"].startswith(LONG)
        ),
    )


def _outcome(stated: dict[str, Any]) -> Outcome:
    return Outcome(
        stated["number"],
        tuple(stated["included"]),
        None if stated["sums"] is None else tuple(stated["sums"]),
        stated["abort"],
        frozenset((row["author"], row["phase"], row["cause"]) for row in stated["removed"]),
        tuple(stated["barred"]),
        tuple(stated["to_blame"]),
        tuple(stated["veto"]),
    )


def first(archive: bytes, anchors: bytes) -> Answer:
    """The answer of the packages: `bulletin_board` reads the archive, the rules judge it."""
    head, _, policy = anchors.partition(b"\n")
    try:
        reader = ArchiveReader(io.BytesIO(archive), TrustPolicy.parse(policy))
        raws = list(reader.entries())
        named = reader.header.session if any(reader.header.session) else None
        found = check_log(raws, rng=seeded("the packages' answer"), session=named)
    except ProtocolError:
        return Answer(REFUSED)
    strays = {STRAY} if _has_strays(raws) else set()
    verdict = _verdict(found, bytes.fromhex(head.removeprefix(b"manifest ").decode()))
    return Answer(
        REFUSED if strays else verdict,
        found.complete,
        tuple(map(_round, found.rounds)),
        frozenset((each.role.value, each.author.hex(), each.rule) for each in found.faults)
        | strays,
        frozenset(
            (each.author.hex(), each.rule, tuple(each.entries))
            for each in found.faults
            if each.rule.startswith(LONG)
        ),
    )


def _has_strays(raws: list[bytes]) -> bool:
    """05-F6, which is not among the rules of a session."""
    slots = Counter(Submission.decode(raw).entry.slot for raw in raws)
    return len(set(raws)) < len(raws) or max(slots.values(), default=0) > 2


def _verdict(found: Findings, anchor: bytes) -> str:
    """11-V1."""
    manifest = found.manifest
    if any(each.role in {Role.ORGANISER, Role.BOARD} for each in found.faults):
        return "INVALID"
    if manifest is None:
        return "INCOMPLETE"
    if sha256(manifest.to_bytes()).digest() != anchor:
        return "INVALID"
    if not found.complete or is_undecided(manifest):
        return "INCOMPLETE"
    return "VALID" if manifest.mode is Mode.FULL else "SIGNED-ONLY"


def _round(found: RoundFindings) -> Outcome:
    return Outcome(
        found.number,
        tuple(found.roll[place].hex() for place in found.final or ()),
        found.sums,
        None if found.abort is None else found.abort.name.lower(),
        frozenset(
            (row.author.hex(), row.phase.name.lower(), row.cause.name.lower())
            for row in found.removals
        ),
        tuple(each.hex() for each in found.barred),
        found.culprits,
        found.veto,
    )
