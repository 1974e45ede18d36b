"""Runs `gopa simulate`: whole sessions in one process, from a plan to a transcript."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.exceptions import Exit
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gopa.aggregation import LocalAggregator, RoundAborted
from gopa.aggregation.engine import Mode, Trust
from gopa.cli.exits import FAILED_EXIT
from gopa.cli.options import reporting
from gopa.cli.plan import plan_of, plan_options, setting_option
from gopa.cli.simulate_output import (
    Inputs,
    RoundOutput,
    SimulationCost,
    as_values,
    lines,
    posted_by,
    random_inputs,
    read_inputs,
    record,
    require_whole,
    silence,
)
from gopa.planning import Plan
from wire.errors import UsageError

_HELP: Final = """Try a session out: all parties, the organiser and the board in this process.

Everything is real (masks, noise, proofs, the log) but the secrets: one process knows them
all, and the manifest says that it is a simulation. Take the same plan to `gopa session
create` when you are content.

\b
Examples:
  gopa simulate --parties 100 --epsilon 1 --delta 1e-6
  gopa simulate -n 1000 --epsilon 1 --delta 1e-6 --mode signed --dropouts 0.05
  gopa simulate --epsilon 2 --delta 1e-6 --values ages.txt --high 120 --archive ages.gopa
  gopa audit ages.gopa --anchors ages.anchors

Exit codes: 0 there is a result, 1 the session came to none, 2 wrong usage.
"""

_MOST_JOBS: Final = 8
"""Without --jobs: beyond that, threads wait for each other more than they work."""

_LOCAL: Final = "local"
_path = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class OutputPlaces:
    """Names where the log goes: a board's directory, an archive, and the anchors of an audit."""

    out: Path | None
    archive: Path | None

    @property
    def anchors(self) -> Path | None:
        """Next to what it is for."""
        place = self.archive or self.out
        return None if place is None else place.with_name(f"{place.stem}.anchors")

    def require_free(self, mode: str) -> None:
        """Raises `UsageError` where something is there already, or there will be no log."""
        if mode == "off" and self.anchors is not None:
            raise UsageError("mode off keeps no log: take --mode signed", "--mode")
        for path in (self.archive, self.anchors):
            if path is not None and path.exists():
                raise UsageError(f"{path} is there already: name another place, or move it away")
            if path is not None and not path.parent.is_dir():
                raise UsageError(f"{path.parent} is no directory: make it first")


@click.command(help=_HELP)
@setting_option("mode", "Prove ranges and noise, only sign, or only compute.")
@setting_option("trust", "Whom it withstands; the second one needs another mode than full.")
@click.option(
    "--values",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What the parties have (.npy, .json, text), instead of random numbers.",
)
@click.option("--clip", is_flag=True, help="Move values into the range instead of refusing them.")
@click.option("--seed", type=click.IntRange(0), help="Makes everything reproducible.")
@click.option(
    "--dropouts",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Part of the parties that falls silent in every round: in any phase whose loss the plan "
    "bears, in mode off from the start.",
)
@click.option("--out", type=_path, help="Keep the log as a board's directory, new or empty.")
@click.option("--archive", type=_path, help="Write the log as a .gopa file.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help=f"Threads that work at once; all cores, up to {_MOST_JOBS}, without it.",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value=_LOCAL,
    metavar="[ADDRESS]",
    help="Check proofs on Ray: a cluster started here, or one that runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(  # noqa: PLR0913 - one argument for each option
    *,
    mode: Mode,
    trust: Trust,
    values: Path | None,
    clip: bool,
    seed: int | None,
    dropouts: float,
    out: Path | None,
    archive: Path | None,
    jobs: int | None,
    ray: str | None,
    as_json: bool,
    **planned: Any,
) -> None:
    """Plan, run all rounds, say what came out."""
    places = OutputPlaces(out, archive)
    places.require_free(mode)
    given = None if values is None else read_inputs(values, planned["dimension"])
    if given is not None and planned["integers"]:
        require_whole(given, values)
    planned["beacon"] = None if mode == "off" else "commit-reveal"
    made = plan_of(planned, _count(planned["parties"], given), mode=mode, trust=trust)
    inputs = _inputs(made, planned, seed) if given is None else given
    with reporting(), _checks_on(ray, jobs) as executor:
        aggregator = LocalAggregator(
            made,
            mode=mode,
            trust=trust,
            storage=out,
            seed=seed,
            script=silence(dropouts, made.terms, seed, in_phases=mode != "off"),
            beacon="commit-reveal",
            progress=not as_json,
            clip=clip,
            executor=executor,
            jobs=jobs or min(_MOST_JOBS, os.cpu_count() or 1),
        )
        with aggregator:
            rounds, cost = _run(aggregator, inputs)
            _keep(rounds[-1], places)
    _show(made, rounds, cost, places, as_json=as_json)


plan_options(without={"beacon"}, optional={"parties"})(simulate)


def _run(aggregator: LocalAggregator, inputs: Inputs) -> tuple[list[RoundOutput], SimulationCost]:
    """As many rounds as the plan composes, over the same inputs."""
    wall, cpu = time.perf_counter(), time.process_time()
    rounds: list[RoundOutput] = []
    while aggregator.rounds_left:
        try:
            result = aggregator.average(as_values(inputs))
        except RoundAborted as error:
            _give_up(error, len(rounds) + 1)
        rounds.append(RoundOutput.of(result, inputs))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return rounds, SimulationCost(wall, cpu, posted_by(rounds[-1].result))


def _give_up(error: RoundAborted, number: int) -> NoReturn:
    """Many dropouts are no failure of the program: say what the plan allows for."""
    click.echo(f"gopa: simulation, round {number}: {error}", err=True)
    click.echo("a plan with a larger --dropout loses more parties and goes on", err=True)
    raise Exit(FAILED_EXIT)


def _count(parties: int | None, given: Inputs | None) -> int:
    if given is None:
        if parties is None:
            raise UsageError("say how many parties there are, or give their --values", "--parties")
        return parties
    if parties not in {None, len(given)}:
        message = f"the file has values of {len(given)} parties: leave --parties out"
        raise UsageError(message, "--parties")
    return len(given)


def _inputs(made: Plan, planned: dict[str, Any], seed: int | None) -> Inputs:
    return random_inputs(made.terms, planned["norm"], seed, integers=planned["integers"])


@contextmanager
def _checks_on(ray: str | None, jobs: int | None) -> Iterator[Executor | None]:
    if ray is None:
        yield None
        return
    from gopa.executors import RayExecutor

    with RayExecutor(None if ray == _LOCAL else ray, workers=jobs) as executor:
        yield executor


def _keep(last: RoundOutput, places: OutputPlaces) -> None:
    transcript = last.result.transcript
    if places.archive is not None:
        transcript.archive(places.archive)
    if places.anchors is not None:
        transcript.anchors(places.anchors)


def _show(
    made: Plan,
    rounds: list[RoundOutput],
    cost: SimulationCost,
    places: OutputPlaces,
    *,
    as_json: bool,
) -> None:
    if as_json:
        written = {"out": places.out, "archive": places.archive, "anchors": places.anchors}
        click.echo(json.dumps(record(made, rounds, cost, written)))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, text in lines(rounds, made.terms.parties, cost):
        table.add_row(Text(name), Text(text))
    Console().print(table)
    for place in (places.out, places.archive):
        if place is not None:
            click.echo(f"check it:  gopa audit {place} --anchors {places.anchors}")
