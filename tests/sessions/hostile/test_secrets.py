"""No secret leaves the vaults: not in logs at any level, `repr`s, errors or command lines."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gopa.aggregation.errors import OutOfRange
from gopa.messages.phases import Phase
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import Link
from gopa.sessions.parties.durable import Attempt, DurableParty
from gopa.sessions.vault import Passphrase, VaultError, identity
from gopa.sessions.vault.directory import DirectoryVault
from gopa.simulation.setup import permissive
from tests.board.waiting import until
from tests.sessions.hostile.prying import found_in, secrets_of
from tests.sessions.hostile.worlds import EAGER, World, of, world
from tests.simulation.worlds import SCALAR, SIGNED
from wire.secret import SecretBytes
from zkp.noise_table import GaussianTable

ROW = (7, 13, 2, 19, 11, 17, 3, 5, 18, 6, 14, 1)
VALUE = np.array(ROW) / 20
FINE = replace(
    SCALAR,
    rounds=1,
    attempts=1,
    charged=0,
    dimension=len(ROW),
    squared_sensitivity=400 * len(ROW),
    noise=GaussianTable.with_scale("8", bits=20, rows=31),
)
PASSPHRASE = "correct horse battery staple"  # noqa: S105 - a secret that the test looks for


class Eye:
    """Collects every secret of every party, whenever one takes a step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.secrets: dict[bytes, str] = {}
        self.shown: list[str] = []
        take, attempt = DurableParty._keep, DurableParty.attempt
        eye = self

        def keep(party: DurableParty, step: object) -> None:
            eye.look(party, step)
            take(party, step)  # type: ignore[arg-type]
            eye.look(party)

        def attempted(party: DurableParty, event: object) -> Attempt:
            found = attempt(party, event)  # type: ignore[arg-type]
            eye.shown += [repr(found), repr(event)]
            return found

        monkeypatch.setattr(DurableParty, "_keep", keep)
        monkeypatch.setattr(DurableParty, "attempt", attempted)

    def look(self, party: DurableParty, *others: object) -> None:
        for found in secrets_of((party.state, *others), "state"):
            if len(found.data) >= 8:
                self.secrets.setdefault(found.data, found.name)
        self.secrets[party._secret.reveal()] = "round secret"
        self.shown += [repr(party), repr(party.state), repr(party._vault), *map(repr, others)]


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """All loggers at their lowest level, into a text."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)r"))
    root = logging.getLogger()
    before, loggers = root.level, [logging.getLogger(n) for n in root.manager.loggerDict]
    levels = [each.level for each in loggers]
    root.addHandler(handler)
    root.setLevel(1)
    for each in loggers:
        each.setLevel(1)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def value_spellings() -> dict[bytes, str]:
    """Some neighbouring components of the value, as numbers are printed side by side."""
    floats = [str(each) for each in VALUE[:4]]
    integers = [str(each) for each in ROW[:4]]
    texts = {sign.join(some) for some in (floats, integers) for sign in (", ", " ", ",", "\n")}
    return {text.encode(): "value" for text in (*texts, str(VALUE)[:20], repr(ROW[3:9])[1:-1])}


def test_the_eye_sees_what_is_there() -> None:
    secret = bytes(range(32))
    assert found_in(b"key " + secret.hex().encode(), {secret: "key"}) == {"key"}
    assert found_in(repr([secret]).encode(), {secret: "key"}) == {"key"}
    assert found_in(str(int.from_bytes(secret, "little")).encode(), {secret: "key"}) == {"key"}
    assert found_in(b"key <secret>", {secret: "key"}) == set()
    assert [each.data for each in secrets_of({"a": (SecretBytes(secret),)})] == [secret]


def test_a_session_says_nothing_that_is_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every logger open and the event loop in debug mode; one party's vault is sealed."""
    eye = Eye(monkeypatch)
    homes = tmp_path / "homes"

    async def work(here: World) -> list[object]:
        chair = here.chair()
        clients = here.gather(homes)
        clients[0]._secret = Passphrase.of(PASSPHRASE)
        offers = here.offers(VALUE)
        got = await asyncio.gather(*offers)
        for client in clients:
            for member in client._memberships.values():
                things = (client, member, member._seat, member._access, member._seat._offers)
                eye.shown += [repr(each) for each in (*things, vars(client), vars(member))]
        eye.shown += [repr(each) for each in (*got, *offers)]
        await here.leave(*offers)
        await chair.task
        return list(got)

    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        got = asyncio.run(work(here), debug=True)
        seeds = {key._key.private_bytes_raw(): "signing seed" for key in here.identities}
        posted = b"".join(here.raws())
        entries = here.entries()
    assert all(isinstance(each, Contribution) and each.included for each in got)
    assert of(entries, Phase.UNMASK)
    private = {data: name for data, name in eye.secrets.items() if data not in posted}
    names = " ".join(private.values())
    assert all(part in names for part in ("round secret", "shared", "secret", "key")), names
    known = {**private, **seeds, **value_spellings(), PASSPHRASE.encode(): "passphrase"}
    said = text.getvalue() + "\n".join(eye.shown)
    assert len(text.getvalue()) > 1_000
    assert found_in(said.encode(), known) == set()
    assert found_in(text.getvalue().encode(), eye.secrets) == set()
    outside = b"".join(
        path.read_bytes()
        for path in sorted(tmp_path.rglob("*"))
        if path.is_file() and (homes not in path.parents or homes / "0" in path.parents)
    )
    assert found_in(outside, known) == set()


@pytest.mark.parametrize("where", ["the vault", "the network"])
def test_an_error_in_the_middle_shows_no_secret(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the network also where somebody prints the frames with all their variables.

    Not before the vault: what is to be stored is in its frames as bytes.
    """
    eye = Eye(monkeypatch)
    append, submit = DirectoryVault.append, Link.submit

    def begun() -> bool:
        return any("edges" in name for name in eye.secrets.values())

    def stored(vault: DirectoryVault, *parts: bytes) -> None:
        if begun():
            raise VaultError("the disk is full")
        append(vault, *parts)

    async def submitted(way: Link, entries: tuple[bytes, ...]) -> None:
        if begun():
            raise RuntimeError("an error of this machine")
        await submit(way, entries)

    async def work(here: World) -> list[object]:
        chair = here.chair()
        here.gather(tmp_path / "homes")
        offers = here.offers(VALUE)
        got = await asyncio.gather(*offers, return_exceptions=True)
        await here.leave(*offers)
        await chair.stop()
        return list(got)

    if where == "the vault":
        monkeypatch.setattr(DirectoryVault, "append", stored)
    else:
        monkeypatch.setattr(Link, "submit", submitted)
    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        got = asyncio.run(work(here), debug=True)
        seeds = {key._key.private_bytes_raw(): "signing seed" for key in here.identities}
    errors = [each for each in got if isinstance(each, VaultError | RuntimeError)]
    assert len(errors) == len(got)
    plain = "\n".join(line for each in errors for line in traceback.format_exception(each))
    everything = {**eye.secrets, **seeds, **value_spellings()}
    assert "seat.py" in plain
    assert found_in((plain + text.getvalue()).encode(), everything) == set()
    if where == "the network":
        kinds = traceback.TracebackException
        shown = [kinds.from_exception(each, capture_locals=True) for each in errors]
        frames = "\n".join(line for each in shown for line in each.format())
        assert "post = " in frames
        kept = {data: name for data, name in eye.secrets.items() if not name.endswith(".values")}
        assert found_in(frames.encode(), {**kept, **seeds}) == set()


@pytest.mark.parametrize("wrong", [1.731058578, -731058.578])
def test_a_value_that_is_refused_is_not_repeated(wrong: float, tmp_path: Path) -> None:
    async def work(here: World) -> str:
        chair = here.chair()
        client = here.client(0)
        with pytest.raises(OutOfRange) as caught:
            await client.contribute(here.ticket, [wrong, *VALUE[1:]])
        await here.leave()
        await chair.stop()
        return "".join(traceback.format_exception(caught.value)) + repr(caught.value)

    with everything_logged() as text, world(tmp_path, FINE, setting=SIGNED) as here:
        said = asyncio.run(work(here)) + text.getvalue()
    assert str(abs(wrong)) not in said
    assert f" {round(wrong * 20)}" not in said


def test_a_value_from_standard_input_is_in_no_list_of_processes(tmp_path: Path) -> None:
    key = tmp_path / "key"
    identity.create(key, rng=os.urandom, secret=Passphrase.of(PASSPHRASE))
    secret = tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE)
    with world(tmp_path, FINE, setting=SIGNED) as here:
        ticket = tmp_path / "ticket.json"
        here.ticket.write(ticket)
        command = [sys.executable, "-m", "gopa", "join", str(ticket), "--identity", str(key)]
        process = subprocess.Popen(
            [*command, "--value", "-", "--json", "--passphrase-file", str(secret)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(",".join(map(str, VALUE)).encode())
        process.stdin.close()
        place = Path("/proc") / str(process.pid)
        try:
            assert until(lambda: any(tmp_path.glob("sessions/*/seal")))
            shown = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        finally:
            process.terminate()
            shown += process.stdout.read()
            process.stdout.close()
            process.wait()
        kept = b"".join(
            each.read_bytes() for each in (tmp_path / "sessions").rglob("*") if each.is_file()
        )
    assert b"join" in shown
    known = {**value_spellings(), PASSPHRASE.encode(): "passphrase"}
    assert found_in(shown + kept, known) == set()


def test_secrets_of_a_client_do_not_print() -> None:
    from wire.ed25519 import SigningKey

    key = SigningKey.generate(os.urandom)
    client = Client(key, permissive(FINE), secret=Passphrase.of(PASSPHRASE), waiting=EAGER)
    shown = repr(client) + repr(vars(client))
    known = {key._key.private_bytes_raw(): "seed", PASSPHRASE.encode(): "passphrase"}
    assert found_in(shown.encode(), known) == set()
