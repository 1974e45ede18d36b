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
    """Where a server listens, and to how many: the command gets one `Listen` for all options."""

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
        @click.option(
            "--connections",
            type=click.IntRange(1),
            default=1_024,
            show_default=True,
            help="How many may be open at once.",
        )
        @click.option(
            "--connections-per-address",
            type=click.IntRange(1),
            default=256,
            show_default=True,
            help="How many of them from one address other than this machine's. Behind a proxy on"
            " another machine all come from one: give as many as --connections there.",
        )
        @wraps(command)
        def listening(  # noqa: PLR0913 - click passes every option by name
            *,
            host: str,
            port: int,
            tls_cert: Path | None,
            tls_key: Path | None,
            connections: int,
            connections_per_address: int,
            **others: object,
        ) -> None:
            from bulletin_board.server.run import Listen

            listen = Listen(host, port, tls_cert, tls_key, connections, connections_per_address)
            command(listen=listen, **others)

        return listening

    return decorate
