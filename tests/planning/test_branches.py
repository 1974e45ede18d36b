"""Graphs that an organiser may look at, against the best that it can do, by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import pytest

from gopa.contract.terms import branches, graphs_of_attempt
from gopa.planning.neighbours.expansion import Population, disconnected

Choices = tuple[tuple[int, frozenset[int]], ...]
"""Honest parties that acted on a leaf, each with its neighbours."""


@dataclass(frozen=True)
class Game:
    """An attempt in which the organiser shows leaves to honest parties, one by one.

    A party that is shown a leaf reveals under it, once and for all; the organiser sees its
    choices and goes on as it likes. It wins with a leaf whose graph falls apart.
    """

    parties: int
    corrupt: int
    survivors: int
    loss: int
    k: int

    @property
    def honest(self) -> int:
        return self.parties - self.corrupt

    @property
    def needed(self) -> int:
        return self.survivors - self.corrupt


GAMES = [
    Game(parties=5, corrupt=1, survivors=4, loss=0, k=1),
    Game(parties=5, corrupt=1, survivors=4, loss=1, k=2),
    Game(parties=5, corrupt=1, survivors=3, loss=0, k=1),
    Game(parties=5, corrupt=1, survivors=3, loss=1, k=1),
    Game(parties=6, corrupt=1, survivors=5, loss=0, k=1),
    Game(parties=6, corrupt=2, survivors=4, loss=1, k=2),
]


def _options(game: Game, who: int, joined: int) -> list[frozenset[int]]:
    """What a party may choose among those that joined: honest ones have the first numbers."""
    others = [each for each in range(joined) if each != who]
    return [frozenset(each) for each in combinations(others, min(game.k, joined - 1))]


def _apart(stay: frozenset[int], chosen: dict[int, frozenset[int]]) -> bool:
    reached, waiting = set[int](), [min(stay)]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += [v for v in stay if v in chosen[at] or at in chosen[v]]
    return reached != stay


def _falls_apart(game: Game, revealed: Choices, withheld: int) -> bool:
    """Whether an allowed removal among those that revealed separates the others."""
    chosen = dict(revealed)
    for size in range(game.needed, len(chosen) + 1):
        for stay in map(frozenset, combinations(chosen, size)):
            gone = chosen.keys() - stay
            lost = [sum(v in chosen[u] or u in chosen[v] for v in gone) + withheld for u in stay]
            if max(lost) <= game.loss and _apart(stay, chosen):
                return True
    return False


@cache
def _worst_chance(game: Game) -> float:
    """beta: of one graph, with everybody's choices seen before anybody is removed."""

    def bad(revealed: Choices) -> bool:
        return any(
            _falls_apart(game, stay, len(revealed) - len(stay))
            for count in range(game.loss + 1)
            for stay in combinations(revealed, len(revealed) - count)
        )

    def chance(honest: int) -> float:
        drawn = [_options(game, who, honest + game.corrupt) for who in range(honest)]
        found = [bad(tuple(enumerate(each))) for each in product(*drawn)]
        return sum(found) / len(found)

    return max(map(chance, range(game.needed, game.honest + 1)))


@cache
def _best_chance(game: Game) -> float:
    """What the best organiser achieves, whatever it makes of what it has seen."""

    @cache
    def from_here(fresh: int, spent: int, leaf: int, silent: int, revealed: Choices) -> float:
        """`leaf` honest parties on the roll may act, `silent` others on it acted elsewhere."""
        waiting = set(range(leaf)) - dict(revealed).keys()
        withheld = silent + len(waiting)
        enough = len(revealed) >= game.needed and withheld <= game.loss
        if enough and _falls_apart(game, revealed, withheld):
            return 1.0
        tries = [0.0]
        if revealed:
            left = fresh + len(waiting)
            tries += [
                from_here(left - more, spent + len(revealed), more, used, ())
                for more in range(game.needed, left + 1)
                for used in range(min(game.loss, spent + len(revealed)) + 1)
            ]
        joined = leaf + silent + game.corrupt
        for who in waiting:
            options = _options(game, who, joined)
            following = (_with(revealed, who, chosen) for chosen in options)
            values = [from_here(fresh, spent, leaf, silent, each) for each in following]
            tries.append(sum(values) / len(values))
        return max(tries)

    first = range(game.needed, game.honest + 1)
    return max(from_here(game.honest - leaf, 0, leaf, 0, ()) for leaf in first)


def _with(revealed: Choices, who: int, chosen: frozenset[int]) -> Choices:
    return tuple(sorted((*revealed, (who, chosen)), key=lambda each: each[0]))


@pytest.mark.thirds
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_nobody_gets_more_out_of_leaves_than_is_counted(game: Game) -> None:
    beta, best = _worst_chance(game), _best_chance(game)
    counted = graphs_of_attempt(game.parties, game.corrupt, game.survivors, nonces=True)
    assert 0 < best <= counted * beta


@pytest.mark.thirds
@pytest.mark.parametrize("game", [GAMES[0], GAMES[2], GAMES[4], GAMES[5]], ids=str)
def test_an_organiser_that_looks_at_nonces_gains_by_it(game: Game) -> None:
    """One graph for each attempt would be too few."""
    assert _best_chance(game) > 1.04 * _worst_chance(game)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_planned_chance_covers_the_worst_graph(game: Game) -> None:
    """The bound of the planner, for the same rules, is above what enumeration finds."""
    found = 0.0
    for joined in range(game.survivors, game.parties + 1):
        gone = joined - game.survivors
        honest = joined - game.corrupt
        if joined > game.k + 1:
            loss = min(game.loss, gone)
            found = max(found, disconnected(Population(joined, honest, game.k, loss, gone)))
    assert found >= min(1.0, _worst_chance(game))


def _groups(parties: Iterable[int], size: int) -> Iterator[tuple[int, ...]]:
    """As many groups without a common member as there can be."""
    rest = list(parties)
    while len(rest) >= size:
        yield tuple(rest[:size])
        rest = rest[size:]


@pytest.mark.parametrize(("parties", "corrupt", "survivors"), [(9, 2, 4), (10, 1, 9), (30, 3, 23)])
def test_branches_have_honest_parties_of_their_own(
    parties: int, corrupt: int, survivors: int
) -> None:
    groups = list(_groups(range(corrupt, parties), survivors - corrupt))
    assert branches(parties, corrupt, survivors) == len(groups)
    shown = graphs_of_attempt(parties, corrupt, survivors, nonces=False)
    assert shown == len(groups) <= graphs_of_attempt(parties, corrupt, survivors, nonces=True)
