"""Every registered algorithm answers everything that users get wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import gopa
from examples.averaging import fit_gossip, fit_mean
from gopa import UsageError
from gopa.graph import ring
from gopa.learning import Outcome, Privacy, Users, linear_models, ratings
from gopa.learning.correlated import fit_correlated
from gopa.learning.federated import (
    contingency_table,
    fedavg,
    fedsgd,
    histogram,
    kmeans,
    least_squares,
    mean,
    pca,
    quantiles,
    variance,
)
from gopa.learning.objectives import LOGISTIC, Linear
from gopa.learning.pairwise import (
    AUC,
    GINI,
    Cells,
    fit_dual_averaging,
    fit_local,
    fit_pairwise,
    fit_ranking,
    fit_two_party,
    fit_verified,
)
from gopa.learning.rows import AgentRows
from gopa.learning.without_replacement import fit_with_replacement, fit_without_replacement
from tests.learning.federated.problems import OFF, two_sides
from tests.learning.network_dp import user_errors as _of_tokens  # noqa: F401 - registers
from tests.learning.personalised import user_errors as _of_models  # noqa: F401 - registers
from tests.learning.user_errors import (
    REGISTERED,
    Answer,
    DoesNotArise,
    Mistake,
    Refused,
    Registered,
    Works,
    register,
)

NO_LABELS = DoesNotArise("labels are not looked at")
EVERYWHERE = {
    Mistake.UNEQUAL_WIDTHS: Refused(UsageError, "parts"),
    Mistake.NAN: Refused(UsageError, "features[0, 0]"),
    Mistake.INFINITE: Refused(UsageError, "features[0, 0]"),
    Mistake.NO_EPSILON: Refused(UsageError, "epsilon"),
    Mistake.SEED: Refused(UsageError, "seed"),
    Mistake.INTERRUPTED: Refused(KeyboardInterrupt),
}
"""What the shared parts answer, whatever the algorithm is."""

register(
    Registered(
        "gossip",
        fit_gossip,
        lambda: {"problem": ratings(6, seed=1), "graph": ring(6), "seed": 1, "runs": 2},
        {
            **EVERYWHERE,
            Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
            Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
            Mistake.ONE_USER: Refused(UsageError, "graph"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.ONE_CLASS: NO_LABELS,
            Mistake.UNSEEN: NO_LABELS,
            Mistake.CONSTANT: Works("the mean of equal numbers", lambda found: found.model[0] == 2),
        },
    )
)  # fmt: skip
register(
    Registered(
        "verified mean",
        fit_mean,
        lambda: {"problem": ratings(6, seed=1), "privacy": Privacy(40.0, 1e-5), "seed": 1},
        {
            **EVERYWHERE,
            Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
            Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
            Mistake.ONE_USER: Refused(UsageError),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.ONE_CLASS: NO_LABELS,
            Mistake.UNSEEN: NO_LABELS,
            Mistake.CONSTANT: Works("the mean of equal numbers", lambda found: found.model < 1),
        },
    )
)

ANSWERED = Works("an outcome like any other", lambda found: len(found.history) == 1)
SUMS = {
    **EVERYWHERE,
    Mistake.NOT_CONNECTED: DoesNotArise("sums need no graph"),
    Mistake.OTHER_GRAPH: DoesNotArise("sums need no graph"),
    Mistake.ONE_USER: Refused(UsageError, "n"),
    Mistake.NO_ROWS: ANSWERED,
    Mistake.ONE_CLASS: ANSWERED,
    Mistake.UNSEEN: DoesNotArise("what comes out are numbers; estimators refuse such a label"),
    Mistake.CONSTANT: ANSWERED,
    Mistake.INTERRUPTED: DoesNotArise("there is one round, and nothing before it"),
}
FOUND = Works("sums until they are read", lambda found: not found.model.get("ridge", 0))
READ = {**SUMS, **dict.fromkeys((Mistake.NO_ROWS, Mistake.ONE_CLASS, Mistake.CONSTANT), FOUND)}
TRAINED = {
    **SUMS,
    Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
    Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
    Mistake.INTERRUPTED: Refused(KeyboardInterrupt),
}
FEDERATED: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "FedAvg": (fedavg, {"rounds": 1}, TRAINED),
    "FedSGD": (fedsgd, {"rounds": 1}, TRAINED),
    "k-means": (
        kmeans,
        {"clusters": 2, "rounds": 1},
        {**SUMS, Mistake.INTERRUPTED: Refused(KeyboardInterrupt)},
    ),
    "PCA": (pca, {"components": 1}, READ),
    "least squares": (least_squares, {}, READ),
    "mean": (mean, {"low": -1, "high": 2}, SUMS),
    "variance": (variance, {"low": -1, "high": 2}, SUMS),
    "quantiles": (quantiles, {"at": [0.5], "low": -1, "high": 2}, SUMS),
    "table": (contingency_table, {"columns": (0, -1), "categories": ([0, 1], [1])}, SUMS),
    "histogram": (histogram, {"edges": [-1, 0, 2]}, SUMS),
}
for name, (fit, more, answers) in FEDERATED.items():
    asked: Any = partial(dict, privacy=None, seed=1, **OFF, **more)
    right = partial(lambda made: made(problem=two_sides()), asked)
    register(Registered(name, fit, right, answers))


def descent(problem: Users, **how: Any) -> Outcome:
    rows = AgentRows.of(problem.pairs()).clipped(2, 1.0)
    return fit_correlated(Linear(LOGISTIC, rows, ridge=0.1), iterations=20, noise=20.0, **how)


register(
    Registered(
        "correlated noise",
        descent,
        lambda: {
            "problem": linear_models(6, 3, seed=1),
            "graph": ring(6),
            "privacy": Privacy(9.0, 1e-6, view="neighbour"),
            "seed": 1,
        },
        {
            **EVERYWHERE,
            Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
            Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
            Mistake.ONE_USER: Refused(UsageError, "graph"),
            Mistake.NO_ROWS: Works("its function is the ridge", lambda found: found.spent.hides),
            Mistake.ONE_CLASS: Works("a model is found", lambda found: found.spent.hides),
            Mistake.UNSEEN: DoesNotArise("the caller predicts with the model"),
            Mistake.CONSTANT: Works("a model is found", lambda found: found.spent.hides),
        },
    )
)


for name, fit in (
    ("without replacement", fit_without_replacement),
    ("with replacement", fit_with_replacement),
):
    register(
        Registered(
            name,
            partial(fit, batch=5),
            lambda: {
                "problem": linear_models(6, 3, seed=1),
                "privacy": Privacy(1.0, 1e-6, unit="record"),
                "seed": 1,
            },
            {
                **EVERYWHERE,
                Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
                Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
                Mistake.ONE_USER: Works("one node trains alone", lambda found: found.spent.hides),
                Mistake.NO_ROWS: Refused(UsageError, "batch"),
                Mistake.ONE_CLASS: Refused(UsageError, "problem"),
                Mistake.UNSEEN: DoesNotArise("a model predicts classes that it was trained on"),
                Mistake.CONSTANT: Works("a model is found", lambda found: found.spent.hides),
            },
        )
    )

PAIRS: dict[Mistake, Answer] = {**EVERYWHERE, Mistake.NOT_CONNECTED: Refused(UsageError, "graph")}
PAIRS |= {Mistake.OTHER_GRAPH: Refused(UsageError, "graph")}
PAIRS |= {Mistake.UNSEEN: NO_LABELS, Mistake.ONE_CLASS: NO_LABELS}
CODEBOOK = [(x, y, 0.0) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]

register(
    Registered(
        "gossip about pairs",
        partial(fit_pairwise, kernel=GINI, cells=Cells.even(3, 0.0, 5.0), steps=200),
        lambda: {
            "problem": ratings(6, seed=1),
            "graph": ring(6),
            "privacy": Privacy(2.0),
            "seed": 1,
        },
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("an estimate of 0", lambda found: found.spent.hides),
        },
    )
)
register(
    Registered(
        "private reports of points",
        partial(fit_local, kernel=GINI, cells=Cells.even(3, 0.0, 5.0)),
        lambda: {"problem": ratings(6, seed=1), "privacy": Privacy(2.0), "seed": 1},
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("an estimate of 0", lambda found: found.spent.hides),
        },
    )
)
register(
    Registered(
        "verified counts of cells",
        partial(fit_verified, kernel=GINI, cells=Cells.even(2, 0.0, 5.0), corrupt=1, mode="signed"),
        lambda: {"problem": ratings(3, seed=1), "privacy": Privacy(20.0, 1e-5), "seed": 1},
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("an estimate of 0", lambda found: found.spent.hides),
        },
    )
)
register(
    Registered(
        "private bits of scores",
        partial(fit_ranking, depth=3, low=-1.0, high=2.0),
        lambda: {
            "problem": linear_models(6, 2, seed=1, rows=(1, 1)),
            "privacy": Privacy(2.0),
            "seed": 1,
        },
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.ONE_CLASS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("an estimate of 0", lambda found: found.spent.hides),
        },
    )
)
register(
    Registered(
        "answers of two users",
        partial(fit_two_party, kernel=AUC, bits=4, low=-1.0, high=2.0),
        lambda: {
            "problem": linear_models(6, 2, seed=1, rows=(1, 1)),
            "privacy": Privacy(2.0),
            "seed": 1,
        },
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.ONE_CLASS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("an estimate of 0", lambda found: found.spent.hides),
        },
    )
)
register(
    Registered(
        "dual averaging of pairs",
        partial(fit_dual_averaging, codebook=CODEBOOK, steps=200),
        lambda: {
            "problem": linear_models(6, 3, seed=1, rows=(1, 1)),
            "graph": ring(6),
            "privacy": Privacy(2.0),
            "seed": 1,
        },
        {
            **PAIRS,
            Mistake.ONE_USER: Refused(UsageError, "problem"),
            Mistake.NO_ROWS: Refused(UsageError, "problem"),
            Mistake.ONE_CLASS: Refused(UsageError, "problem"),
            Mistake.CONSTANT: Works("a model is found", lambda found: found.spent.hides),
        },
    )
)


@pytest.mark.parametrize("algorithm", REGISTERED, ids=lambda each: each.name)
def test_every_mistake_has_an_answer(algorithm: Registered) -> None:
    assert set(algorithm.answers) == set(Mistake)


@pytest.mark.parametrize("algorithm", REGISTERED, ids=lambda each: each.name)
def test_every_answer_is_given(algorithm: Registered) -> None:
    """First the right call; after each mistake it gives the same as before."""
    right = algorithm.run(algorithm.right())
    for mistake, answer in algorithm.answers.items():
        if isinstance(answer, Works):
            found = algorithm.mistaken(mistake)
            assert isinstance(found, Outcome)
            assert answer.holds(found), mistake
        elif isinstance(answer, Refused):
            with pytest.raises(answer.error) as caught:
                algorithm.mistaken(mistake)
            if answer.field is not None:
                assert getattr(caught.value, "field", None) == answer.field, mistake
        else:
            assert answer.why
    assert algorithm.run(algorithm.right()).digest() == right.digest()


def test_an_answer_that_is_not_given_is_noticed() -> None:
    """The table itself: a wrong answer fails, a right one does not."""
    honest = REGISTERED[0]
    assert isinstance(honest.answers[Mistake.NAN], Refused)
    with pytest.raises(gopa.UsageError):
        honest.mistaken(Mistake.NAN)
    assert isinstance(honest.mistaken(Mistake.CONSTANT), Outcome)


def test_a_session_claims_nothing_that_it_does_not_hide() -> None:
    """Who takes part stands in its public list."""
    fit, right = next((each.run, each.right()) for each in REGISTERED if each.name[0] == "v")
    assert fit(right).spent.within(right["privacy"])
    with pytest.raises(UsageError) as caught:
        fit({**right, "privacy": Privacy(40.0, 1e-5, relation="add-remove")})
    assert caught.value.field == "privacy"
