"""`gopa keygen`: the key by which a party is known."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gopa.cli.board_options import as_json_option, show
from gopa.cli.session_access import new_secret, new_secret_options
from gopa.sessions.vault import identity


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@new_secret_options
@as_json_option
def keygen(
    *, path: Path, ask: bool, passphrase_file: Path | None, key_file: Path | None, as_json: bool
) -> None:
    """Make a signing key in the new file PATH and print its public half.

    Give the public key (64 hexadecimal digits) to the organiser: it goes on the roster. The
    file is yours alone. Whoever has it can take your place in sessions; if it is lost, you
    need a new one and a place on the next roster.
    """
    secret = new_secret(passphrase_file, key_file, ask=ask)
    key = identity.create(path, rng=os.urandom, secret=secret)
    facts: dict[str, object] = {"public": key.public.data.hex(), "file": str(path)}
    show(facts | {"sealed": secret is not None}, as_json)
