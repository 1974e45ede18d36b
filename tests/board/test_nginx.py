"""The documented configuration of nginx keeps to itself what is for the operator."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Final

PAGE: Final = (Path(__file__).parents[2] / "docs" / "board" / "nginx.md").read_text()
LOCATIONS: Final = dict(re.findall(r"location (\S+(?: /\S*)?) \{\n(.*?)\n    \}", PAGE, re.DOTALL))
"""The directives of each location."""


def test_counters_are_not_public() -> None:
    assert "proxy_pass http://127.0.0.1:8765;" in LOCATIONS["/"]
    assert "deny all;" in LOCATIONS["= /metrics"]
    assert "proxy_pass" not in LOCATIONS["= /metrics"]


MAPS: Final = dict(re.findall(r"map \$binary_remote_addr \$(\w+) \{(.*?)\n\}", PAGE, re.DOTALL))


def key_of(name: str, address: str) -> bytes:
    """What nginx counts an address under; empty for what it does not count."""
    written = re.search(r'"~(.*)" \$(\w+);', MAPS[name])
    assert written is not None
    pattern, group = written.groups()
    packed = ip_address(address).packed
    found = re.search(pattern.replace("(?<", "(?P<").encode(), packed)
    otherwise = b"" if 'default "";' in MAPS[name] else packed
    return otherwise if found is None else found[group]


def test_networks_are_counted_as_the_board_counts_them() -> None:
    """A newline is an octet of addresses like any other."""
    one = "2001:db8:a0a:a0a::a0a"
    assert key_of("network", one) == key_of("network", "2001:db8:a0a:a0a:ffff::1")
    assert key_of("network", one) != key_of("network", "2001:db8:a0a:a0b::1")
    assert key_of("site", one) == key_of("site", "2001:db8:a0a:a0b::1")
    assert key_of("site", one) != key_of("site", "2001:db8:a0b::1")
    assert key_of("network", "10.10.10.10") != key_of("network", "10.10.10.11")
    assert key_of("site", "10.10.10.10") == b""


def test_nothing_is_counted_by_whole_addresses_of_version_6() -> None:
    zones = re.findall(r"limit_(?:req|conn)_zone (\S+) zone=(\w+):", PAGE)
    assert {key for key, _ in zones} == {"$network", "$site"}
    used = set(re.findall(r"limit_(?:req zone=|conn )(\w+)", PAGE))
    assert used == {zone for _, zone in zones}
