"""Specification 09 and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path

from gopa.contract.beacon import DRAND_CHAIN, KNOWN_CHAINS, Scheme, bls, drand, timing
from wire import domains
from wire.codec import describe

SPEC = (Path(__file__).resolve().parents[3] / "specs" / "09-beacon.md").read_text()
RULES = re.findall(r"\*\*\[(D\d+)\]\*\*", SPEC)


def test_rules_are_numbered_without_gaps() -> None:
    assert RULES
    assert [int(rule[1:]) for rule in RULES] == list(range(1, len(RULES) + 1))


def test_errors_cite_rules_that_exist() -> None:
    cited = [drand.INPUTS, bls.ENCODING, bls.SUBGROUP, bls.EQUATION, timing.TIMES, timing.QUORUM]
    assert len(set(cited)) == len(cited)
    assert {check.removeprefix("09-") for check in cited} <= set(RULES)


def test_the_printed_format_is_the_one_that_runs() -> None:
    (printed,) = re.findall(r"^```tls\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    assert printed == describe(DRAND_CHAIN)


def test_the_table_of_schemes_is_the_one_that_runs() -> None:
    rows = re.findall(
        r"^\| (\d) \| `([\w-]+)` \| (\d\d) \| (\d\d) \| `(\S+)` \| (.*) \|$", SPEC, re.MULTILINE
    )
    assert [tuple(row) for row in rows] == [
        (
            str(scheme.value),
            scheme.title,
            str(scheme.key_size),
            str(scheme.signature_size),
            scheme.hash_domain.decode(),
            "previous signature, round" if scheme.chained else "round",
        )
        for scheme in Scheme
    ]


def test_every_label_is_printed() -> None:
    labels = {
        label.decode()
        for label in vars(domains).values()
        if isinstance(label, bytes) and label.startswith(b"gopa/v1/beacon/")
    }
    printed = set(re.findall(r"`(gopa/v1/beacon/[a-z-]+)`", SPEC))
    assert len(labels) == 10
    assert printed == labels


def test_known_networks_are_printed() -> None:
    for chain in KNOWN_CHAINS:
        assert chain.chain_hash.hex() in SPEC
        assert f"`{chain.scheme.title}`, {chain.period} s" in SPEC


def test_the_distance_is_the_one_that_runs() -> None:
    assert f"time(i) - {timing.DISTANCE} period" in SPEC
