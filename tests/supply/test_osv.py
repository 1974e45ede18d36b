from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from supply.osv import Affected, Malformed, Range, parse
from supply.registries import PYTHON_ECOSYSTEM
from tests.supply.osv_files import Fields, advisory, package, spans


def sample() -> Fields:
    return advisory(
        package("some", versions=["1.0"], **spans("introduced 0", "fixed 2")),
        aliases=["ALIAS-1"],
    )


def affected(fields: Fields) -> Fields:
    item: Fields = fields["affected"][0]
    return item


def events(fields: Fields) -> list[object]:
    found: list[object] = affected(fields)["ranges"][0]["events"]
    return found


SPOILED: dict[str, Callable[[Fields], object]] = {
    "no id": lambda f: f.pop("id"),
    "an empty id": lambda f: f.update(id=""),
    "an id that is a number": lambda f: f.update(id=1),
    "no date": lambda f: f.pop("modified"),
    "a withdrawal that is a flag": lambda f: f.update(withdrawn=True),
    "aliases that are a text": lambda f: f.update(aliases="ALIAS-1"),
    "aliases that are numbers": lambda f: f.update(aliases=[1]),
    "affected that is an object": lambda f: f.update(affected={}),
    "an affected item that is a text": lambda f: f["affected"].append("some"),
    "a package that is a text": lambda f: affected(f).update(package="some"),
    "no name": lambda f: affected(f)["package"].pop("name"),
    "no ecosystem": lambda f: affected(f)["package"].pop("ecosystem"),
    "versions that are a text": lambda f: affected(f).update(versions="1.0"),
    "versions that are numbers": lambda f: affected(f).update(versions=[1.0]),
    "ranges that are an object": lambda f: affected(f).update(ranges={}),
    "an unknown type of range": lambda f: affected(f)["ranges"][0].update(type="DATE"),
    "no type of range": lambda f: affected(f)["ranges"][0].pop("type"),
    "no events": lambda f: affected(f)["ranges"][0].pop("events"),
    "no beginning": lambda f: events(f).pop(0),
    "an unknown event": lambda f: events(f).append({"unfixed": "1"}),
    "two events in one": lambda f: events(f).append({"introduced": "3", "fixed": "4"}),
    "an empty event": lambda f: events(f).append({}),
    "an event that is a number": lambda f: events(f).append({"fixed": 3}),
}


def test_what_matching_needs_is_read() -> None:
    read = parse(json.dumps(sample()).encode())
    assert (read.identifier, read.aliases, read.withdrawn) == ("TEST-1", ("ALIAS-1",), False)
    events = (("introduced", "0"), ("fixed", "2"))
    assert read.affected == (Affected(PYTHON_ECOSYSTEM, "some", (Range(events),), ("1.0",)),)


def test_what_may_be_absent_may_be_absent() -> None:
    read = parse(b'{"id": "X", "modified": "2026", "withdrawn": null}')
    assert (read.affected, read.aliases, read.summary, read.withdrawn) == ((), (), "", False)


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_malformed_advisories_are_refused(spoil: Callable[[Fields], object]) -> None:
    fields = sample()
    parse(json.dumps(fields).encode())
    spoil(fields)
    with pytest.raises(Malformed):
        parse(json.dumps(fields).encode())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe\xfa", b"[" * 100_000],
    ids=["empty", "open", "list", "null", "text", "not text", "deep"],
)
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        parse(content)
