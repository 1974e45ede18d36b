from __future__ import annotations

import json

import pytest

from supply.matching import CRATES, PYTHON, Ecosystem, lock, means
from supply.osv import Malformed, parse
from tests.supply.osv_files import Fields, advisory, crate, package, spans


def matches(fields: Fields, name: str, version: str, ecosystem: Ecosystem = PYTHON) -> bool:
    return means(parse(json.dumps(fields).encode()), lock(ecosystem, name, version))


@pytest.mark.parametrize(
    ("pairs", "inside", "outside"),
    [
        (["introduced 0"], ["0.0.1", "0a1", "99"], []),
        (["introduced 0", "fixed 1.2"], ["0", "1.1.9", "1.2rc1"], ["1.2", "1.2.0", "1.2.post1"]),
        (["introduced 0", "last_affected 1.2"], ["1.1", "1.2", "1.2.0"], ["1.2.1", "1.2.post1"]),
        (["introduced 1.0", "fixed 1.2"], ["1.0", "1.1", "1.0.0"], ["0.9", "1.0rc1", "1.2"]),
        (
            ["introduced 1", "fixed 1.2", "introduced 2", "fixed 2.1"],
            ["1", "2.0.9"],
            ["1.2", "1.9", "2.1"],
        ),
        (["fixed 1.10", "introduced 1.9"], ["1.9", "1.9.9"], ["1.8", "1.10", "1.11"]),
        (["introduced 0", "limit 2"], ["1.9"], ["2", "2.1"]),
        (["introduced 0", "limit *"], ["1.9", "99"], []),
    ],
)
def test_ranges_of_python_versions(pairs: list[str], inside: list[str], outside: list[str]) -> None:
    fields = advisory(package("some", **spans(*pairs)))
    assert [version for version in inside if not matches(fields, "some", version)] == []
    assert [version for version in outside if matches(fields, "some", version)] == []


@pytest.mark.parametrize("kind", ["SEMVER", "ECOSYSTEM"])
@pytest.mark.parametrize(
    ("pairs", "inside", "outside"),
    [
        (["introduced 0.0.0-0", "fixed 1.2.0"], ["0.0.0", "1.1.9", "1.2.0-rc.1"], ["1.2.0"]),
        (["introduced 0", "fixed 1.10.0"], ["1.9.0"], ["1.10.0", "1.11.0"]),
        (["introduced 1.0.0", "last_affected 1.2.0"], ["1.0.0", "1.2.0+x"], ["1.2.1", "0.9.0"]),
    ],
)
def test_ranges_of_crates(
    kind: str, pairs: list[str], inside: list[str], outside: list[str]
) -> None:
    fields = advisory(crate("some", **spans(*pairs, kind=kind)))
    assert [version for version in inside if not matches(fields, "some", version, CRATES)] == []
    assert [version for version in outside if matches(fields, "some", version, CRATES)] == []


def test_listed_versions_count_beside_ranges() -> None:
    fields = advisory(
        package("some", versions=["1.0", "from-before-the-rules"], **spans("introduced 3"))
    )
    assert matches(fields, "some", "1.0.0")
    assert matches(fields, "some", "3.1")
    assert not matches(fields, "some", "1.1")


def test_names_have_one_spelling() -> None:
    assert matches(advisory(package("Some_Thing", versions=["1"])), "some-thing", "1")
    assert matches(advisory(crate("some-thing", versions=["1.0.0"])), "some_thing", "1.0.0", CRATES)


def test_another_package_is_not_meant() -> None:
    fields = advisory(package("some", versions=["1"]))
    assert matches(fields, "some", "1")
    assert not matches(fields, "something", "1")


def test_another_ecosystem_is_not_meant() -> None:
    everything = spans("introduced 0")
    assert matches(advisory(package("some", **everything)), "some", "1.0.0")
    assert not matches(advisory(crate("some", **everything)), "some", "1.0.0")
    assert not matches(advisory(package("some", "npm", **everything)), "some", "1.0.0")
    assert matches(advisory(crate("some", **everything)), "some", "1.0.0", CRATES)


def test_what_was_withdrawn_does_not_count() -> None:
    fields = advisory(package("some", versions=["1"]))
    assert matches(fields, "some", "1")
    assert not matches(fields | {"withdrawn": "2026-02-03T00:00:00Z"}, "some", "1")


def test_several_packages_and_ranges_in_one_advisory() -> None:
    early, late = spans("introduced 0", "fixed 1")["ranges"], spans("introduced 5")["ranges"]
    fields = advisory(package("a", versions=["1"]), package("b", ranges=early + late))
    assert [matches(fields, "b", version) for version in ("0.5", "1", "5")] == [True, False, True]
    assert matches(fields, "a", "1")


@pytest.mark.parametrize(
    "versions",
    [
        {},
        {"ranges": []},
        spans("introduced 0123abc", kind="GIT"),
        spans("introduced 1", "fixed next-week"),
    ],
    ids=["nothing", "no ranges", "commits only", "no version"],
)
def test_what_cannot_be_decided_is_not_harmless(versions: Fields) -> None:
    fields = advisory(package("some", **versions))
    assert not matches(fields, "other", "1")
    with pytest.raises(Malformed):
        matches(fields, "some", "1")


def test_commits_beside_versions_do_no_harm() -> None:
    ranges = [*spans("introduced 0abc", kind="GIT")["ranges"], *spans("introduced 2")["ranges"]]
    fields = advisory(package("some", ranges=ranges))
    assert matches(fields, "some", "2")
    assert not matches(fields, "some", "1")
