"""Every test of this folder that takes a group runs on every installed backend."""

from __future__ import annotations

import pytest

from commitments.group import Group
from tests.group.backends import installed_groups


@pytest.fixture(params=installed_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Group:
    found: Group = request.param
    return found
