"""What a command shows, and what it keeps in the middle of a round: nothing of use to others."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gopa.cli import commands
from gopa.contract.phases import Phase
from gopa.sessions.vault import Passphrase, Secret, identity
from gopa.sessions.vault import protection as key_file
from tests.protocol.simulation.worlds import SIGNED
from tests.sessions.hostile.prying import found_in
from tests.sessions.hostile.spying import (
    FINE,
    PASSPHRASE,
    VALUE,
    SecretsSeen,
    everything_logged,
    value_spellings,
)
from tests.sessions.hostile.worlds import World, nothing, of, said, sooner, world
from wire.ed25519 import SigningKey

SEALS = (pytest.param("passphrase", marks=pytest.mark.soak), "key file", "nothing")


def identity_of(tmp_path: Path, how: str) -> tuple[SigningKey, list[str], bytes]:
    """A key, the options that open it, and what it is sealed with."""
    place, path = tmp_path / "secret", tmp_path / "key"
    secret: Secret | None = None
    options, known = ["--identity", str(path)], b""
    if how == "passphrase":
        place.touch(mode=0o600)
        place.write_text(f"{PASSPHRASE}\n")
        secret, known = Passphrase.of(PASSPHRASE), PASSPHRASE.encode()
        options += ["--passphrase-file", str(place)]
    elif how == "key file":
        secret = key_file.create(place, rng=os.urandom)
        known = secret.data.reveal()
        options += ["--key-file", str(place)]
    return identity.create(path, rng=os.urandom, secret=secret), options, known


def private_files(state: Path) -> bytes:
    """What stands in a state directory, all of which only its owner can read or enter."""
    files = [each for each in sorted(state.rglob("*")) if each.is_file()]
    assert {"current", "seal", "lock"} <= {each.name for each in files}
    for each in (state, *state.rglob("*")):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600)
    return b"".join(each.read_bytes() for each in files)


async def held_at_publish(here: World, work: Coroutine[Any, Any, None], state: Path) -> bytes:
    """A round in which one party is a command; its files when its masked value is out."""
    organiser_run = here.start_organiser()
    for number in range(1, FINE.parties):
        here.client(number)
        here.ways[-1].gate.stops = said(Phase.PUBLISH)
    offers = here.offers(VALUE)
    command = asyncio.create_task(work)
    await sooner(lambda: command.done() or len(of(here.entries(), Phase.PUBLISH)) == 1)
    assert not command.done()
    kept = await asyncio.to_thread(private_files, state)
    for way in here.ways:
        way.gate.stops = nothing
    await asyncio.gather(*offers, command)
    await here.leave(*offers)
    await organiser_run.task
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("how", SEALS)
def test_a_command_shows_nothing_and_what_it_keeps_is_sealed(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its JSON lines through a whole round, and its state directory in the middle of it."""
    seen = SecretsSeen(monkeypatch)
    key, opening, sealing = identity_of(tmp_path, how)
    ticket, value, state = tmp_path / "ticket.json", tmp_path / "value.json", tmp_path / "state"
    value.write_text(json.dumps(VALUE.tolist()))
    accepted = ["--epsilon", "100", "--delta", "0.999", "--allow-signed", "--json"]
    line = ["join", str(ticket), *opening, "--file", str(value), "--state", str(state), *accepted]
    found: list[Result] = []

    async def work() -> None:
        found.append(await asyncio.to_thread(CliRunner().invoke, commands, line))

    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED, first=key) as here:
        here.ticket.write(ticket)
        kept = asyncio.run(held_at_publish(here, work(), state))
        posted = b"".join(here.raws())
    (answer,) = found
    assert answer.exit_code == 0, answer.output
    events = [json.loads(each) for each in answer.stdout.splitlines()]
    phases = [each["phase"] for each in events if each["event"] == "phase"]
    assert {"join", "commit", "publish", "confirm", "unmask"} <= set(phases)
    (result,) = [each for each in events if each["event"] == "result"]
    assert result["included"]
    private = {data: name for data, name in seen.secrets.items() if data not in posted}
    known = {**private, **value_spellings(), key._key.private_bytes_raw(): "signing seed"}
    if sealing:
        known[sealing] = "what it is sealed with"
    names = " ".join(private.values())
    assert all(part in names for part in ("round secret", "shared", "secret", "key")), names
    assert found_in(answer.output.encode() + text.getvalue().encode(), known) == set()
    assert len(kept) > 5_000
    if how == "nothing":
        assert "round secret" in found_in(kept, known)
    else:
        assert found_in(kept, known) == set()
