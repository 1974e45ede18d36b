from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import installed_groups

# With one backend alone there is nothing to compare, and without the native one there are no lanes.
collect_ignore = ["test_agreement.py", "test_lanes.py"] if len(installed_groups()) < 2 else []


@pytest.fixture(scope="session", params=installed_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    """Ristretto255 on each backend in turn."""
    found: Group = request.param
    return found
