"""Adds the options of `gopa board serve` about what strangers may write, and who they are."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from bulletin_board.server.run import ListenOptions
    from bulletin_board.server.service import ServerLimits

_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The options of serving, as they were typed; a number of megabytes of 0 is no bound."""

    daily_mb_per_address: int | None
    daily_mb: int | None
    keep_free_mb: int | None
    proxy: str | None
    access_log: bool

    def limits(self, directory: Path, *, strangers: bool) -> ServerLimits:
        """Bounds for a board on the disk of this directory.

        Where only registered keys and organisers can make it write, what they may write is
        bounded already, and large sessions do not have to wait: then only the disk counts.
        """
        from bulletin_board.server.quotas import WritingLimits, usage_of
        from bulletin_board.server.service import ServerLimits

        found = WritingLimits.of_disk(usage_of(directory))
        if not strangers:
            found = replace(found, address_bytes=None, all_bytes=None)
        if self.daily_mb_per_address is not None:
            found = replace(found, address_bytes=self.daily_mb_per_address * _MB or None)
        if self.daily_mb is not None:
            found = replace(found, all_bytes=self.daily_mb * _MB or None)
        if self.keep_free_mb is not None:
            found = replace(found, least_free=self.keep_free_mb * _MB)
        return ServerLimits(writing=found)

    def listening(self, listen: ListenOptions) -> ListenOptions:
        """The options of listening, with the proxy of these."""
        return replace(listen, proxy=self.proxy)


def _address(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """An address or a network, and not a word that stands for all of them."""
    try:
        if value is not None:
            ipaddress.ip_network(value)
    except ValueError:
        raise click.BadParameter("an IP address, or a network such as 10.0.0.0/24") from None
    return value


def serving_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options; the command gets one `ServingOptions` as `serving`."""

    @click.option(
        "--daily-mb-per-address",
        type=click.IntRange(0),
        help="MB that one network address may have written in a day, 0 without bound. Where anybody"
        " may write: a quarter of --daily-mb; else no bound.",
    )
    @click.option(
        "--daily-mb",
        type=click.IntRange(0),
        help="MB that all together may have written in a day, 0 without bound. Where anybody may"
        " write: a quarter of the free disk, at most 34,359; else no bound.",
    )
    @click.option(
        "--keep-free-mb",
        type=click.IntRange(0),
        help="Refuse posts when less of the disk is free. By default a twentieth of it, at most"
        " 1,073.",
    )
    @click.option(
        "--proxy",
        callback=_address,
        help="Address of a proxy in front, whose X-Forwarded-For says where a request comes from.",
    )
    @click.option("--access-log", is_flag=True, help="Log each request when it was answered.")
    @wraps(command)
    def serving_command(
        *,
        daily_mb_per_address: int | None,
        daily_mb: int | None,
        keep_free_mb: int | None,
        proxy: str | None,
        access_log: bool,
        **others: Any,
    ) -> None:
        options = ServingOptions(daily_mb_per_address, daily_mb, keep_free_mb, proxy, access_log)
        command(serving=options, **others)

    return serving_command
