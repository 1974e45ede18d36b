"""Who stays in a round that is played out in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.graph import Graph, complete, from_edges, k_out_graph, ring
from tests.aggregation.plans import terms
from tests.planning.lists import Conditions, Lists, crossing, follow

PHASES = [Phase.COMMIT, Phase.PUBLISH, Phase.ROLLBACK, Phase.CONFIRM, Phase.UNMASK, Phase.RECOVER]


def conditions(
    *, parties: int = 6, survivors: int = 4, loss: int = 2, one_close: bool = False, **more: int
) -> Conditions:
    rollbacks = more.pop("max_rollbacks", 8)
    made = terms(parties=parties, survivors=survivors, loss=loss, **more)
    return Conditions(made, one_close, rollbacks)


def run(graph: Graph, leaving: dict[int, Phase], given: Conditions) -> Lists:
    return follow(graph, leaving, given)


def test_everybody_stays_when_nobody_leaves() -> None:
    lists = run(complete(6), {}, conditions())
    assert lists.abort is None
    assert lists.committed == lists.published == lists.final == tuple(range(6))
    assert not lists.removed
    assert lists.masked


@pytest.mark.parametrize("phase", [Phase.COMMIT, Phase.PUBLISH])
def test_a_silent_party_is_removed_in_its_phase(phase: Phase) -> None:
    lists = run(complete(6), {2: phase}, conditions())
    assert lists.abort is None
    assert lists.final == (0, 1, 3, 4, 5)
    assert lists.removed == {2: (phase, RemovalCause.ABSENT)}
    assert (2 in lists.committed) == (phase > Phase.COMMIT)


def test_silence_in_rollback_matters_only_to_those_who_owe_an_opening() -> None:
    assert run(complete(6), {2: Phase.ROLLBACK, 5: Phase.UNMASK}, conditions()).abort is not None
    lists = run(complete(6), {1: Phase.PUBLISH, 2: Phase.ROLLBACK}, conditions())
    assert lists.removed == {
        1: (Phase.PUBLISH, RemovalCause.ABSENT),
        2: (Phase.ROLLBACK, RemovalCause.ABSENT),
    }
    assert lists.final == (0, 3, 4, 5)
    edges = from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    far = run(edges, {1: Phase.PUBLISH, 4: Phase.ROLLBACK}, conditions(loss=1))
    assert (far.abort, far.culprits) == (AbortReason.NOT_UNMASKED, (4,))
    assert far.removed == {1: (Phase.PUBLISH, RemovalCause.ABSENT)}


def test_losing_too_many_neighbours_removes_the_honest() -> None:
    """A ring with loss 1: party 1 loses both neighbours; nothing is its fault."""
    leaving = {0: Phase.PUBLISH, 2: Phase.PUBLISH}
    lists = run(ring(8), leaving, conditions(parties=8, loss=1))
    assert lists.removed[1] == (Phase.PUBLISH, RemovalCause.LOST)
    assert lists.final == (3, 4, 5, 6, 7)
    assert lists.abort is None
    several = run(ring(8), leaving, conditions(parties=8, survivors=6, loss=1))
    assert (several.abort, several.culprits) == (AbortReason.TOO_FEW_LEFT, (0, 2))


def test_honest_but_curious_rounds_end_with_the_close_of_publish() -> None:
    leaving = {0: Phase.PUBLISH, 1: Phase.ROLLBACK, 2: Phase.UNMASK}
    lists = run(complete(6), leaving, conditions(one_close=True))
    assert lists.abort is None
    assert lists.final == (1, 2, 3, 4, 5)


def test_a_missing_confirmation_is_tolerated_within_the_loss_and_a_missing_seed_is_not() -> None:
    lost = run(complete(6), {3: Phase.CONFIRM}, conditions())
    assert (lost.abort, lost.culprits, lost.masked) == (AbortReason.NOT_UNMASKED, (3,), True)
    with_shares = conditions(threshold_numerator=1, threshold_denominator=2)
    assert run(complete(6), {3: Phase.CONFIRM}, with_shares).abort is None
    assert 3 in run(complete(6), {3: Phase.CONFIRM}, with_shares).final
    three = dict.fromkeys((1, 2, 3), Phase.CONFIRM)
    refused = run(complete(6), three, with_shares)
    assert (refused.abort, refused.culprits) == (AbortReason.NOT_CONFIRMED, (1, 2, 3))


def test_shares_of_too_few_neighbours_recover_nothing() -> None:
    """Degree 5, threshold 4/5: five shares, so one silent neighbour is one too many."""
    high = conditions(threshold_numerator=4, threshold_denominator=5)
    assert run(complete(6), {3: Phase.UNMASK}, high).abort is None
    leaving = {3: Phase.UNMASK, 4: Phase.RECOVER}
    assert run(complete(6), leaving, high).abort is AbortReason.NOT_UNMASKED


def test_who_withholds_an_opening_may_leave_too_few() -> None:
    leaving = {1: Phase.PUBLISH, 2: Phase.ROLLBACK}
    assert run(complete(6), leaving, conditions(survivors=4)).abort is None
    few = run(complete(6), leaving, conditions(survivors=5, loss=1))
    assert (few.abort, few.culprits) == (AbortReason.TOO_FEW_LEFT, (1, 2))
    assert not few.masked


def test_rollbacks_are_bounded() -> None:
    leaving = {0: Phase.PUBLISH, 1: Phase.ROLLBACK}
    assert run(complete(6), leaving, conditions(max_rollbacks=2)).abort is None
    stopped = run(complete(6), leaving, conditions(max_rollbacks=1))
    assert (stopped.abort, stopped.masked) == (AbortReason.TOO_MANY_ROLLBACKS, False)


def test_too_few_parties_begin_nothing() -> None:
    assert run(complete(4), {}, conditions()).abort is None
    assert run(complete(3), {}, conditions()).abort is AbortReason.TOO_FEW_JOINED


@given(
    st.integers(6, 14),
    st.integers(1, 5),
    st.integers(0, 4),
    st.binary(min_size=32, max_size=32),
    st.dictionaries(st.integers(0, 13), st.sampled_from(PHASES), max_size=6),
)
def test_lists_keep_the_rules(
    parties: int, k: int, loss: int, seed: bytes, leaving: dict[int, Phase]
) -> None:
    graph = k_out_graph(seed, parties, k)
    leaving = {party: phase for party, phase in leaving.items() if party < parties}
    given = conditions(parties=parties, survivors=4, loss=min(loss, parties - 4), k=k)
    lists = run(graph, leaving, given)
    final = set(lists.final)
    if lists.abort is None:
        assert len(final) >= 4
        outside = graph.adjacency() @ np.array([party not in final for party in range(parties)])
        assert all(outside[party] <= given.terms.loss for party in final)
        for one, other in crossing(graph, final, set(lists.committed) - final):
            assert one in final
            assert other in lists.committed
            assert leaving.get(one, Phase.RECOVER) > Phase.ROLLBACK
    silent_early = {party for party, phase in leaving.items() if phase <= Phase.PUBLISH}
    assert not silent_early & set(lists.published)
    for party, (phase, cause) in lists.removed.items():
        assert party not in final
        assert (cause is RemovalCause.ABSENT) <= (leaving.get(party, Phase.RECOVER) <= phase)
    assert set(lists.culprits) <= leaving.keys()


def test_crossing_edges_have_their_inner_end_first() -> None:
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    assert crossing(graph, [1, 2, 4], [0, 3]) == [(1, 0), (4, 0), (2, 3), (4, 3)]
    assert crossing(graph, [1, 2, 4], []) == []
