"""All transcripts by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.vectors.transcripts import honest, misshapen, organisers, parties, rows
from tests.vectors.transcripts.cases import Case

CASES: Final[Mapping[str, Case]] = {
    **honest.CASES,
    **parties.CASES,
    **misshapen.CASES,
    **organisers.CASES,
    **rows.CASES,
}
