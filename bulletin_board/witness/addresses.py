"""What an operator should know about where its policy says that witnesses are."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from bulletin_board.policy import TrustPolicy
from bulletin_board.text import visible


def address_warnings(policy: TrustPolicy) -> Iterator[str]:
    """Sentences about addresses that are missing, or that anybody on the way can answer for."""
    located = {name: peer for name, peer in policy.witnesses.items() if peer.url}
    if policy.needs_witnesses and not policy.is_quorum(peer.key for peer in located.values()):
        without = ", ".join(visible(name) for name in policy.witnesses if name not in located)
        yield (
            "the witnesses that have an address in the policy make no quorum: no barrier will be"
            " acknowledged, and once the log has entries it will not open again. Add addresses"
            f" of {without}"
        )
    for name, peer in located.items():
        if not _is_protected(peer.url):
            yield (
                f"the address of witness {visible(name)} is plain http to another machine: whoever"
                " is on the way can keep it from warning this board of an old storage. Use https"
            )


def _is_protected(url: str) -> bool:
    """Whether nobody between the board and this address can answer in its place."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
