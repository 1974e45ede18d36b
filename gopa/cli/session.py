"""`gopa session`: plan a session, run it, see how it stands, end it."""

from __future__ import annotations

import click

from gopa.cli.session_create import create
from gopa.cli.session_invite import invite
from gopa.cli.session_open import close, open_command
from gopa.cli.session_status import status


@click.group()
def session() -> None:
    r"""Organise a session: who takes part, which privacy holds, when phases end.

    \b
    1. Parties make keys with `gopa keygen` and send you their public halves.
       (Over a channel that others can write to: `gopa session invite`, `gopa enrol`.)
    2. `gopa session create` plans the session and writes a ticket for all parties.
    3. `gopa session open` runs its rounds. It may be stopped and started again.
    4. Parties take part with `gopa join TICKET`; anybody checks with `gopa audit`.

    The organiser sees no value and decides nothing that others cannot check.
    """


for command in (invite, create, open_command, status, close):
    session.add_command(command)
