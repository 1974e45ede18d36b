# %% [markdown]
# # An hour of learning from data that stays where it is
#
# Sixty schools have ten pictures of handwritten digits each. They want one model that tells four
# digits apart, and no school shows a picture to another one, nor to a server. This notebook begins
# with a table of pandas and ends with models for single users: a budget that is kept, a run that is
# stopped early, a model in a file, and an audit.
#
# `make notebook` turns this file into a notebook with outputs, `python
# examples/learning_tutorial.py` runs it as a program. Beside gopa with its extra `learning` it
# needs pandas and matplotlib. What it writes goes to `tutorial/`.

# %%
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from gopa.learning import BudgetExceeded, History, Outcome, Privacy, PrivacyLedger, linear_models
from gopa.learning.federated import FederatedLogisticRegression, fedavg
from gopa.learning.personalised import Personalised

FOLDER = Path("tutorial")
FOLDER.mkdir(exist_ok=True)

# %% [markdown]
# ## The table
#
# One row is one picture: sixteen numbers, each the mean of four pixels, and moved by a public
# constant. Whatever is done to the data before has to follow from public numbers; a scaler that is
# fitted on the rows of all schools would have seen them all.

# %%
digits = load_digits()
kept = np.isin(digits.target, [0, 1, 2, 3])
pixels = digits.images[kept].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16) / 16 - 0.3
order = np.random.default_rng(0).permutation(len(pixels))

columns = [f"p{place}" for place in range(16)]
table = pd.DataFrame(pixels, columns=columns).iloc[order]
table.insert(0, "digit", np.array(["zero", "one", "two", "three"])[digits.target[kept]][order])
rows, public = table.iloc[:600].copy(), table.iloc[600:]
rows.insert(0, "school", [f"school {number % 60:02d}" for number in range(600)])
rows.iloc[:3, :9].round(2)

# %% [markdown]
# The last 120 pictures are public: nobody has to be hidden when models are judged by them.

# %%
plain = LogisticRegression(C=100, max_iter=2000).fit(rows[columns], rows["digit"])
print(f"all pictures in one place: {plain.score(public[columns], public['digit']):.2f}")

# %% [markdown]
# ## One model of all schools
#
# `fedavg` takes the table as it is: a frame, the name of the column of labels, and of the one that
# says whose each row is. `Privacy` says how much all that is published may tell about all pictures
# of a school. `most_rows` is public: more pictures of one school would not count. `mode="off"` does
# the arithmetic alone, for experiments; the real thing comes below.

# %%
how: dict[str, Any] = {"most_rows": 10, "clip": 4.0, "session": {"corrupt": 1, "dropout": 0.0}}
train = partial(fedavg, rows, "digit", "school", rounds=3, mode="off", **how)
asked = Privacy(8, 1e-5)
outcome = train(privacy=asked, seed=1)
outcome


# %%
def accuracy(found: Outcome) -> float:
    """The part of the public pictures that come out right."""
    return float((found.predict(public[columns]) == public["digit"]).mean())


print(f"epsilon 8: {accuracy(outcome):.2f}, and {outcome.noise:.0%} of the model is noise")
assert accuracy(outcome) > 0.75
assert outcome.spent.within(asked)

# %% [markdown]
# Four kinds of digits are four vectors of weights, and one budget covers them. Which digits are
# taken for which?

# %%
pd.crosstab(public["digit"], outcome.predict(public[columns]), colnames=["is taken for"])

# %% [markdown]
# ## What privacy costs
#
# The same with other budgets, three seeds each; the dotted line is one place for all pictures. Part
# of what lies between is noise, the rest are steps that were shortened and rounds that are few.
# (In one process a seed is the noise: whoever knows it can take the noise away. Between machines
# everybody draws its own.)

# %%
epsilons = [1, 2, 4, 8, 16]
found = [
    [accuracy(train(privacy=Privacy(each, 1e-5), seed=seed)) for seed in (1, 2, 3)]
    for each in epsilons
]
axes = History({"epsilon": epsilons, "accuracy": found}).plot()
axes.axhline(plain.score(public[columns], public["digit"]), color="grey", linestyle=":")
axes.set_xscale("log")
axes.minorticks_off()
axes.set_xticks(epsilons, map(str, epsilons))
plt.show()

# %% [markdown]
# ## A budget that is kept
#
# Whoever tries three settings on the same pictures has spent three times. One account for all of
# them refuses what would exceed it, before anything is sent.

# %%
account = PrivacyLedger(Privacy(12, 1e-4))
for clip in (2.0, 4.0, 8.0):
    tried = train(privacy=Privacy(4, 1e-5), seed=1, ledger=account, clip=clip)
    print(f"clip {clip}: {accuracy(tried):.2f}, spent {account.spent().epsilon:.3g}")
try:
    train(privacy=Privacy(1, 1e-5), seed=1, ledger=account)
    raise AssertionError("the account was empty")
except BudgetExceeded as error:
    print(f"one more: {error}")

# %% [markdown]
# ## Stop early, keep the model
#
# A `callback` hears of every round; `StopIteration` ends the run with the model that is there. It
# looks at public pictures only: where it looked at private ones, the moment of stopping would tell
# something about them. The noise was made for all rounds, so nothing comes back.

# %%
heard: list[float] = []


def enough(done: int, model: dict[str, Any]) -> None:
    """Ends the run once a round brings less than a hundredth."""
    scores = public[columns].to_numpy() @ model["coef"].T + model["intercept"]
    names = np.unique(rows["digit"])
    heard.append(float((names[scores.argmax(axis=1)] == public["digit"]).mean()))
    if done > 1 and heard[-1] < heard[-2] + 0.01:
        raise StopIteration


stopped = train(privacy=Privacy(16, 1e-5), seed=2, rounds=8, callback=enough)
print(f"{len(heard)} of 8 rounds: {[round(each, 2) for each in heard]}")
print(stopped.spent)
assert len(stopped.history) == len(heard) < 8

# %% [markdown]
# ## A model in a file, and going on from it
#
# One file of JSON and arrays, without pickle. What was spent is in it: whoever goes on asks for a
# budget for both, and the new model claims the sum.

# %%
path = outcome.save(FOLDER / "digits.gopa-outcome")
again = Outcome.load(path)
assert again.digest() == outcome.digest()
try:
    train(privacy=asked, seed=3, start=again)
    raise AssertionError("epsilon 8 was spent already")
except BudgetExceeded as error:
    print(error)
more = train(privacy=Privacy(16, 2e-5), seed=3, start=again)
more.spent

# %% [markdown]
# ## The real thing
#
# So far only the arithmetic ran. `mode="signed"` is a session: every school signs, masks and
# commits, and a public log has all of it. It proves what was added up, as its verdict says; mode
# "full" also proves how long updates are and that the noise is there. The estimator is the same
# algorithm for people who have pipelines of scikit-learn.

# %%
model = FederatedLogisticRegression(
    epsilon=8, delta=1e-5, rounds=1, mode="signed", random_state=1, **how
)
model.fit(rows[columns], rows["digit"], groups=rows["school"])
print(f"{model.score(public[columns], public['digit']):.2f}")
(first,) = model.outcome_.transcript or ()
anchors = first.anchors(FOLDER / "learning-anchors").read_bytes()
audited = model.outcome_.audit(anchors)
print(audited)
assert audited.missing == ()

# %% [markdown]
# ## A model for each
#
# Thirty people judge things by twenty qualities. Tastes differ, and some are alike: one model for
# all is wrong for most, and alone each has too few rows. `Personalised` finds out who is alike, and
# pulls their models together; how strongly is tried on other people. Here nothing is hidden from
# those who collaborate; `privacy=` hides rows, at a price that `docs/learning/personalised.md`
# tells.


# %%
def rightly(seed: int, **how: Any) -> list[float]:
    """The part of fresh rows that the model of each of thirty people gets right."""
    people = linear_models(30, 20, seed=seed)
    who = np.repeat(np.arange(30), people.counts)
    found = Personalised(**how).fit(pd.DataFrame(people.table.features), people.table.labels, who)
    fresh = np.random.default_rng(seed).uniform(-1, 1, (500, 20))
    truth = np.where(fresh @ people.truth["targets"].T < 0, -1, 1)
    return [found.score(fresh, truth[:, each], each) for each in range(30)]


others = {pull: float(np.mean(rightly(2, pull=pull))) for pull in (0.1, 0.3, 1.0)}
pull = max(others, key=lambda each: others[each])
print({each: round(found, 3) for each, found in others.items()}, "so", pull)

# %%
tastes = pd.DataFrame(
    {
        "one for all": rightly(1, method="global"),
        "alone": rightly(1, method="local"),
        "together": rightly(1, pull=pull),
    }
)
tastes.mean().round(3)

# %%
counts = linear_models(30, 20, seed=1).counts
ordered = tastes.assign(rows=counts).sort_values("rows")
axes = ordered.plot(x="rows", style=["x", ".", "o"], xlabel="rows of a person", ylabel="right")
plt.show()
assert tastes["together"].mean() > tastes["alone"].mean()

# %% [markdown]
# Where to go on: `docs/learning/README.md` says which algorithm is for whom,
# `docs/learning/federated.md` how the same call runs between machines, and
# `examples/federated_processes.py` does it with a process for each clinic.
