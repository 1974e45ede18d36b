"""Whatever a user gets shows itself in one short line, without raw bytes and without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

import gopa
from bulletin_board import KeyKind, NoteSigner
from gopa.adversary.library import named
from gopa.auditing.report import Report
from gopa.contract.beacon import QUICKNET
from gopa.plugins.session import KnownRoster
from gopa.protocol.simulation.setup import permissive
from gopa.sessions import Ticket
from tests.auditing.html_samples import fault, report, round_report
from tests.auditing.test_anchors import OTHER
from tests.gopa.brief_samples import Sample
from tests.sessions.test_contribution import ONE
from wire.brief import MOST
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

OURS: Final = {"gopa", "wire", "commitments", "zkp", "bulletin_board"}
RAW: Final = re.compile(r"\bb'|\bb\"|\\x|[0-9a-f]{65}|array\(")
SECRET: Final = bytes(range(32))
DEEPEST: Final = 4
SHOWN_FIRST: Final = 3

PUBLIC_TYPES: Final = {
    name
    for name in dir(gopa)
    if isinstance(getattr(gopa, name), type)
    and not issubclass(getattr(gopa, name), BaseException)
    and name not in {"Aggregator", "Together"}  # an interface, and what is subclassed
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the public functions return, and objects of every public class."""
    folder = tmp_path_factory.mktemp("reprs")
    values = [0.2, 0.4, 0.6] * 2
    plan = gopa.plan(n=len(values), epsilon=4, delta=1e-6, corrupt=1, dropout=0.01)
    with gopa.LocalAggregator(plan, seed=7) as aggregator:
        result = aggregator.average(values)
    log = result.transcript.archive(folder / "log.gopa")
    few: dict[str, Any] = {"epsilon": 4, "delta": 1e-6, "mode": "off"}
    signer = NoteSigner("log.example", KeyKind.LOG, SecretBytes(SECRET))
    ticket = Ticket("https://board.example", signer.verifier, SECRET, b"")
    policy = permissive(plan.terms)
    return {
        "plan": plan,
        "aggregator": aggregator,
        "result": result,
        "findings": result.transcript.check(),
        "report": gopa.audit(log, anchors=result.transcript.anchors(folder / "anchors.txt")),
        "other": gopa.audit(log, anchors=OTHER),
        "sample": report(60, gone=7, faults=3),
        "off": gopa.average(values, **few),
        "sum": gopa.sum(values, **few),
        "histogram": gopa.histogram(values, bins=[0, 0.5, 1], **few),
        "variance": gopa.variance(values, **few),
        "policy": policy,
        "roster": KnownRoster.of(policy, frozenset({SECRET}), "a vote"),
        "chain": QUICKNET,
        "client": gopa.Client(SigningKey(SecretBytes(SECRET)), policy),
        "ticket": ticket,
        "contribution": ONE,
        "privacy": gopa.privacy,
        "backend": gopa.backend_status(),
        "attack": named("zero-noise"),
        "tried": named("zero-noise").run(),
        "law": gopa.noise.rounded_gaussian(2),
    }


def reached(path: str, value: object, depth: int, seen: dict[int, object]) -> Iterator[Any]:
    """Objects of ours that somebody comes to from here by attributes and items, with the way."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for at, each in enumerate(value[:SHOWN_FIRST]):
            yield from reached(f"{path}[{at}]", each, depth, seen)
        return
    strange = type(value).__module__.partition(".")[0] not in OURS
    if strange or depth > DEEPEST or id(value) in seen or isinstance(value, type | ModuleType):
        return
    seen[id(value)] = value
    yield path, value
    for name in dir(value):
        if name.startswith("_") or name == "simulation":
            continue
        try:
            held = getattr(value, name)
        except (gopa.GopaError, AttributeError):
            continue
        yield from reached(f"{path}.{name}", held, depth + 1, seen)


def test_every_object_that_users_come_to_is_shown_in_one_short_line(
    roots: dict[str, Any],
) -> None:
    seen: dict[int, object] = {}
    found = [each for name, root in roots.items() for each in reached(name, root, 0, seen)]
    assert len(found) > 100
    bad = [
        (path, repr(value)[: 2 * MOST])
        for path, value in found
        if len(repr(value)) > MOST + 100 or "\n" in repr(value) or RAW.search(repr(value))
    ]
    assert not bad
    shown = {type(value).__name__ for _, value in found}
    # These need a board: `tests/sessions/live` shows them.
    assert shown >= PUBLIC_TYPES - {"Membership", "SessionAggregator", "PrivacyStatement"}
    assert {"PrivacyStatement", "Terms", "RoundReport", "Manifest", "Graph"} <= shown


def test_no_secret_is_shown(roots: dict[str, Any]) -> None:
    held = SecretBytes(SECRET)
    for value in (roots["client"], held, SigningKey(held), {"key": held}):
        assert SECRET[:4].hex() not in repr(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"", "0x"),
        (bytes(4), "0x00000000"),
        (bytes(5), "0x00000000.."),
        ("a" * 100, "'" + "a" * 39 + ".."),
        ((1, 2.5, "x"), "(1, 2.5, 'x')"),
        ((1, 2, 3, 4), "<4 items>"),
        ((b"a",), "<1 item>"),
        ({1: 2}, "<1 item>"),
        (frozenset({1}), "(1)"),
        (Decimal("0.50"), "0.50"),
        (Fraction(1, 3), "1/3"),
        (KeyKind.LOG, "LOG"),
        (None, "None"),
    ],
)
def test_a_value_is_shown_in_a_few_characters(value: object, shown: str) -> None:
    assert repr(Sample(value)) == f"Sample(value={shown})"


def test_a_long_line_is_cut() -> None:
    fifteen = round_report(15)
    assert len(repr(fifteen)) == MOST
    assert repr(Sample(Sample(1))) == "Sample(value=<Sample>)"
    assert len(repr(fault())) <= MOST


def card(whole: Report) -> ET.Element:
    return ET.fromstring(whole._repr_html_())  # noqa: S314 - our own output


def test_a_report_is_a_card_in_a_notebook(roots: dict[str, Any]) -> None:
    good, other = roots["report"], roots["other"]
    assert (good.verdict.value, other.verdict.value) == ("VALID", "INVALID")
    for whole in (good, other, report(), report(30, dimension=12)):
        shown = card(whole)
        text = "".join(shown.itertext())
        assert whole.verdict.value in text
        assert f"exit code {whole.code}" in text
        kinds = {each.tag for each in shown.iter()}
        assert not kinds & {"script", "style", "link", "iframe", "img"}
        assert not any(each.get("class", "gopa-report") != "gopa-report" for each in shown.iter())
    assert str(other.other_session) in "".join(card(other).itertext())


def test_names_in_a_card_are_never_markup() -> None:
    whole, evil = report(), '<script>alert(1)</script>"'
    assert whole.log is not None
    shown = replace(whole, log=replace(whole.log, input=evil))._repr_html_()
    assert "<script" not in shown
    assert "alert(1)" in shown


def test_a_plan_is_a_table_in_a_notebook(roots: dict[str, Any]) -> None:
    plan = roots["plan"]
    rows = list(ET.fromstring(plan._repr_html_()))  # noqa: S314 - our own output
    assert len(rows) == len(plan.reasons) + len(plan.warnings)
