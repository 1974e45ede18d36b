"""`gopa board reindex`: a board whose index is lost or wrong gets another one."""

from __future__ import annotations

from pathlib import Path

import click

from bulletin_board.reindex import rebuild_index
from bulletin_board.storage.directory import BoardDirectory
from gopa.cli.board_options import as_json_option, directory, lock_option
from gopa.cli.board_output import reporting, show


@click.command()
@directory
@lock_option
@as_json_option
def reindex(directory: Path, lock: Path | None, as_json: bool) -> None:
    """Rebuild the index of the log in DIRECTORY from its public files. Stop the board first.

    The public files must hold everything that the lock's checkpoint commits to.
    """
    with reporting():
        place = BoardDirectory(directory, lock)
        signed = rebuild_index(place, place.signer())
    show({"size": signed.size, "root": signed.root.hex()}, as_json)
