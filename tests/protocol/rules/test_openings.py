"""Many openings as one equation, and the edges of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Pedersen, VectorPedersen, ristretto255
from commitments.group import Group, PointVec
from gopa.graph import Graph, complete, from_edges, k_out_graph
from gopa.protocol.rules import commit as matching
from gopa.protocol.rules.commit import Matching
from gopa.protocol.rules.openings import (
    ClaimedOpenings,
    _weights,
    good_points,
    public,
    wrong_openings,
)
from gopa.protocol.rules.roll_and_edges import Edges
from gopa.rounds.context import commit
from tests.group.backends import installed_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import UsageError

GROUPS = installed_groups()


def claimed(group: Group, dimension: int, count: int, wrong: Sequence[int] = ()) -> ClaimedOpenings:
    """Openings of random vectors; `wrong` ones hide something else in one coordinate."""
    key = Pedersen(group) if dimension == 1 else VectorPedersen(group, dimension)
    rng = seeded(f"openings {dimension} {count}")
    rows = [group.random_scalars(dimension, rng) for _ in range(count)]
    blindings = group.random_scalars(count, rng)
    points = [commit(key, row, blindings[at]).points[0] for at, row in enumerate(rows)]
    shift = [0] * (dimension - 1) + [1]
    shown = [
        row.reveal() + group.scalars(shift) if at in wrong else row.reveal()
        for at, row in enumerate(rows)
    ]
    return ClaimedOpenings(key, shown, blindings.reveal(), group.points(points))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.backend)
@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("wrong", [(), (0,), (6,), (2, 3), tuple(range(7))], ids=str)
def test_wrong_openings_are_named(group: Group, dimension: int, wrong: tuple[int, ...]) -> None:
    assert wrong_openings(claimed(group, dimension, 7), seeded("weights")) == frozenset()
    found = wrong_openings(claimed(group, dimension, 7, wrong), seeded("weights"))
    assert found == frozenset(wrong)


def test_wrong_blindings_are_named() -> None:
    group = ristretto255()
    honest = claimed(group, 1, 5)
    shift = group.scalars([0, 0, 1, 0, 0])
    wrong = ClaimedOpenings(honest.key, honest.rows, honest.blindings + shift, honest.points)
    assert wrong_openings(wrong, seeded("weights")) == {2}


def test_errors_that_cancel_are_both_named() -> None:
    group = ristretto255()
    honest = claimed(group, 1, 4)
    assert wrong_openings(honest, seeded("weights")) == frozenset()
    rows = [honest.rows[0] + group.scalars([1]), honest.rows[1] - group.scalars([1])]
    wrong = ClaimedOpenings(
        honest.key,
        [*map(public, rows), *honest.rows[2:]],
        honest.blindings,
        honest.points,
    )
    assert wrong_openings(wrong, seeded("weights")) == {0, 1}


def test_weights_depend_on_every_claim_and_on_the_source() -> None:
    group = ristretto255()
    one, other = claimed(group, 1, 3), claimed(group, 1, 3, wrong=(1,))
    assert _weights(one, seeded(1)) == _weights(one, seeded(1))
    assert _weights(one, seeded(1)) != _weights(one, seeded(2))
    assert _weights(one, seeded(1)) != _weights(other, seeded(1))
    assert len(set(_weights(one, seeded(1)).ints())) == 3


def test_shapes_have_to_agree() -> None:
    group = ristretto255()
    honest = claimed(group, 3, 4)
    assert wrong_openings(honest, seeded("weights")) == frozenset()
    with pytest.raises(UsageError):
        ClaimedOpenings(honest.key, honest.rows[:-1], honest.blindings, honest.points)
    with pytest.raises(UsageError):
        ClaimedOpenings(Pedersen(group), honest.rows, honest.blindings, honest.points)


def test_nothing_claimed_is_nothing_wrong() -> None:
    group = ristretto255()
    nothing = ClaimedOpenings(Pedersen(group), [], group.scalars([]), group.points([]))
    assert wrong_openings(nothing, seeded("weights")) == frozenset()


def test_points_among_nonsense_are_found() -> None:
    group = ristretto255()
    good = [(group.generator * group.scalar(number + 1)).to_bytes() for number in range(20)]
    assert good_points(group, good) == [True] * 20
    mixed = [*good]
    mixed[3], mixed[4], mixed[19] = bytes(32), b"\xff" * 32, b"\x01" + bytes(31)
    assert good_points(group, mixed) == [number not in {3, 4, 19} for number in range(20)]
    assert good_points(group, []) == []


IDS = [bytes([7 * number % 11]) * 32 for number in range(6)]


def matched(
    graph: Graph, posted: Mapping[int, bytes], listed: Sequence[int], group: Group | None
) -> tuple[Edges, PointVec | None]:
    """The parties post in an order of their own; not all of them are listed."""
    found = Matching(graph)
    for party in sorted(posted, key=lambda party: (party * 3) % 5):
        found.post(party, posted[party])
    return found.settle(listed, IDS * 7, group)


@settings(deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6), st.sets(st.integers(0, 4))
)
def test_edges_are_live_where_both_ends_agree(lies: set[tuple[int, int]], gone: set[int]) -> None:
    """Against a naive account, without points."""
    graph = complete(5)
    listed = [party for party in range(5) if party not in gone]

    def said(own: int, other: int) -> bytes:
        common = bytes([min(own, other), max(own, other)]) * 16
        return bytes([own + 100]) * 32 if (own, other) in lies else common

    posted = {u: b"".join(said(u, int(v)) for v in graph.neighbours(u)) for u in range(5)}
    edges, sums = matched(graph, posted, listed, None)
    assert sums is None
    pairs = {(u, v) for u in listed for v in listed if u < v}
    agree = {pair for pair in pairs if said(*pair) == said(*pair[::-1])}
    assert edges.live_pairs == agree
    assert edges.void_pairs == pairs - agree
    for number, (low, high) in enumerate(sorted(agree)):
        assert edges.ends(number) == (low, high)
        assert edges.find(high, low) == edges.find(low, high) == number
        assert edges.encoding(number) == said(low, high)
        assert edges.sign_at(number, low) == (1 if IDS[low] < IDS[high] else -1)
        assert edges.sign_at(number, high) == -edges.sign_at(number, low)
    assert all(edges.find(*pair) is None for pair in pairs - agree)
    inside = set(listed[::2])
    crossing = {(i, o) for _, i, o in edges.crossing(inside)}
    assert crossing == {
        (i, o) for i in inside for o in set(listed) - inside if (min(i, o), max(i, o)) in agree
    }


@settings(deadline=None, max_examples=examples(30))
@given(
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    st.sets(st.frozensets(st.integers(0, 4), min_size=2, max_size=2), max_size=4),
    st.sets(st.integers(0, 4), max_size=2),
)
def test_edges_that_are_no_points_are_void(
    lies: set[tuple[int, int]], nonsense: set[frozenset[int]], gone: set[int]
) -> None:
    """Against a naive account, with points: what both ends posted has to be one, too."""
    group = ristretto255()
    graph, listed = complete(5), [party for party in range(5) if party not in gone]

    def said(own: int, other: int) -> bytes:
        if (own, other) in lies:
            return (group.generator * group.scalar(100 + own)).to_bytes()
        if frozenset({own, other}) in nonsense:
            return b"\xff" * 32
        return (
            group.generator * group.scalar(1 + min(own, other) + 7 * max(own, other))
        ).to_bytes()

    posted = {u: b"".join(said(u, int(v)) for v in graph.neighbours(u)) for u in range(5)}
    edges, sums = matched(graph, posted, listed, group)
    pairs = [(u, v) for u in listed for v in listed if u < v]
    live = [
        pair for pair in pairs if said(*pair) == said(*pair[::-1]) and said(*pair) != b"\xff" * 32
    ]
    assert [edges.ends(number) for number in range(len(edges))] == live
    assert edges.encodings.tobytes() == b"".join(said(*pair) for pair in live)
    points = edges.points(group, range(len(live)))
    assert points.to_bytes() == edges.encodings.tobytes()
    assert sums is not None
    for party in range(5):
        own = [each for each, pair in enumerate(live) if party in pair]
        terms = [points[each] * group.scalar(edges.sign_at(each, party)) for each in own]
        assert sums[party] == group.points(terms).sum()
    assert [(each.low, each.high, each.by_low, each.by_high) for each in edges.void] == [
        (u, v, said(u, v), said(v, u)) for u, v in pairs if (u, v) not in live
    ]


def test_edges_are_matched_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_AT_ONCE", 1)
    group, graph = ristretto255(), k_out_graph(bytes(32), 40, 5)

    def said(one: int, other: int) -> bytes:
        number = 1 + min(one, other) + 64 * max(one, other)
        return (
            b"\xff" * 32
            if number % 11 == 3
            else (group.generator * group.scalar(number)).to_bytes()
        )

    posted = {u: b"".join(said(u, int(v)) for v in graph.neighbours(u)) for u in range(40)}
    edges, sums = matched(graph, posted, range(40), group)
    assert 40 < len(edges) < graph.edge_count
    assert len(edges) + len(edges.void) == graph.edge_count
    assert sums is not None
    for party in range(40):
        others = graph.neighbours(party).tolist()
        near = [edges.find(party, other) for other in others]
        assert edges.find_each(party, others) == near
        live = [edge for edge in near if edge is not None]
        points = edges.points(group, live)
        signs = group.scalars([edges.sign_at(edge, party) for edge in live])
        assert group.scalars(edges.signs_at(live, party)) == signs
        assert sums[party] == points.vartime_msm(signs)


def test_nobody_posts_twice_or_too_little() -> None:
    found = Matching(complete(3))
    with pytest.raises(UsageError):
        found.post(0, bytes(32))
    found.post(0, bytes(64))
    with pytest.raises(UsageError):
        found.post(0, bytes(64))


def test_no_edges_at_all() -> None:
    graph, group = from_edges(3, []), ristretto255()
    edges, sums = matched(graph, {0: b"", 1: b"", 2: b""}, [0, 1, 2], group)
    assert sums is not None
    assert all(each.is_identity() for each in sums)
    assert len(edges) == 0
    assert edges.find(0, 1) is None
    assert edges.crossing([0]) == []
