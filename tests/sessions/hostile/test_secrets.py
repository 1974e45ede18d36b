"""No secret leaves the vaults: not in logs at any level, `repr`s, errors or command lines."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from gopa.aggregation.values import OutOfRange
from gopa.contract.phases import Phase
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import BoardLink
from gopa.sessions.vault import Passphrase, VaultError, identity
from gopa.sessions.vault.directory import DirectoryVault
from tests.board.waiting import until
from tests.protocol.simulation.worlds import SIGNED
from tests.sessions.hostile.prying import found_in, secrets_of
from tests.sessions.hostile.spying import (
    FINE,
    PASSPHRASE,
    VALUE,
    SecretsSeen,
    everything_logged,
    value_spellings,
)
from tests.sessions.hostile.worlds import EAGER, World, of, world
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes


def test_the_eye_sees_what_is_there() -> None:
    secret = bytes(range(32))
    assert found_in(b"key " + secret.hex().encode(), {secret: "key"}) == {"key"}
    assert found_in(repr([secret]).encode(), {secret: "key"}) == {"key"}
    assert found_in(str(int.from_bytes(secret, "little")).encode(), {secret: "key"}) == {"key"}
    assert found_in(b"key <secret>", {secret: "key"}) == set()
    assert [each.data for each in secrets_of({"a": (SecretBytes(secret),)})] == [secret]


@pytest.mark.slow
def test_a_session_says_nothing_that_is_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every logger open and the event loop in debug mode; one party's vault is sealed."""
    seen = SecretsSeen(monkeypatch)
    homes = tmp_path / "homes"

    async def work(here: World) -> list[object]:
        organiser_run = here.start_organiser()
        clients = here.gather(homes)
        clients[0]._secret = Passphrase.of(PASSPHRASE)
        offers = here.offers(VALUE)
        got = await asyncio.gather(*offers)
        for client in clients:
            for member in client._memberships.values():
                things = (client, member, member._runner, member._access, member._runner._offers)
                seen.shown += [repr(each) for each in (*things, vars(client), vars(member))]
        seen.shown += [repr(each) for each in (*got, *offers)]
        await here.leave(*offers)
        await organiser_run.task
        return list(got)

    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        got = asyncio.run(work(here), debug=True)
        seeds = {key._key.private_bytes_raw(): "signing seed" for key in here.identities}
        posted = b"".join(here.raws())
        entries = here.entries()
    assert all(isinstance(each, Contribution) and each.included for each in got)
    assert of(entries, Phase.UNMASK)
    private = {data: name for data, name in seen.secrets.items() if data not in posted}
    names = " ".join(private.values())
    assert all(part in names for part in ("round secret", "shared", "secret", "key")), names
    known = {**private, **seeds, **value_spellings(), PASSPHRASE.encode(): "passphrase"}
    said = text.getvalue() + "\n".join(seen.shown)
    assert len(text.getvalue()) > 1_000
    assert found_in(said.encode(), known) == set()
    assert found_in(text.getvalue().encode(), seen.secrets) == set()
    outside = b"".join(
        path.read_bytes()
        for path in sorted(tmp_path.rglob("*"))
        if path.is_file() and (homes not in path.parents or homes / "0" in path.parents)
    )
    assert found_in(outside, known) == set()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["the vault", "the network"])
def test_an_error_in_the_middle_shows_no_secret(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the network also where somebody prints the frames with all their variables.

    Not before the vault: what is to be stored is in its frames as bytes.
    """
    seen = SecretsSeen(monkeypatch)
    append, submit = DirectoryVault.append, BoardLink.submit

    def begun() -> bool:
        return any("edges" in name for name in seen.secrets.values())

    def stored(vault: DirectoryVault, *parts: bytes, leaves: bool = True) -> None:
        if begun():
            raise VaultError("the disk is full")
        append(vault, *parts, leaves=leaves)

    async def submitted(way: BoardLink, entries: tuple[bytes, ...]) -> None:
        if begun():
            raise RuntimeError("an error of this machine")
        await submit(way, entries)

    async def work(here: World) -> list[object]:
        organiser_run = here.start_organiser()
        here.gather(tmp_path / "homes")
        offers = here.offers(VALUE)
        got = await asyncio.gather(*offers, return_exceptions=True)
        await here.leave(*offers)
        await organiser_run.stop()
        return list(got)

    if where == "the vault":
        monkeypatch.setattr(DirectoryVault, "append", stored)
    else:
        monkeypatch.setattr(BoardLink, "submit", submitted)
    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        got = asyncio.run(work(here), debug=True)
        seeds = {key._key.private_bytes_raw(): "signing seed" for key in here.identities}
    errors = [each for each in got if isinstance(each, VaultError | RuntimeError)]
    assert len(errors) == len(got)
    plain = "\n".join(line for each in errors for line in traceback.format_exception(each))
    everything = {**seen.secrets, **seeds, **value_spellings()}
    assert "runner.py" in plain
    assert found_in((plain + text.getvalue()).encode(), everything) == set()
    if where == "the network":
        kinds = traceback.TracebackException
        shown = [kinds.from_exception(each, capture_locals=True) for each in errors]
        frames = "\n".join(line for each in shown for line in each.format())
        assert "post = " in frames
        kept = {data: name for data, name in seen.secrets.items() if not name.endswith(".values")}
        assert found_in(frames.encode(), {**kept, **seeds}) == set()


@pytest.mark.parametrize("wrong", [1.731058578, -731058.578])
def test_a_value_that_is_refused_is_not_repeated(wrong: float, tmp_path: Path) -> None:
    async def work(here: World) -> str:
        organiser_run = here.start_organiser()
        client = here.client(0)
        with pytest.raises(OutOfRange) as caught:
            await client.contribute(here.ticket, [wrong, *VALUE[1:]])
        await here.leave()
        await organiser_run.stop()
        return "".join(traceback.format_exception(caught.value)) + repr(caught.value)

    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        said = asyncio.run(work(here)) + text.getvalue()
    places = re.sub(r'File ".*", line \d+', "", said)  # a line may have the number of the value
    assert str(abs(wrong)) not in places
    assert f" {round(wrong * 20)}" not in places


def shown_while_it_joins(command: list[str], home: Path) -> bytes:
    """What others see of a process that takes its value from standard input, and what it says."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(",".join(map(str, VALUE)).encode())
    process.stdin.close()
    place, shown = Path("/proc") / str(process.pid), b""
    try:
        assert until(lambda: any(home.glob("key.sessions/*/seal")))
        shown = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
    finally:
        process.terminate()
        shown += process.stdout.read()
        process.stdout.close()
        process.wait()
    return shown


@pytest.mark.slow
def test_a_value_from_standard_input_is_in_no_list_of_processes(tmp_path: Path) -> None:
    key = tmp_path / "key"
    secret = tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE)
    with world(tmp_path, FINE, setting=SIGNED) as here:
        ticket = tmp_path / "ticket.json"
        here.ticket.write(ticket)
        seed = iter([here.identities[0]._key.private_bytes_raw()])
        own = identity.create(
            key, rng=lambda size: next(seed, os.urandom(size)), secret=Passphrase.of(PASSPHRASE)
        )
        assert own.public == here.identities[0].public
        command = [sys.executable, "-m", "gopa", "join", str(ticket), "--identity", str(key)]
        options = ["--value", "-", "--json", "--passphrase-file", str(secret)]
        options += ["--allow-signed", "--epsilon", "1000", "--delta", "1", "--corrupt-share", "0"]

        async def work() -> bytes:
            organiser_run = here.start_organiser()
            shown = await asyncio.to_thread(shown_while_it_joins, [*command, *options], tmp_path)
            await organiser_run.stop()
            return shown

        shown = asyncio.run(work())
        kept = b"".join(
            each.read_bytes() for each in (tmp_path / "key.sessions").rglob("*") if each.is_file()
        )
    assert b"join" in shown
    assert kept
    known = {**value_spellings(), PASSPHRASE.encode(): "passphrase"}
    assert found_in(shown + kept, known) == set()


def test_secrets_of_a_client_do_not_print() -> None:
    key = SigningKey.generate(os.urandom)
    client = Client(key, permissive(FINE), secret=Passphrase.of(PASSPHRASE), waiting=EAGER)
    shown = repr(client) + repr(vars(client))
    known = {key._key.private_bytes_raw(): "seed", PASSPHRASE.encode(): "passphrase"}
    assert found_in(shown.encode(), known) == set()
