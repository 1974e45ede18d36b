"""Makes keys and enters them on a roster: `gopa keygen`, `gopa session invite`, `gopa enrol`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bulletin_board.display import visible
from bulletin_board.storage.directory import write_secret
from gopa.cli.options import as_json_option, read_line, reporting, show
from gopa.cli.roster import LONGEST_NAME, RosterLine, write_roster
from gopa.cli.session_access import new_secret, new_secret_options
from gopa.sessions.ticket import Invitation
from gopa.sessions.vault import identity as identities
from wire.errors import UsageError
from wire.secret import SecretBytes

_path = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=_path)
@new_secret_options
@as_json_option
def keygen(
    *, path: Path, ask: bool, passphrase_file: Path | None, key_file: Path | None, as_json: bool
) -> None:
    """Make a signing key in the new file PATH and print its public half.

    Give the public key (64 hexadecimal digits), or the file PATH.pub that holds it, to the
    organiser: it goes on the roster. PATH is yours alone; its directory is made if needed.
    Whoever has it can take your place in sessions; if it is lost, you need a new one and a
    place on the next roster.
    """
    public = path.with_name(f"{path.name}.pub")
    if public.exists():
        raise UsageError(f"{public} exists already: choose another name for the key")
    with reporting():
        secret = new_secret(passphrase_file, key_file, ask=ask)
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        key = identities.create(path, rng=os.urandom, secret=secret)
        name = visible(path.name.replace("#", "_"), LONGEST_NAME)
        write_roster(public, [RosterLine(key.public.data, name)])
    facts: dict[str, object] = {"public": key.public.data.hex(), "file": str(path)}
    show(facts | {"public_file": str(public), "sealed": secret is not None}, as_json)


@click.command()
@click.argument("file", type=_path)
@click.option("--count", type=click.IntRange(1, 100_000), required=True, help="How many.")
def invite(*, file: Path, count: int) -> None:
    """Make invitations in the new FILE, one a line: give each person one, and keep FILE secret.

    Whoever is invited makes a key (`gopa keygen`) and sends you the line that `gopa enrol`
    prints; it may come over any channel. Collect the lines in a file, then:
    `gopa session create --invitations FILE --enrolments LINES`.
    """
    made = [Invitation.fresh(os.urandom) for _ in range(count)]
    text = "".join(f"{each.reveal()}  # {each.name}\n" for each in made)
    with reporting():
        write_secret(file, SecretBytes(text.encode()))
    click.echo(f"{count} invitations in {file}")


@click.command()
@click.option("--identity", type=_path, required=True, help="Your key, as `gopa keygen` made it.")
@click.option(
    "--invitation",
    type=_path,
    required=True,
    help="A file with your invitation in its first line; - reads it from standard input.",
)
def enrol(*, identity: Path, invitation: Path) -> None:
    """Answer an invitation: print a line for the organiser, who puts your key on the roster.

    The line is no secret. Nobody can exchange the key in it without your invitation, so
    keep that to yourself until the session has begun.
    """
    token = read_line(invitation).partition("#")[0]  # `gopa session invite` names each behind a #
    found = Invitation.parse(token)
    click.echo(str(found.enrol(identities.public_key(identity).data)))
