from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import proving_groups


@pytest.fixture(scope="session", params=proving_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    """Ristretto255 on the fastest backend."""
    found: Group = request.param
    return found
