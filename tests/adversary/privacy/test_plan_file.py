"""Terms come back from what `gopa plan --json` prints, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gopa.adversary.privacy import read_plan
from gopa.cli.plan import as_record
from gopa.planning import Plan
from tests.planning.samples import plan
from wire.errors import UsageError


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(n=20, epsilon="0.7", delta="1e-4", recovery="2/3", range=("-2.5", "3"))


def written(made: Plan, path: Path, change: Callable[[Any], object] = lambda _: None) -> Path:
    record = json.loads(json.dumps(as_record(made)))
    change(record)
    path.write_text(json.dumps(record))
    return path


def test_terms_come_back_exactly(made: Plan, tmp_path: Path) -> None:
    assert read_plan(written(made, tmp_path / "plan.json")) == made.terms


CHANGES: dict[str, Callable[[Any], object]] = {
    "no terms": lambda record: record.pop("terms"),
    "no noise": lambda record: record.pop("noise"),
    "terms that are a list": lambda record: record.update(terms=[]),
    "a term fewer": lambda record: record["terms"].pop("k"),
    "a term more": lambda record: record["terms"].update(extra=1),
    "k as text": lambda record: record["terms"].update(k="3"),
    "k too large": lambda record: record["terms"].update(k=20),
    "epsilon as a number": lambda record: record["terms"].update(epsilon=0.7),
    "epsilon that is none": lambda record: record["terms"].update(epsilon="much"),
    "epsilon that is infinite": lambda record: record["terms"].update(epsilon="Infinity"),
    "noise without encoding": lambda record: record["noise"].pop("encoding"),
    "noise that is no hexadecimal": lambda record: record["noise"].update(encoding="xy"),
    "noise cut off": lambda record: record["noise"].update(
        encoding=record["noise"]["encoding"][2:]
    ),
    "another hash": lambda record: record["noise"].update(hash="00" * 32),
}


@pytest.mark.parametrize("name", CHANGES)
def test_others_are_refused(made: Plan, tmp_path: Path, name: str) -> None:
    assert read_plan(written(made, tmp_path / "sound.json")) == made.terms
    with pytest.raises(UsageError):
        read_plan(written(made, tmp_path / "other.json", CHANGES[name]))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, " " * (1 << 21)], ids=range(6))
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_plan(path)
    with pytest.raises(UsageError):
        read_plan(tmp_path / "missing.json")
