from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import installed_groups


@pytest.fixture(scope="session", params=installed_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    """Ristretto255 on each backend in turn."""
    found: Group = request.param
    return found
