"""Says how an aggregator carries out its rounds."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from gopa.aggregation.dropouts import AnyScript
from gopa.aggregation.engine import Mode, Trust
from gopa.aggregation.seeds import Seed
from gopa.contract.terms import check_integer, check_name
from wire.errors import UsageError

MOST_JOBS: Final = 1_024

Coins: TypeAlias = Literal["test", "commit-reveal"]
"""Where the coins of a simulation come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Says how rounds are carried out; the same for all rounds of an aggregator."""

    mode: Mode
    trust: Trust
    storage: Path | None
    seed: Seed
    script: AnyScript | None
    progress: bool | None
    executor: Executor | None
    jobs: int
    beacon: Coins
    max_rollbacks: int
    weighted: bool
    remember_noise: bool

    def __post_init__(self) -> None:
        check_name(self.mode, get_args(Mode), "mode")
        check_name(self.trust, get_args(Trust), "trust")
        check_name(self.beacon, get_args(Coins), "beacon")
        check_integer(self.max_rollbacks, 0, 65_535, "max_rollbacks")
        check_integer(self.jobs, 1, MOST_JOBS, "jobs")
        if self.progress is not None and type(self.progress) is not bool:
            raise UsageError("must be true, false or None", "progress")
        if self.mode == "full" and self.trust != "malicious":
            raise UsageError("full mode trusts nobody: take mode='signed' or 'off'", "trust")
        if self.mode == "off" and self.storage is not None:
            raise UsageError("mode off keeps no log: take mode='signed'", "storage")
