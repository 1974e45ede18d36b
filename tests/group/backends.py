"""Which backends the tests of the group run over, decided when they are collected."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

from commitments.group import Group
from commitments.reference import reference_ristretto255

REQUIRE_NATIVE: Final = "GOPA_REQUIRE_NATIVE"


@cache
def installed_groups() -> tuple[Group, ...]:
    """Ristretto255 on every backend that runs here, the reference first.

    `GOPA_BACKEND=reference` leaves the native one out. With `GOPA_REQUIRE_NATIVE=1`
    its absence is an error, so that a broken build cannot pass for a small one.
    """
    groups: list[Group] = [reference_ristretto255()]
    if os.environ.get("GOPA_BACKEND") != "reference":
        try:
            from commitments.native import native_ristretto255
        except ImportError:
            pass
        else:
            groups.append(native_ristretto255())
    if os.environ.get(REQUIRE_NATIVE) == "1" and len(groups) < 2:
        raise RuntimeError(f"{REQUIRE_NATIVE}=1, but the native backend does not run here")
    return tuple(groups)


def proving_groups() -> tuple[Group, ...]:
    """The fastest backend that runs here, for tests of what is built on the group.

    The backends agree, which tests/group shows: `make test-reference` runs the same tests on
    the other one.
    """
    return installed_groups()[-1:]
