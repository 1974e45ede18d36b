"""Names what is built on another framework's classes, and so is imported only where that is."""

from __future__ import annotations

from typing import Final

BUILT_ON_OTHERS: Final = "gopa.plugins.declearn"
"""Its classes descend from declearn's, which has an environment of its own: `make test-plugins`."""
