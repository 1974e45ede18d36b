"""The close of join: every rule broken once, and nobody else touched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.framing import party_id
from gopa.contract.manifest import CommitReveal, OpenAdmission
from gopa.contract.organiser import Abort, AbortReason, RemovalCause, Roll
from gopa.contract.party import JOIN, Join
from gopa.contract.phases import Phase
from gopa.rounds.proofs import PossessionClaim
from gopa.rounds.toolkit import Toolkit
from tests.contract.samples import manifest, signing_key
from tests.protocol.rules.worlds import baseline, blamed, make, removals, require, small_terms
from tests.protocol.scribe import Change, World, changed
from tests.rounds.doubles import ProofDoubles

IDENTITY = bytes(32)
NOT_A_POINT = b"\xff" * 32
FOUR = [0, 1, 2, 3]


def gone(rule: str) -> list[tuple[None, Phase, RemovalCause, str]]:
    return [(None, Phase.JOIN, RemovalCause.INVALID, rule)]


@pytest.mark.parametrize(
    "change",
    [
        changed(nonce_hash=b""),
        changed(input=b""),
        changed(seed=b""),
        changed(key=IDENTITY),
        changed(key=NOT_A_POINT),
        changed(input=IDENTITY),
        changed(seed=NOT_A_POINT),
    ],
    ids=["nonce", "input", "seed", "identity", "no point", "empty input", "bad seed"],
)
def test_fields_of_a_join(change: Change) -> None:
    baseline()
    world = make()
    world.run(change={Phase.JOIN: {4: change}})
    require(world, gone("04-J2"), [(4, "04-J2")], FOUR)


def test_holders_of_one_key_are_all_removed() -> None:
    baseline()
    world = make(survivors=3)
    shared = world.parties[3]

    def same(join: Join) -> Join:
        assert shared.secret is not None
        key = (world.toolkit.group.generator * shared.secret).to_bytes()
        author = world.parties[4].author
        claim = PossessionClaim(world.context, join.acts_on, party_id(author), key, b"")
        proof = world.toolkit.proofs.prove_possession(claim, shared.secret, shared.rng)
        return replace(join, key=key, possession=proof)

    world.run(change={Phase.JOIN: {4: same}})
    require(world, gone("04-J4"), [(3, "04-J4"), (4, "04-J4")], [0, 1, 2])


def test_a_copied_seed_removes_the_later_message() -> None:
    """Whoever holds back an honest join could copy its seed: the victim is not blamed."""
    baseline()
    world = make()
    world.control()
    view = world.view
    honest = [party.join(view) for party in world.parties]
    world.say(world.parties[0], Phase.JOIN, replace(honest[0], seed=honest[4].seed))
    for number in range(1, 5):
        world.say(world.parties[number], Phase.JOIN, honest[number])
    world.control()
    assert removals(world.check()) == set(gone("04-J5"))
    assert blamed(world, world.check()) == set()
    assert [each.author for each in world.view.roll] == [p.author for p in world.parties[:4]]


def test_a_seed_is_not_used_again_in_another_round() -> None:
    baseline()
    world = make(rounds=2)
    world.run()
    old = world.joins[4].seed
    world.run(change={Phase.JOIN: {4: changed(seed=old)}})
    require(world, gone("04-J5"), [(4, "04-J5")], FOUR, number=2)


def test_an_input_stays_the_same_in_a_retry() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.UNMASK: [0]})
    assert isinstance(world.view.ended, Abort)
    other = world.parties[1]
    other.given = None
    world.run()
    # Party 0 sits out, party 1 comes with another commitment to its input.
    found = require(world, gone("04-J5"), [(1, "04-J5")], [0, 1, 2], number=2)
    assert found.rounds[1].roll == tuple(world.parties[number].author for number in (2, 3, 4))
    assert found.rounds[1].barred == (world.parties[0].author,)


def test_another_logical_round_takes_another_input() -> None:
    world = make(rounds=2)
    world.run()
    for party in world.parties:
        party.given = None
    world.run()
    require(world, included=range(5), number=2)


def test_too_few_parties_abort_the_round() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.JOIN: [0, 1, 2]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits, ended.released) == (AbortReason.TOO_FEW_JOINED, (), 0)
    require(world)


def test_strangers_do_not_join() -> None:
    baseline()
    world = make()
    world.control()
    stranger = signing_key("stranger")
    body = world.parties[0].join(world.view)
    world.post(stranger, Phase.JOIN, JOIN.encode(body))
    world.run()
    found = require(world, included=range(5))
    assert [note.rule for note in found.notes] == ["04-J1"]


def test_the_organiser_does_not_join_under_its_key() -> None:
    baseline()
    world = make()
    world.control()
    body = JOIN.encode(world.parties[0].join(world.view))
    world.post(world.organiser, Phase.JOIN, body)
    world.run()
    require(world, (), [("organiser", "04-E2")], range(5))


@pytest.mark.parametrize("seq", [0, 3], ids=["in order", "behind a gap"])
def test_an_entry_of_the_organiser_among_the_parties_ends_nothing(seq: int) -> None:
    """It is a fault of the organiser's, and the round goes on to its result."""
    baseline()
    world = make()
    world.control()
    world.post(world.organiser, Phase.COMMIT, b"", seq=seq)
    world.run()
    require(world, (), [("organiser", "04-E2")], range(5))


def test_open_admission_takes_the_first() -> None:
    agreed = manifest(small_terms(), beacon=CommitReveal(), admission=OpenAdmission(5))
    keys = [signing_key(f"somebody {number}") for number in range(6)]
    world = World(agreed, Toolkit(proofs=ProofDoubles()), signing_key("organiser"), keys)
    world.control()
    view = world.view
    assert view.expected == frozenset()
    for party in world.parties:
        world.say(party, Phase.JOIN, party.join(view))
    world.control()
    while world.view.ended is None:
        if world.view.opens is not Phase.JOIN:
            world.phase()
        world.control()
    found = require(world, gone("04-J1"), included=range(5))
    assert found.rounds[0].roll == tuple(party.author for party in world.parties[:5])


def swap(close: object) -> object:
    content = close.content  # type: ignore[attr-defined]
    return replace(close, content=Roll(content.parties[::-1], 0))  # type: ignore[type-var]


def test_a_wrong_roll_ends_the_session() -> None:
    baseline()
    world = make()
    world.control()
    world.phase()
    world.control(change=swap)
    found = require(world, (), [("organiser", "04-J6")])
    assert found.rounds[0].lists == ()
    assert world.ledger.state.failed
    assert world.ledger.next_control(len(world.log)) is None
    assert not found.complete
