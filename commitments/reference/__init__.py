"""The group in pure Python and gmpy2: the reference backend.

It is the oracle of the tests and the fallback where the native core is not installed. It is NOT
constant-time: whoever measures it learns its secrets. Read
`curve` and `points`, then `group`.

    >>> from commitments.reference import reference_ristretto255
    >>> group = reference_ristretto255()
    >>> (group.generator * group.scalar(2)).to_bytes().hex()
    '6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919'
"""

from __future__ import annotations

import logging
from functools import cache

from commitments.group import Group
from commitments.reference.curve import Curve
from commitments.reference.group import ReferenceGroup
from commitments.reference.ristretto255 import RISTRETTO255

__all__ = ["Curve", "ReferenceGroup", "reference_ristretto255", "warn_not_constant_time"]


@cache
def reference_ristretto255() -> Group:
    """The one ristretto255 group of this backend."""
    return ReferenceGroup(RISTRETTO255)


@cache
def warn_not_constant_time() -> None:
    """Log once that this backend leaks secrets through time."""
    logging.getLogger("gopa.backend").warning(
        "the reference backend is not constant-time: use it for tests and audits, "
        "and install the native core before real secrets are involved"
    )
