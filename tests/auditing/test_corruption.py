"""Random damage: nothing that changes the meaning is VALID, and nobody honest is named."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from bulletin_board import ArchiveReader
from gopa.auditing import Report, Verdict, audit
from gopa.auditing.report import Culprit
from tests.auditing.logs import archived, clean, note_of
from tests.auditing.transcripts import anchors_of, liars_of, path_of

BASES: Final = (
    "accuse_falsely",
    "clean_full",
    "clean_signed",
    "commit_flipped_proof",
    "dropout_before_publish",
    "equivocation_commit",
    "recovery_of_two",
    "rollback_wrong_opening",
    "two_rounds_convict_is_barred",
)
ACCEPTED: Final = {Verdict.VALID, Verdict.SIGNED_ONLY}
IN_A_TEST: Final = 45
IN_A_SOAK: Final = 20_000

Change = Callable[[list[bytes], random.Random], list[bytes]]


def dropped(entries: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(entries))
    return entries[:at] + entries[at + 1 :]


def repeated(entries: list[bytes], rng: random.Random) -> list[bytes]:
    return [*entries, rng.choice(entries)]


def swapped(entries: list[bytes], rng: random.Random) -> list[bytes]:
    one, other = rng.sample(range(len(entries)), 2)
    moved = list(entries)
    moved[one], moved[other] = moved[other], moved[one]
    return moved


def cut(entries: list[bytes], rng: random.Random) -> list[bytes]:
    return entries[: rng.randrange(len(entries))]


def flipped_entry(entries: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(entries))
    return [*entries[:at], flipped(entries[at], rng), *entries[at + 1 :]]


def spliced(entries: list[bytes], rng: random.Random) -> list[bytes]:
    """An entry of another session of the same board."""
    other = rng.choice(clean().entries)
    at = rng.randrange(len(entries) + 1)
    return [*entries[:at], other, *entries[at:]]


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


CHANGES: Final[Sequence[Change]] = (dropped, repeated, swapped, cut, flipped_entry, spliced)


def meaning(report: Report) -> list[tuple[object, ...]]:
    """What a reader takes home."""
    return [(each.number, each.outcome, each.included, each.sums) for each in report.rounds]


class Damage:
    """Damages one transcript in many ways: the file, or the log, signed again by its board."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.name, self.path = name, tmp_path / "damaged.gopa"
        self.anchors = anchors_of(name)
        self.original = path_of(name).read_bytes()
        assert self.anchors.policy is not None
        with path_of(name).open("rb") as stream:
            reader = ArchiveReader(stream, self.anchors.policy)
            self.session, self.entries = reader.header.session, list(reader.entries())
        self.whole = audit(path_of(name), anchors=self.anchors)
        assert self.whole.verdict in ACCEPTED
        self.liars = liars_of(name)

    def data(self, rng: random.Random) -> tuple[bytes, bool]:
        """A damaged archive, and whether its board signed what it holds."""
        if rng.random() < 0.5:
            return flipped(self.original, rng), False
        entries = rng.choice(CHANGES)(self.entries, rng)
        # All transcripts stand in logs of one key.
        signer = clean().signer
        return archived(entries, note_of(entries, signer), self.session), True

    def check(self, rng: random.Random) -> Verdict:
        data, signed = self.data(rng)
        self.path.write_bytes(data)
        report = audit(self.path, anchors=self.anchors)
        if report.verdict in ACCEPTED:
            assert meaning(report) == meaning(self.whole)
        for fault in report.faults:
            if not signed:
                assert fault.culprit is Culprit.UNATTRIBUTABLE
            elif fault.culprit is Culprit.PARTY:
                assert fault.author.hex() in self.liars
        return report.verdict


def damaged(count: int, tmp_path: Path, seed: str) -> set[Verdict]:
    rng = random.Random(seed)
    bases = [Damage(name, tmp_path) for name in BASES]
    return {rng.choice(bases).check(rng) for _ in range(count)}


@pytest.mark.slow
def test_damage_changes_no_meaning_and_names_nobody_honest(tmp_path: Path) -> None:
    found = damaged(IN_A_TEST, tmp_path, "auditing: damage")
    assert {Verdict.INVALID, Verdict.INCOMPLETE} <= found


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_much_damage_changes_no_meaning(tmp_path: Path, part: int) -> None:
    found = damaged(IN_A_SOAK // 4, tmp_path, f"auditing: soak {part}")
    assert {Verdict.INVALID, Verdict.INCOMPLETE} <= found
