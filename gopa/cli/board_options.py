"""Options that several commands of `gopa board` share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
log_option = click.option("--log", "log_key", help="The log's verifier key (vkey).")
policy_option = click.option(
    "--policy", "policy_path", type=click.Path(path_type=Path), help="A tlog policy file."
)
lock_option = click.option(
    "--lock", type=click.Path(path_type=Path), help="The lock file, best kept on another disk."
)
directory = click.argument("directory", type=click.Path(path_type=Path))

_certificate = click.Path(path_type=Path, exists=True)


def listen_options(port: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Where a server listens: the command gets one `Listen` instead of four options."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @click.option("--host", default="127.0.0.1", show_default=True)
        @click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            show_default=True,
            help="0 takes any free one, and says which.",
        )
        @click.option("--tls-cert", type=_certificate, help="Certificate chain in PEM.")
        @click.option("--tls-key", type=_certificate, help="Its private key in PEM.")
        @wraps(command)
        def listening(
            *, host: str, port: int, tls_cert: Path | None, tls_key: Path | None, **others: object
        ) -> None:
            from bulletin_board.server.run import Listen

            command(listen=Listen(host, port, tls_cert, tls_key), **others)

        return listening

    return decorate
