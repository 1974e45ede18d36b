"""What to write instead of keywords that people know from other libraries: one table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_INSTEAD: Final = {
    "epsilon": ("privacy=Privacy(epsilon, delta)",),
    "delta": ("privacy=Privacy(epsilon, delta)",),
    "privacy": ("epsilon=, delta=, unit=",),
    "seed": ("random_state=",),
    "random_state": ("seed=",),
    "max_iter": ("rounds=", "steps=", "iterations="),
    "n_iter": ("rounds=", "steps=", "iterations="),
    "epochs": ("local_steps=", "rounds=", "steps="),
    "learning_rate": ("rate=", "step=", "steps=Steps(..)"),
    "lr": ("rate=", "step=", "steps=Steps(..)"),
    "eta0": ("rate=", "step=", "steps=Steps(..)"),
    "optimizer": ("rate= and local_steps=", "steps="),
    "solver": ("rate= and local_steps=", "method="),
    "C": ("ridge=1 / (C * rows)",),
    "alpha": ("ridge=",),
    "l2": ("ridge=",),
    "penalty": ("ridge=",),
    "verbose": ("progress=True",),
    "callbacks": ("callback=",),
    "early_stopping": (
        "callback=, which may raise StopIteration", "progress=f, which may raise StopIteration",
    ),
    "tol": ("callback=, which may raise StopIteration",),
    "warm_start": ("start=",),
    "model": ("start=",),
    "init": ("start=", "centres="),
    "n_jobs": ('session={"jobs": n}',),
    "clients_per_round": ('session={"dropout": part}: everybody who is there takes part',),
    "fraction_fit": ('session={"dropout": part}: everybody who is there takes part',),
    "batch_size": ("batch=", "local_steps=: each takes all rows of a user"),
    "n_clusters": ("clusters=",),
    "n_components": ("components=",),
    "fit_intercept": ("intercept=0 for none",),
    "regularization": ("ridge=",),
}  # fmt: skip
"""The first of them whose own keyword is there is named."""


def instead(name: str, known: Iterable[str]) -> str | None:
    """What stands for a keyword where these are known, or None."""
    there = set(known)
    for each in _INSTEAD.get(name, ()):
        if each.partition("=")[0] in there:
            return each
    return None


def refuse_unknown(caller: str, known: Iterable[str], asked: Iterable[str]) -> None:
    """Raises `TypeError` for the first keyword that is not known, and says what is."""
    listed = list(known)
    for name in asked:
        if name not in listed:
            found = instead(name, listed)
            hint = f"write {found}" if found else f"it has {', '.join(listed)}"
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}: {hint}")
