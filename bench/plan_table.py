"""Plans by default for hundreds to a million parties: error, neighbours, chance of a result."""

from __future__ import annotations

from bench.measure import Numbers, Scale, require, wall_and_cpu
from gopa.planning import plan

EPSILON, CORRUPT = 1, 0.2
_TARGETS = ((100, "1e-6"), (1_000, "1e-6"), (10_000, "1e-7"), (1_000_000, "1e-9"))


def run(scale: Scale) -> dict[str, object]:
    """One row for each number of parties; `full` adds a tenth and two fifths corrupt."""
    shares = scale.of((CORRUPT,), (CORRUPT,), (CORRUPT, 0.1, 0.4))
    targets = scale.of(_TARGETS[:1], _TARGETS, _TARGETS)
    rows = [_row(n, delta, share) for share in shares for n, delta in targets]
    return {"bench": "plan-table", "epsilon": EPSILON, "rows": rows}


def _row(parties: int, delta: str, share: float) -> Numbers:
    made, wall, cpu = wall_and_cpu(
        lambda: plan(n=parties, epsilon=EPSILON, delta=delta, corrupt=share)
    )
    require(made.total_delta <= float(delta), "a plan within its target")
    terms = made.terms
    return {
        "n": parties,
        "delta": delta,
        "corrupt": terms.corrupt,
        "error_over_curator": round(made.errors.planned / made.errors.curator, 4),
        "k": terms.k,
        "loss": terms.loss,
        "survivors": terms.survivors,
        "mask": terms.mask,
        "recovery": None if terms.threshold is None else str(terms.threshold),
        "coins": terms.beacon,
        "charged": terms.charged,
        "round_finishes": round(made.liveness.round, 4),
        "session_has_result": round(made.liveness.session, 4),
        "attempts": round(made.liveness.attempts, 3),
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
    }
