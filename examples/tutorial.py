# %% [markdown]
# # From a list of numbers to an audited session
#
# Sixty people want to know how many hours they worked last week, on average. Nobody wants to tell.
# This notebook begins with a list in one process and ends with a board, an organiser and six
# parties that are processes of their own, and with an audit that trusts none of them.
#
# `make notebook` turns this file into a notebook with outputs, `python examples/tutorial.py` runs
# it as a program. Beside gopa it needs pandas and matplotlib. What it writes goes to `tutorial/`.

# %%
import atexit
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pandas as pd

import gopa

FOLDER = Path("tutorial")
FOLDER.mkdir(exist_ok=True)

# %% [markdown]
# ## A list of numbers
#
# The range is public and fixed beforehand, as it says how much one person can move the mean; `clip`
# moves whoever worked less or more to its ends.
# `epsilon` and `delta` bound what the result tells about anybody: smaller is more private, and less
# exact. `seed` makes this notebook the same each time; with real data leave it out.

# %%
random.seed(1)
hours = [round(random.gauss(38, 6), 1) for _ in range(60)]

result = gopa.average(hours, range=(20, 60), clip=True, epsilon=2, delta=1e-6, seed=1)
result

# %% [markdown]
# All sixty parties ran in this process, which is why the result says *simulation*. The protocol was
# the real one: masks that cancel, noise from everybody, commitments, proofs, and a log.
# The error is that of the noise. As this is a simulation, we may look at the truth:

# %%
truth = sum(hours) / len(hours)
print(f"the truth is {truth:.1f}, and the answer is off by {abs(float(result) - truth):.1f}")
assert abs(float(result) - truth) < 6 * result.stderr

# %% [markdown]
# ## What privacy costs
#
# Before asking anybody, plan: the error depends on how many people take part and on `epsilon`, not
# on their values. `explain()` gives a reason for each number.

# %%
plan = gopa.plan(n=60, range=(20, 60), epsilon=2, delta=1e-6)
print(plan)
print()
print(plan.explain())

# %%
errors = {
    f"{people} people": {
        f"epsilon {epsilon}": gopa.plan(
            n=people, range=(20, 60), epsilon=epsilon, delta=1e-6
        ).errors.planned
        for epsilon in (0.5, 1, 2)
    }
    for people in (60, 600)
}
pd.DataFrame(errors).round(1)

# %% [markdown]
# ## Columns and tables
#
# A column of pandas is a list of values. Gaps are refused unless you say that they are people who
# do not take part.

# %%
column = pd.Series(hours)
column[[3, 17]] = None

try:
    gopa.average(column, plan, clip=True)
except gopa.InvalidValue as error:
    print(error)

present = gopa.average(column, plan, clip=True, absent="nan")
print(present)

# %% [markdown]
# A table has a row for each party. All of its columns share one range, here 0 to 1 for no and yes,
# and one round gives all means at once.

# %%
answers = pd.DataFrame(
    {
        "works from home": [random.random() < 0.6 for _ in hours],
        "has a desk": [random.random() < 0.8 for _ in hours],
    }
)
shares = gopa.average(answers, integers=True, epsilon=4, delta=1e-6, seed=2)
shares

# %%
axes = shares.plot()
# %% [markdown]
# How many are in which group: a histogram.

# %%
groups = gopa.histogram(hours, bins=[20, 30, 40, 60], clip=True, epsilon=4, delta=1e-6, seed=3)
groups

# %% [markdown]
# Results go into files as JSON, under names that stay: see `docs/python.md`.

# %%
(FOLDER / "result.json").write_text(result.to_json(indent=2))
assert json.loads((FOLDER / "result.json").read_text())["mean"] == result.mean

# %% [markdown]
# ## Somebody cheats
#
# Party 7 sends a proof that is wrong. It is left out, the others get their result, and the log
# proves who it was. An auditor needs the log and, from somebody it trusts, the anchors.

# %%
from gopa.adversary import Malicious, deeds, script_of

cheater = Malicious(7, at="commit", do=deeds.spoil_proof())
cheated = gopa.average(hours, plan, clip=True, script=script_of([cheater]))
print(cheated, end="\n\n")

log = cheated.transcript.archive(FOLDER / "hours.gopa")
anchors = cheated.transcript.anchors(FOLDER / "anchors.txt")
report = gopa.audit(log, anchors=anchors)
print(report.verdict.value)
for fault in report.faults:
    print(fault)

# %% [markdown]
# One changed bit in the log, and the audit says so:

# %%
data = bytearray(log.read_bytes())
data[len(data) // 2] ^= 1
(FOLDER / "changed.gopa").write_bytes(data)
print(gopa.audit(FOLDER / "changed.gopa", anchors=anchors).verdict.value)

# %% [markdown]
# ## A session of real processes
#
# Now nobody shares a process. On one machine for a try, but nothing changes when there are many.
# First the board: a public log that anyone can read and check.


# %%
def command(*arguments: object) -> list[str]:
    """The command `gopa` of this Python."""
    return [sys.executable, "-m", "gopa", *map(str, arguments)]


def answer(*arguments: object) -> dict[str, str]:
    """What a command says as JSON."""
    done = subprocess.run(
        command(*arguments, "--json"), check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def start(*arguments: object, said: Path, given: str = "") -> subprocess.Popen[str]:
    """The same in the background; it ends with this program at the latest."""
    plain = os.environ | {"FORCE_COLOR": ""}  # Jupyter sets it, and a file needs no colours
    with said.open("w") as out:
        process = subprocess.Popen(
            command(*arguments),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            text=True,
            env=plain,
        )
    atexit.register(process.kill)
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    return process


place = FOLDER / f"session-{time.time_ns()}"
place.mkdir()
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

log_key = answer("board", "init", place / "board", "--origin", "board.example/tutorial")["log"]
board = start(
    *("board", "serve", place / "board", "--sessions", "--port", port), said=place / "board.txt"
)
address = f"http://127.0.0.1:{port}"


def answers_now() -> bool:
    """Whether the board does."""
    try:
        with urlopen(f"{address}/checkpoint") as response:
            return bool(response.status == 200)
    except OSError:
        return False


while board.poll() is None and not answers_now():
    time.sleep(0.1)
print(log_key, "at", address)

# %% [markdown]
# Every party makes a key on its own machine. The public halves go on the organiser's roster.

# %%
names = ["ada", "ben", "cleo", "dan", "eva", "finn"]
public = {}
for name in names:
    public[name] = answer("keygen", place / name / "key")["public"]
roster = place / "roster.txt"
answer("session", "roster", roster, *(f"{name}={key}" for name, key in public.items()))
print(roster.read_text(), end="")

# %% [markdown]
# The organiser plans the session, and gets a ticket for the parties and anchors for auditors. With
# six people the noise is large: privacy hides one person among the others, and here are few. (The
# error says so. Ask three hundred, or ask for less privacy as here, with `--epsilon 20`.)

# %%
created = answer(
    *("session", "create", place / "organiser", "--board", address, "--log-key", log_key),
    *(
        "--roster",
        roster,
        "--low",
        20,
        "--high",
        60,
        "--epsilon",
        20,
        "--delta",
        "1e-5",
        "--dropout",
        0.01,
    ),
)
print(f"standard error of the mean: {float(created['standard_error_of_the_mean']):.2g}")

# %% [markdown]
# Now everybody runs at once: the organiser opens and closes the phases, each party gives one value
# and says how much privacy it may cost. The value comes over standard input, as the shell would
# remember what stands on the command line.

# %%
organiser = start(
    *("session", "open", place / "organiser", "--quiet", "--poll", 0.1),
    said=place / "organiser.txt",
)
parties = {
    name: start(
        *("join", created["ticket"], "--identity", place / name / "key"),
        *("--value", "-", "--epsilon", 20),
        said=place / name / "said.txt",
        given=f"{value}\n",
    )
    for name, value in zip(names, hours, strict=False)
}

for name, party in parties.items():
    assert party.wait() == 0, (place / name / "said.txt").read_text()
assert organiser.wait() == 0, (place / "organiser.txt").read_text()
print((place / "ada" / "said.txt").read_text())

# %% [markdown]
# Anybody audits it, from the board's address and the anchors that the organiser handed out. The
# audit trusts neither the board nor the organiser nor any party.

# %%
audited = gopa.audit(address, anchors=created["anchors"])
print(audited)
assert audited.verdict.value == "VALID"

# %% [markdown]
# The same as a page for people who are no experts, and then the board may rest. Its log stays in
# its folder, and `gopa audit` reads it from there as well.

# %%
page = place / "report.html"
subprocess.run(
    command("audit", address, "--anchors", created["anchors"], "--html", page),
    check=True,
    stdout=subprocess.DEVNULL,
)
board.terminate()
board.wait()
print(page, page.stat().st_size, "bytes")

# %% [markdown]
# What next:
#
# * `docs/privacy.md`: what epsilon means, in plain words.
# * `docs/deploy.md`: boards, organisers and parties on machines of their own.
# * `docs/python.md`: what may be averaged, and what a result can do.
# * `docs/security.md`: every attack that we know of, and the test that tries it.
