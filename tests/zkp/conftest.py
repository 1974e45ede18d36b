"""Every test of this folder runs on one backend, see `proving_groups`."""

from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import proving_groups


@pytest.fixture(params=proving_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    found: Group = request.param
    return found
