"""The directory of an organiser: what cannot be written or read is told, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gopa.contract.manifest import Manifest
from gopa.protocol.organiser import new_manifest
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from tests.board.tools import log_key, signer
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import UsageError


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
