"""What `specs/vectors/row_rounds.json` holds: what coins and closes decide about long vectors."""

from __future__ import annotations

from hashlib import sha256

from commitments import ristretto255
from commitments.group import Group
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import EdgeContext, EquationPoints, SelfContext, edge_equation, self_equation
from gopa.rounds.rows.challenges import (
    carry_tests,
    input_tests,
    point_count,
    points_of,
    signed_permutation,
)
from tests.contract.samples import row_manifest, row_terms
from wire.secret import SecretBytes

DIMENSIONS = (2, 40, 70)
WIDTHS = (16, 32, 33, 64)
COUNTS = (1, 3)


def value(name: str) -> bytes:
    """32 bytes for each name."""
    return sha256(f"gopa long rounds vectors/{name}".encode()).digest()


JOINT, LEAF, PARTY, OTHER = value("joint"), value("leaf"), value("party"), value("other")
KEY, SEED, SESSION = value("key"), value("seed"), value("session")
NUMBER = 3


def context(dimension: int, group: Group | None = None) -> RoundContext:
    """A round of a session with vectors of this dimension."""
    sensitive = {"squared_sensitivity": 1200} if dimension > 2 else {"squared_norm": 100}
    terms = row_terms(dimension, **sensitive)
    return RoundContext(row_manifest(terms), SESSION, NUMBER, group or ristretto255())


def records(group: Group | None = None) -> dict[str, object]:
    """The content of the vector file."""
    made = group or ristretto255()
    return {
        "format": "bytes in hexadecimal; scalars and points as they are encoded",
        "session": SESSION.hex(),
        "round": NUMBER,
        "joint": JOINT.hex(),
        "leaf": LEAF.hex(),
        "party": PARTY.hex(),
        "challenges": [_challenges(made, dimension) for dimension in DIMENSIONS],
        "masks": [_masks(made, width, count) for width in WIDTHS for count in COUNTS],
    }


def _challenges(group: Group, dimension: int) -> dict[str, object]:
    where = context(dimension, group)
    tests, carries = input_tests(where, JOINT), carry_tests(where, LEAF)
    moved = signed_permutation(where, JOINT, PARTY)
    return {
        "dimension": dimension,
        "test_rows_sha256": [sha256(each).hexdigest() for each in tests.rows],
        "test_columns_sha256": sha256(tests.columns).hexdigest(),
        "places": moved.places.tolist(),
        "signs": moved.signs.hex(),
        "carry_test_rows_sha256": sha256(carries.rows[0]).hexdigest(),
        "carry_test_columns_sha256": sha256(carries.columns).hexdigest(),
        "points_for_5_parties": point_count(where, 5),
        "points": [
            [scalar.to_bytes().hex() for scalar in each] for each in points_of(where, LEAF, 2)
        ],
    }


def _masks(group: Group, width: int, count: int) -> dict[str, object]:
    where = context(40, group)
    z = points_of(where, LEAF, count)
    points = EquationPoints.of(group, LEAF, z, dimension=40, width=width)
    edge = edge_equation(
        points, SecretBytes(KEY), EdgeContext.between(SESSION, NUMBER, PARTY, OTHER)
    )
    own = self_equation(points, SecretBytes(SEED), SelfContext(SESSION, NUMBER, PARTY))
    return {
        "dimension": 40,
        "width": width,
        "count": count,
        "key": KEY.hex(),
        "seed": SEED.hex(),
        "other": OTHER.hex(),
        "edge": edge.commitment().to_bytes().hex(),
        "self": own.commitment().to_bytes().hex(),
    }
