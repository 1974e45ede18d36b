"""`gopa board evidence`: what a file of evidence proves, and what it does not."""

from __future__ import annotations

from pathlib import Path

import click

from bulletin_board.client.forks import FORK_EVIDENCE, verify_fork
from bulletin_board.client.unproven import open_pair
from bulletin_board.note import SignedCheckpoint, VerifierKey
from gopa.cli.board_input import read_policy
from gopa.cli.board_options import as_json_option, log_option, policy_option
from gopa.cli.board_output import reporting, show
from wire.errors import MalformedMessage

_FORK = "the log has forked: it signed two histories that exclude each other"
_UNPROVEN = "nothing but that the log signed both; whether they agree was not shown"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@log_option
@policy_option
@as_json_option
def evidence(file: Path, log_key: str | None, policy_path: Path | None, as_json: bool) -> None:
    """Say what FILE proves about a log: fork-*.evidence or unproven-*.evidence of a client.

    Exits with 1 if it proves nothing about this log.
    """
    with reporting():
        log = read_policy(policy_path, log_key).log.key
        proves, older, newer = _judge(file.read_bytes(), log)
        facts: dict[str, object] = {"proves": proves, "log": str(log)}
        for name, signed in (("older", older), ("newer", newer)):
            facts[name] = f"{signed.size} entries, root {signed.root.hex()}"
    show(facts, as_json)


def _judge(data: bytes, log: VerifierKey) -> tuple[str, SignedCheckpoint, SignedCheckpoint]:
    try:
        FORK_EVIDENCE.decode(data)
    except MalformedMessage:
        return _UNPROVEN, *open_pair(data, log)
    return _FORK, *verify_fork(data, log)
