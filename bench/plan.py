"""The planner: wall seconds for three plans, theorem D alone, and the memory it took."""

from __future__ import annotations

import resource
import sys
from typing import TypeVar

from bench.measure import Scale, require, wall_and_cpu
from gopa.graph import k_out_graph
from gopa.planning import plan
from gopa.planning.noise.exposure import noise_sum, theorem_d
from zkp.noise import GaussianTable

T = TypeVar("T")


def run(scale: Scale) -> dict[str, object]:
    """All numbers; `full` also builds the graph of a million parties."""
    few, many, dimension = scale.of((1_000, 2_000, 10), *2 * [(10_000, 1_000_000, 100_000)])
    small, small_s, small_cpu = wall_and_cpu(
        lambda: plan(n=few, epsilon=0.1, delta=1e-7, corrupt=0.2, dropout=0.05)
    )
    require(small.total_delta <= 1e-7, "the smaller plan")
    table = GaussianTable.with_scale("8.266")
    noise_sum.cache_clear()
    delta, theorem_s, _ = wall_and_cpu(lambda: theorem_d(noise_sum(table, 10_000), 20, 0.1))
    require(0.9e-7 < delta <= 1e-7, "theorem D at 10^4 parties")
    large, large_s, large_cpu = wall_and_cpu(
        lambda: plan(n=many, epsilon=0.1, delta=1e-9, corrupt=0.2, dropout=0.05)
    )
    require(large.total_delta <= 1e-9, "the larger plan")
    vectors, vectors_s, vectors_cpu = wall_and_cpu(
        lambda: plan(
            n=100,
            epsilon=4,
            delta=1e-5,
            corrupt=0.1,
            dimension=dimension,
            norm=1,
            range=(-1, 1),
            least_chance=0,
        )
    )
    require(vectors.total_delta <= 1e-5, "the plan for vectors")
    numbers: dict[str, object] = {
        "bench": "plan",
        "unit": "wall seconds and seconds of all cores, one run each, nothing cached",
        f"plan_{few}_s": small_s,
        f"plan_{few}_cpu_s": small_cpu,
        f"plan_{few}_k": small.terms.k,
        f"plan_{many}_s": large_s,
        f"plan_{many}_cpu_s": large_cpu,
        f"plan_{many}_k": large.terms.k,
        f"plan_{dimension}_coordinates_s": vectors_s,
        f"plan_{dimension}_coordinates_cpu_s": vectors_cpu,
        "theoremD_1e4_s": theorem_s,
        "theoremD_1e4_delta": delta,
    }
    if scale is Scale.FULL:
        graph, numbers["graph_1e6_k30_s"], _ = wall_and_cpu(
            lambda: k_out_graph(bytes(32), 1_000_000, 30)
        )
        require(int(graph.degrees.min()) >= 30, "the graph of 10^6 parties")
        numbers["graph_1e6_k30_edges"] = graph.edge_count
    return numbers | {"peak_mb": _peak_mb()}


def _peak_mb() -> float:
    """Kilobytes on Linux, bytes on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3), 1)
