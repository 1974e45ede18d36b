"""Names what is built on something that may be missing, and so is imported only where that is."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

_CORE: Final = () if find_spec("commitments._native") else ("commitments.native",)
"""The native backend, where no core was built: without a Rust toolchain."""

BUILT_ON_OTHERS: Final = ("gopa.plugins.declearn", *_CORE)
"""declearn's classes have an environment of their own: `make test-plugins`."""
