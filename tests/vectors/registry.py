"""Which function makes which file of `specs/vectors`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.board import board_vectors
from tests.contract import messages_vectors
from tests.contract.beacon import beacon_vectors
from tests.graph import vectors as graph_vectors
from tests.planning import terms_vectors
from tests.rounds.masks import masks_vectors
from tests.rounds.rows import row_rounds_vectors
from tests.sessions.tunnel import tunnel_vectors
from tests.twoparty import two_party_vectors
from tests.zkp import (
    gaussian_noise_vectors,
    noise_table_vectors,
    range_vectors,
    rows_vectors,
    transcript_vectors,
    weighted_noise_vectors,
)
from tests.zkp.sigma import sigma_vectors

FOLDER: Final = Path(__file__).resolve().parents[2] / "specs" / "vectors"

SOURCES: Final[dict[str, Callable[[], dict[str, object]]]] = {
    "beacon.json": beacon_vectors.records,
    "board.json": board_vectors.records,
    "gaussian_noise.json": gaussian_noise_vectors.records,
    "graph.json": graph_vectors.records,
    "last_largest.json": range_vectors.LAST_LARGEST.records,
    "row_rounds.json": row_rounds_vectors.records,
    "rows.json": rows_vectors.records,
    "masks.json": masks_vectors.records,
    "messages.json": messages_vectors.records,
    "noise_table.json": noise_table_vectors.records,
    "range.json": range_vectors.RANGE.records,
    "sigma.json": sigma_vectors.records,
    "terms.json": terms_vectors.records,
    "transcript.json": transcript_vectors.records,
    "tunnel.json": tunnel_vectors.records,
    "two_party.json": two_party_vectors.records,
    "vector_range.json": range_vectors.VECTOR_RANGE.records,
    "weighted_noise.json": weighted_noise_vectors.records,
}

TRANSCRIPTS: Final = FOLDER / "transcripts"


def render(records: dict[str, object]) -> str:
    """The text of a vector file."""
    return json.dumps(records, indent=1) + "\n"
