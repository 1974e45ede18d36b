"""Labels stay apart from each other, and all of them live in one place."""

from __future__ import annotations

import ast
import re
from itertools import permutations
from pathlib import Path

import pytest

from wire import domains
from wire.domains import Domain, stream_domain

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["wire", "commitments", "zkp", "bulletin_board", "gopa"]
SHAPE = re.compile(rb"gopa/v1/[a-z-]+/[a-z0-9-]+")
LABELS = {name: Domain(value) for name, value in vars(domains).items() if isinstance(value, bytes)}
SOURCES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if path != Path(domains.__file__)
)


def test_the_labels_used_so_far_are_here() -> None:
    assert {"TRANSCRIPT", "BATCH_WEIGHTS", "PROVER_NONCES", "GENERATORS", "TEST_STREAMS"} <= set(
        LABELS
    )


@pytest.mark.parametrize("name", LABELS)
def test_labels_have_one_shape(name: str) -> None:
    assert name.isupper()
    assert SHAPE.fullmatch(LABELS[name])


def collisions(labels: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(a, b) for a, b in permutations(labels, 2) if b.startswith(a)]


def test_no_label_is_a_prefix_of_another() -> None:
    assert collisions([b"gopa/v1/a/x", b"gopa/v1/a/xy"])
    assert collisions([b"gopa/v1/a/x", b"gopa/v1/a/x"])
    assert collisions(list(LABELS.values())) == []


def test_stream_domains_are_distinct_and_fit_a_nonce() -> None:
    short = {stream_domain(label) for label in LABELS.values()}
    assert len(short) == len(LABELS)
    assert {len(nonce) for nonce in short} == {domains.STREAM_DOMAIN_SIZE}


def label_literals(source: str) -> list[bytes]:
    literals = (
        node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)
    )
    return [value for value in literals if isinstance(value, bytes) and value.startswith(b"gopa/")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_label_is_written_elsewhere(path: Path) -> None:
    assert label_literals('x = b"gopa/v1/zkp/own"') == [b"gopa/v1/zkp/own"]
    assert label_literals(path.read_text()) == []
