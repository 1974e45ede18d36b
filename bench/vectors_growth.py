"""How the cost of a party, of an audit and of memory grows with dimension and with parties.

Slopes are those of straight lines through logarithms: 1 is proportional. Those of the last two
sizes stand apart, as the first sizes cost what every round costs. With `--full` the sizes
are those of `bench vectors --full`, and a picture is written to `vectors-growth.svg`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from bench.measure import Numbers, Scale
from bench.vectors import ALL, PARTIES, measured

PICTURE = Path("vectors-growth.svg")
_FIGURES = {
    "client_s": "a party's time, seconds",
    "verify_ms": "an audit of one party, milliseconds",
    "peak_mb": "a party's memory, megabytes",
}
_AXES = {"dimension": "numbers in a vector", "parties": "parties"}
_TINY = ((10, 20), (4, 5))
_USUAL = ((1_000, 4_000, 16_000), (10, 20))
_FULL = (ALL, (10, 20, 40, 80))

Lines = dict[str, dict[int, Numbers]]


def run(scale: Scale) -> Numbers:
    """Slopes of each cost, and what they are slopes of."""
    dimensions, parties = scale.of(_TINY, _USUAL, _FULL)
    least = dimensions[0]
    cost = cache(measured)
    lines: Lines = {
        "dimension": {each: cost(each, scale.of(4, PARTIES, PARTIES)) for each in dimensions},
        "parties": {each: cost(least, each) for each in parties},
    }
    found: Numbers = {"bench": "vectors-growth", "unit": "slopes of logarithms"}
    for along, sizes in lines.items():
        for name in _FIGURES:
            values = [float(str(each[name])) for each in sizes.values()]
            found[f"{name}_by_{along}"] = slope(list(sizes), values)
            found[f"{name}_by_last_{along}"] = slope(list(sizes)[-2:], values[-2:])
            found[f"{name}_at_{along}"] = dict(zip(sizes, values, strict=True))
    if scale is Scale.FULL:
        draw(lines)
        found["picture"] = str(PICTURE)
    return found


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The power of the size that the values grow with."""
    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 2)


def draw(lines: Lines) -> None:
    """One panel for dimensions, one for parties, both with logarithmic axes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "gopa"  # the same numbers make the same file

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for panel, (along, sizes) in zip(figure.subplots(1, 2), lines.items(), strict=True):
        for name, label in _FIGURES.items():
            values = [float(str(each[name])) for each in sizes.values()]
            panel.loglog(list(sizes), values, marker="o", label=label)
        panel.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
        panel.minorticks_off()
        panel.set_xlabel(_AXES[along])
        panel.grid(alpha=0.3)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(PICTURE, metadata={"Date": None})
