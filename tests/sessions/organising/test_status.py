"""What a log says at every point, against the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import VerifierKey
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.organiser import new_manifest
from gopa.protocol.rules import Ledger
from gopa.sessions.organising.reading import SessionStatus
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from tests.board.tools import log_key, signer
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from tests.sessions.organising.worlds import ONE_ROUND, Crowd, Office, crowd
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, UsageError


def ticket_of(world: Crowd) -> Ticket:
    log = VerifierKey.parse(world.manifest.log.decode())
    return Ticket("https://board.example", log, world.cast.session)


def rolled_back() -> Crowd:
    world = crowd(ONE_ROUND)
    world.silent[6] = {each for each in Phase if each >= Phase.PUBLISH}
    Office(world).run()
    return world


def too_few() -> Crowd:
    world = crowd(ONE_ROUND)
    for index in range(4):
        world.silent[index] = frozenset(Phase)
    Office(world).run()
    return world


@pytest.mark.parametrize("make", [rolled_back, too_few])
def test_status_agrees_with_the_rules_behind_every_entry(make: Callable[[], Crowd]) -> None:
    world = make()
    ledger = Ledger(SWIFT, rng=seeded("status"))
    status = SessionStatus(ticket_of(world))
    phases: set[Phase | None] = set()
    for posted in world.cast.board.entries:
        ledger.observe(posted)
        status.take((posted,))
        current, found = ledger.state.round, status.open
        if current is None or current.ended is not None:
            assert found is None
            continue
        assert found is not None
        phases.add(found.phase)
        assert (found.round, found.logical, found.attempt) == (
            current.number,
            current.logical,
            current.attempt,
        )
        assert (found.phase, found.step) == (current.opens, current.step)
        assert len(found.posted) == current.posted
        assert not current.expected & set(found.posted)
        if current.lists:
            keys = [current.roll[place].author for place in current.members]
            assert list(found.present) == keys
    assert status.manifest == world.manifest
    assert not status.unreadable
    outcomes = [each.outcome for each in status.past]
    rounds = world.findings().rounds
    assert len(outcomes) == len(rounds)
    for past, judged in zip(status.past, rounds, strict=True):
        if isinstance(past.outcome, ResultMessage):
            assert past.outcome.sums == judged.sums
            assert past.included == tuple(judged.roll[place] for place in judged.final or ())
            assert Phase.ROLLBACK in phases
        else:
            assert isinstance(past.outcome, Abort)
            assert past.outcome.reason is judged.abort
            assert not past.included


def test_status_is_about_the_session_of_its_ticket() -> None:
    world = rolled_back()
    good = SessionStatus(ticket_of(world))
    good.take(world.cast.board.entries)
    assert good.manifest is not None
    other = SessionStatus(replace(ticket_of(world), log=signer("other").verifier))
    with pytest.raises(InvalidProof):
        other.take(world.cast.board.entries)


def test_organiser_among_the_parties_changes_no_status() -> None:
    """What it says in a phase of parties is no message of the organiser, and no party's."""
    world = rolled_back()
    entries = list(world.cast.board.entries)
    status, beside = SessionStatus(ticket_of(world)), SessionStatus(ticket_of(world))
    organiser = entries[0].entry.author
    for posted in entries:
        status.take((posted,))
        entry = replace(posted.entry, phase=int(Phase.JOIN), author=organiser)
        beside.take((posted, replace(posted, entry=entry)))
        assert beside.open == status.open
        assert beside.past == status.past
    assert not beside.unreadable


def test_strangers_in_front_of_the_manifest_do_not_matter() -> None:
    world = rolled_back()
    entries = list(world.cast.board.entries)
    status = SessionStatus(ticket_of(world))
    status.take(entries[1:3])
    assert status.manifest is None
    assert status.open is None
    status.take(entries)
    assert status.manifest == world.manifest


def created(place: OrganiserPlace, salt: str = "salt") -> tuple[Manifest, Ticket]:
    organiser = place.begin(seeded("organiser"), None).public.data
    keys = [SigningKey.generate(seeded(number)).public.data for number in range(SCALAR.parties)]
    manifest = new_manifest(SCALAR, keys, organiser=organiser, log=log_key(), rng=seeded(salt))
    return manifest, place.keep(manifest, "https://board.example", seeded("vault"), None)


def test_no_directory_is_made_where_there_is_a_file(tmp_path: Path) -> None:
    created(OrganiserPlace(tmp_path / "new" / "mine"))
    file = tmp_path / "file"
    file.write_bytes(b"somebody's")
    for place in (OrganiserPlace(file), OrganiserPlace(file / "mine")):
        with pytest.raises(UsageError):
            place.begin(seeded("organiser"), None)
    assert file.read_bytes() == b"somebody's"


def test_session_is_read_as_it_was_created(tmp_path: Path) -> None:
    place = OrganiserPlace(tmp_path / "mine")
    manifest, ticket = created(place)
    _, other = created(OrganiserPlace(tmp_path / "other"), "other salt")
    assert place.ticket() == ticket
    assert place.manifest(ticket) == manifest
    for wrong in (other, replace(ticket, log=signer("other").verifier)):
        with pytest.raises(UsageError):
            place.manifest(wrong)
    whole = place.session_path.read_bytes()
    for damaged in (whole[:-1], whole + b"\0", b""):
        place.session_path.write_bytes(damaged)
        with pytest.raises(UsageError):
            place.manifest(ticket)
    place.session_path.write_bytes(whole)
    assert place.manifest(ticket) == manifest


def test_closing_that_is_not_written_down_is_told(tmp_path: Path) -> None:
    """Else the organiser would believe that no round will be opened any more."""
    place = OrganiserPlace(tmp_path / "mine")
    created(place)
    place.root.rename(tmp_path / "moved")
    with pytest.raises(UsageError):
        place.close()
    (tmp_path / "moved").rename(place.root)
    assert not place.closed
    place.close()
    assert place.closed
