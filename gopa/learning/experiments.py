"""Figures and tables from commands: `python -m examples.NAME FIGURE --out FOLDER`.

A figure is made of parts. What a part computed stays in the folder, and a command that is given
again goes on behind the last part that was finished.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from gopa import GopaError, UsageError, __version__
from gopa.learning.data import Table, Users
from gopa.learning.history import History
from gopa.learning.saved import replacing
from gopa.support.extras import missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw: TypeAlias = Callable[["FigureRun"], None]

_SIZE: Final = 4.5


@dataclass(slots=True)
class FigureRun:
    """What a figure is made with: its seed, its parts, its numbers and its picture."""

    name: str
    folder: Path
    seed: int
    quick: bool
    published: Mapping[str, float]
    say: Callable[[str], None]
    _numbers: dict[str, float] = field(default_factory=dict)
    _sources: list[str] = field(default_factory=list)

    def uses(self, data: Table | Users) -> None:
        """Note which data is used. Parts that were made of other data are refused."""
        self._sources.append(data.source if isinstance(data, Table) else data.table.source)
        self.say(f"data: {self._sources[-1]}")
        _require_same(self.folder / f"data-{len(self._sources)}.json", self._sources[-1])

    def part(self, name: str, compute: Callable[[], History]) -> History:
        """What `compute` returns, or what it returned when this folder was begun."""
        path = self.folder / f"{_file_name(name)}.csv"
        if path.exists():
            self.say(f"{name}: there already")
            return History.from_csv(path)
        found = compute()
        with replacing(path) as unfinished:
            found.to_csv(unfinished)
        self.say(f"{name}: done")
        return found

    def number(self, name: str, value: float) -> None:
        """Notes a number, to be shown beside the published one of this name."""
        self._numbers[name] = float(value)

    @contextmanager
    def picture(self, *titles: str) -> Iterator[list[Axes]]:
        """Offers axes side by side, one for each title, and writes them as PNG."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise missing("plot") from None
        figure = Figure((_SIZE * 1.3 * len(titles), _SIZE), layout="constrained")
        axes = figure.subplots(1, len(titles), squeeze=False)[0].tolist()
        for each, title in zip(axes, titles, strict=True):
            each.set_title(title)
        yield axes
        path = self.folder.parent / f"{self.name}.png"
        figure.savefig(path, dpi=120)
        self.say(f"picture: {path}")

    def close(self) -> None:
        """Shows all numbers beside the published ones, and writes them down.

        A published number that was not computed is shown as missing.
        """
        names = list(dict.fromkeys([*self._numbers, *self.published]))
        if not names:
            return
        ours = [self._numbers.get(name, math.nan) for name in names]
        theirs = [self.published.get(name, math.nan) for name in names]
        rows = [("", "here", "published")]
        rows += [
            (name, _shown(one), _shown(two))
            for name, one, two in zip(names, ours, theirs, strict=True)
        ]
        wide = max(len(row[0]) for row in rows)
        for name, one, two in rows:
            self.say(f"{name:<{wide}} {one:>10} {two:>10}")
        path = self.folder.parent / f"{self.name}.csv"
        lines = [",".join([f'"{name}"', one, two]) for name, one, two in rows[1:]]
        path.write_text("\n".join(["name,here,published", *lines, ""]))
        self.say(f"numbers: {path}")


class FigureSet:
    """The figures of one program, and their command.

    >>> from gopa.learning.experiments import FigureRun, FigureSet
    >>> figures = FigureSet("How gossip spreads a rumour.")
    >>> @figures.figure("rounds", published={"rounds until all know it": 12})
    ... def rounds(run: FigureRun) -> None:
    ...     run.number("rounds until all know it", 11)
    >>> figures.names
    ('rounds',)
    """

    def __init__(self, about: str) -> None:
        self.about = about
        self._figures: dict[str, tuple[Draw, Mapping[str, float]]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The figures, in order."""
        return tuple(self._figures)

    def figure(
        self, name: str, *, published: Mapping[str, float] | None = None
    ) -> Callable[[Draw], Draw]:
        """Marks the function that makes a figure. Its first line of text says what it shows."""

        def note(draw: Draw) -> Draw:
            self._figures[_file_name(name)] = (draw, published or {})
            return draw

        return note

    def make(
        self,
        name: str,
        out: str | Path,
        *,
        seed: int = 0,
        quick: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> FigureRun:
        """Makes one figure in a folder: `NAME.png`, `NAME.csv`, and `NAME/` with its parts.

        Raises:
            UsageError: there is no such figure, or the folder holds one of another seed, size,
                version or of other data.
        """
        if name not in self._figures:
            raise UsageError(f"one of {', '.join(self.names)}", "figure")
        draw, published = self._figures[name]
        folder = Path(out) / name
        folder.mkdir(parents=True, exist_ok=True)
        _require_same(folder / "run.json", {"seed": seed, "quick": quick, "gopa": __version__})
        run = FigureRun(name, folder, seed, quick, published, say)
        draw(run)
        run.close()
        return run

    def main(self, arguments: list[str] | None = None) -> None:
        """Runs the command; without a figure it lists those there are."""
        self.command()(arguments, prog_name=None)

    def command(self) -> click.Command:
        """The command, with all its figures."""
        listed = "\n\n".join(
            f"{name}: {(draw.__doc__ or '').partition(chr(10))[0]}"
            for name, (draw, _) in self._figures.items()
        )

        @click.command(help=f"{self.about}\n\n{listed}")
        @click.argument("figure", required=False, type=click.Choice(self.names))
        @click.option("--out", default="figures", show_default=True, help="Folder to write to.")
        @click.option("--quick", is_flag=True, help="Small and fast, to see that it works.")
        @click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
        @click.pass_context
        def command(
            context: click.Context, figure: str | None, out: str, seed: int, *, quick: bool
        ) -> None:
            if figure is None:
                click.echo(context.get_help())
                return
            try:
                self.make(figure, out, seed=seed, quick=quick, say=click.echo)
            except (GopaError, OSError) as error:
                raise click.ClickException(str(error)) from None

        return command


def _file_name(name: str) -> str:
    """The name, if it is one of a file that stays in its folder."""
    if not name or name[0] == "." or set(name) & set("/\\") or not name.isprintable():
        raise UsageError(f"{name!r} is no name of a file", "name")
    return name


def _require_same(path: Path, settings: Any) -> None:
    """Parts of two seeds, or of other data, never meet in one picture."""
    if path.exists():
        found = path.read_text()
        if found != json.dumps(settings):
            message = f"it was begun with {found}: name another folder, or remove it"
            raise UsageError(message, str(path.parent))
        return
    with replacing(path) as unfinished:
        unfinished.write_text(json.dumps(settings))


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
