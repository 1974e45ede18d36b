from __future__ import annotations

import itertools

import pytest

from supply.semver import NotUnderstood, parse, requirement

# In ascending order, as semver.org lists them for its rule 11, with neighbours.
ASCENDING = [
    "0.0.0-0",
    "0.0.0",
    "0.9.9",
    "0.10.0",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1-0",
    "1.0.1",
    "1.2.0",
    "1.10.0",
    "2.0.0",
]


@pytest.mark.parametrize(("low", "high"), list(itertools.combinations(ASCENDING, 2)))
def test_versions_are_ordered(low: str, high: str) -> None:
    assert parse(low) < parse(high)
    assert not parse(high) <= parse(low)


def test_build_metadata_does_not_count() -> None:
    assert parse("1.0.0+a") == parse("1.0.0+b.c") == parse("1.0.0")


@pytest.mark.parametrize("text", ["1", "1.0", "1.0.0.0", "01.0.0", "v1.0.0", "1.0.0-", "", "1.0.x"])
def test_other_things_are_no_versions(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse(text)


@pytest.mark.parametrize(
    ("wish", "inside", "outside"),
    [
        ("1.2.3", ["1.2.3", "1.2.4", "1.9.0"], ["1.2.2", "2.0.0", "1.3.0-rc.1", "0.9.0"]),
        ("^1.2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
        ("1", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0"]),
        ("0.2.3", ["0.2.3", "0.2.9"], ["0.2.2", "0.3.0", "1.0.0"]),
        ("0.0.3", ["0.0.3"], ["0.0.2", "0.0.4"]),
        ("0.0", ["0.0.0", "0.0.9"], ["0.1.0"]),
        ("0", ["0.0.0", "0.9.0"], ["1.0.0"]),
        ("=1.2.3", ["1.2.3"], ["1.2.4"]),
        ("=1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
    ],
)
def test_requirements_allow_what_cargo_allows(
    wish: str, inside: list[str], outside: list[str]
) -> None:
    allows = requirement(wish)
    assert all(allows(parse(version)) for version in inside)
    assert not any(allows(parse(version)) for version in outside)


@pytest.mark.parametrize("wish", ["*", "1.*", ">=1", "~1.2", "1, <2", "", "1.2.3-rc.1"])
def test_other_requirements_are_refused(wish: str) -> None:
    with pytest.raises(NotUnderstood):
        requirement(wish)
